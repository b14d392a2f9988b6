// SPDX-License-Identifier: MIT
#include "cmd/mount/mount_processes.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>

#include "cmd/common/commands.h"
#include "cmd/target/running_process.h"
#include "serve/directory.h"

namespace patchbay::cmd {
namespace {

struct CloseDir {
  void operator()(DIR* stream) const { ::closedir(stream); }
};

// What ps calls the process; "?" where /proc does not show it.
std::string name_of(int pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/comm";
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char text[64];
  const ssize_t size = file.valid() ? ::read(file.get(), text, sizeof text) : -1;
  std::string name = printable({text, size > 0 ? size_t(size) : 0});
  if (name.ends_with('\n')) name.pop_back();
  std::replace(name.begin(), name.end(), '\n', ' ');
  return name.empty() ? "?" : name;
}

}  // namespace

// A mount made before the first process: its directory may come later.
void MountProcesses::watch() {
  if (watched_) return;
  Result<std::string> runtime = serve::runtime_directory(false);
  if (!runtime.ok()) return;
  directory_ = *runtime;
  if (!notifier_.valid()) notifier_.reset(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!notifier_.valid()) return;
  watched_ = ::inotify_add_watch(notifier_.get(), directory_.c_str(),
                                 IN_CREATE | IN_MOVED_TO | IN_ONLYDIR) >= 0;
}

bool MountProcesses::has_changed() {
  bool changed = !watched_ || !scanned_ || !expected_.empty();
  alignas(inotify_event) char events[4096];
  while (notifier_.valid()) {
    const ssize_t size = ::read(notifier_.get(), events, sizeof events);
    if (size <= 0) break;
    changed = true;
    for (const char* at = events; at < events + size;) {
      const auto* event = reinterpret_cast<const inotify_event*>(at);
      if (event->mask & IN_IGNORED) watched_ = false;  // it was removed; another may come
      at += sizeof *event + event->len;
    }
  }
  return changed;
}

void MountProcesses::drop_who_is_gone() {
  for (auto entry = processes_.begin(); entry != processes_.end();) {
    if (!entry->second.target->gone()) {
      ++entry;
      continue;
    }
    // It may have executed another program, whose agent is to come.
    if (is_alive(entry->first)) expected_.insert(entry->first);
    gone_.push_back(std::move(entry->second.target));
    entry = processes_.erase(entry);
  }
  std::erase_if(gone_,
                [](const std::shared_ptr<MountTarget>& target) { return target.use_count() == 1; });
}

void MountProcesses::come(int pid, const std::string& directory) {
  Result<UniqueFd> listens = serve::connect_socket(directory);
  if (!listens.ok() && listens.error().errno_value != EAGAIN) {
    if (is_alive(pid)) expected_.insert(pid);
    return;
  }
  MountedProcess process{pid, name_of(pid), MountTarget::of_directory(pid, directory)};
  if (greet_) greet_(process);
  processes_.emplace(pid, std::move(process));
}

void MountProcesses::scan() {
  scanned_ = true;
  expected_.clear();
  std::unique_ptr<DIR, CloseDir> stream(::opendir(directory_.c_str()));
  while (const dirent* entry = stream ? ::readdir(stream.get()) : nullptr) {
    int pid = 0;
    if (!parse_pid(entry->d_name, &pid) || processes_.contains(pid)) continue;
    come(pid, directory_ + "/" + entry->d_name);
  }
}

void MountProcesses::look(const std::function<void(const std::vector<MountedProcess>&)>& with) {
  std::lock_guard held(mutex_);
  drop_who_is_gone();
  watch();
  if (!stopped_ && has_changed()) scan();
  std::vector<MountedProcess> processes;
  for (const auto& [pid, process] : processes_) processes.push_back(process);
  with(processes);
}

std::shared_ptr<MountTarget> MountProcesses::find(int pid) {
  std::shared_ptr<MountTarget> found;
  look([&](const std::vector<MountedProcess>& processes) {
    for (const MountedProcess& process : processes)
      if (process.pid == pid) found = process.target;
  });
  return found;
}

std::vector<std::string> MountProcesses::names() {
  std::vector<std::string> names;
  look([&](const std::vector<MountedProcess>& processes) {
    for (const MountedProcess& process : processes)
      names.push_back(std::to_string(process.pid) + "/");
  });
  return names;
}

int MountProcesses::descriptor() {
  std::lock_guard held(mutex_);
  return notifier_.get();
}

bool MountProcesses::expects_somebody() {
  std::lock_guard held(mutex_);
  return !expected_.empty() || !watched_;
}

void MountProcesses::shut_down() {
  std::vector<std::shared_ptr<MountTarget>> targets;
  {
    std::lock_guard held(mutex_);
    stopped_ = true;
    for (auto& [pid, process] : processes_) targets.push_back(process.target);
    targets.insert(targets.end(), gone_.begin(), gone_.end());
  }
  for (const std::shared_ptr<MountTarget>& target : targets) target->shut_down();
}

}  // namespace patchbay::cmd
