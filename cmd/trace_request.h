// SPDX-License-Identifier: MIT
//
// What the command line asks a process to record, in trace-cmd's manner: options that stand behind
// `-B NAME` are about that instance, `-f FILTER` is about the event before it.
//
//   -e sched:tick -f 'n > 3' -B slow -e 'read(int fd)' -C mono
//       top: sched:tick if n > 3      slow: calls of read, clock mono
#pragma once

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
  std::vector<EventRequest> events;
  std::string clock;
  uint64_t buffer_kb = 0;
  std::vector<std::string> tids;

  // Below the tracefs root: "" or "instances/NAME/".
  std::string directory() const { return instance.empty() ? "" : "instances/" + instance + "/"; }
};

class TraceRequest {
 public:
  // getopt's letters for take().
  static constexpr const char kLetters[] = "e:f:B:C:b:P:";
  // Takes an option. Null when it is right, else the sentence about it. '?': it is none of ours.
  const char* take(int letter, const char* value);
  static bool is_ours(int letter);

  // The size that was asked for the top buffer (0: none), which apply_request() then leaves alone.
  uint64_t take_top_buffer_kb() { return std::exchange(instances_.front().buffer_kb, 0); }

  // The top instance first, whether it was asked for anything or not.
  const std::vector<InstanceRequest>& instances() const { return instances_; }
  bool has_events() const;
  // The instance of a command that is about one: the last -B, else the top.
  const InstanceRequest& last() const { return instances_.back(); }

 private:
  std::vector<InstanceRequest> instances_{1};
};

// The lines of a text.
std::vector<std::string> split_lines(std::string_view text);

// What a request has changed, to be undone by undo_request().
struct AppliedRequest {
  struct Event {
    std::string directory, name;  // of the instance; SYSTEM:EVENT
    bool filtered = false;
  };
  std::vector<Event> events;           // that were off before
  std::vector<std::string> with_pids;  // directories of instances
  std::vector<std::string> instances;  // that did not exist
  std::vector<std::string> probes;     // SYSTEM:EVENT that dynamic_events did not have
};

// Makes the instances, sets them up, defines and enables the events. On an error what was done
// before it stays, and is in *applied.
Status apply_request(const TraceRequest& request, serve::Client& client, AppliedRequest* applied);
// Disables the events. Errors are ignored: the process may be gone.
void stop_request(const AppliedRequest& applied, serve::Client& client);
// That, and the rest.
void undo_request(const AppliedRequest& applied, serve::Client& client);

// The events of available_events that `text` means; an error with near ones when there is none.
Result<std::vector<std::string>> matching_events(const std::vector<std::string>& available,
                                                 const std::string& text);

}  // namespace patchbay::cmd
