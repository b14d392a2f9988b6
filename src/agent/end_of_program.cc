// SPDX-License-Identifier: MIT
#include "agent/end_of_program.h"

#include <unistd.h>

#include <mutex>

#include "agent/start_up.h"
#include "registry/object_log.h"

namespace patchbay {

namespace {

uint64_t recorded_events(Agent* agent) {
  uint64_t total = 0;
  for (TraceArray* array : every_array(agent)) {
    const RingSet* set = array->buffer->rings();
    for (uint32_t ring = 0; ring < set->header->nr_rings; ring++) {
      const abi::RingControl* rc = set->control(ring);
      total += rc->slot[rc->publish & abi::kParityBit ? 1 : 0].entries + rc->dropped;
    }
  }
  return total;
}

// Files and directories of a process that has recorded nothing.
void remove_files(Agent* agent) {
  if (agent->directory.empty()) return;
  for (TraceArray* array : every_array(agent)) {
    ::unlink(array->buffer->path().c_str());
    if (array->snapshot) ::unlink(array->snapshot->path().c_str());
    if (!array->is_top()) ::rmdir((agent->directory + "/instances/" + array->name).c_str());
  }
  ::rmdir((agent->directory + "/instances").c_str());
  ::rmdir(agent->directory.c_str());
}

}  // namespace

// Recording goes on: other exit handlers and threads may still run. The lock is not waited for: its
// holder may never run again.
void end_of_program(Agent* agent) {
  std::unique_lock guard(agent->lock(), std::try_to_lock);
  // An agent that is just leaving takes away what is looked at here.
  constexpr int kTries = 200, kPauseUs = 1000;
  for (int i = 0; agent->settings.attached && !guard && i < kTries; i++) {
    ::usleep(kPauseUs);
    (void)guard.try_lock();
  }
  if (agent->asleep && !agent->server) return;  // where it only means to leave, its files are there
  if (guard) report_waiting_events(agent);
  if (guard) report_unplaced_events(agent);
  if (guard && recorded_events(agent) > 0) (void)agent->registry->objects().describe();
  agent->registry->close_cleanly();
  if (agent->server) agent->server->remove_socket();
  if (agent->settings.wait || recorded_events(agent) > 0) return;
  remove_files(agent);
}

}  // namespace patchbay
