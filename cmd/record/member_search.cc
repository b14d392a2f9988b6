// SPDX-License-Identifier: MIT
#include "cmd/record/member_search.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "base/monotonic_clock.h"
#include "base/raw_syscall.h"
#include "cmd/common/commands.h"
#include "cmd/common/side_by_side.h"
#include "cmd/target/process_source.h"
#include "cmd/target/target_program.h"

namespace patchbay::cmd {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kShortestPause{50}, kLongestPause{2000};  // between two looks …
constexpr int kShareOfTime = 20;  // … which take no more than one in so many of the time
constexpr int kMostTries = 6, kFirstPauseMs = 100;

}  // namespace

MemberSearch::MemberSearch(const RecordOptions& options, const RecordingParts& parts,
                           ProcessSource source, std::string runtime)
    : options_(options), parts_(parts), runtime_(std::move(runtime)), source_(std::move(source)) {}

Status MemberSearch::start() {
  told_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!told_.valid()) return sys_error("make an eventfd", errno);
  thread_ = std::thread([this] { run(); });
  return {};
}

// --- what crosses

MemberSearch::News MemberSearch::take() {
  uint64_t times;
  (void)!::read(told_.get(), &times, sizeof times);
  const std::lock_guard lock(mutex_);
  News news = std::move(news_);
  news_ = {};
  news_.has_looked = news.has_looked;
  news_.may_grow = news.may_grow;
  news_.is_empty = news.is_empty;
  return news;
}

void MemberSearch::tell() {
  const uint64_t once = 1;
  (void)!::write(told_.get(), &once, sizeof once);
}

void MemberSearch::leave(std::unique_ptr<ProcessMember> member) {
  const std::lock_guard lock(mutex_);
  to_leave_.push_back(std::move(member));
  changed_.notify_one();
}

void MemberSearch::finish(std::unique_ptr<ProcessMember> member) {
  parts_.finish(member.get(), options_.request);
  const std::lock_guard lock(mutex_);
  news_.finished.push_back(std::move(*member));  // the part of it
  tell();
}

void MemberSearch::stop() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
    changed_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

bool MemberSearch::is_told_to_stop() {
  const std::lock_guard lock(mutex_);
  return is_stopping_;
}

// --- the thread

// Until it is time to look again, or the end (false). Meanwhile who has ended is left.
bool MemberSearch::wait() {
  const auto until = std::chrono::steady_clock::now() + pause_;
  std::unique_lock lock(mutex_);
  for (;;) {
    while (!to_leave_.empty()) {
      std::unique_ptr<ProcessMember> member = std::move(to_leave_.front());
      to_leave_.pop_front();
      lock.unlock();
      finish(std::move(member));
      lock.lock();
    }
    if (is_stopping_) return false;
    const auto is_changed = [this] { return is_stopping_ || !to_leave_.empty(); };
    if (!source_.may_grow())
      changed_.wait(lock, is_changed);
    else if (!changed_.wait_until(lock, until, is_changed))
      return true;
  }
}

void MemberSearch::run() {
  do {
    if (!is_told_to_stop()) look();
  } while (wait());
}

void MemberSearch::look() {
  const auto began = std::chrono::steady_clock::now();
  const std::vector<int> pids = source_.look();
  forget_who_is_gone(pids);
  std::vector<RunningProcess> found;
  for (const int pid : pids) {
    std::optional<RunningProcess> process = running_process(pid);
    if (!process && source_.is_named(pid) && !known_.contains(pid)) process.emplace().pid = pid;
    if (process && is_news(*process)) found.push_back(*process);
  }
  // Children of a member record with it already; so first those that are nobody's.
  std::stable_partition(found.begin(), found.end(), [this](const RunningProcess& process) {
    return records_with(process.pid, runtime_) == 0;
  });
  const auto taken =
      std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - began);
  pause_ = std::clamp(taken * kShareOfTime, kShortestPause, kLongestPause);
  for (const RunningProcess& process : found)
    if (!is_told_to_stop()) decide(process);
  const std::lock_guard lock(mutex_);
  const bool changes = !news_.has_looked || news_.may_grow != source_.may_grow();
  news_.has_looked = true;
  news_.may_grow = source_.may_grow();
  news_.is_empty = pids.empty();
  if (changes) tell();
}

// Not one that is known, unless it has become another program. What was named is the program that
// it ran.
bool MemberSearch::is_news(const RunningProcess& process) {
  const auto at = known_.find(process.pid);
  if (at == known_.end()) return true;
  const Known& known = at->second;
  if (source_.is_named(process.pid)) return false;
  if (!known.process.is_same_program(process)) {
    known_.erase(at);
    return true;
  }
  return known.state == Known::State::kTryAgain && monotonic_ms() >= known.next_try;
}

void MemberSearch::forget_who_is_gone(const std::vector<int>& pids) {
  std::erase_if(known_, [&](const auto& one) {
    const auto& [pid, known] = one;
    if (std::binary_search(pids.begin(), pids.end(), pid)) return false;
    // One that has left the group is recorded on, and is no other one when it comes back.
    const std::optional<RunningProcess> now = running_process(pid);
    if (now && now->is_same_process(known.process)) return false;
    if (known.state == Known::State::kTryAgain)
      list_refused(known, "has ended before it could be recorded");
    return true;
  });
}

bool MemberSearch::is_with_a_member(int pid) {
  const auto owner = known_.find(records_with(pid, runtime_));
  return owner != known_.end() && (owner->second.state == Known::State::kMember ||
                                   owner->second.state == Known::State::kWithParent);
}

void MemberSearch::decide(const RunningProcess& process) {
  Known& known = known_[process.pid];
  known.process = process;
  known.path = exe_of(process.pid);
  if (known.path.empty()) known.path = short_name_of(process.pid);
  // The member itself may have ended since.
  if (is_with_a_member(process.pid) ||
      were_members_.contains(records_with(process.pid, runtime_))) {
    known.state = Known::State::kWithParent;
    return;
  }
  if (process.start.empty() || process.has_ended)
    return refuse(process, user_error(ENOENT, "has ended before the recording began"));
  std::unique_ptr<ProcessMember> made;
  const Status done = guarded([&]() -> Status {
    PB_TRY(check_not_frozen(process.pid));
    PB_ASSIGN(made, ProcessMember::make(options_, process, parts_, nr_made_));
    return {};
  });
  if (!done.ok()) return refuse(process, done.error());
  nr_made_++;
  known.state = Known::State::kMember;
  were_members_.insert(process.pid);
  if (!made->recording) made->leave();
  const std::lock_guard lock(mutex_);
  news_.members.push_back(std::move(made));
  tell();
}

void MemberSearch::refuse(const RunningProcess& process, const Error& error) {
  if (is_told_to_stop() || error.errno_value == EINTR) return;
  Known& known = known_[process.pid];
  const bool is_named = source_.is_named(process.pid);
  if (!is_named && may_go_by(error) && ++known.tries < kMostTries) {
    known.state = Known::State::kTryAgain;
    known.next_try = monotonic_ms() + (int64_t{kFirstPauseMs} << known.tries);
    return;
  }
  known.state = Known::State::kRefused;
  list_refused(known, reason_in(error, process.pid));
}

void MemberSearch::list_refused(const Known& known, const std::string& reason) {
  const int pid = known.process.pid;
  const std::string path = known.path.empty() ? "process " + std::to_string(pid) : known.path;
  const std::lock_guard lock(mutex_);
  news_.refused.push_back({pid, raw_monotonic_ns(), path, reason});
  tell();
}

}  // namespace patchbay::cmd
