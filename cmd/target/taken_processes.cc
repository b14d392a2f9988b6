// SPDX-License-Identifier: MIT
#include "cmd/target/taken_processes.h"

#include <algorithm>
#include <cerrno>
#include <optional>

#include "base/monotonic_clock.h"
#include "base/text.h"
#include "cmd/common/commands.h"
#include "cmd/common/print_file.h"
#include "cmd/common/side_by_side.h"
#include "cmd/target/target_program.h"
#include "serve/directory.h"

namespace patchbay::cmd {
namespace {

// With a process that starts, or is busy: pauses are doubled.
constexpr int kMostTries = 6, kFirstPauseMs = 100;

bool goes_on(const RunningProcess& process) {
  const std::optional<RunningProcess> now = running_process(process.pid);
  return now && !now->has_ended && now->is_same_program(process);
}

// Not that of a program that `owner` ran before, which is another file.
bool maps_buffer_of(int pid, int owner, const std::string& runtime) {
  const MappedBuffer buffer = mapped_buffer(runtime + "/" + std::to_string(owner));
  Result<std::string> maps = read_file("/proc/" + std::to_string(pid) + "/maps");
  const std::vector<std::string> lines =
      maps.ok() ? split_lines(*maps) : std::vector<std::string>();
  return std::any_of(lines.begin(), lines.end(),
                     [&](const std::string& line) { return buffer.is_in(line); });
}

}  // namespace

std::string TakenProcesses::Refused::text() const {
  return "process " + std::to_string(pid) + " (" + printable(base_name(exe)) +
         ") is not in the sums: " + printable(reason);
}

Status TakenProcesses::begin(const ProcessChoice& choice) {
  PB_ASSIGN(runtime_, serve::runtime_directory(false));
  PB_ASSIGN(source_, ProcessSource::of(choice, runtime_));
  take_in_all();
  has_begun_ = true;
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
  const Known& known = at->second;
  if (known.process.is_same_program(process)) {
    if (known.state == Known::State::kWithOwner) return !goes_on(known.owner);
    return known.state == Known::State::kTryAgain && monotonic_ms() >= known.next_try;
  }
  if (source_.is_named(process.pid)) return false;
  known_.erase(at);
  return true;
}

// A member that has left its group counts on, and its children with it.
void TakenProcesses::forget_who_is_gone(const std::vector<int>& pids) {
  std::erase_if(known_, [&](const auto& one) {
    return !std::binary_search(pids.begin(), pids.end(), one.first) && !goes_on(one.second.process);
  });
}

bool TakenProcesses::may_come() const {
  return may_grow() || std::any_of(known_.begin(), known_.end(), [](const auto& one) {
           const bool may_be_taken = one.second.state == Known::State::kWithOwner ||
                                     one.second.state == Known::State::kTryAgain;
           return may_be_taken && goes_on(one.second.process);
         });
}

// A forked child counts in the tables of its parent, as long as that is there: what is behind its
// number now may be another process, or another program.
const RunningProcess* TakenProcesses::owner_of(int pid) const {
  const auto owner = known_.find(records_with(pid, runtime_));
  if (owner == known_.end() || owner->second.state != Known::State::kMember) return nullptr;
  const RunningProcess& process = owner->second.process;
  const bool is_its = maps_buffer_of(pid, process.pid, runtime_) && goes_on(process);
  return is_its ? &process : nullptr;
}

void TakenProcesses::take_in(const RunningProcess& process) {
  Known& known = known_[process.pid];
  known.process = process;
  if (const RunningProcess* const owner = owner_of(process.pid)) {
    known.state = Known::State::kWithOwner;
    known.owner = *owner;
    return;
  }
  const int parent = known.owner.pid;  // whom it counted with; 0: nobody
  known.state = Known::State::kTryAgain;
  const Status frozen = check_not_frozen(process.pid);
  const Status added = frozen.ok() ? guarded([&] { return add_(process); }) : frozen;
  if (!added.ok()) return refuse(process, added.error());
  known.state = Known::State::kMember;
  nr_members_++;
  if (parent != 0)
    gaps_.push_back("process " + std::to_string(process.pid) + " (" + short_name_of(process.pid) +
                    ") counts for itself since process " + std::to_string(parent) +
                    " has ended; what it did in between is not in the sums");
}

void TakenProcesses::refuse(const RunningProcess& process, const Error& error) {
  if (interrupted() || error.errno_value == EINTR) return;
  Known& known = known_[process.pid];
  // What was named is asked once, at the beginning; one whose parent has ended is asked now.
  const bool is_asked_once = source_.is_named(process.pid) && known.owner.pid == 0;
  if (!is_asked_once && may_go_by(error) && ++known.tries < kMostTries) {
    known.next_try = monotonic_ms() + (int64_t{kFirstPauseMs} << known.tries);
    return;
  }
  known.state = Known::State::kRefused;
  const std::string parent = known.owner.pid
                                 ? "counted with process " + std::to_string(known.owner.pid) +
                                       ", which has ended; alone it cannot be " + what_ + ": "
                                 : "";
  refused_.push_back({process.pid, exe_of(process.pid), parent + reason_in(error, process.pid)});
}

void TakenProcesses::take_in_newcomers() {
  if (!may_come()) return;
  take_in_all();
}

void TakenProcesses::take_in_all() {
  const std::vector<int> pids = source_.look();
  forget_who_is_gone(pids);
  std::vector<RunningProcess> found;
  for (const int pid : pids) {
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
