// SPDX-License-Identifier: MIT
//
// How a recorded stack was obtained. The records ftrace:kernel_stack and ftrace:user_stack have
// four bytes of padding at offset 12 in the kernel. Here these bytes say it, so that a reader of
// the kernel's fields alone finds what the kernel writes:
//
//     0  common header
//     8  kernel_stack: int size, the number of frames     user_stack: unsigned tgid
//    12  StackHow
//    16  unsigned long caller[]: the innermost frame first. A user_stack has eight words at least;
//        those behind the last frame are 0.
//
// In a text a stack's lines are the kernel's, followed by the line of stack_how_text()
// (stack_how_text.h), which begins with `#` as other remarks among events do ("##### CPU 1 buffer
// started ####").
#pragma once

#include <cstdint>

namespace patchbay {

enum class StackEnd : uint8_t {
  kOutermost,   // the thread's first function
  kLimit,       // kMaxStackFrames
  kNoTable,     // code without an unwind table, and rbp is not a frame pointer
  kNoRule,      // the table has a rule that the probe path does not follow, and the same
  kBadMemory,   // a stack word cannot be read
  kNotUpwards,  // the next frame would not lie above this one
};

inline constexpr uint32_t kMaxStackFrames = 64;
inline constexpr uint32_t kStackHowOffset = 12, kStackFramesOffset = 16;
inline constexpr uint32_t kUserStackWords = 8;  // at least

struct StackHow {
  uint8_t frames;            // in the record
  uint8_t by_frame_pointer;  // callers that were found through rbp; the others by .eh_frame
  StackEnd end;
  uint8_t known;  // 1; 0: the record is a kernel's, and the rest says nothing
};
static_assert(sizeof(StackHow) == 4);

}  // namespace patchbay
