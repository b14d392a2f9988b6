// SPDX-License-Identifier: MIT
//
// The function profiler of a process. It is switched on while this object lives, or another command
// uses it. Then the process is as it was found.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cmd/target/apply_request.h"
#include "cmd/target/tool_uses.h"
#include "cmd/target/trace_request.h"
#include "serve/client.h"

namespace patchbay::cmd {

// What debug/profile_image has at most.
inline constexpr serve::Most kMostProfile = {serve::kMostFunctions.bytes, SIZE_MAX};

class TopProfile {
 public:
  // `process_directory`: DIR/PID.
  TopProfile(serve::Client& client, std::string process_directory)
      : client_(client), directory_(std::move(process_directory)) {}

  // Globs of set_ftrace_filter and set_ftrace_notrace for the profiler alone.
  void choose(std::vector<std::string> functions, std::vector<std::string> not_functions);
  // Times without what a function calls (option graph-time off).
  void set_self_time(bool on) { self_time_ = on; }
  // How long another command is waited for that sets the process up.
  void set_patience(int wait_ms) { wait_ms_ = wait_ms; }
  // Counts from 0, from here on. It may be called again.
  Status start();
  // debug/profile_image.
  Result<std::string> look();
  // The same of a program that has ended by exit() or a return from main(). It has left it in its
  // directory DIR/PID. Nothing when it ended otherwise.
  static std::optional<std::string> last_look(const std::string& process_directory);

 private:
  Status remember();
  Status set_all_functions();
  Status set_functions(const char* file, const char* option,
                       const std::vector<std::string>& patterns);

  Status set_up();

  serve::Client& client_;
  const std::string directory_;
  std::unique_ptr<ToolUses> uses_;
  std::vector<std::string> functions_, not_functions_;
  int wait_ms_ = ToolUses::kMostWaitMs;
  bool self_time_ = false, remembered_ = false;
  bool was_on_ = false;
  bool is_alone_ = false, is_started_ = false;  // no other tracer has a filter
  AppliedRequest kept_, ignored_;               // whether what the filters have now comes back
  std::string default_tracer_;
};

}  // namespace patchbay::cmd
