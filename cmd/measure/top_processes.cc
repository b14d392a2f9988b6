// SPDX-License-Identifier: MIT
#include "cmd/measure/top_processes.h"

#include <algorithm>
#include <cerrno>

#include "base/monotonic_clock.h"
#include "base/text.h"
#include "cmd/common/commands.h"
#include "cmd/common/descriptors.h"
#include "cmd/common/side_by_side.h"
#include "cmd/measure/looks.h"
#include "cmd/target/follow_request.h"

namespace patchbay::cmd {
namespace {

constexpr uint64_t kBufferKb = 64;  // of a program that only counts

}  // namespace

// --- the processes

TopProcesses::TopProcesses(const TopRequest& request)
    : request_(request),
      taken_("profiled", [this](const RunningProcess& process) { return add(process); }) {}

TopProcesses::~TopProcesses() {
  for (const auto& member : members_) leave(member.get());
}

void TopProcesses::choose(Member* member) const {
  member->pid = member->program.client->pid();
  member->exe = member->program.client->exe();
  member->profile =
      std::make_unique<TopProfile>(*member->program.client, member->program.directory);
  member->profile->choose(request_.functions, request_.not_functions);
}

Status TopProcesses::begin(Member* member) const {
  member->profile->set_self_time(self_time_);
  PB_TRY(member->profile->start());
  return rebase(member);
}

Status TopProcesses::rebase(Member* member) {
  PB_ASSIGN(std::string base, member->profile->look());
  member->started_ns = member->looked_ns = monotonic_ns();
  member->table.reset(member->started_ns, base);
  return {};
}

Status TopProcesses::add(const RunningProcess& process) {
  auto member = std::make_unique<Member>();
  const int wait_ms = taken_.has_begun() ? kNewcomerWaitMs : ToolUses::kMostWaitMs;
  PB_TRY(member->program.attach(process.pid, {.wait_ms = wait_ms}));
  member->program.attachment.deliver_signals();
  choose(member.get());
  member->profile->set_patience(wait_ms);
  if (is_started_) PB_TRY(begin(member.get()));
  members_.push_back(std::move(member));
  return {};
}

Status TopProcesses::connect(bool quiet, bool self_time) {
  self_time_ = self_time;
  if (is_several()) {
    is_started_ = true;  // one that cannot be profiled is refused alone
    raise_descriptor_limit();
    PB_TRY(taken_.begin(request_.processes));
    // Attaching takes time, which belongs to nobody's counts.
    for (const auto& member : members_) (void)rebase(member.get());
    started_ns_ = looked_ns_ = monotonic_ns();
    sum_.reset(started_ns_);
    return {};
  }
  auto member = std::make_unique<Member>();
  PB_TRY(request_.words.empty() ? member->program.attach(request_.processes.only_pid())
                                : member->program.start(request_.words, kBufferKb, quiet,
                                                        wishes_of_filter(request_.functions)));
  choose(member.get());
  if (member->program.child) current_ = member.get();
  members_.push_back(std::move(member));
  return {};
}

Status TopProcesses::release() { return child() ? members_.front()->program.release() : Status(); }

bool TopProcesses::ended() const {
  if (child() && members_.front()->program.executed) return child()->exited();
  for (const auto& member : members_)
    if (!member->has_ended && !member->program.ended()) return false;
  return !taken_.may_come();
}

void TopProcesses::take_in_newcomers() {
  taken_.take_in_newcomers();
  for (std::string& gap : taken_.take_gaps()) losses_.push_back(std::move(gap));
}

// A program that was started ends with its Member.
void TopProcesses::leave(Member* member) {
  if (!member->program.client || member->program.child) return;
  member->profile.reset();
  say_what_stays(*member->program.client);
  member->program.client.reset();
  member->program.attachment.leave();
}

double TopProcesses::seconds() const {
  if (!child()) return is_several() ? double(looked_ns_ - started_ns_) / 1e9 : own().seconds();
  return double(std::max(own().looked_ns, started_ns_) - started_ns_) / 1e9;
}

// --- what CMD executes

int TopProcesses::descriptor() const {
  const bool follows = child() && members_.front()->program.executed;
  return follows ? members_.front()->program.executed->descriptor() : -1;
}

void TopProcesses::before_exec() {
  if (!current_) return;
  Result<std::string> text = current_->profile->look();
  if (!text.ok()) return;  // of two threads that execute at once the first one may be through
  was_looked_at_ = true;
  current_->looked_ns = monotonic_ns();
  current_->table.look(current_->looked_ns, *text);
}

// The first one stays, as it has CMD.
void TopProcesses::end_current(const std::string& successor) {
  Member* const old = std::exchange(current_, nullptr);
  const bool was_looked_at = std::exchange(was_looked_at_, false);
  if (!old) return;
  old->has_ended = true;
  old->has_left_counts = was_looked_at;
  if (!was_looked_at)
    losses_.push_back("the program has executed another one (" + successor + "); " +
                      counted_before_text(int64_t((monotonic_ns() - old->looked_ns) / 1'000'000)));
  if (old == members_.front().get()) return;
  TopTable sum;
  sum.look_at(monotonic_ns(), {&gone_, &old->table});
  gone_ = std::move(sum);
  std::erase_if(members_, [old](const auto& member) { return member.get() == old; });
}

void TopProcesses::executed(ExecutedProgram program) {
  end_current(program.exe);
  child()->note_program();
  if (!program.client) return notes_.add_unreached(program, &losses_);
  const RemarksOff quiet;
  auto member = std::make_unique<Member>();
  member->program.adopt(program);
  choose(member.get());
  member->exe = program.exe;
  const Status begun = begin(member.get());
  notes_.add(program.exe, begun, &losses_);
  if (!begun.ok()) {
    apart_ = std::move(member);
    return;
  }
  current_ = member.get();
  members_.push_back(std::move(member));
}

std::vector<std::string> TopProcesses::take_about_executed() {
  return notes_.take(child() ? members_.front()->program.executed.get() : nullptr);
}

// --- the counts

Status TopProcesses::start(bool self_time) {
  self_time_ = self_time;
  is_started_ = true;
  Status failed;
  for (const auto& member : members_) {
    const Status begun = member->has_ended ? Status() : begin(member.get());
    if (begun.ok() && !member->has_ended) continue;
    if (!is_several() && !begun.ok()) return begun;
    if (!begun.ok() && member->program.ended())
      note_end(member.get());
    else if (!begun.ok() && failed.ok())
      failed = begun;
    member->started_ns = member->looked_ns = monotonic_ns();
    member->table.restart(member->started_ns);
  }
  started_ns_ = looked_ns_ = monotonic_ns();
  sum_.reset(started_ns_);
  gone_.reset(started_ns_);
  return failed;
}

void TopProcesses::add_loss(const Member& member, const std::string& text) {
  losses_.push_back("process " + std::to_string(member.pid) + " (" +
                    std::string(base_name(member.exe)) + ") " + text);
}

void TopProcesses::note_end(Member* member) {
  member->has_ended = true;
  const std::optional<std::string> text = TopProfile::last_look(member->program.directory);
  member->has_left_counts = text.has_value();
  const uint64_t now_ns = monotonic_ns();
  if (member->has_left_counts) {
    member->looked_ns = now_ns;
    member->table.look(now_ns, *text);
  } else if (!child()) {
    add_loss(*member, lost_at_end_text(int64_t((now_ns - member->looked_ns) / 1000000)));
  }
  leave(member);
}

void TopProcesses::take_look(Member* member, const Result<std::string>& text) {
  if (member->has_ended) return member->table.stay(monotonic_ns());
  const uint64_t now_ns = monotonic_ns();
  const TracedChild* const child = this->child();
  if (text.ok()) {
    member->is_silent = false;
    member->looked_ns = now_ns;
    return member->table.look(now_ns, text.value());
  }
  // CMD leaves its counts until it has exited.
  if (child ? child->exited() : member->program.ended()) return note_end(member);
  member->table.stay(now_ns);
  if (!std::exchange(member->is_silent, true) && !child)
    add_loss(*member, silent_text(int64_t((now_ns - member->looked_ns) / 1000000)));
}

// Those that do not answer are waited for together, for a second.
void TopProcesses::look() {
  std::vector<Result<std::string>> texts(members_.size(), sys_error("look", ESRCH));
  const int64_t until_ms = is_several() ? monotonic_ms() + kMostWaitMs : 0;
  side_by_side(members_.size(), [&](size_t i) {
    Member& member = *members_[i];
    if (member.has_ended) return;
    member.program.client->until_ms(until_ms);
    const Status done = guarded([&]() -> Status {
      PB_ASSIGN(texts[i], member.profile->look());
      return {};
    });
    if (!done.ok()) texts[i] = done.error();
    member.program.client->until_ms(0);
  });
  for (size_t i = 0; i < texts.size(); i++) take_look(members_[i].get(), texts[i]);
  looked_ns_ = monotonic_ns();
  if (!is_several() && !child()) return;
  std::vector<const TopTable*> tables = {&gone_};
  for (const auto& member : members_) tables.push_back(&member->table);
  sum_.look_at(looked_ns_, tables);
}

void TopProcesses::begin_recent() {
  for (const auto& member : members_) member->table.begin_recent();
  sum_.begin_recent();
}

}  // namespace patchbay::cmd
