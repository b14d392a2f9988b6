// SPDX-License-Identifier: MIT
//
// What one line of set_ftrace_filter, set_ftrace_notrace, set_graph_function or set_graph_notrace
// means, and the set of functions that such a file holds (docs/files.md).
//
//   [!]PATTERN[:mod:[!]MODULE]     PATTERN: a glob (*, ?, [abc], \x), or a name, or the number of
//                                  a line of available_filter_functions; C++ names as listed.
//                                  What is a name, letter by letter, is no glob: operator*
//                                  MODULE: a glob; libsqlite3 means libsqlite3.so.0 too
//   [!]PATTERN:COMMAND[:PARAM…]    tracer/function_commands.h
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tracer/function_table.h"

namespace patchbay {

// The kernel's globs, over a whole name. `[` without its `]` stands for itself.
bool glob_match(std::string_view pattern, std::string_view name);

struct FilterLine {
  bool remove = false;  // `!`
  std::string pattern;  // "" with :mod: alone means *
  uint64_t index = 0;   // of a number: the N-th function, from 1
  bool is_index = false;
  bool has_module = false;
  bool not_module = false;  // :mod:!glob
  std::string module;       // glob
  std::string command;      // what follows the pattern but for mod: "traceoff", "" none
  std::string parameter;    // "3", "sys:ev:2"
  bool has_parameter = false;
  std::string text;  // as written, without `!`
};
// A command begins at a `:` that is no part of a C++ name (`::`, `[abi:cxx11]`, `auto:1`).
// EINVAL: there is none behind it.
Result<FilterLine> parse_filter_line(std::string_view line);

// The functions that pattern, index and module mean; in the table's order.
std::vector<DynFtrace*> matching_functions(const FunctionTable& table, const FilterLine& line);

// The set. Empty means all (filter) or none (notrace); one whose functions are gone with their
// objects does not become so.
struct FtraceHash {
  std::set<DynFtrace*> functions;
  std::set<DynFtrace*> gone;         // whose objects were unloaded: they are back with them
  std::vector<std::string> modules;  // `:mod:` lines whose module is not loaded, newest first
  bool lost = false;                 // had functions of objects that are gone: it is not empty
  bool empty() const { return functions.empty() && modules.empty() && !lost; }
  void forget(std::span<DynFtrace* const> went) {
    for (DynFtrace* function : went) {
      if (functions.erase(function) == 0) continue;
      gone.insert(function);
      lost = true;
    }
  }
  bool operator==(const FtraceHash&) const = default;
};

// A line for each function that is not gone, in the table's order, with `prefix` before it.
std::string list_functions(const FunctionTable& table, const FtraceHash& hash,
                           std::string_view prefix = "");

// Applies one line without a command. EINVAL: nothing matched; the sentence names what is near. A
// :mod: of a module that is not loaded is remembered; `!` forgets it (pattern `*`: all of it).
Status apply_filter_line(const FunctionTable& table, const FilterLine& line, FtraceHash* hash);
// Objects came: what was remembered for them becomes functions, and functions of the same file that
// had gone are in the set again, wherever they are now. True: something did.
bool apply_module_lines(const FunctionTable& table, std::span<DynFtrace* const> came,
                        FtraceHash* hash);

}  // namespace patchbay
