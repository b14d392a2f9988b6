// SPDX-License-Identifier: MIT
//
// Probes by source for a process: which of its files has the function, and what the definition is.
// `patchbay probe` and `-e` of record and start use it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "debug_info/derive.h"

namespace patchbay::cmd {

// The files that a function may be in: the program, then the libraries that are loaded. Each is the
// one that the process has mapped: where that is not what its path leads to from here, it is a
// ProcessPath (base/foreign_file.h).
std::vector<std::string> objects_of(int pid, const std::string& exe);

// "libfoo:parse:3 a" -> "parse"; "" for a name of C++.
std::string asked_function(std::string_view text);
// Whether the file has a function or variable of this name.
bool defines(const std::string& path, const std::string& name);

// The first object whose debug information has what is asked for answers. When none has, the error
// is the program's. Objects without debug information are an error only when all are without.
Result<DerivedProbe> derive_probe(const std::vector<std::string>& objects, std::string_view text);
// `[NAME=]FUNC(*)` as function_events takes it. `has_objects`: as SourceProbes::function_events()
// has it.
Result<FunctionEventLines> expand_function_event(const std::vector<std::string>& objects,
                                                 const std::string& text, bool has_objects = true);

// An event name that is not in `dynamic_events` yet: NAME, NAME_1, NAME_2 …
std::string free_event_name(const std::string& dynamic_events, const DerivedProbe& probe);

// "patchbay: SENTENCE" on stderr for each.
void print_probe_notes(const std::vector<std::string>& notes);

}  // namespace patchbay::cmd
