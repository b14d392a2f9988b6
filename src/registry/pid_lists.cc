// SPDX-License-Identifier: MIT
#include "registry/pid_lists.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <mutex>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "registry/registry_impl.h"

namespace patchbay {

namespace {

constexpr uint64_t kPidLimit = 1u << 30;  // as the kernel's pid lists have it
constexpr size_t kMaxToken = 127;

// A number in any base; the errors of set_event_pid.
Result<uint32_t> parse_pid(std::string_view token) {
  const std::string text(token);
  char* end = nullptr;
  errno = 0;
  const uint64_t pid = std::strtoull(text.c_str(), &end, 0);
  const char first = text[0] == '+' ? text[1] : text[0];
  const bool starts_well = is_digit(first);
  if (!starts_well || *end || errno || text.size() > kMaxToken)
    return user_error(EINVAL, "\"" + text + "\" is no task id.");
  if (pid >= kPidLimit) return user_error(EPERM, text + " is more than a task id can be.");
  return uint32_t(pid);
}

Result<std::vector<uint32_t>> parse_pids(std::string_view text) {
  std::vector<uint32_t> pids;
  for (std::string_view word : split_words(text)) {
    PB_ASSIGN(auto pid, parse_pid(word));
    pids.push_back(pid);
  }
  return pids;
}

void sort_unique(std::vector<uint32_t>* pids) {
  std::sort(pids->begin(), pids->end());
  pids->erase(std::unique(pids->begin(), pids->end()), pids->end());
}

// What an instance has of a list: as it is shown, and as programs see it (null: not in force).
struct PidWords {
  std::vector<uint32_t>& shown;
  PidSet*& set;
  TraceOption follows;  // forks, when this option is on
};

PidWords pid_words(TraceArray& array, PidList which) {
  switch (which) {
    case PidList::kTrace:
      return {array.pids, array.pid_set, TraceOption::kEventFork};
    case PidList::kNotrace:
      return {array.notrace_pids, array.notrace_pid_set, TraceOption::kEventFork};
    case PidList::kFtrace:
      return {array.ftrace_pids, array.ftrace_pid_set, TraceOption::kFunctionFork};
    case PidList::kFtraceNotrace:
      break;
  }
  return {array.ftrace_notrace_pids, array.ftrace_notrace_pid_set, TraceOption::kFunctionFork};
}

constexpr PidList kPidLists[] = {PidList::kTrace, PidList::kNotrace, PidList::kFtrace,
                                 PidList::kFtraceNotrace};

}  // namespace

Status PidLists::use(TraceArray& array, PidList which, std::vector<uint32_t> pids, bool in_force) {
  PidWords words = pid_words(array, which);
  PidSet* const previous = words.set;
  words.set = nullptr;
  if (in_force) {
    PidSetPtr made = make_pid_set(pids);
    if (!made) return sys_error("make a list of tasks", ENOMEM);
    words.set = made.get();
    sets_.push_back(std::move(made));
  }
  Status status = core_.publish_enabled(array);
  if (status.ok())
    words.shown = std::move(pids);
  else
    words.set = previous;
  return status;
}

Status PidLists::add(TraceArray& array, PidList which, std::string_view text) {
  PB_ASSIGN(auto added, parse_pids(text));
  if (added.empty()) return {};
  const std::vector<uint32_t>& shown = pid_words(array, which).shown;
  added.insert(added.end(), shown.begin(), shown.end());
  sort_unique(&added);
  return use(array, which, std::move(added), true);
}

Status PidLists::clear(TraceArray& array, PidList which) { return use(array, which, {}, false); }

void PidLists::follow_fork(TraceArray& array, PidList which, uint32_t parent, uint32_t child) {
  const PidWords words = pid_words(array, which);
  std::vector<uint32_t>& pids = words.shown;
  if (!array.options[words.follows] || !words.set) return;
  if (!std::binary_search(pids.begin(), pids.end(), parent)) return;
  auto place = std::lower_bound(pids.begin(), pids.end(), child);
  if (place != pids.end() && *place == child) return;
  pids.insert(place, child);
  if (pid_set_insert(words.set, child)) return;
  [[maybe_unused]] Status ignored = use(array, which, pids, true);
}

void PidLists::task_forked(uint32_t parent, uint32_t child) {
  if (!fork_followers_.load(std::memory_order_relaxed)) return;
  std::lock_guard guard(core_.lock);
  for (TraceArray* array : core_.all_arrays())
    for (PidList which : kPidLists) follow_fork(*array, which, parent, child);
}

void PidLists::task_exited(uint32_t pid) {
  if (!fork_followers_.load(std::memory_order_relaxed)) return;
  std::lock_guard guard(core_.lock);
  for (TraceArray* array : core_.all_arrays()) {
    for (PidList which : kPidLists) {
      const PidWords words = pid_words(*array, which);
      if (!array->options[words.follows] || !words.set) continue;
      if (std::erase(words.shown, pid)) pid_set_erase(words.set, pid);
    }
  }
}

void PidLists::follow_forks(bool on) {
  const uint32_t before =
      fork_followers_.fetch_add(on ? 1 : uint32_t(-1), std::memory_order_relaxed);
  PB_CHECK(on || before > 0);
}

}  // namespace patchbay
