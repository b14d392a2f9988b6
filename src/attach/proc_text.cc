// SPDX-License-Identifier: MIT
#include "attach/proc_text.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <sstream>

#include "base/unique_fd.h"

namespace patchbay::attach {

std::optional<std::string> read_text(const std::string& path) {
  return read_text_at(AT_FDCWD, path);
}

std::optional<std::string> read_text_at(int directory, const std::string& path) {
  UniqueFd file(::openat(directory, path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return std::nullopt;
  constexpr size_t kMostBytes = 64 << 20;
  std::string text;
  char part[16384];
  for (;;) {
    const ssize_t size = ::read(file.get(), part, sizeof part);
    if (size < 0) return std::nullopt;
    if (size == 0) return text;
    text.append(part, size_t(size));
    if (text.size() > kMostBytes) return std::nullopt;
  }
}

std::string status_field(const std::string& status, const std::string& name) {
  const std::string head = name + ":";
  size_t at = status.starts_with(head) ? 0 : status.find("\n" + head);
  if (at == status.npos) return "";
  at = status.find(':', at) + 1;
  at = status.find_first_not_of(" \t", at);
  return at == status.npos ? "" : status.substr(at, status.find('\n', at) - at);
}

std::vector<pid_t> tasks_of(pid_t pid) {
  std::vector<pid_t> tids;
  DIR* tasks = ::opendir(("/proc/" + std::to_string(pid) + "/task").c_str());
  if (!tasks) return tids;
  while (const dirent* entry = ::readdir(tasks))
    if (const auto tid = pid_t(std::strtol(entry->d_name, nullptr, 10)); tid > 0)
      tids.push_back(tid);
  ::closedir(tasks);
  return tids;
}

bool has_ended(int pid, int tid) {
  const auto status =
      read_text("/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid) + "/status");
  const std::string state = status ? status_field(*status, "State") : "";
  return state.empty() || state[0] == 'Z' || state[0] == 'X';
}

namespace {

std::string children_text(int pid, int tid) {
  return read_text("/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid) + "/children")
      .value_or("");
}

}  // namespace

bool has_children(int pid, int tid) { return !children_text(pid, tid).empty(); }

std::vector<pid_t> children_of(int pid, int tid) {
  std::vector<pid_t> children;
  std::istringstream numbers(children_text(pid, tid));
  for (pid_t child = 0; numbers >> child;) children.push_back(child);
  return children;
}

long system_call_of(int pid, int tid) {
  const auto text =
      read_text("/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid) + "/syscall");
  if (!text) return kUnknownCall;
  if (text->starts_with("running")) return kNoCall;
  long number = kUnknownCall;
  (void)std::sscanf(text->c_str(), "%ld", &number);
  return number;
}

bool is_about_children(long system_call) {
  static constexpr long kCalls[] = {SYS_fork,   SYS_vfork, SYS_clone,
                                    SYS_clone3, SYS_wait4, SYS_waitid};
  return std::find(std::begin(kCalls), std::end(kCalls), system_call) != std::end(kCalls);
}

}  // namespace patchbay::attach
