// SPDX-License-Identifier: MIT
// The questions of `patchbay probe`: -L lines, -V variables, -F functions, --prototype. Each
// prints, and returns the exit status.
#pragma once

#include <string>
#include <vector>

#include "debug_info/derive.h"

namespace patchbay::cmd {

int show_lines(SourceProbes& source, const ProbeRequest& request);
int show_variables(SourceProbes& source, const ProbeRequest& request);
int show_functions(SourceProbes& source, const std::string& glob);
int show_prototype(const std::vector<std::string>& objects, const std::string& function);

}  // namespace patchbay::cmd
