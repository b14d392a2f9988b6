// SPDX-License-Identifier: MIT
//
// The function profile of a program that ends by exit() or returns from main(): nobody can ask it
// any more, so it leaves the counts beside its buffer, where `patchbay top` looks for them.
//
//   DIR/PID/trace_stat/functionN      what trace_stat/functionN said; all of them appear at once
//
// A program that is killed, or calls _exit() or exec, leaves nothing here.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <mutex>
#include <new>

#include "agent/agent.h"
#include "base/unique_fd.h"
#include "tracer/profiler.h"

namespace patchbay {
namespace {

constexpr int kTries = 1000;  // a millisecond each: the lock's holder may never run again

bool keep_text(const std::string& path, const std::string& text) {
  UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  for (size_t done = 0; file.valid() && done < text.size();) {
    const ssize_t wrote = ::write(file.get(), text.data() + done, text.size() - done);
    if (wrote < 0 && errno != EINTR) return false;
    if (wrote > 0) done += size_t(wrote);
  }
  return file.valid();
}

void keep_profile(Agent* agent) {
  const std::string whole = agent->directory + "/trace_stat", part = whole + ".part";
  if (::mkdir(part.c_str(), 0700) != 0 && errno != EEXIST) return;
  const uint32_t nr_cpus = agent->registry->top().buffer->rings()->nr_cpus;
  for (uint32_t cpu = 0; cpu <= nr_cpus; cpu++)  // the last: of hits that no CPU's table took
    if (!keep_text(part + "/function" + std::to_string(cpu), agent->tracers->profiler().show(cpu)))
      return;
  (void)::rename(part.c_str(), whole.c_str());
}

bool take_lock(std::unique_lock<std::recursive_mutex>* guard) {
  for (int i = 0; i < kTries; i++) {
    if (guard->try_lock()) return true;
    ::usleep(1000);
  }
  return false;
}

__attribute__((destructor)) void keep_last_profile() try {
  Agent* agent = own_agent();
  if (!agent || !agent->tracers) return;
  AgentScope scope;
  std::unique_lock guard(agent->lock(), std::defer_lock);
  if (agent->directory.empty() || !take_lock(&guard)) return;
  if (!agent->tracers->profiler().enabled()) return;
  keep_profile(agent);
} catch (const std::bad_alloc&) {
  say("out of memory; the profile is not kept");
}

}  // namespace
}  // namespace patchbay
