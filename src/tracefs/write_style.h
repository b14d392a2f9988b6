// SPDX-License-Identifier: MIT
//
// The ways in which a tracefs file consumes a write (docs/files.md, "How a write is consumed"). The
// style decides what a partial failure leaves behind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include "base/result.h"

namespace patchbay::tracefs {

inline constexpr size_t kMaxLine = 4095;  // with its newline
inline constexpr size_t kMaxToken = 127;  // of set_event and the pid lists

// Style "number": base 10, one leading '+', one trailing newline. EINVAL, or ERANGE beyond 64 bits.
Result<uint64_t> parse_number(std::string_view bytes);
// The same, but only 0 and 1 are allowed (else EINVAL).
Result<bool> parse_switch(std::string_view bytes);

// Style "one line at a time": calls `execute` with each line without comment, leading blanks and
// newline; empty ones are skipped. The first failure ends it: what was executed stays. Returns
// bytes.size().
Result<size_t> for_each_line(std::string_view bytes,
                             const std::function<Status(std::string_view)>& execute);

// Style "one token per write()": the first word, ended by a blank or a NUL. `consumed` counts the
// blanks before it, the word, and the one character that ends it. An empty word: there was none.
struct Token {
  std::string_view word;
  size_t consumed = 0;
};
Result<Token> take_token(std::string_view bytes);

// Style "whole buffer": the one write is the command. EINVAL from `limit` bytes on; a NUL ends it.
inline constexpr size_t kFilterLimit = 4096;
inline constexpr size_t kOptionLimit = 64;
Result<std::string_view> take_whole(std::string_view bytes, size_t limit);

}  // namespace patchbay::tracefs
