// SPDX-License-Identifier: MIT
#include "cmd/measure/top_processes.h"

#include <cerrno>

#include "base/monotonic_clock.h"
#include "cmd/common/print_file.h"
#include "serve/directory.h"

namespace patchbay::cmd {
namespace {

constexpr uint64_t kBufferKb = 64;  // of a program that only counts
constexpr int kMostTries = 5;       // with a process that starts, or is busy

}  // namespace

// --- the processes

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
  member->process = process;
  PB_TRY(member->program.attach(process.pid));
  member->program.attachment.deliver_signals();
  choose(member.get());
  if (is_started_) PB_TRY(begin(member.get()));
  members_.push_back(std::move(member));
  return {};
}

// Of one that could not be profiled it is tried again while it may go by.
void TopProcesses::take_in_newcomers() {
  for (const int pid : source_->look()) {
    const std::optional<RunningProcess> process = running_process(pid);
    if (!process || process->has_ended || interrupted()) continue;
    Known& known = known_[pid];
    if (!known.process.is_same_program(*process)) known = {*process, "", 0};
    const bool is_settled = known.tries > 0 && (known.reason.empty() || known.tries > kMostTries);
    if (is_settled || records_with(pid, runtime_) != 0) continue;
    known.tries++;
    Status added = add(*process);
    known.reason = added.ok() ? "" : added.error().message();
  }
}

std::vector<TopProcesses::Refused> TopProcesses::refused() const {
  std::vector<Refused> list;
  for (const auto& [pid, known] : known_) {
    const std::optional<RunningProcess> now = running_process(pid);
    if (!known.reason.empty() && now && !now->has_ended && now->is_same_program(known.process))
      list.push_back({pid, known.reason});
  }
  return list;
}

Status TopProcesses::connect(bool quiet) {
  if (is_several()) {
    PB_ASSIGN(runtime_, serve::runtime_directory(false));
    PB_ASSIGN(source_, ProcessSource::of(request_.processes, runtime_));
    take_in_newcomers();
    const std::vector<Refused> none = refused();
    if (!members_.empty() || (source_->may_grow() && none.empty())) return {};
    if (none.empty()) return user_error(ESRCH, "The processes have ended.");
    return user_error(EPERM, "No process can be profiled; process " +
                                 std::to_string(none.front().pid) + ": " + none.front().reason);
  }
  auto member = std::make_unique<Member>();
  PB_TRY(request_.words.empty() ? member->program.attach(request_.processes.only_pid())
                                : member->program.start(request_.words, kBufferKb, quiet));
  choose(member.get());
  members_.push_back(std::move(member));
  return {};
}

Status TopProcesses::release() { return child() ? members_.front()->program.release() : Status(); }

bool TopProcesses::ended() {
  if (source_ && source_->may_grow()) return false;
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
  if (source_ && source_->may_grow()) take_in_newcomers();
  bool is_any_there = source_ && source_->may_grow();
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
