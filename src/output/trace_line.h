// SPDX-License-Identifier: MIT
//
// One recorded event as one line of text, with the columns of the kernel's `trace` file, or as one
// JSON object: what the tool prints from buffer files and trace.dat files. Names and texts out of
// them are escaped.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "abi/buffer_abi.h"
#include "event/call_arguments.h"
#include "event/event_call.h"
#include "output/address_names.h"
#include "output/address_text.h"
#include "output/event_text.h"

namespace patchbay {

class TraceLineWriter {
 public:
  TraceLineWriter(const std::vector<EventCall>& events, AddressNames* names);
  ~TraceLineWriter();
  // Names of recorded arguments; without it they are arg1, arg2, …
  void set_arguments(ArgumentsOf arguments_of) { arguments_of_ = std::move(arguments_of); }
  // Texts of printk; they outlive this. Without them none is known.
  void set_printk(PrintkTexts* texts) { context_.printk = texts; }
  // The next record is of this thread and time: whose names it gets in a recording of several
  // programs.
  void stand_at(uint64_t ns, std::span<const uint8_t> record);
  // comm of a thread id; the last one given wins. Unknown: <...>
  void set_comm(int32_t pid, std::string_view comm);
  // Lines "pid comm".
  void set_comms(std::string_view untrusted_cmdlines);

  // Appends the line with its newline. Events of unknown ids and records shorter than their fields
  // are shown as far as they go, never read beyond their end.
  void append_line(std::string* out, uint32_t cpu, uint64_t ns, std::span<const uint8_t> record);
  // The parts of a line: the columns up to its text, the text, the flags; the name of its thread.
  void append_columns(std::string* out, uint32_t cpu, uint64_t ns, std::span<const uint8_t> record);
  void append_text(std::string* out, std::span<const uint8_t> record);
  static void append_flags(std::string* out, std::span<const uint8_t> record);
  const std::string& comm_of(int32_t pid);
  // Whether `exit`, the next record of its CPU, ends the call that `entry` begins; append_line()
  // for both in one line.
  bool is_leaf(std::span<const uint8_t> entry, std::span<const uint8_t> exit) const;
  // False: no record behind it makes it one.
  bool may_be_leaf(std::span<const uint8_t> entry) const;
  void append_leaf(std::string* out, uint32_t cpu, uint64_t ns, std::span<const uint8_t> entry,
                   std::span<const uint8_t> exit);
  void append_json(std::string* out, uint32_t cpu, uint64_t ns, std::span<const uint8_t> record);
  // "CPU:1 [LOST 77 EVENTS]\n"; kLostUnknown: without the number.
  static void append_lost(std::string* out, uint32_t cpu, uint64_t lost);
  // The comment lines at the head of a `trace` file. The columns are the same for all tracers.
  static void append_header(std::string* out, uint32_t nr_cpus, uint64_t entries, uint64_t written,
                            std::string_view tracer = "nop");

  // The names of functions, escaped.
  AddressText* addresses() { return &addresses_; }

 private:
  const EventText* text_of(std::span<const uint8_t> record) const;

  std::vector<std::unique_ptr<EventText>> texts_;
  std::vector<uint32_t> text_by_id_;  // index + 1
  std::unordered_map<int32_t, std::string> comms_;
  AddressNames* names_;
  std::unordered_map<const std::string*, std::string> image_comms_;  // escaped
  AddressText addresses_;
  ArgumentsOf arguments_of_;
  TextContext context_;
  int32_t last_pid_ = 0;
  const std::string* last_comm_ = nullptr;
};

// Appends text so that no byte of it can command a terminal: control characters and bytes that are
// not UTF-8 become \n, \t, \r or \xNN.
void append_escaped(std::string* out, std::string_view text);
// Nothing of it would be escaped, and it is ASCII. May be false of a long text that is.
bool is_plain(std::string_view text);
// The same inside JSON quotes (bytes that are not UTF-8 become U+FFFD).
void append_json_string(std::string* out, std::string_view text);

}  // namespace patchbay
