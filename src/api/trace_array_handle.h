// SPDX-License-Identifier: MIT
//
// struct trace_array: what programs hold of an instance (include/patchbay/trace.h).
//
//   struct trace_array ── name, serial ──> TraceArray    while it is the instance that it was
//     (one each, never freed)               (registry)
//     '── program ──> EventProgram: its rings, or dead ones when the instance is gone
//
// A handle outlives its instance, so that what a program does with it after trace_array_destroy()
// or a tool's rmdir is answered. An instance made later under the same name has another handle.
#pragma once

#include <cstdint>
#include <string>

#include "agent/agent.h"
#include "probe/probe_abi.h"
#include "registry/trace_array.h"

// In the global namespace, as the headers of the API name it.
struct trace_array {
  patchbay::EventProgram* program;  // what the program's threads write with, any thread
  uint64_t serial;
  std::string name;
  uint32_t references;  // taken by the program and not put back; under the agent's lock
  bool is_top;
};

namespace patchbay {

// The handle of an instance: the same at each call. Under the agent's lock, as all of these.
trace_array* handle_of(Agent* agent, TraceArray& array);

// Whether the program has ever asked for the instance.
bool has_handle(const TraceArray& array);

// One that handle_of() gave, whether its instance is there or not.
bool is_handle(const trace_array* handle);

// The instance of a handle. Null: it is gone, or `handle` is null or none that handle_of() gave.
TraceArray* array_of(Agent* agent, trace_array* handle);

// References: an instance that has any is not removed (EBUSY). release_array() of a handle without
// references, or whose instance is gone, changes nothing.
void hold_array(Agent* agent, trace_array* handle);
void release_array(Agent* agent, trace_array* handle);

// All instances, the top one first.
std::vector<trace_array*> all_handles(Agent* agent);

}  // namespace patchbay
