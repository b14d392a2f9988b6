// SPDX-License-Identifier: MIT
#include "cmd/target/preload.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "abi/follow_abi.h"
#include "cmd/target/target_program.h"

namespace patchbay::cmd {

Result<std::vector<std::string>> words_to_run(const std::vector<std::string>& given) {
  Result<std::string> program = find_program(given[0]);
  if (!program.ok()) return program.error();
  std::vector<std::string> words = without_env(*program, given);
  if (words[0] != given[0]) program = find_program(words[0]);
  if (!program.ok()) return program.error();
  PB_TRY(check_program(*program));
  return words;
}

Result<EnvironmentList> agent_environment(const std::string& program, const std::string& directory,
                                          uint64_t buffer_kb, bool overwrite,
                                          const std::string& follow) {
  PB_ASSIGN(std::string agent, find_agent());
  if (agent.find_first_of(": ") != agent.npos) {
    return user_error(EINVAL, "LD_PRELOAD cannot hold the agent's path '" + agent +
                                  "' (a blank or colon is in it).");
  }
  std::string preload = agent;
  // Also an empty one: by the colon the agent knows that there was one.
  const char* const old = std::getenv("LD_PRELOAD");
  if (old) preload += std::string(":") + old;
  EnvironmentList list{{"PATCHBAY_WAIT", std::to_string(::getpid())},
                       {"PATCHBAY_DIR", directory},
                       {"PATCHBAY_BUFFER_SIZE_KB", std::to_string(buffer_kb)},
                       {"PATCHBAY_OVERWRITE", overwrite ? "1" : "0"}};
  if (!follow.empty()) list.push_back({abi::kFollowVariable, follow});
  PB_ASSIGN(std::string file, find_program(program));
  if (const std::string first = runtime_before_agent(file, old ? old : "");
      !first.empty()) {
    preload = first + ":" + preload;
    list.push_back({"PATCHBAY_PRELOADED", first});
  }
  list.push_back({"LD_PRELOAD", preload});
  return list;
}

}  // namespace patchbay::cmd
