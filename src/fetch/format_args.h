// SPDX-License-Identifier: MIT
//
// What a printf-like function is given behind its format, as a text:
//
//   printf("%s has %d of %5.2f\n", "abc", 5, 3.25)        "abc", 5, 0x1.ap+1
//
// The format is read where the program has it, and each conversion takes what the calling
// convention says that va_arg() takes for it: integers and pointers from the general registers that
// are left, doubles from the vector registers, what finds none from the words of the stack, long
// doubles from there alone. A format that does not fit its arguments shows what printf itself would
// read. Every load is one that may fault.
//
//   %d %i -5   %u 5   %o 017   %x %X %b %B 0x1f   %c 'x'   %p %n 0x7ff…, NULL
//   %s "text", with its escapes; NULL; 0x10 (unreadable); "abc" (unreadable) when its beginning
//      alone could be read; "abc"... when it was cut. No more is read than the precision allows
//   a double 0x1.ap+1, inf, -nan; a long double has an L behind it (output/format_args_text.h makes
//      decimal numbers of them)
//   * the number that it takes; %m and %% nothing; %ls %S 0x55… (wide), %lc %C L'x' or L'\x20ac'
//   ? where an argument is not known: the format cannot be read; the caller says (al) that it has
//      passed no such vector register; "? (%k)" for a conversion that printf does not have, or
//      "? (positional)" for %2$d, behind which nothing can be known
//   ... behind the last one when there is no room for more
#pragma once

#include <cstdint>

namespace patchbay {

struct FetchRegisters;

inline constexpr uint32_t kFormatArgsBytes = 928;   // of the text, with its NUL
inline constexpr uint32_t kFormatTextBytes = 511;   // of one text, as it is in memory
inline constexpr uint32_t kMostConversions = 32;    // values; what comes behind them is "..."
inline constexpr uint32_t kMostFormatBytes = 4096;  // of the format

// What the named arguments have taken.
struct FormatPlaces {
  uint32_t integer;  // general registers
  uint32_t vector;
  uint32_t stack;  // words
};

extern "C" {
// Makes the text at `at`, which has kFormatArgsBytes; returns its bytes with the NUL. Needs arg,
// rax, rsp and the first eight vector registers. Async-signal-safe, no allocation.
uint32_t fetch_format_args(uint8_t* at, uint64_t format, const FetchRegisters* registers,
                           FormatPlaces places) __attribute__((visibility("hidden")));
}

}  // namespace patchbay
