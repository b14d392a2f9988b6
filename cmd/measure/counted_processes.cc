// SPDX-License-Identifier: MIT
#include "cmd/measure/counted_processes.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "base/monotonic_clock.h"
#include "base/text.h"
#include "cmd/common/commands.h"
#include "cmd/common/descriptors.h"
#include "cmd/common/print_file.h"
#include "cmd/common/side_by_side.h"
#include "cmd/measure/looks.h"

namespace patchbay::cmd {
namespace {

// "n: text", "n: 4 bytes, signed".
std::string type_text(const HistColumn& column) {
  if (column.form == HistForm::kText) return column.name + ": text";
  return column.name + ": " + std::to_string(column.size) + " bytes, " +
         (column.is_signed ? "signed" : "unsigned");
}

// Of what a histogram counts by and sums up.
std::string types_text(const HistImage& image) {
  std::vector<std::string> types;
  for (const std::vector<HistColumn>* columns : {&image.keys, &image.values})
    for (const HistColumn& column : *columns)
      if (!column.is_generic) types.push_back(type_text(column));
  return join(types, ", ");
}

std::string types_text(const std::vector<HistImagePtr>& images) {
  std::vector<std::string> types;
  for (const HistImagePtr& image : images) types.push_back(types_text(*image));
  return join(types, "; ");
}

}  // namespace

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
  if (!target_.words.empty()) return start(quiet);
  auto member = std::make_unique<CountedProcess>();
  PB_TRY(member->attach(target_.processes.only_pid()));
  PB_ASSIGN(const HistPlan plan, prepare_(*member));
  PB_TRY(member->apply(plan, target_.verbose));
  PB_TRY(compare(*member));
  members_.push_back(std::move(member));
  return {};
}

Status CountedProcesses::add(const RunningProcess& process) {
  auto member = std::make_unique<CountedProcess>();
  const int wait_ms = taken_.has_begun() ? kNewcomerWaitMs : ToolUses::kMostWaitMs;
  PB_TRY(member->attach(process.pid, wait_ms));
  PB_ASSIGN(const HistPlan plan, prepare_(*member));
  PB_TRY(member->apply(plan, target_.verbose && members_.empty()));
  PB_TRY(compare(*member));
  members_.push_back(std::move(member));
  return {};
}

// With the first one.
Status CountedProcesses::compare(const CountedProcess& member) {
  if (!reference_) {
    reference_ = {member.pid(), member.empty_images()};
    return {};
  }
  const std::string whose = target_.words.empty() ? "of process " + std::to_string(reference_->pid)
                                                  : "of the program before";
  for (size_t i = 0; i < reference_->images.size(); i++) {
    const HistImage &first = *reference_->images[i], &own = *member.empty_images()[i];
    if (first.definition != own.definition)
      return user_error(EINVAL, "the table '" + own.definition + "' is not that " + whose + ", '" +
                                    first.definition + "'");
    if (!same_columns(first, own))
      return user_error(EINVAL, "its fields are other ones (" + types_text(member.empty_images()) +
                                    ") than those " + whose + " (" +
                                    types_text(reference_->images) + ")");
  }
  return {};
}

// --- CMD, and what it executes

Status CountedProcesses::start(bool quiet) {
  shows_each_ = false;
  members_.push_back(std::make_unique<CountedProcess>());
  CountedProcess* const first = members_.front().get();
  PB_TRY(first->start(target_.words, quiet, target_.wishes));
  const Status ready = set_up_own(first);
  if (ready.ok()) current_ = first;
  if (ready.ok() || ready.error().errno_value != ENOENT) return ready;
  if (target_.waits_for_events) return notes_.add(first->exe(), ready, &losses_), Status();
  return user_error(ENOENT, ready.error().message() +
                                "\n(--follow waits for it in the programs that are executed)");
}

