// SPDX-License-Identifier: MIT
#include "cmd/target/process_source.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/text.h"
#include "cmd/common/descriptors.h"
#include "cmd/target/cgroups.h"
#include "cmd/target/running_process.h"
#include "cmd/target/target_program.h"
#include "serve/directory.h"
#include "serve/peer_watch.h"

namespace patchbay::cmd {
namespace {

Result<std::vector<std::string>> groups_of(const ProcessChoice& choice) {
  std::vector<std::string> groups;
  if (choice.services.empty() && choice.cgroups.empty() && choice.containers.empty()) return groups;
  PB_ASSIGN(const Cgroups cgroups, Cgroups::of_machine());
  const auto add = [&](Result<std::string> found) -> Status {
    if (!found.ok()) return found.error();
    if (std::find(groups.begin(), groups.end(), *found) == groups.end())
      groups.push_back(std::move(*found));
    return {};
  };
  for (const std::string& name : choice.services) PB_TRY(add(cgroups.of_service(name)));
  for (const std::string& path : choice.cgroups) PB_TRY(add(cgroups.by_path(path)));
  for (const std::string& text : choice.containers) PB_TRY(add(cgroups.of_container(text)));
  return groups;
}

// Those that run a program, and that this user may look into.
std::set<int> processes_of_this_user() {
  std::set<int> pids;
  for (const int pid : running_pids())
    if (!exe_of(pid).empty()) pids.insert(pid);
  return pids;
}

// "--exe nginx --tree 12".
std::string text_of(const WhoChoice& who) {
  std::vector<std::string> words;
  for (const std::string& glob : who.exes) words.push_back("--exe " + glob);
  for (const std::string& glob : who.comms) words.push_back("--comm " + glob);
  for (const uint64_t pid : who.trees) words.push_back("--tree " + std::to_string(pid));
  return join(words, " ");
}

}  // namespace

bool may_go_by(const Error& error) {
  const int number = error.errno_value;
  return number == EBUSY || number == EAGAIN || number == ETIME || number == ETIMEDOUT ||
         number == EINPROGRESS || number == ESRCH || number == ECONNREFUSED;
}

Status check_not_frozen(int pid) {
  if (!serve::PeerWatch(pid, pid).is_frozen()) return {};
  return user_error(ETIMEDOUT,
                    "process " + std::to_string(pid) + " is frozen, with its control group");
}

std::string reason_in(const Error& error, int pid) {
  if (error.errno_value == EMFILE) return no_descriptors_text();
  std::string text = error.message();
  for (const char* head : {"process ", "Process "})
    if (const std::string begin = head + std::to_string(pid) + " "; text.starts_with(begin))
      text.erase(0, begin.size());
  if (text.ends_with('.') && text.find(". ") == text.npos) text.pop_back();
  return text;
}

Status ProcessSource::add_named(const std::vector<int>& pids) {
  for (const int pid : pids) {
    if (!running_process(pid))
      return user_error(ESRCH, "-p " + std::to_string(pid) + ": there is no such process.");
    if (pid == ::getpid())
      return user_error(EINVAL, "-p " + std::to_string(pid) + ": this is patchbay itself.");
    named_.insert(pid);
  }
  return {};
}

Status ProcessSource::add_all(const std::string& runtime) {
  PB_ASSIGN(const std::vector<serve::ProcessEntry> entries, serve::list_processes(runtime));
  for (const serve::ProcessEntry& entry : entries)
    if (entry.has_agent() && entry.pid != ::getpid()) named_.insert(entry.pid);
  if (named_.empty() && groups_.empty())
    return user_error(ESRCH, "--all: no process has an agent in " + runtime +
                                 "; `patchbay attach PID` puts it into a running one.");
  return {};
}

Status ProcessSource::choose_of_named() {
  const size_t count = named_.size();
  std::erase_if(named_, [this](int pid) { return !is_chosen(pid); });
  if (count == 0 || !named_.empty() || !groups_.empty()) return {};
  return user_error(ESRCH, text_of(who_) + (count == 1 ? ": the process is not chosen."
                                                       : ": none of the " + std::to_string(count) +
                                                             " processes is chosen."));
}

Result<ProcessSource> ProcessSource::of(const ProcessChoice& choice, const std::string& runtime) {
  ProcessSource source;
  source.who_ = choice.who;
  PB_TRY(source.add_named(choice.pids));
  PB_ASSIGN(source.groups_, groups_of(choice));
  PB_TRY(source.trees_.begin(choice.who.trees));
  if (choice.all) PB_TRY(source.add_all(runtime));
  source.chooses_of_all_ = choice.who.has_any() && source.named_.empty() && source.groups_.empty();
  PB_TRY(source.choose_of_named());
  return source;
}

bool ProcessSource::is_chosen(int pid) const {
  return (who_.trees.empty() || trees_.has(pid)) &&
         (who_.comms.empty() || who_.takes_comm(comm_of(pid))) &&
         (who_.exes.empty() || who_.takes_exe(exe_of(pid)));
}

std::vector<int> ProcessSource::look() {
  trees_.look();
  std::set<int> pids;
  if (chooses_of_all_) pids = who_.trees.empty() ? processes_of_this_user() : trees_.living();
  std::erase_if(groups_, [&](const std::string& group) {
    Result<std::vector<int>> found = processes_in_cgroup(group);
    const bool is_gone = !found.ok() && found.error().errno_value == ENOENT;
    std::vector<int>& last = last_[group];
    if (found.ok()) last = std::move(*found);  // else we lack a descriptor, and nobody has left
    if (!is_gone) pids.insert(last.begin(), last.end());
    return is_gone;
  });
  if (who_.has_any()) std::erase_if(pids, [this](int pid) { return !is_chosen(pid); });
  pids.insert(named_.begin(), named_.end());  // they were chosen when they were named
  pids.erase(::getpid());
  return {pids.begin(), pids.end()};
}

std::string ProcessSource::where() const {
  const std::string chosen = who_.has_any() ? "chosen by " + text_of(who_) : "";
  if (groups_.empty()) return chosen;
  return (chosen.empty() ? "" : chosen + " ") +
         (groups_.size() == 1 ? "in the control group " : "in the control groups ") +
         join(groups_, ", ");
}

}  // namespace patchbay::cmd
