// SPDX-License-Identifier: MIT
//
// Which register of x86-64 plays which part in generated code. Numbers are those of machine code.
// Another architecture has a file like this one (arch/emitter.h).
#pragma once

#include <cstdint>

namespace patchbay {

struct Reg {
  uint8_t number;
  bool operator==(const Reg&) const = default;
};

namespace reg {

inline constexpr Reg kNone{0xff}, kThread{0xfe};  // kThread: the base of thread-local storage
inline constexpr Reg kStack{4}, kFrame{5};
inline constexpr Reg kArgument[] = {{7}, {6}, {2}, {1}, {8}, {9}};  // rdi rsi rdx rcx r8 r9
inline constexpr Reg kResult{0};

// What the code of a probe spends, and saves before: rax rcx rdx r9 r10 r11. The code of a return
// has its slot in r8.
inline constexpr Reg kTime{0}, kPublish{1}, kSlot{2}, kPlace{9}, kControl{10}, kValue{11};
inline constexpr Reg kSpent[] = {kTime, kPublish, kSlot, kPlace, kControl, kValue};
inline constexpr Reg kReturnSlot{8};
inline constexpr Reg kWork = kTime;      // where it holds no time
inline constexpr Reg kCount = kPublish;  // of a shift by a register

// A leaf function of the program may use that much below its stack pointer.
inline constexpr int kRedZone = 128;

}  // namespace reg
}  // namespace patchbay
