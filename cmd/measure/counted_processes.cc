// SPDX-License-Identifier: MIT
#include "cmd/measure/counted_processes.h"

#include <algorithm>
#include <cerrno>

#include "base/text.h"
#include "cmd/common/commands.h"
#include "cmd/common/descriptors.h"
#include "cmd/common/print_file.h"
#include "cmd/measure/looks.h"

namespace patchbay::cmd {

// --- who they are

CountedProcesses::CountedProcesses(const HistTarget& target, Prepare prepare)
    : target_(target),
      prepare_(std::move(prepare)),
      taken_("counted", [this](const RunningProcess& process) { return add(process); }) {}

Status CountedProcesses::begin(bool quiet) {
  shows_each_ = quiet || target_.per_process;
  if (is_several()) {
    stop_on_interrupt();  // between two there is something to take back
    raise_descriptor_limit();
    return taken_.begin(target_.processes);
  }
  auto member = std::make_unique<CountedProcess>();
  PB_TRY(target_.words.empty() ? member->attach(target_.processes.only_pid())
                               : member->start(target_.words, quiet));
  PB_ASSIGN(const HistPlan plan, prepare_(*member));
  PB_TRY(member->apply(plan, target_.verbose));
  members_.push_back(std::move(member));
  return {};
}

Status CountedProcesses::add(const RunningProcess& process) {
  auto member = std::make_unique<CountedProcess>();
  const int wait_ms = taken_.has_begun() ? kNewcomerWaitMs : ToolUses::kMostWaitMs;
  PB_TRY(member->attach(process.pid, wait_ms));
  PB_ASSIGN(const HistPlan plan, prepare_(*member));
  PB_TRY(member->apply_summable(plan, target_.verbose && members_.empty()));
  if (!members_.empty() && members_.front()->listings() != member->listings())
    return user_error(EINVAL, "the table '" + member->listings().front() +
                                  "' is not that of process " +
                                  std::to_string(members_.front()->pid()) + ", '" +
                                  members_.front()->listings().front() + "'");
  if (!members_.empty() && members_.front()->types() != member->types())
    return user_error(EINVAL, "its fields are other ones (" + join(member->types(), "; ") +
                                  ") than those of process " +
                                  std::to_string(members_.front()->pid()) + " (" +
                                  join(members_.front()->types(), "; ") + ")");
  members_.push_back(std::move(member));
  return {};
}

// --- their counts

bool CountedProcesses::ended() const {
  return std::all_of(members_.begin(), members_.end(),
                     [](const auto& member) { return member->ended(); }) &&
         !taken_.may_come();
}

// What it counted stays. Of a group, where others come and go, nothing else does.
void CountedProcesses::note_last(CountedProcess* member) {
  if (!done_.insert(member).second) return;
  const std::string loss = member->look_last();
  if (!loss.empty())
    losses_.push_back((is_several() ? "process " + std::to_string(member->pid()) + " (" +
                                          std::string(base_name(member->exe())) + ") "
                                    : "the program ") +
                      loss);
  if (!member->ended() || !taken_.may_grow()) return;
  member->leave();
  if (!shows_each_) add_to_gone(member);
}

// In a group many may come and end.
void CountedProcesses::add_to_gone(CountedProcess* member) {
  const std::vector<HistSumShape>& shapes = members_.front()->shapes();
  gone_.resize(shapes.size());
  std::vector<std::string> sums;
  for (size_t i = 0; i < shapes.size(); i++) {
    sums.push_back(hist_part_sum({gone_[i], member->texts()[i]}, shapes[i]));
    if (sums.back().empty()) return;
  }
  gone_ = std::move(sums);
  (void)member->take_texts();
}

// First those that count already: taking others in takes time. What fails now is looked at again.
void CountedProcesses::look() {
  for (const auto& member : members_)
    if (!member->ended())
      (void)member->look();
    else if (is_several())
      note_last(member.get());
    else
      member->note_end();
  taken_.take_in_newcomers();
  for (std::string& gap : taken_.take_gaps()) losses_.push_back(std::move(gap));
}

void CountedProcesses::look_last() {
  for (const auto& member : members_) note_last(member.get());
}

Status CountedProcesses::release() { return members_.front()->release(); }

std::vector<std::string> CountedProcesses::texts(const CountedProcess* one) const {
  if (members_.empty()) return {};
  const CountedProcess& first = *members_.front();
  if (!is_several()) return first.texts();
  std::vector<std::string> sums;
  for (size_t i = 0; i < first.texts().size(); i++) {
    std::vector<std::string> texts;
    if (!one && !gone_.empty()) texts.push_back(gone_[i]);
    for (const auto& member : members_)
      if (!one || member.get() == one) texts.push_back(member->texts()[i]);
    sums.push_back(hist_sum(texts, first.shapes()[i]));
  }
  return sums;
}

}  // namespace patchbay::cmd
