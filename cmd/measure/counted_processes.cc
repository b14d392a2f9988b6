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
#include "cmd/measure/hist_signs.h"
#include "cmd/measure/looks.h"

namespace patchbay::cmd {
namespace {

// "events/SYSTEM/EVENT/trigger" -> "events/SYSTEM/EVENT".
std::string directory_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

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
  members_.push_back(std::move(member));
  return {};
}

Status CountedProcesses::add(const RunningProcess& process) {
  auto member = std::make_unique<CountedProcess>();
  const int wait_ms = taken_.has_begun() ? kNewcomerWaitMs : ToolUses::kMostWaitMs;
  PB_TRY(member->attach(process.pid, wait_ms));
  PB_ASSIGN(const HistPlan plan, prepare_(*member));
  PB_TRY(member->apply_summable(plan, target_.verbose && members_.empty()));
  PB_TRY(compare(*member));
  members_.push_back(std::move(member));
  return {};
}

// With the first one.
Status CountedProcesses::compare(const CountedProcess& member) {
  if (!reference_) {
    reference_ = {member.pid(), member.listings(), member.types(), member.shapes()};
    return {};
  }
  const std::string whose = target_.words.empty() ? "of process " + std::to_string(reference_->pid)
                                                  : "of the program before";
  if (reference_->listings != member.listings())
    return user_error(EINVAL, "the table '" + member.listings().front() + "' is not that " + whose +
                                  ", '" + reference_->listings.front() + "'");
  if (reference_->types != member.types())
    return user_error(EINVAL, "its fields are other ones (" + join(member.types(), "; ") +
                                  ") than those " + whose + " (" + join(reference_->types, "; ") +
                                  ")");
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

// What cannot be added up is counted in one program alone.
Status CountedProcesses::set_up_own(CountedProcess* member) {
  PB_ASSIGN(const HistPlan plan, prepare_(*member));
  const bool is_first = !reference_;
  if (is_first && target_.verbose) std::fprintf(stderr, "%s", plan.commands().c_str());
  if (!is_summable_)
    return user_error(EINVAL, "what the actions of a table keep is of one program");
  const Status summable = member->apply_summable(plan, false);
  if (!summable.ok() && !is_first) return summable;
  if (!summable.ok()) {
    is_summable_ = false;
    PB_TRY(member->apply(plan, false));
  }
  const auto is_as_asked = [](const HistPlan::Write& write) {
    Result<std::string> text = summable_definition(write.text);
    return text.ok() && *text == write.text;
  };
  if (is_first && is_summable_)
    is_as_asked_ =
        std::all_of(plan.writes.begin(), plan.writes.end(), [&](const HistPlan::Write& write) {
          const std::string event = directory_of(write.path);
          return std::count(plan.histograms.begin(), plan.histograms.end(), event) == 0 ||
                 is_as_asked(write);
        });
  return compare(*member);
}

void CountedProcesses::end_current(const std::string& successor) {
  CountedProcess* const old = std::exchange(current_, nullptr);
  const bool was_looked_at = std::exchange(was_looked_at_, false);
  if (!old) return;
  const std::string loss = old->end_by_exec(successor, was_looked_at);
  if (!loss.empty()) losses_.push_back("the program " + loss);
  done_.insert(old);
  if (!is_summable_) return;
  add_to_gone(old);
  const bool is_taken = std::all_of(old->texts().begin(), old->texts().end(),
                                    [](const std::string& text) { return text.empty(); });
  if (!is_taken || old == members_.front().get()) return;
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
  if (!reference_ || member->texts().empty()) return;
  const std::vector<HistSumShape>& shapes = reference_->shapes;
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

namespace {

std::vector<std::string> with_signs(std::vector<std::string> texts,
                                    const std::vector<HistSumShape>& shapes) {
  for (size_t i = 0; i < texts.size() && i < shapes.size(); i++)
    texts[i] = with_hist_signs(texts[i], shapes[i].signed_fields);
  return texts;
}

}  // namespace

std::vector<std::string> CountedProcesses::texts(const CountedProcess* one) const {
  if (members_.empty()) return {};
  const CountedProcess& first = *members_.front();
  if (!is_several() && (!child() || !is_summable_))
    return with_signs(first.texts(), first.shapes());
  if (!reference_) return {};
  if (!is_several() && is_as_asked_ && members_.size() == 1 && gone_.empty())
    return with_signs(first.texts(), first.shapes());
  std::vector<std::string> sums;
  for (size_t i = 0; i < reference_->shapes.size(); i++) {
    std::vector<std::string> texts;
    if (!one && !gone_.empty()) texts.push_back(gone_[i]);
    for (const auto& member : members_)
      if ((!one || member.get() == one) && i < member->texts().size())
        texts.push_back(member->texts()[i]);
    sums.push_back(hist_sum(texts, reference_->shapes[i]));
  }
  return with_signs(std::move(sums), reference_->shapes);
}

}  // namespace patchbay::cmd
