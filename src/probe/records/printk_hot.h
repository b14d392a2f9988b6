// SPDX-License-Identifier: MIT
//
// printk: a line of text that the program writes into a buffer, recorded as the address of its
// format and the arguments, and made a text when it is read (docs/files.md, "Instances of the
// program", "Pages and records").
//
//   trace_array_printk(tr, ip, "x=%d s=%s\n", x, s)
//     │
//     ├─ printk_plan(format)         a table by the format's address; its text is compared, because
//     │    │                         another object may have been loaded there since
//     │    └─ not there: printk_learn(format)   once: is it constant? ── no ──> a `print` record,
//     │         │                               which has the whole text (api/printk.cc)
//     │         ├─ its text goes into the PrintkTable of the buffer file (abi/buffer_abi.h)
//     │         └─ it is taken apart (event/printk_format.h): PrintkPlan
//     ├─ printk_pack                 the arguments, strings copied; a bad pointer is "(fault)"
//     └─ ring_publish                ftrace:bprint: ip, the address of our text, u32 buf[]
//
// What a record names is always our own copy of the format, which nothing ever changes.
//
// All of it is async-signal-safe: no lock, no allocation, no libc; bounded. printk_learn alone
// makes a system call. Budget: two integers 4 x floor.
#pragma once

#include <cstdint>

#include "abi/ftrace_records.h"
#include "event/printk_format.h"
#include "probe/probe_abi.h"
#include "probe/records/unwind_hot.h"

namespace patchbay {

inline constexpr uint32_t kPrintkMaxFormat = 1024;      // longer formats are not kept
inline constexpr uint32_t kPrintkMaxSteps = 16;         // nor those with more conversions
inline constexpr uint32_t kPrintkArgumentBytes = 1024;  // strings are cut

// The va_list of the calling convention.
struct VariadicArguments {
  uint32_t gp_offset, fp_offset;
  uint64_t overflow, registers;
};

struct PrintkPlan {
  const char* format;  // the program's
  const char* text;    // what records name; NUL-terminated, and readable up to a multiple of 8
  uint32_t length;     // of both, without the NUL
  uint32_t nr_steps;
  PrintkSpec step[kPrintkMaxSteps];
};

// Who writes: `ip` is what the line begins with, `start` where the options for stacks begin.
struct PrintkCall {
  const EventProgram* program;  // Printk::program()
  uint64_t ip;
  StackStart start;
};

// Null: not known, or another text stands there now.
const PrintkPlan* printk_plan(const char* format);
// Null: it cannot be kept: not constant, too long, too many conversions, no room, no table.
const PrintkPlan* printk_learn(const char* format);

// The arguments of `count` conversions; returns the bytes, a multiple of 4, at most
// kPrintkArgumentBytes. Every byte up to there is written.
uint32_t printk_pack(const PrintkSpec* step, uint32_t count, VariadicArguments* arguments,
                     uint8_t* out);

// The bytes that were recorded behind the common header; 0: nothing was (recording is off, the
// option trace_printk is off, no room).
int printk_write(const PrintkCall& call, const PrintkPlan* plan, VariadicArguments* arguments);
int printk_write_bputs(const PrintkCall& call, const PrintkPlan* plan);
// ftrace:print: the text itself. What does not fit a sub-buffer, or kPrintkArgumentBytes, is cut.
int printk_write_print(const PrintkCall& call, const char* text, uint32_t length);

// The stack alone, without its first `skip` frames.
void printk_write_stack(const PrintkCall& call, uint32_t skip);

// Bytes of the program up to a NUL, at most `limit`; -1: they cannot be read.
int32_t printk_text_length(const char* text, uint32_t limit);
bool printk_is_constant(const char* text);  // in memory that cannot be written

// Whether anything would be written: the option trace_printk, tracing_on, an instance that is
// there.
inline bool printk_is_on(const EventProgram* program) {
  const RingSet* set = __atomic_load_n(&program->rings, __ATOMIC_ACQUIRE);
  return __atomic_load_n(program->soft, __ATOMIC_RELAXED) &&
         __atomic_load_n(&set->controls, __ATOMIC_RELAXED) != set->off;
}

extern "C" {
// Where trace_printk() writes; null: nobody has prepared it. Atomic, set by the control side.
extern const EventProgram* pb_printk_dest __attribute__((visibility("hidden")));
// Of the top instance's buffer, set by the control side; null: nothing can be kept. Atomic.
extern abi::PrintkTable* pb_printk_table __attribute__((visibility("hidden")));
}

}  // namespace patchbay
