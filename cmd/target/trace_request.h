// SPDX-License-Identifier: MIT
//
// What the command line asks a process to record, in trace-cmd's manner: options that stand behind
// `-B NAME` are about that instance, `-f FILTER` is about the event before it.
//
//   -e sched:tick -f 'n > 3' -B slow -e 'read(int fd)' -C mono -B calls -t function_graph -l 'db_*'
//       top: sched:tick if n > 3      slow: calls of read, clock mono
//       calls: the tracer function_graph, of functions that begin with db_
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/text.h"
#include "serve/client.h"

namespace patchbay::cmd {

// Behind a function's name: an object's own calls of a function of another one.
inline constexpr std::string_view kOwnCalls = "@plt";
// Where the '@' of "helper@a.c" is; npos: the name is another one, "open@plt", "prog@0x1234".
size_t find_file_mark(std::string_view name);

struct EventRequest {
  std::string text;
  std::string filter;
  bool is_call = false;  // of a function the whole call is wanted, not its entry
  // A glob means no function that the program has from the C++ library's headers.
  bool is_own_code = false;

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
  // Takes an option of kAllRequestOptions. Null when it is right, else the sentence about it.
  const char* take(int id, const char* value);
  static bool is_ours(int id);

  // Instance `index` of instances() is done in another one.
  void set_stand_in(size_t index, const std::string& name) { instances_[index].stand_in = name; }
  // The size that was asked for the top buffer (0: none), which apply_request() then leaves alone.
  uint64_t take_top_buffer_kb() { return std::exchange(instances_.front().buffer_kb, 0); }

  // The top instance first, whether it was asked for anything or not.
  const std::vector<InstanceRequest>& instances() const { return instances_; }
  bool has_events() const;  // or a tracer
  // -p: a process id. A tracer's name, which is no number, is the old spelling of -t.
  const char* take_pid(const char* value, int* pid);
  // Takes out the thread of the request when there is only one, for a command in which -P could
  // mean its process. 0: there is none, or several.
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

// The name in a function's definition: "int ns::f(int a)" has "ns::f".
std::string function_name_in(const std::string& definition);
// "libfoo:parse*" -> "libfoo", "parse*"; "ns::f" and "f[abi:cxx11]" have no library.
std::pair<std::string, std::string> split_library(const std::string& text);

}  // namespace patchbay::cmd
