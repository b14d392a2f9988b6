// SPDX-License-Identifier: MIT
#include "cmd/measure/top_processes.h"

#include <cerrno>

#include "base/monotonic_clock.h"

namespace patchbay::cmd {
namespace {

constexpr uint64_t kBufferKb = 64;  // of a program that only counts

}  // namespace

// --- the processes

TopProcesses::TopProcesses(const TopRequest& request)
    : request_(request),
      taken_("profiled", [this](const RunningProcess& process) { return add(process); }) {}

void TopProcesses::choose(Member* member) const {
  member->exe = member->program.client->exe();
  member->profile =
      std::make_unique<TopProfile>(*member->program.client, member->program.directory);
  member->profile->choose(request_.functions, request_.not_functions);
}

Status TopProcesses::begin(Member* member) const {
  member->profile->set_self_time(self_time_);
  PB_TRY(member->profile->start());
  PB_ASSIGN(std::vector<std::string> base, member->profile->look());
  member->table.reset(monotonic_ns(), base);
  if (member->has_names) return {};
  Result<std::string> names = member->profile->function_names();
  if (names.ok()) member->table.set_names(*names);
  member->has_names = true;
  return {};
}

Status TopProcesses::add(const RunningProcess& process) {
  auto member = std::make_unique<Member>();
  PB_TRY(member->program.attach(process.pid));
  member->program.attachment.deliver_signals();
  choose(member.get());
  if (is_started_) PB_TRY(begin(member.get()));
  members_.push_back(std::move(member));
  return {};
}

Status TopProcesses::connect(bool quiet, bool self_time) {
  self_time_ = self_time;
  is_started_ = is_several();  // one that cannot be profiled is refused alone
  started_ns_ = looked_ns_ = monotonic_ns();
  sum_.reset(started_ns_);
  if (is_several()) return taken_.begin(request_.processes);
  auto member = std::make_unique<Member>();
  PB_TRY(request_.words.empty() ? member->program.attach(request_.processes.only_pid())
                                : member->program.start(request_.words, kBufferKb, quiet));
  choose(member.get());
  members_.push_back(std::move(member));
  return {};
}

Status TopProcesses::release() { return child() ? members_.front()->program.release() : Status(); }

bool TopProcesses::ended() {
  if (taken_.may_grow()) return false;
  for (const auto& member : members_)
    if (!member->has_ended && !member->program.ended()) return false;
  return true;
}

// --- the counts

Status TopProcesses::start(bool self_time) {
  self_time_ = self_time;
  is_started_ = true;
  for (const auto& member : members_) {
    if (member->has_ended) continue;
    Status begun = begin(member.get());
    if (!begun.ok() && !(is_several() && member->program.ended())) return begun.error();
  }
  started_ns_ = looked_ns_ = monotonic_ns();
  sum_.reset(started_ns_);
  return {};
}

void TopProcesses::sum_up(bool again) {
  std::vector<const TopTable*> tables;
  for (const auto& member : members_) tables.push_back(&member->table);
  sum_.look_at(looked_ns_, tables, again);
}

bool TopProcesses::look(bool again) {
  if (taken_.may_grow()) taken_.take_in_newcomers();
  bool is_any_there = taken_.may_grow();
  for (const auto& member : members_) {
    if (member->has_ended) continue;
    Result<std::vector<std::string>> texts = member->profile->look();
    member->has_ended = !texts.ok() && member->program.ended();
    is_any_there |= texts.ok();
    if (member->has_ended && is_several()) texts = TopProfile::last_look(member->program.directory);
    if (!texts.ok() || texts->empty()) continue;
    looked_ns_ = monotonic_ns();
    member->table.look(looked_ns_, *texts, again);
  }
  if (is_several()) sum_up(again);
  return is_any_there;
}

bool TopProcesses::look_back(bool again) {
  Member& member = *members_.front();
  const std::vector<std::string> texts = TopProfile::last_look(member.program.directory);
  if (texts.empty()) return false;
  looked_ns_ = monotonic_ns();
  member.table.look(looked_ns_, texts, again);
  return true;
}

}  // namespace patchbay::cmd