Status CountedProcesses::set_up_own(CountedProcess* member) {
  PB_ASSIGN(const HistPlan plan, prepare_(*member));
  if (!reference_ && target_.verbose) std::fprintf(stderr, "%s", plan.commands().c_str());
  PB_TRY(member->apply(plan, false));
  return compare(*member);
}

void CountedProcesses::end_current(const std::string& successor) {
  CountedProcess* const old = std::exchange(current_, nullptr);
  const bool was_looked_at = std::exchange(was_looked_at_, false);
  if (!old) return;
  const std::string loss = old->end_by_exec(successor, was_looked_at);
  if (!loss.empty()) losses_.push_back("the program " + loss);
  done_.insert(old);
  add_to_gone(old);
  if (old == members_.front().get()) return;
  done_.erase(old);
  std::erase_if(members_, [old](const auto& member) { return member.get() == old; });
}

void CountedProcesses::executed(ExecutedProgram program) {
  end_current(program.exe);
  child()->note_program();
  if (!program.client) return notes_.add_unreached(program, &losses_);
  const RemarksOff quiet;
  auto member = std::make_unique<CountedProcess>();
  member->adopt(program);
  const Status ready = set_up_own(member.get());
  notes_.add(program.exe, ready, &losses_);
  if (!ready.ok()) {
    apart_ = std::move(member);
    return;
  }
  current_ = member.get();
  members_.push_back(std::move(member));
}

int CountedProcesses::descriptor() const {
  const CountedProcess* const first = members_.empty() ? nullptr : members_.front().get();
  const ExecutedPrograms* const executed = first ? first->program().executed.get() : nullptr;
  return executed ? executed->descriptor() : -1;
}

std::vector<std::string> CountedProcesses::take_about_executed() {
  return notes_.take(members_.front()->program().executed.get());
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
                                          one_line(base_name(member->exe())) + ") "
                                    : "the program ") +
                      loss);
  if (!member->ended() || !taken_.may_grow()) return;
  member->leave();
  if (!shows_each_) add_to_gone(member);
}

// In a group many may come and end.
void CountedProcesses::add_to_gone(CountedProcess* member) {
  const std::vector<HistImagePtr> images = member->take_images();
  gone_.resize(std::max(gone_.size(), images.size()));
  for (size_t i = 0; i < images.size(); i++) gone_[i] = hist_sum({gone_[i], images[i]});
}

// First those that count already: taking others in takes time. What fails now is looked at again.
// Those that do not answer are waited for together, for a second.
void CountedProcesses::look() {
  std::vector<CountedProcess*> alive;
  for (const auto& member : members_)
    if (done_.contains(member.get()))
      continue;
    else if (!member->ended())
      alive.push_back(member.get());
    else if (is_several())
      note_last(member.get());
    else
      member->note_end();
  const int64_t until_ms = is_several() ? monotonic_ms() + kMostWaitMs : 0;
  side_by_side(alive.size(), [&](size_t i) {
    alive[i]->client().until_ms(until_ms);
    (void)guarded([&] { return alive[i]->look(); });
    alive[i]->client().until_ms(0);
  });
  taken_.take_in_newcomers();
  for (std::string& gap : taken_.take_gaps()) losses_.push_back(std::move(gap));
}

void CountedProcesses::look_last() {
  for (const auto& member : members_) note_last(member.get());
}

Status CountedProcesses::release() { return members_.front()->release(); }

std::vector<HistImagePtr> CountedProcesses::images(const CountedProcess* one) const {
  std::vector<HistImagePtr> sums;
  const size_t count = reference_ ? reference_->images.size() : 0;
  for (size_t i = 0; i < count; i++) {
    std::vector<HistImagePtr> images;
    if (!one && !gone_.empty()) images.push_back(gone_[i]);
    for (const auto& member : members_)
      if ((!one || member.get() == one) && i < member->images().size())
        images.push_back(member->images()[i]);
    sums.push_back(hist_sum(images));
  }
  return sums;
}

}  // namespace patchbay::cmd
