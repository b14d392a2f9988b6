// SPDX-License-Identifier: MIT
//
// --for TIME: how long a command looks. The time counts from when it has set up; its end is a
// SIGTERM, as if somebody had sent it: a program that the command has started gets it, too, as with
// `perf stat --timeout`.
#pragma once

#include <cstdint>
#include <string_view>

namespace patchbay::cmd {

// "1ms", "0.5s", "2m", "0s". `without`: the unit of a number that has none, where that is right.
// False for anything else, and for what is longer than 11 days; `ns` is as it was then.
bool parse_time(std::string_view text, uint64_t* ns, std::string_view without = "");

// The option. Null when it is right, else the sentence about it.
const char* take_run_time(std::string_view value);
// The option's value for another command; empty: it was not given.
std::string_view run_time_text();
// The command has set up. Only the first of several calls counts.
void run_time_begins();
bool run_time_is_over();

}  // namespace patchbay::cmd
