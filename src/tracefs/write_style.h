// SPDX-License-Identifier: MIT
//
// The ways in which a tracefs file consumes a write (spec: ftrace.md 0.2). The style decides what a
// partial failure leaves behind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include "base/result.h"

namespace patchbay::tracefs {

inline constexpr size_t kMaxLine = 4095;  // with its newline
inline constexpr size_t kMaxToken = 127;  // of set_event

// Style "number": base 10, one leading '+', one trailing newline. EINVAL, or ERANGE beyond 64 bits.
Result<uint64_t> parse_number(std::string_view bytes);
// The same, but only 0 and 1 are allowed (else EINVAL).
Result<bool> parse_switch(std::string_view bytes);

// Style "one line at a time": calls `execute` with each line without comment, leading blanks and
// newline; empty ones are skipped. The first failure ends it: what was executed stays. Returns
// bytes.size().
Result<size_t> for_each_line(std::string_view bytes,
                             const std::function<Status(std::string_view)>& execute);

// Style "one token per write()": the first blank-terminated word. `consumed` counts the blanks
// before it, the word, and one blank behind it. An empty word: only blanks were written.
struct Token {
  std::string_view word;
  size_t consumed = 0;
};
Result<Token> take_token(std::string_view bytes);

}  // namespace patchbay::tracefs
