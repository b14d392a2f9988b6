// SPDX-License-Identifier: MIT
#include "cmd/target/process_tree.h"

#include <cerrno>
#include <cstdint>
#include <optional>
#include <utility>

#include "cmd/target/running_process.h"

namespace patchbay::cmd {

Status ProcessTrees::begin(const std::vector<uint64_t>& roots) {
  for (const uint64_t root : roots) {
    const std::optional<RunningProcess> process =
        root <= INT32_MAX ? running_process(int(root)) : std::nullopt;
    if (!process)
      return user_error(ESRCH, "--tree " + std::to_string(root) + ": there is no such process.");
    starts_[process->pid] = process->start;
  }
  look();
  return {};
}

void ProcessTrees::look() {
  living_.clear();
  if (starts_.empty()) return;
  std::multimap<int, RunningProcess> children;
  std::vector<RunningProcess> left;
  for (const int pid : running_pids()) {
    std::optional<RunningProcess> process = running_process(pid);
    if (!process || process->has_ended) continue;
    const auto known = starts_.find(pid);
    if (known != starts_.end() && known->second == process->start)
      left.push_back(*process);
    else
      children.emplace(process->parent, *process);
  }
  std::map<int, std::string> starts;
  while (!left.empty()) {
    const RunningProcess process = std::move(left.back());
    left.pop_back();
    starts[process.pid] = process.start;
    living_.insert(process.pid);
    const auto [first, last] = children.equal_range(process.pid);
    for (auto child = first; child != last; ++child) left.push_back(child->second);
    children.erase(first, last);
  }
  starts_ = std::move(starts);
}

}  // namespace patchbay::cmd
