// SPDX-License-Identifier: MIT
//
// The function profile of a program that ends by exit() or returns from main(): nobody can ask it
// any more, so it leaves the counts beside its buffer, where `patchbay top` looks for them.
//
//   DIR/PID/trace_stat/functionN      what trace_stat/functionN said; all of them appear at once
//   DIR/PID/trace_stat/profile        the same of debug/profile_image
//
// A program that is killed, or calls _exit() or exec, leaves nothing here.
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <mutex>
#include <new>

#include "agent/agent.h"
#include "agent/last_texts.h"
#include "tracer/profiler.h"

namespace patchbay {
namespace {

void keep_profile(Agent* agent) {
  const std::string whole = agent->directory + "/trace_stat", part = whole + ".part";
  if (::mkdir(part.c_str(), 0700) != 0 && errno != EEXIST) return;
  const uint32_t nr_cpus = agent->registry->top().buffer->rings()->nr_cpus;
  for (uint32_t cpu = 0; cpu <= nr_cpus; cpu++)  // the last: of hits that no CPU's table took
    if (!keep_text(part + "/function" + std::to_string(cpu), agent->tracers->profiler().show(cpu)))
      return;
  if (!keep_text(part + "/profile", profile_bytes(agent->tracers->profiler().all()))) return;
  (void)::rename(part.c_str(), whole.c_str());
}

__attribute__((destructor)) void keep_last_profile() try {
  Agent* agent = own_agent();
  if (!agent || !agent->tracers) return;
  AgentScope scope;
  std::unique_lock guard(agent->lock(), std::defer_lock);
  if (agent->directory.empty() || !take_lock_at_end(&guard)) return;
  if (!agent->tracers->profiler().enabled()) return;
  keep_profile(agent);
} catch (const std::bad_alloc&) {
  say("out of memory; the profile is not kept");
}

}  // namespace
}  // namespace patchbay
