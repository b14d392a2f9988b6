// SPDX-License-Identifier: MIT
//
// What the command line asks a process to record, in trace-cmd's manner: options that stand behind
// `-B NAME` are about that instance, `-f FILTER` is about the event before it.
//
//   -e sched:tick -f 'n > 3' -B slow -e 'read(int fd)' -C mono -B calls -p function_graph -l 'db_*'
//       top: sched:tick if n > 3      slow: calls of read, clock mono
//       calls: the tracer function_graph, of functions that begin with db_
#pragma once

#include <getopt.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "serve/client.h"

namespace patchbay::cmd {

struct EventRequest {
  std::string text;
  std::string filter;

  enum class Kind {
    kEvent,     // "SYSTEM:EVENT", "SYSTEM", "EVENT", all with globs
    kFunction,  // "FUNC(ARGS)", or "FUNC(*)" whose arguments debug information knows
    kProbe,     // "p:… PLACE ARGS", "r…", "f…", "t…", "e…" as dynamic_events takes it
    kSource,    // "FUNC:LINE VAR…" as `patchbay probe` takes it
  };
  Kind kind() const;
};

struct InstanceRequest {
  std::string instance;  // "": the top one
  std::string stand_in;  // "": none; the instance in whose place this is done
  std::vector<EventRequest> events;
  std::string clock;
  uint64_t buffer_kb = 0;
  std::vector<std::string> tids;
  std::string tracer;                      // current_tracer
  std::vector<std::string> functions;      // set_ftrace_filter, a line each
  std::vector<std::string> not_functions;  // set_ftrace_notrace
  std::vector<std::string> options;        // words of trace_options
  bool traces() const { return !tracer.empty(); }

  // Below the tracefs root: "" or "instances/NAME/".
  std::string directory() const {
    const std::string& name = stand_in.empty() ? instance : stand_in;
    return name.empty() ? "" : "instances/" + name + "/";
  }
};

class TraceRequest {
 public:
  // getopt's letters for take().
  static constexpr const char kLetters[] = "e:f:B:C:b:P:l:n:g:O:";
  static constexpr int kMaxGraphDepth = 2001;  // --max-graph-depth N
  static constexpr int kOptionWord = 2100;  // and above: --funcgraph-retval … of long_options()
  // The long options of this, without the end mark.
  static const std::vector<option>& long_options();
  // Takes an option. Null when it is right, else the sentence about it. '?': it is none of ours.
  const char* take(int letter, const char* value);
  static bool is_ours(int letter);

  // Instance `index` of instances() is done in another one.
  void set_stand_in(size_t index, const std::string& name) { instances_[index].stand_in = name; }
  // The size that was asked for the top buffer (0: none), which apply_request() then leaves alone.
  uint64_t take_top_buffer_kb() { return std::exchange(instances_.front().buffer_kb, 0); }

  // The top instance first, whether it was asked for anything or not.
  const std::vector<InstanceRequest>& instances() const { return instances_; }
  bool has_events() const;  // or a tracer
  // -p: a process id, or the tracer of the current instance.
  const char* take_tracer_or_pid(const char* value, int* pid);
  // A thread that is alone in the request, for a command that could mean its process; it is taken
  // out. 0: there is none, or several.
  int take_only_tid();
  // What function_graph has for all instances together.
  const std::vector<std::string>& graph_functions() const { return graph_functions_; }
  const std::string& max_graph_depth() const { return max_graph_depth_; }
  // The sentence about options that need another, or null.
  const char* check() const;
  // The instance of a command that is about one: the last -B, else the top.
  const InstanceRequest& last() const { return instances_.back(); }

 private:
  std::vector<InstanceRequest> instances_{1};
  std::vector<std::string> graph_functions_;  // set_graph_function
  std::string max_graph_depth_;
};

// The lines of a text.
std::vector<std::string> split_lines(std::string_view text);

struct AppliedRequest;
class ToolUses;

// Adds a line to a filter file. The error names the option, and functions that are called nearly
// so.
Status add_function(serve::Client& client, const std::string& path, std::string_view option,
                    const std::string& pattern);
// Takes all functions out of a filter file.
Status empty_functions(serve::Client& client, const std::string& path, AppliedRequest* applied);
// Whether a line of set_ftrace_filter is a command ("f:traceoff:unlimited"), not a function.
bool is_function_command(std::string_view line);

// What a request has changed.
struct AppliedRequest {
  struct Event {
    std::string directory, name;  // of the instance; SYSTEM:EVENT
  };
  std::vector<Event> events;         // that were off before
  std::vector<std::string> tracing;  // directories of instances whose tracer was set
  // Notes it, to be taken back from a process that goes on. Null: of a program that is the
  // command's own.
  ToolUses* uses = nullptr;
};

// Defines what is a function or a probe, and returns the events that a request means, as
// SYSTEM:EVENT, without enabling them. A definition that is there already is shared; one of the
// same name that says something else leaves its name alone: ours gets another.
Result<std::vector<std::string>> define_event(serve::Client& client, const EventRequest& event,
                                              AppliedRequest* applied);
// Makes the instances, sets them up, defines and enables the events. On an error what was done
// before it stays, and is in *applied.
Status apply_request(const TraceRequest& request, serve::Client& client, AppliedRequest* applied);
// Disables the events. Errors are ignored: the process may be gone.
void stop_request(const AppliedRequest& applied, serve::Client& client);
// Says so when the process does not answer, and what was set up in it stays.
void say_what_stays(serve::Client& client);

// The events of available_events that `text` means; an error with near ones when there is none.
Result<std::vector<std::string>> matching_events(const std::vector<std::string>& available,
                                                 const std::string& text);

}  // namespace patchbay::cmd
