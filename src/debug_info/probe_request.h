// SPDX-License-Identifier: MIT
//
// A probe as a user types it, in perf probe's manner:
//
//   [[GROUP:]EVENT=] FUNC[@FILE][:LINE|+OFFSET|%return|;PATTERN] [ARG...]
//   [[GROUP:]EVENT=] FILE:LINE [ARG...]            FILE;PATTERN [ARG...]
//
// LINE counts from the function's first line, or from the file's. ARG is [NAME=]EXPR[:TYPE] over
// the program's variables (variable.h), $vars, $params, or a fetch argument of a definition.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace patchbay {

struct ProbeRequestArgument {
  std::string name;        // given; else empty
  std::string expression;  // EXPR, or a fetch argument as it is
  std::string type;        // given; else empty
  // %REG, @ADDR, +OFF(...), \IMM, $stack, $comm …: what needs no debug information.
  bool is_plain() const;
};

struct ProbeRequest {
  std::string group, event;  // empty: to be made up
  std::string function, file;
  std::optional<int> line;
  uint64_t offset = 0;
  bool on_return = false;
  std::string pattern;
  std::vector<ProbeRequestArgument> arguments;
};

Result<ProbeRequest> parse_probe_request(std::string_view text);

// Whether the text of `record -e` is one of these, and no event's name: it has a line, an offset, a
// file, `%return` or arguments.
bool looks_like_probe_request(std::string_view text);

}  // namespace patchbay
