// SPDX-License-Identifier: MIT
//
// The `print fmt` of a format file as a program (docs/files.md): parsed once per event, then
// run for each record.
//
//   "pid=%d state=%s", REC->pid, __print_symbolic(REC->state, {0, "R"}, {1, "S"})
//     -> text "pid="      conversion %d   of field(24, 4, signed)
//        text " state="   conversion %s   of symbolic(field(28, 4), table 0..1)
//
// Neither the format nor the record is trusted (both may come out of a foreign trace.dat): sizes
// and depths are bounded when parsing, every load is checked against the record when running.
// Arithmetic is that of C on x86-64: int, unsigned int, long, unsigned long; a division by zero is
// 0; shifts beyond the width are 0.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "event/call_arguments.h"
#include "event/event_call.h"
#include "output/address_text.h"

namespace patchbay {

class PrintkTexts;  // output/printk_text.h

// How a text is made. Each printer owns one.
struct TextContext {
  AddressText* addresses = nullptr;
  const ArgumentsOf* arguments_of = nullptr;  // null, and an empty one: nothing is known
  PrintkTexts* printk = nullptr;              // of bprint and bputs; null: none is known
  bool escape = false;                        // text out of records is made harmless for a terminal
  bool trace_cmd = false;  // pointers as trace-cmd prints them (0x1234, f+0x10), else the kernel's
  bool sym_offset = false, sym_addr = false;  // options of an instance
  bool hash_ptr = true;
  bool verbose = false;
  bool print_parent = true, sym_userobj = false;
  uint64_t time = 0;    // of the record, in nanoseconds
  std::string scratch;  // for texts that are made on the way
};

class PrintFormat {
 public:
  // Null: the text cannot be understood; the fields are then shown instead.
  static std::unique_ptr<PrintFormat> compile(const EventCall& call);
  ~PrintFormat();
  // A record that is too short shows zeros and empty texts. \"%s\" of a __data_loc text of length
  // 0, which a probe could not read, is shown as (fault) without quotes.
  void append(std::string* out, std::span<const uint8_t> record, TextContext* context) const;

  struct Program;

 private:
  explicit PrintFormat(std::unique_ptr<Program> program);
  std::unique_ptr<Program> program_;
};

// %p with the option hash-ptr: the same 16 digits for the same pointer as long as the process
// lives, and no hint where it points.
uint64_t hashed_pointer(uint64_t pointer);

}  // namespace patchbay
