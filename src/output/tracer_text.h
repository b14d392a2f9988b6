// SPDX-License-Identifier: MIT
//
// Records of tracers as text (docs/files.md): function, func_repeats, stacks, and the calls
// of function_graph where no function_graph is the tracer (graph_text.h has its lines).
//
//   function       path_put <-set_fs_pwd              with the option func-args
//                  path_put(path=0x7ffe…, n=3) <-…, or arg1=0x7ffe…, arg2=0x3, …
//   func_repeats   path_put <-set_fs_pwd (repeats: 3, last_ts:     7.112946)
//   kernel_stack   <stack trace>\n => path_put\n => …  and how it was found: # stack: …
//   user_stack     <user stack trace>\n =>  <000000000047b4f7>
//
// Fields are found by their names in the format: records of other kernels have other offsets.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "event/event_call.h"
#include "output/print_fmt.h"

namespace patchbay {

// Which call a funcgraph_entry, funcgraph_retaddr_entry or funcgraph_exit is of.
struct GraphCallKey {
  int32_t pid = 0;
  int32_t depth = 0;
  uint64_t func = 0;
  bool operator==(const GraphCallKey&) const = default;
};
// All of such a record.
struct GraphEvent : GraphCallKey {
  uint64_t retaddr = 0;           // of an entry; 0: not recorded
  std::span<const uint8_t> args;  // of an entry; whole words
  uint64_t retval = 0;            // of an exit, as the following
  bool has_retval = false;
  uint32_t overrun = 0;
  uint64_t calltime = 0, rettime = 0;
};

class TracerText {
 public:
  enum class Kind : uint8_t {
    kNone,
    kFunction,
    kRepeats,
    kGraphEntry,
    kGraphExit,
    kStack,
    kUserStack
  };
  explicit TracerText(const EventCall& call);
  Kind kind() const { return kind_; }
  bool is_graph() const { return kind_ == Kind::kGraphEntry || kind_ == Kind::kGraphExit; }

  // Without a newline at the end. What lies behind the record's end is never read.
  void append(std::string* out, std::span<const uint8_t> record, TextContext* context) const;
  // Options raw, hex and bin; false: the kernel has no such text of this kind.
  bool append_raw(std::string* out, std::span<const uint8_t> record) const;
  bool append_hex(std::string* out, std::span<const uint8_t> record) const;
  bool append_binary(std::string* out, std::span<const uint8_t> record) const;

  GraphEvent graph_event(std::span<const uint8_t> record) const;
  // Parts of it, where a line needs no more.
  GraphCallKey graph_call(std::span<const uint8_t> record) const;
  std::span<const uint8_t> graph_args(std::span<const uint8_t> entry) const {
    return words(args_, entry);
  }
  uint64_t graph_ns(std::span<const uint8_t> exit) const;  // how long the call took
  // Two calls of the same function from the same place (option func-no-repeats).
  bool same_call(std::span<const uint8_t> a, std::span<const uint8_t> b) const;
  // The line of `count` repeats of `record`, whose last was at `ns`.
  void append_repeats(std::string* out, std::span<const uint8_t> record, uint64_t count,
                      uint64_t ns, TextContext* context) const;

 private:
  struct Field {
    uint32_t offset = 0, size = 0;
    bool is_there = false;
  };
  uint64_t value(const Field& field, std::span<const uint8_t> record) const;
  std::span<const uint8_t> words(const Field& field, std::span<const uint8_t> record) const;
  void append_function(std::string* out, std::span<const uint8_t> record,
                       TextContext* context) const;
  void append_stack(std::string* out, std::span<const uint8_t> record, TextContext* context) const;
  void append_user_frame(std::string* out, uint64_t address, TextContext* context) const;

  Kind kind_ = Kind::kNone;
  Field ip_, parent_, args_, depth_, retaddr_, retval_, overrun_, calltime_, rettime_;
  Field count_, top_, bottom_, frames_, size_;
};

// "(n=1, path=0x7ffe…)" as the kernel's print_function_args(), where names and types are known, but
// a number has the width of its type; else "(arg1=0x1, arg2=0x7ffe…)": the recorded words in the
// order of the calling convention. "()" when nothing was recorded.
void append_arguments(std::string* out, std::span<const uint8_t> words, uint64_t function,
                      const TextContext* context);

}  // namespace patchbay
