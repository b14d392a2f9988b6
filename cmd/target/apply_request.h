// SPDX-License-Identifier: MIT
// A TraceRequest, carried out in a process: instances, settings, events, tracers.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cmd/target/trace_request.h"
#include "serve/client.h"

namespace patchbay::cmd {

class ToolUses;

// What a request has changed.
struct AppliedRequest {
  struct Event {
    std::string directory, name;  // of the instance; SYSTEM:EVENT
  };
  std::vector<Event> events;         // that were off before
  std::vector<std::string> tracing;  // directories of instances whose tracer was set
  // Notes each change, so that a process that goes on gets it taken back. Null for a program of the
  // command's own.
  ToolUses* uses = nullptr;
  // What an event or a function is that the program does not have.
  enum class Missing : uint8_t {
    kError,     // always
    kNamed,     // none: it is in `missing`; a tracer that finds no function stays off
    kAnyNamed,  // nor is anything else that keeps an event from being set up: it is in `failed`
  };
  Missing on_missing = Missing::kError;
  std::vector<std::string> missing;  // the text of its -e or -l
  std::vector<std::string> failed;   // sentences
  std::map<std::string, std::string> errors;  // of both, by their text: what a command says of it
  std::set<std::string> found;       // the texts of those that it has
};

// Makes the instances, sets them up, defines and enables the events. On an error what was done
// before it stays, and is in *applied.
Status apply_request(const TraceRequest& request, serve::Client& client, AppliedRequest* applied);
// Makes an instance of the command's own, in which request->instances()[index] is done. An instance
// for the top one is as large as that, and gets the texts of trace_marker.
Status make_stand_in(serve::Client& client, TraceRequest* request, size_t index, ToolUses* uses);
// Disables the events. Errors are ignored: the process may be gone.
void stop_request(const AppliedRequest& applied, serve::Client& client);
// Says so when the process does not answer, and its settings stay.
void say_what_stays(serve::Client& client);

// Adds a line to a filter file. The error names the option, and functions that are called nearly
// so.
Status add_function(serve::Client& client, const std::string& path, std::string_view option,
                    const std::string& pattern);
// Takes all functions out of a filter file.
Status empty_functions(serve::Client& client, const std::string& path, AppliedRequest* applied);
// Whether a line of set_ftrace_filter is a command ("f:traceoff:unlimited"), not a function.
bool is_function_command(std::string_view line);

}  // namespace patchbay::cmd
