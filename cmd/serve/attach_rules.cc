// SPDX-License-Identifier: MIT
#include "cmd/serve/attach_rules.h"

#include <dirent.h>
#include <fnmatch.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "base/monotonic_clock.h"
#include "cmd/common/commands.h"
#include "cmd/common/side_by_side.h"
#include "cmd/target/apply_request.h"
#include "cmd/target/attachment.h"
#include "cmd/target/cgroups.h"
#include "cmd/target/event_definition.h"
#include "cmd/target/process_source.h"
#include "cmd/target/running_process.h"
#include "cmd/target/target_program.h"

namespace patchbay::cmd {
namespace {

constexpr int kMostTries = 10;
constexpr int64_t kMostPauseMs = 60000, kMostApplyMs = 10000;

bool has_action(std::string_view histogram) {
  histogram = histogram.substr(0, histogram.find(" if "));
  for (const std::string_view action : {":onmatch(", ":onmax(", ":onchange("})
    if (histogram.find(action) != histogram.npos) return true;
  return false;
}

// Null when it is right, else the sentence about it.
const char* take_setting(const tracefs::ConfSetting& setting, AttachRule* rule) {
  if (setting.text.empty()) return "A text is needed here.";
  if (setting.name == "service") return rule->services.push_back(setting.text), nullptr;
  if (setting.name == "cgroup") return rule->cgroups.push_back(setting.text), nullptr;
  if (setting.name == "exe") {
    if (setting.text[0] != '/' && setting.text[0] != '*')
      return "exe takes the path of a program, which may be a glob: /usr/sbin/nginx.";
    return rule->exes.push_back(setting.text), nullptr;
  }
  if (setting.name == "event") return rule->request.take('e', setting.text.c_str());
  if (setting.name == "filter") return rule->request.take('f', setting.text.c_str());
  if (setting.name != "histogram")
    return "A rule has service, cgroup, exe, event, filter and histogram.";
  const size_t at = setting.text.find(" keys=");
  if (at == setting.text.npos || at == 0)
    return "An event and what to count by are needed: malloc(u64 size) keys=size.log2.";
  if (has_action(setting.text))
    return "A histogram with an action is for one process, not for a rule.";
  return rule->histograms.push_back(setting.text), nullptr;
}

// The programs of all processes that run now.
std::map<int, std::string> running_exes() {
  std::map<int, std::string> exes;
  DIR* stream = ::opendir("/proc");
  while (const dirent* entry = stream ? ::readdir(stream) : nullptr) {
    int pid = 0;
    if (parse_pid(entry->d_name, &pid)) exes[pid] = exe_of(pid);
  }
  if (stream) ::closedir(stream);
  return exes;
}

Status add_histogram(serve::Client& client, const std::string& text, AppliedRequest* applied) {
  const size_t at = text.find(" keys=");
  const std::string event = text.substr(0, at);
  PB_ASSIGN(const std::vector<std::string> names, define_event(client, {event, ""}, applied));
  if (names.size() != 1)
    return user_error(
        EINVAL, "'" + event + "' means " + std::to_string(names.size()) + " events: choose one.");
  const std::string definition = "hist:" + text.substr(at + 1);
  const std::string path = "events/" + with_slash(names.front()) + "/trigger";
  const Status done = client.write_all(path, definition + "\n", false);
  if (done.ok() || done.error().errno_value == EEXIST) return {};  // by an earlier daemon
  return user_error(done.error().errno_value,
                    path + ": " + definition + "\n" + done.error().message());
}

}  // namespace

Result<std::vector<AttachRule>> attach_rules(const DaemonConf& conf) {
  std::vector<AttachRule> rules;
  for (const tracefs::ConfSection& section : conf.sections) {
    if (section.name != "attach") continue;
    AttachRule rule;
    rule.place = conf.path + ":" + std::to_string(section.line);
    for (const tracefs::ConfSetting& setting : section.settings)
      if (const char* wrong = take_setting(setting, &rule))
        return conf_error(conf.path, setting, wrong);
    if (rule.services.empty() && rule.cgroups.empty() && rule.exes.empty())
      return user_error(EINVAL, rule.place + ": The rule names no service, cgroup or exe.");
    if (!rule.request.has_events() && rule.histograms.empty())
      return user_error(EINVAL, rule.place + ": The rule names no event and no histogram.");
    rules.push_back(std::move(rule));
  }
  return rules;
}

// A group that is not there yet may come.
std::vector<int> RuledProcesses::processes_of(const AttachRule& rule,
                                              const std::map<int, std::string>& exes) const {
  std::set<int> pids;
  const auto add_group = [&](ProcessChoice choice) {
    Result<ProcessSource> source = ProcessSource::of(choice, runtime_);
    if (!source.ok()) return;
    for (const int pid : source->look()) pids.insert(pid);
  };
  for (const std::string& name : rule.services) {
    ProcessChoice choice;
    choice.services = {name};
    add_group(std::move(choice));
  }
  for (const std::string& path : rule.cgroups) {
    ProcessChoice choice;
    choice.cgroups = {path};
    add_group(std::move(choice));
  }
  for (const std::string& glob : rule.exes)
    for (const auto& [pid, exe] : exes)
      if (!exe.empty() && ::fnmatch(glob.c_str(), exe.c_str(), 0) == 0) pids.insert(pid);
  pids.erase(::getpid());
  return {pids.begin(), pids.end()};
}

void RuledProcesses::meet(int pid, size_t rule) {
  const auto process = running_process(pid);
  if (!process || process->has_ended) return;
  Known& known = known_[pid];
  if (known.start != process->start || known.image != process->image) {
    known = {};
    known.start = process->start;
    known.image = process->image;
    known.is_forked = records_with(pid, runtime_) != 0;
  }
  if (known.met.insert(rule).second) known.pending.push_back(rule);
}

Status RuledProcesses::apply_rules(int pid, const std::vector<size_t>& rules) {
  Attachment attachment;
  PB_TRY(check_not_frozen(pid));
  PB_ASSIGN(const auto client, attach_if_needed(pid, &attachment, {.wait_ms = 1000}));
  client->until_ms(monotonic_ms() + kMostApplyMs);
  for (const size_t index : rules) {
    const AttachRule& rule = rules_[index];
    AppliedRequest applied;
    Status done;
    if (rule.request.has_events()) done = apply_request(rule.request, *client, &applied);
    for (const std::string& text : rule.histograms)
      if (done.ok()) done = add_histogram(*client, text, &applied);
    if (!done.ok())
      return user_error(done.error().errno_value, rule.place + ": " + done.error().message());
  }
  if (!attachment.stay(false)) return user_error(EINTR, "interrupted");
  return {};
}

void RuledProcesses::apply(int pid, Known* known) {
  const RemarksOff quiet;
  const Status done = guarded([&] { return apply_rules(pid, known->pending); });
  const bool goes_by = !done.ok() && may_go_by(done.error()) && ++known->tries < kMostTries;
  known->next_try_ms = monotonic_ms() + known->pause_ms;
  known->pause_ms = std::min(known->pause_ms * 2, kMostPauseMs);
  if (goes_by) return;
  known->pending.clear();
  if (!done.ok() && done.error().errno_value != EINTR)
    (void)fail("serve", "process " + std::to_string(pid) + " (" + printable(short_name_of(pid)) +
                            "): " + done.error().message());
}

void RuledProcesses::look() {
  if (rules_.empty()) return;
  const bool has_exes = std::any_of(rules_.begin(), rules_.end(),
                                    [](const AttachRule& rule) { return !rule.exes.empty(); });
  const std::map<int, std::string> exes = has_exes ? running_exes() : std::map<int, std::string>();
  for (size_t i = 0; i < rules_.size(); i++)
    for (const int pid : processes_of(rules_[i], exes)) meet(pid, i);
  std::erase_if(known_, [](const auto& one) { return !running_process(one.first); });
  for (auto& [pid, known] : known_)
    if (!known.pending.empty() && !known.is_forked && monotonic_ms() >= known.next_try_ms)
      apply(pid, &known);
}

}  // namespace patchbay::cmd
