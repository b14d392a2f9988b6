// SPDX-License-Identifier: MIT
// What several text formats share: numbers, quoting, and the values of fields.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "export/export_event.h"
#include "export/export_source.h"

namespace patchbay {

// Between quotes, for JSON that may also stand in a page: control characters and `<` as \u00NN,
// bytes that are not UTF-8 as U+FFFD.
void append_json_text(std::string* out, std::string_view text);

// A value of a field: a number, a text, an array, or null where the record ends before it; a text
// that could not be read is "(fault)". Addresses of functions are texts: "main+0x4/0x20".
void append_json_value(std::string* out, const ExportField& field, const ExportEvent& event,
                       AddressText* addresses);
// {"a":1,"s":"text"}, of any record: the event's, or that of its pair.
void append_json_fields(std::string* out, const ExportSchema& schema,
                        std::span<const uint8_t> record, AddressText* addresses);

// The fields of an event as that, also of one whose format is not known ({}), or that is a line of
// text ({"text":"…"}).
void append_json_event(std::string* out, const ExportEvent& event, ExportSource* source);

// The same as one text, without quotes: for formats that have texts only. Not escaped.
void append_plain_value(std::string* out, const ExportField& field, std::span<const uint8_t> record,
                        AddressText* addresses);

// One argument of a call of function_graph, out of the recorded words.
struct ExportArgument {
  std::string name;
  std::string text;  // empty: number
  uint64_t number = 0;
  bool is_signed = false, is_hex = false;
};
// Named where debug information knows the function, else arg1, arg2 … `known` may be null.
std::vector<ExportArgument> export_arguments(std::span<const uint8_t> words,
                                             const CallArguments* known);

// "comm" and "comm (instance)": the calls of one buffer of a thread.
std::string buffer_label(const ExportMeta& meta, uint32_t input, uint32_t buffer);

}  // namespace patchbay
