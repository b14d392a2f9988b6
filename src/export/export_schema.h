// SPDX-License-Identifier: MIT
//
// What exporters know of an event: its fields with their types, and the values of a record. Records
// are foreign bytes: nothing is read behind their end.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "event/event_call.h"
#include "event/sdt_event.h"

namespace patchbay {

struct ExportValue {
  enum class Kind : uint8_t {
    kCut,       // the record ends before it, or does not have this argument of a USDT probe
    kFault,     // a text that could not be read when the event was recorded
    kSigned,    // bits, sign-extended
    kUnsigned,  // bits
    kReal,      // real
    kText,      // text: the program's bytes, of any encoding; NULs are in those with a length
    kArray,     // ExportField::element() of each
  };
  Kind kind = Kind::kCut;
  uint64_t bits = 0;
  double real = 0;
  std::string_view text = {};
  std::span<const uint8_t> bytes = {};  // of an array's elements
  uint32_t count = 0;                   // of an array

  int64_t as_signed() const { return int64_t(bits); }
};

class ExportField {
 public:
  // Of the value, or of each element of an array.
  enum class Type : uint8_t {
    kSigned,
    kUnsigned,
    kHex,     // kUnsigned, shown as hexadecimal: pointers, words
    kSymbol,  // kUnsigned: the address of a function
    kReal,    // 4 or 8 bytes
    kChar,    // kText of one byte
    kText,
  };
  enum class Place : uint8_t {
    kFixed,
    kDataLoc,  // u32: offset from the record's start, length << 16
    kRelLoc,   // the same, from the end of the u32
    kRest,     // up to the end of the record
  };
  ExportField(const EventField& field, bool of_function_event);

  std::string name;
  std::string key;        // the same, once among the fields of an event: "v_2" for a second `v`
  std::string type_name;  // "unsigned long", "__data_loc char[]"
  Type type = Type::kUnsigned;
  Place place = Place::kFixed;
  bool is_array = false;
  bool is_counted = false;  // a dynamic text with NULs of its own
  bool is_caller = false;   // a kSymbol or kHex that a call returns to
  uint32_t offset = 0, size = 0;
  uint32_t element_size = 0;  // of a number: 1, 2, 4 or 8
  uint32_t count = 0;         // of an array at a fixed place, or of a field of several texts

  // The value in a record. Texts and arrays are parts of the record.
  ExportValue value(std::span<const uint8_t> record) const;
  // Of a kArray that value() gave: `index` is below its count.
  ExportValue element(std::span<const uint8_t> record, const ExportValue& array,
                      uint32_t index) const;
  bool is_number() const { return type <= Type::kSymbol; }
  std::optional<SdtKnown> known;  // of a USDT probe: not every record has the argument

 private:
  ExportValue scalar(const uint8_t* at) const;
  ExportValue text_at(std::span<const uint8_t> record, uint32_t word) const;
  bool dynamic(std::span<const uint8_t> record, uint32_t word, std::span<const uint8_t>* out) const;
};

// One kind of event. Inputs in which its fields are the same share it.
struct ExportSchema {
  enum class Role : uint8_t {
    kEvent,
    kGraphEntry,
    kGraphExit,
    kFunction,     // of the tracer `function`, and its repeats
    kStack,        // kernel_stack and user_stack
    kProbeEntry,   // at a function's entry: __probe_ip, or the __ip of a function event
    kProbeReturn,  // __probe_func and __probe_ret_ip
    kSynthetic,
    kPrint,  // print, bprint, bputs and raw_data: ExportSource::append_text() has the text
  };
  uint32_t index = 0;  // of all, from 0 on
  Role role = Role::kEvent;
  std::string system, name;  // as the file says them: of any bytes
  std::string label;         // "system:name"; where fields of another layout have it, "…#2"
  uint16_t id = 0;           // in the input where it is first described
  const EventCall* call = nullptr;
  std::vector<ExportField> fields;  // without the common ones

  ExportSchema(const EventCall& event, uint32_t number);
  const ExportField* find(std::string_view field_name) const;
};

}  // namespace patchbay
