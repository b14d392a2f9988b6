// SPDX-License-Identifier: MIT
//
// What an event is: name, id, fields, print format. One EventCall per event, shared by all
// instances. format_text() is the text of its `format` file (docs/files.md, "format") and the only
// description that readers get.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace patchbay {

struct EventField {
  std::string type;  // "unsigned long", "__data_loc char[]", "x64"
  std::string name;
  uint32_t offset = 0;  // in the record
  uint32_t size = 0;    // whole field; 0 for an unbounded last field
  bool is_signed = false;
  uint32_t array_len = 0;  // > 0: T name[N]
  // What a foreign format file has in place of "[array_len]": "[]", "[TASK_COMM_LEN]", "[2][3]";
  // else empty.
  std::string brackets = {};
  // A text with a length, which may have NULs of its own. Known in the process that made the event.
  bool is_counted = false;
};

// What the text of a probe event shows in front of its arguments. The kernel's own printer does not
// take this from the print fmt.
enum class ProbeHead : uint8_t {
  kByFields,  // with __probe_ip "(sym+0x4/0x10)", with __probe_func and __probe_ret_ip
              // "(caller+0x4/0x10 <- sym)"; without them as the print fmt says
  kNumbers,   // the same as "(0x401000)" and "(0x401005 <- 0x401000)": uprobes
  kSource,    // EventCall.shown_source, "(group.event)": event probes
};

struct EventCall {
  std::string system;
  std::string name;
  uint16_t id = 0;
  std::vector<EventField> common;  // the four common fields
  std::vector<EventField> fields;
  std::string print_fmt;  // `"%pS->%pS(…)", REC->…`
  // Known in the process that made the event; a format file does not carry it.
  ProbeHead head = ProbeHead::kByFields;
  std::string shown_source = {};  // of kSource: "group.event"

  std::string format_text() const;
  const EventField* find(std::string_view field_name) const;
};

// An event of the file function_events. The bytes of its dynamic texts are the text and one NUL
// behind it, which says nothing about NULs before: the text may be one with a length.
bool is_function_event(const EventCall& event);

// The text in the bytes of a dynamic field: up to its last NUL where it is `counted`, as those of
// function events are, up to its first one elsewhere.
std::string_view text_in(std::string_view bytes, bool is_counted);

// Whether records of both are the same: all but the number is.
bool same_layout(EventCall a, const EventCall& b);

// The four common fields of x86-64 records.
std::vector<EventField> common_fields();

// Reads the text of a format file (ours, or a kernel's out of a foreign trace.dat). Bounded, never
// trusts its input.
Result<EventCall> parse_format(std::string_view system, std::string_view untrusted_text);

}  // namespace patchbay
