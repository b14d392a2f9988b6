// SPDX-License-Identifier: MIT
#include "cmd/target/taken_processes.h"

#include <algorithm>
#include <cerrno>
#include <optional>

#include "base/text.h"
#include "cmd/common/commands.h"
#include "cmd/common/print_file.h"
#include "cmd/target/target_program.h"
#include "serve/directory.h"

namespace patchbay::cmd {
namespace {

constexpr int kMostTries = 5;  // with a process that starts, or is busy

}  // namespace

std::string TakenProcesses::Refused::text() const {
  return "process " + std::to_string(pid) + " (" + printable(base_name(exe)) +
         ") is not in the sums: " + printable(reason);
}

Status TakenProcesses::begin(const ProcessChoice& choice) {
  PB_ASSIGN(runtime_, serve::runtime_directory(false));
  PB_ASSIGN(source_, ProcessSource::of(choice, runtime_));
  take_in_newcomers();
  if (nr_members_ > 0 || interrupted()) return {};
  if (refused_.empty())
    return may_grow() ? Status() : user_error(ESRCH, "The processes have ended.");
  const Refused& first = refused_.front();
  return user_error(EPERM, "None of the processes can be " + what_ + ". " +
                               std::to_string(first.pid) + " (" +
                               std::string(base_name(first.exe)) + "): " + first.reason);
}

// A number that was named means the program that it had.
bool TakenProcesses::is_news(const RunningProcess& process) {
  const auto at = known_.find(process.pid);
  if (at == known_.end()) return true;
  if (at->second.process.is_same_program(process)) return !at->second.is_settled;
  if (source_.is_named(process.pid)) return false;
  known_.erase(at);
  return true;
}

void TakenProcesses::take_in(const RunningProcess& process) {
  Known& known = known_[process.pid];
  known.process = process;
  // A forked child counts in the tables of its parent.
  const auto owner = known_.find(records_with(process.pid, runtime_));
  if (owner != known_.end() && owner->second.is_member) {
    known.is_member = known.is_settled = true;
    return;
  }
  const Status added = add_(process);
  if (added.ok()) {
    known.is_member = known.is_settled = true;
    nr_members_++;
    return;
  }
  if (interrupted() || added.error().errno_value == EINTR) return;
  known.is_settled =
      !may_go_by(added.error()) || source_.is_named(process.pid) || ++known.tries == kMostTries;
  if (known.is_settled)
    refused_.push_back({process.pid, exe_of(process.pid), reason_in(added.error(), process.pid)});
}

void TakenProcesses::take_in_newcomers() {
  std::vector<RunningProcess> found;
  for (const int pid : source_.look()) {
    const std::optional<RunningProcess> process = running_process(pid);
    if (process && !process->has_ended && is_news(*process)) found.push_back(*process);
  }
  // First those that are nobody's children, as a child may count with its parent.
  std::stable_partition(found.begin(), found.end(), [this](const RunningProcess& process) {
    return records_with(process.pid, runtime_) == 0;
  });
  for (const RunningProcess& process : found)
    if (!interrupted()) take_in(process);
}

}  // namespace patchbay::cmd
