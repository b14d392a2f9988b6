// SPDX-License-Identifier: MIT
#include "cmd/measure/top_profile.h"

#include <cerrno>

#include "base/foreign_file.h"
#include "cmd/target/apply_request.h"
#include "cmd/target/trace_request.h"

namespace patchbay::cmd {
namespace {

constexpr char kSwitch[] = "function_profile_enabled", kTracers[] = "function_tracers";
constexpr char kCounts[] = "debug/profile_image", kLastCounts[] = "/trace_stat/profile";
constexpr char kProfiler[] = "trace_profile", kGraphTime[] = "options/graph-time";

}  // namespace

void TopProfile::choose(std::vector<std::string> functions,
                        std::vector<std::string> not_functions) {
  functions_ = std::move(functions);
  not_functions_ = std::move(not_functions);
}

// What we change, as it is now.
Status TopProfile::remember() {
  PB_ASSIGN(std::unique_ptr<ToolUses> uses, ToolUses::begin(client_, directory_, wait_ms_));
  uses_ = std::move(uses);
  kept_.uses = uses_.get();
  PB_ASSIGN(std::string on, client_.read_all(kSwitch));
  was_on_ = on.starts_with('1');
  if (was_on_ && (!functions_.empty() || !not_functions_.empty()))
    return user_error(EBUSY,
                      "The profiler is on already, with functions of its own: without -l and -N "
                      "they are shown.");
  PB_ASSIGN(std::string graph_time, client_.read_all(kGraphTime));
  uses_->keep_file(kGraphTime, graph_time);
  Result<std::string> tracers = client_.read_all(kTracers);
  is_alone_ = !tracers.ok() || tracers->find('*') == tracers->npos;
  for (const std::string& name : split_lines(tracers.ok() ? *tracers : ""))
    if (name.starts_with('*') && name != std::string("*") + kProfiler)
      default_tracer_ = name.substr(1);
  remembered_ = true;
  return {};
}

// Beside other tracers the filters are the profiler's own, and go with it.
Status TopProfile::set_functions(const char* file, const char* option,
                                 const std::vector<std::string>& patterns) {
  PB_TRY(empty_functions(client_, file, is_started_ || !is_alone_ ? &ignored_ : &kept_));
  for (const std::string& pattern : patterns) PB_TRY(add_function(client_, file, option, pattern));
  return {};
}

// Alone, the profiler takes over what the filter files say when it starts, and leaves it there;
// beside others it is the one that came last, which they are about.
Status TopProfile::set_all_functions() {
  PB_TRY(set_functions("set_ftrace_filter", "-l", functions_));
  return set_functions("set_ftrace_notrace", "-N", not_functions_);
}

Status TopProfile::start() {
  if (!remembered_) PB_TRY(remember());
  Status done = set_up();
  uses_->ready();
  return done;
}

Status TopProfile::set_up() {
  PB_TRY(client_.write_all(kGraphTime, self_time_ ? "0\n" : "1\n", true));
  if (was_on_) {
    for (const char* file : {"set_ftrace_filter", "set_ftrace_notrace", kSwitch})
      (void)uses_->share(ToolUse::Kind::kFile, file);
    PB_TRY(client_.write_all(kSwitch, "1\n", true));
  } else {
    PB_TRY(client_.write_all(kSwitch, "0\n", true));
    if (is_alone_) PB_TRY(set_all_functions());
    if (!is_started_) uses_->keep_file(kSwitch, "0\n");
    PB_TRY(client_.write_all(kSwitch, "1\n", true));
    if (!is_alone_) PB_TRY(set_all_functions());
    is_started_ = true;
  }
  if (default_tracer_.empty()) return {};
  return client_.write_all(kTracers, default_tracer_ + "\n", true);
}

Result<std::string> TopProfile::look() { return client_.read_all(kCounts, kMostProfile); }

std::optional<std::string> TopProfile::last_look(const std::string& process_directory) {
  Result<std::string> text = read_in_root(process_directory, kLastCounts, kMostForeignText);
  if (!text.ok()) return std::nullopt;
  return std::move(*text);
}

}  // namespace patchbay::cmd
