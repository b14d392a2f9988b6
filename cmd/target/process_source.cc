// SPDX-License-Identifier: MIT
#include "cmd/target/process_source.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/text.h"
#include "cmd/target/cgroups.h"
#include "cmd/target/running_process.h"
#include "serve/directory.h"

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

}  // namespace

bool may_go_by(const Error& error) {
  const int number = error.errno_value;
  return number == EBUSY || number == EAGAIN || number == ETIME || number == ETIMEDOUT ||
         number == EINPROGRESS || number == ESRCH || number == ECONNREFUSED;
}

std::string reason_in(const Error& error, int pid) {
  std::string text = error.message();
  for (const char* head : {"process ", "Process "})
    if (const std::string begin = head + std::to_string(pid) + " "; text.starts_with(begin))
      text.erase(0, begin.size());
  if (text.ends_with('.') && text.find(". ") == text.npos) text.pop_back();
  return text;
}

Result<ProcessSource> ProcessSource::of(const ProcessChoice& choice, const std::string& runtime) {
  ProcessSource source;
  for (const int pid : choice.pids) {
    if (!running_process(pid))
      return user_error(ESRCH, "-p " + std::to_string(pid) + ": there is no such process.");
    if (pid == ::getpid())
      return user_error(EINVAL, "-p " + std::to_string(pid) + ": this is patchbay itself.");
    source.named_.insert(pid);
  }
  PB_ASSIGN(source.groups_, groups_of(choice));
  if (!choice.all) return source;
  PB_ASSIGN(const std::vector<serve::ProcessEntry> entries, serve::list_processes(runtime));
  for (const serve::ProcessEntry& entry : entries)
    if (entry.has_agent() && entry.pid != ::getpid()) source.named_.insert(entry.pid);
  if (source.named_.empty() && source.groups_.empty())
    return user_error(ESRCH, "--all: no process has an agent in " + runtime +
                                 "; `patchbay attach PID` puts it into a running one.");
  return source;
}

std::vector<int> ProcessSource::look() {
  std::set<int> pids = named_;
  std::erase_if(groups_, [&](const std::string& group) {
    Result<std::vector<int>> found = processes_in_cgroup(group);
    const bool is_gone = !found.ok() && found.error().errno_value == ENOENT;
    std::vector<int>& last = last_[group];
    if (found.ok()) last = std::move(*found);  // else we lack a descriptor, and nobody has left
    if (!is_gone) pids.insert(last.begin(), last.end());
    return is_gone;
  });
  pids.erase(::getpid());
  return {pids.begin(), pids.end()};
}

std::string ProcessSource::what() const {
  return (groups_.size() == 1 ? "the control group " : "the control groups ") + join(groups_, ", ");
}

}  // namespace patchbay::cmd
