// SPDX-License-Identifier: MIT
#include "cmd/serve/alerts.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "base/monotonic_clock.h"
#include "base/text.h"
#include "serve/client.h"

namespace patchbay::cmd {
namespace {

constexpr int64_t kPauseMs = 10000, kMostRecoverMs = 60000, kMostSnapshotMs = 10000;

// "20261126T170301.123"
std::string time_text() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  tm parts{};
  ::gmtime_r(&now.tv_sec, &parts);
  char text[64];
  const size_t size = ::strftime(text, sizeof text, "%Y%m%dT%H%M%S", &parts);
  std::string millis = std::to_string(1000 + now.tv_nsec / 1000000).substr(1);
  return std::string(text, size) + "." + millis;
}

// Runs this program again; false: it failed, or took too long and was ended.
bool run_recover(const std::string& source, const std::string& output) {
  std::string words[] = {"patchbay", "recover", source, "-o", output};
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int failed =
      ::posix_spawn(&child, "/proc/self/exe", &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed) return false;
  int status = 0;
  for (const int64_t end_ms = monotonic_ms() + kMostRecoverMs;;) {
    const pid_t done = ::waitpid(child, &status, WNOHANG);
    if (done == child) break;
    if (monotonic_ms() > end_ms) ::kill(child, SIGKILL);
    (void)::poll(nullptr, 0, 10);
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool is_file_of_ours(const std::string& name) {
  return name.starts_with("alert-") && name.ends_with(".dat");
}

bool is_instance_name(const std::string& name) {
  return name.find('/') == name.npos && name != "." && name != ".." && name.size() < 256;
}

std::string label(const Alert& alert, const char* name) {
  const auto at = alert.labels.find(name);
  return at == alert.labels.end() ? "" : at->second;
}

}  // namespace

void Alerts::remove_old() const {
  std::vector<std::string> names;
  DIR* stream = ::opendir(directory_.c_str());
  while (const dirent* entry = stream ? ::readdir(stream) : nullptr)
    if (is_file_of_ours(entry->d_name)) names.push_back(entry->d_name);
  if (stream) ::closedir(stream);
  std::sort(names.begin(), names.end());
  for (size_t i = 0; i + action_.keep < names.size(); i++)
    ::unlink((directory_ + "/" + names[i]).c_str());
}

Status Alerts::snapshot(const Collector::Agent& agent, const std::string& instance) {
  const std::string place = instance.empty() ? "" : "instances/" + instance + "/";
  PB_ASSIGN(const auto client,
            serve::Client::connect_directory(agent.directory, monotonic_ms() + kMostSnapshotMs));
  PB_TRY(client->write_all(place + "snapshot", "1\n", true));
  if (::mkdir(directory_.c_str(), 0700) != 0 && errno != EEXIST)
    return sys_error("make " + directory_, errno);
  const std::string output =
      directory_ + "/alert-" + time_text() + "-" + std::to_string(agent.pid) + ".dat";
  if (!run_recover(agent.directory + "/" + place + "snapshot", output)) {
    ::unlink(output.c_str());
    return user_error(EIO, "The snapshot of process " + std::to_string(agent.pid) +
                               " was taken, but " + output + " could not be made.");
  }
  remove_old();
  return {};
}

size_t Alerts::take(const std::vector<Alert>& alerts, const std::vector<Collector::Agent>& agents,
                    std::string* error) {
  const std::lock_guard guard(lock_);
  size_t made = 0;
  for (const Alert& alert : alerts) {
    const std::string pid = label(alert, "pid"), start = label(alert, "start");
    // Prometheus puts its own label `instance` in the place of ours.
    const std::string instance = label(alert, "exported_instance");
    if (!alert.is_firing || !is_instance_name(instance)) continue;
    for (const Collector::Agent& agent : agents) {
      if (std::to_string(agent.pid) != pid || (!start.empty() && start != agent.start)) continue;
      int64_t& taken_ms = taken_ms_[pid + " " + agent.start];
      if (taken_ms && monotonic_ms() < taken_ms + kPauseMs) continue;
      taken_ms = monotonic_ms();
      const Status done = snapshot(agent, instance);
      made += done.ok();
      if (!done.ok() && error->empty()) *error = done.error().message();
    }
  }
  std::erase_if(taken_ms_, [](const auto& one) { return monotonic_ms() > one.second + kPauseMs; });
  return made;
}

}  // namespace patchbay::cmd
