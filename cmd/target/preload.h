// SPDX-License-Identifier: MIT
//
// What starts a program with the agent in it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "cmd/target/traced_child.h"

namespace patchbay::cmd {

// The words with which a program is run with the agent. An error when the agent cannot be
// preloaded.
Result<std::vector<std::string>> words_to_run(const std::vector<std::string>& words);
// The environment that preloads the agent into `program`, which then waits before main().
// `directory` is the runtime directory; `follow` that of abi/follow_abi.h, or "".
Result<EnvironmentList> agent_environment(const std::string& program, const std::string& directory,
                                          uint64_t buffer_kb, bool overwrite,
                                          const std::string& follow = "");

}  // namespace patchbay::cmd
