// SPDX-License-Identifier: MIT
// Snapshots that the program takes (patchbay/trace.h). What the kernel writes into the trace where
// there is no spare buffer, or no way to take one now, is written here.
#include <cstring>
#include <new>
#include <unordered_map>

#include "api/api_scope.h"
#include "api/trace_array_handle.h"
#include "patchbay/trace.h"
#include "probe/records/printk_hot.h"
#include "registry/printk.h"
#include "registry/snapshots.h"

namespace patchbay {
namespace {

constexpr const char* kNotAllocated[] = {"*** SNAPSHOT NOT ALLOCATED ***\n",
                                         "*** stopping trace here!   ***\n"};
constexpr const char* kNotNow[] = {"*** SNAPSHOT CALLED FROM NMI CONTEXT ***\n",
                                   "*** snapshot is being ignored        ***\n"};

// By serial; under the agent's lock.
struct Condition {
  void* data;
  cond_update_fn_t update;
};
std::unordered_map<uint64_t, Condition>& conditions() {
  static auto* const all = new std::unordered_map<uint64_t, Condition>;
  return *all;
}

void write_lines(const EventProgram* program, uint64_t ip, const char* const (&lines)[2]) {
  for (const char* line : lines)
    printk_write_print({program, ip, {ip, 0, 0, false}}, line, uint32_t(std::strlen(line)));
}

// In a signal handler that interrupted us, or in a callback: the kernel's words for its NMIs.
bool refuse_inside(const trace_array* tr, uint64_t ip) {
  if (!is_inside_agent() || !own_agent()) return false;
  const EventProgram* program = tr ? tr->program : g_agent->registry->top().printk;
  if (program) write_lines(program, ip, kNotNow);
  return true;
}

void take(ApiScope& scope, TraceArray& array, uint64_t ip) {
  if (!array.snapshot) {
    write_lines(scope.registry().printk().program(array), ip, kNotAllocated);
    array.buffer->switch_recording(false);
    return;
  }
  Status status = scope.registry().snapshots().take(array);
  if (!status.ok()) say(status.error().message());
}

// `tr` null: the top instance.
TraceArray* instance(ApiScope& scope, trace_array* tr) {
  return tr ? array_of(scope.agent(), tr) : &scope.registry().top();
}

int allocate(trace_array* tr) try {
  ApiScope scope;
  if (!scope) return scope.refusal();
  TraceArray* array = instance(scope, tr);
  return array ? answer_of(scope.registry().snapshots().allocate(*array)) : -ENODEV;
} catch (const std::bad_alloc&) {
  return no_memory(-ENOMEM);
}

enum class Conditional : uint8_t { kNo, kByProgram, kByOther, kGone };

// Whether snapshots of the instance are conditional (null: the top one), and what is to be asked.
Conditional find_condition(trace_array* tr, Condition* found) {
  ApiScope scope;
  TraceArray* array = scope ? instance(scope, tr) : nullptr;
  if (!array) return Conditional::kGone;
  if (!array->has_conditional_snapshot) return Conditional::kNo;
  auto at = conditions().find(array->serial);
  if (at == conditions().end()) return Conditional::kByOther;  // a histogram's snapshot()
  *found = at->second;
  return Conditional::kByProgram;
}

void take_now(trace_array* tr, uint64_t ip) try {
  ApiScope scope;
  if (TraceArray* array = scope ? instance(scope, tr) : nullptr) take(scope, *array, ip);
} catch (const std::bad_alloc&) {
  say_no_memory();
}

// The program's function is asked without the lock.
void snapshot(trace_array* tr, void* cond_data, uint64_t ip) {
  if (refuse_inside(tr, ip)) return;
  Condition condition = {};
  const Conditional how = find_condition(tr, &condition);
  if (how == Conditional::kGone || how == Conditional::kByOther) return;
  if (how == Conditional::kByProgram && !condition.update(tr, cond_data)) return;
  take_now(tr, ip);
}

uint64_t address(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

}  // namespace
}  // namespace patchbay

using namespace patchbay;

extern "C" {

void patchbay_tracing_snapshot(void) {
  snapshot(nullptr, nullptr, address(__builtin_return_address(0)));
}

void patchbay_tracing_snapshot_instance(trace_array* tr) {
  if (tr) snapshot(tr, nullptr, address(__builtin_return_address(0)));
}

int patchbay_tracing_alloc_snapshot(void) { return allocate(nullptr); }

int patchbay_tracing_alloc_snapshot_instance(trace_array* tr) {
  return tr ? allocate(tr) : refuse_plain(-ENODEV);
}

void patchbay_tracing_snapshot_alloc(void) {
  if (allocate(nullptr) == 0) snapshot(nullptr, nullptr, address(__builtin_return_address(0)));
}

int patchbay_tracing_snapshot_cond_enable(trace_array* tr, void* cond_data,
                                          cond_update_fn_t update) try {
  if (!tr || !update) return refuse_plain(-EINVAL);
  ApiScope scope;
  if (!scope) return scope.refusal();
  TraceArray* array = array_of(scope.agent(), tr);
  if (!array) return -ENODEV;
  if (array->has_conditional_snapshot) return -EBUSY;
  if (Status status = scope.registry().snapshots().allocate(*array); !status.ok())
    return answer_of(status);
  array->has_conditional_snapshot = true;
  conditions()[array->serial] = {cond_data, update};
  return 0;
} catch (const std::bad_alloc&) {
  return no_memory(-ENOMEM);
}

int patchbay_tracing_snapshot_cond_disable(trace_array* tr) {
  if (!tr) return refuse_plain(-EINVAL);
  ApiScope scope;
  if (!scope) return scope.refusal();
  TraceArray* array = array_of(scope.agent(), tr);
  if (!array) return -ENODEV;
  if (!conditions().erase(array->serial)) return -EINVAL;
  array->has_conditional_snapshot = false;
  return 0;
}

void patchbay_tracing_snapshot_cond(trace_array* tr, void* cond_data) {
  if (tr) snapshot(tr, cond_data, address(__builtin_return_address(0)));
}

void* patchbay_tracing_cond_snapshot_data(trace_array* tr) {
  Condition condition = {};
  const bool is = tr && find_condition(tr, &condition) == Conditional::kByProgram;
  return is ? condition.data : nullptr;
}

}  // extern "C"
