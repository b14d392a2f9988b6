// SPDX-License-Identifier: MIT
// The one Agent of the process, for the sources of this folder.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/environment.h"
#include "patch/patcher.h"
#include "registry/events/function_events.h"
#include "registry/events/static_events.h"
#include "registry/events/synthetic_events.h"
#include "registry/events/usdt_events.h"
#include "registry/probes/probe_events.h"
#include "registry/registry.h"
#include "registry/sites/probe_sites.h"
#include "registry/sites/walked_callers.h"
#include "ring_buffer/ring_set.h"
#include "serve/server.h"
#include "symbol/symbol.h"
#include "tracefs/root.h"
#include "tracer/callback_ops.h"
#include "tracer/tracers.h"
#include "trigger/event_triggers.h"

namespace patchbay {

// Traced functions called in here are counted as recursion, not followed.
class AgentScope {
 public:
  AgentScope() {
    pb_thread.in_agent++;
    pb_thread.fast_tid = 0;  // the probe sets it again at the thread's next hit
  }
  ~AgentScope() { pb_thread.in_agent--; }
};

// Start-up words for set_event that no event has answered to yet.
struct WaitingEvent {
  std::string array;  // the instance's name
  std::string word;
  std::string where;  // what asks for it: a variable, or a line of a configuration file
};
// A line of a configuration file whose file is not there yet.
struct WaitingWrite {
  tracefs::ConfItem item;
  std::string where;
};

struct Agent {
  AgentSettings settings;
  std::string directory;  // DIR/PID; empty: all is in memory, and there is no socket
  std::unique_ptr<SymbolTable> symbols;
  std::unique_ptr<Registry> registry;
  std::unique_ptr<Patcher> patcher;
  std::unique_ptr<ProbeSites> sites;
  WalkedCallers walked_callers;
  std::unique_ptr<FunctionEvents> functions;
  std::unique_ptr<StaticEvents> static_events;
  std::unique_ptr<UsdtEvents> usdt_events;
  std::unique_ptr<SyntheticEvents> synthetic_events;
  std::unique_ptr<ProbeEvents> probe_events;
  std::unique_ptr<Tracers> tracers;
  std::unique_ptr<CallbackOps> callback_ops;
  std::unique_ptr<EventTriggers> triggers;
  std::unique_ptr<tracefs::TreeContext> context;
  std::unique_ptr<tracefs::Directory> root;
  std::unique_ptr<serve::Server> server;
  std::vector<WaitingEvent> waiting_events;
  std::vector<WaitingWrite> waiting_writes;
  std::set<std::string> unfit_filters;  // instances whose filter of functions has named none
  std::vector<TriggerSettings> waiting_triggers;  // PATCHBAY_TRACE_TRIGGER, the same
  bool waiting_reported = false;
  std::vector<uint64_t> ended_instances;  // serials (ended_instances.h)
  std::atomic<uint32_t> resumed{0};
  std::atomic<uint32_t> ready{0};
  int clock_calls = 0;
  int64_t clock_due_ms = 0;
  // Places that wait to become jumps (Patcher::finish_pending).
  struct {
    uint64_t patched_sites = 0;  // at the last try
    int64_t due_ms = 0;
    int tries = 0;
  } pending;
  pid_t pid = 0;
  std::atomic<bool> asleep{false};  // detached: nothing is on, no thread of ours, no files

  // Something of the start waits for its event.
  bool has_waiting() const {
    return !waiting_events.empty() || !waiting_triggers.empty() || !waiting_writes.empty();
  }

  // Calls on the tree and the registry, from any thread of the process.
  std::recursive_mutex& lock() { return registry->lock(); }
};

// Null: this program runs untraced. Never freed: threads may run to the very end of the process.
extern Agent* g_agent;

// Everything of the agent, and g_agent with it. `directory`: DIR/PID, where somebody else has made
// it. `argv_end`: of hide_from_environment(), which is called where the tool has started the
// program.
Result<Agent*> make_agent(AgentSettings settings, const std::string& directory, char** argv_end);
// The program's name goes into the meta log.
Status name_program(Agent* agent);
// What is there to be traced is looked for, and what the settings ask for is done.
void begin_tracing(Agent* agent);

// The agent, if this process is the one that it serves, not a forked child of it.
Agent* own_agent();

// A preloaded agent is just making itself: there is no g_agent yet, but there will be one.
bool is_starting();

// All instances, the top one last. Under the agent's lock.
std::vector<TraceArray*> every_array(Agent* agent);

// Events of objects that came without telling (USDT probes), and what waits for objects.
void look_at_objects(Agent* agent);

// One line on stderr. Takes no memory.
void say(std::string_view sentence);

// Code of ours that the program enters lets no exception out: it would end the program. Where there
// is no memory (memory.cc) the thing is left undone, and this said once.
void say_no_memory();
template <typename Answer>
Answer no_memory(Answer answer) {
  say_no_memory();
  return answer;
}

}  // namespace patchbay
