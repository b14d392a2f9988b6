// SPDX-License-Identifier: MIT
#include "cmd/measure/counted_processes.h"

#include <algorithm>
#include <cerrno>

#include "base/text.h"
#include "cmd/common/commands.h"
#include "cmd/common/print_file.h"
#include "cmd/record/recording_parts.h"
#include "cmd/target/target_program.h"
#include "serve/directory.h"

namespace patchbay::cmd {
namespace {

constexpr int kMostTries = 5;  // with a process that starts, or is busy

}  // namespace

// --- who they are

Status CountedProcesses::begin(bool quiet) {
  if (is_several()) return begin_several();
  auto member = std::make_unique<CountedProcess>();
  PB_TRY(target_.words.empty() ? member->attach(target_.processes.only_pid())
                               : member->start(target_.words, quiet));
  PB_ASSIGN(const HistPlan plan, prepare_(*member));
  PB_TRY(member->apply(plan, target_.verbose));
  members_.push_back(std::move(member));
  return {};
}

Status CountedProcesses::begin_several() {
  stop_on_interrupt();  // between two there is something to take back
  raise_descriptor_limit();
  PB_ASSIGN(runtime_, serve::runtime_directory(false));
  PB_ASSIGN(source_, ProcessSource::of(target_.processes, runtime_));
  take_in_newcomers();
  if (!members_.empty() || interrupted()) return {};
  if (refused_.empty())
    return may_grow() ? Status() : user_error(ESRCH, "The processes have ended.");
  const Refused& first = refused_.front();
  return user_error(EPERM, "None of the processes can be counted. " + std::to_string(first.pid) +
                               " (" + std::string(base_name(first.exe)) + "): " + first.reason);
}

Result<std::unique_ptr<CountedProcess>> CountedProcesses::add(const RunningProcess& process) {
  auto member = std::make_unique<CountedProcess>();
  PB_TRY(member->attach(process.pid));
  PB_ASSIGN(const HistPlan plan, prepare_(*member));
  PB_TRY(member->apply_summable(plan, target_.verbose && members_.empty()));
  if (members_.empty() || members_.front()->listings() == member->listings()) return member;
  return user_error(EINVAL, "the table '" + member->listings().front() +
                                "' is not that of process " +
                                std::to_string(members_.front()->pid()) + ", '" +
                                members_.front()->listings().front() + "'");
}

// A number that was named means the program that it had.
bool CountedProcesses::is_news(const RunningProcess& process) {
  const auto at = known_.find(process.pid);
  if (at == known_.end()) return true;
  if (at->second.process.is_same_program(process)) return !at->second.is_settled;
  if (source_->is_named(process.pid)) return false;
  known_.erase(at);
  return true;
}

void CountedProcesses::take_in(const RunningProcess& process) {
  Known& known = known_[process.pid];
  known.process = process;
  // A forked child counts in the tables of its parent.
  const auto owner = known_.find(records_with(process.pid, runtime_));
  if (owner != known_.end() && owner->second.is_member) {
    known.is_member = known.is_settled = true;
    return;
  }
  Result<std::unique_ptr<CountedProcess>> added = add(process);
  if (added.ok()) {
    known.is_member = known.is_settled = true;
    members_.push_back(std::move(*added));
    return;
  }
  if (interrupted() || added.error().errno_value == EINTR) return;
  known.is_settled =
      !may_go_by(added.error()) || source_->is_named(process.pid) || ++known.tries == kMostTries;
  if (known.is_settled)
    refused_.push_back({process.pid, exe_of(process.pid), reason_in(added.error(), process.pid)});
}

void CountedProcesses::take_in_newcomers() {
  std::vector<RunningProcess> found;
  for (const int pid : source_->look()) {
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

// --- their counts

bool CountedProcesses::ended() const {
  return !may_grow() && std::all_of(members_.begin(), members_.end(),
                                    [](const auto& member) { return member->ended(); });
}

// What it counted stays. Of a group, where others come and go, nothing else does.
void CountedProcesses::note_end(CountedProcess* member) {
  if (!ended_.insert(member).second) return;
  const std::string loss = member->look_last();
  if (!loss.empty())
    losses_.push_back((is_several() ? "process " + std::to_string(member->pid()) + " (" +
                                          std::string(base_name(member->exe())) + ") "
                                    : "the program ") +
                      loss);
  if (may_grow()) member->leave();
}

void CountedProcesses::look() {
  if (may_grow()) take_in_newcomers();
  for (const auto& member : members_)
    if (!member->ended())
      member->look();
    else if (is_several())
      note_end(member.get());
}

void CountedProcesses::look_last() {
  for (const auto& member : members_)
    if (!member->ended())
      member->look();
    else
      note_end(member.get());
}

Status CountedProcesses::release() { return members_.front()->release(); }

std::vector<std::string> CountedProcesses::texts(const CountedProcess* one) const {
  if (members_.empty()) return {};
  const CountedProcess& first = *members_.front();
  if (!is_several()) return first.texts();
  std::vector<std::string> sums;
  for (size_t i = 0; i < first.texts().size(); i++) {
    std::vector<std::string> texts;
    for (const auto& member : members_)
      if (!one || member.get() == one) texts.push_back(member->texts()[i]);
    sums.push_back(hist_sum(texts, first.shapes()[i]));
  }
  return sums;
}

}  // namespace patchbay::cmd
