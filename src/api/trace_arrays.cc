// SPDX-License-Identifier: MIT
// Trace arrays: making, finding and removing them, their events, whether they record
// (patchbay/trace.h; docs/files.md, "Instances of the program").
#include <sys/syscall.h>

#include <new>
#include <string>
#include <string_view>

#include "api/api_scope.h"
#include "api/trace_array_handle.h"
#include "base/error_pointer.h"
#include "base/raw_syscall.h"
#include "base/text.h"
#include "patchbay/trace.h"
#include "registry/event_requests.h"
#include "registry/event_spec.h"
#include "registry/printk.h"

namespace patchbay {
namespace {

trace_array* error_pointer(int error) {
  return reinterpret_cast<trace_array*>(static_cast<intptr_t>(error));
}

std::vector<std::string> comma_separated(const char* list) {
  std::vector<std::string> words;
  std::string_view rest = list ? list : "";
  while (!rest.empty()) {
    const std::string_view word = cut_at(&rest, ',');
    if (!word.empty()) words.emplace_back(word);
  }
  return words;
}

// With printk prepared for where printk is used at all.
Result<trace_array*> make_array(ApiScope& scope, const char* name, const char* systems) {
  Registry& registry = scope.registry();
  PB_ASSIGN(auto made, registry.create_array(name, comma_separated(systems)));
  if (registry.printk().started()) {
    Status status = registry.printk().start(*made);
    if (!status.ok()) {
      [[maybe_unused]] Status ignored = registry.remove_array(name);
      return status.error();
    }
  }
  return handle_of(scope.agent(), *made);
}

Error no_such_event(const char* system, const char* event) {
  return user_error(EINVAL, "There is no event " + std::string(system ? system : "*") + ":" +
                                (event ? event : "*") + " that can be switched.");
}

int set_clr_event(ApiScope& scope, TraceArray& array, const char* system, const char* event,
                  bool on) {
  EventSpec spec;
  spec.on = on;
  if (system) spec.system = system;
  if (event) spec.event = event;
  std::vector<LiveEvent*> meant;
  for (LiveEvent* live : scope.registry().events_of(array, ""))
    if (live->can_enable && spec.matches(*live)) meant.push_back(live);
  if (meant.empty()) return refuse(no_such_event(system, event));
  return answer_of(scope.registry().set_enabled(array, meant, on));
}

int destroy(trace_array* tr) {
  ApiScope scope;
  if (!scope) return scope.refusal();
  TraceArray* array = array_of(scope.agent(), tr);
  if (!array) return -ENODEV;
  if (array->is_top()) return -EINVAL;
  const std::string name = array->name;
  return answer_of(scope.registry().remove_array(name));
}

// By the program itself, which does not let go while it waits. Asked between two tries: the
// sentence of the first may be the last.
bool is_held(trace_array* tr) {
  ApiScope scope(ApiScope::Sentence::kKeep);
  return !scope || scope.agent()->directory.empty() || !array_of(scope.agent(), tr) ||
         tr->references;
}

// Without the lock: the rings of an instance that is gone are dead ones, which do not switch.
void switch_recording(const RingSet* rings, bool on) {
  if (own_agent()) ring_switch(rings, on);
}
const RingSet* rings_of(const trace_array* tr) {
  return __atomic_load_n(&tr->program->rings, __ATOMIC_ACQUIRE);
}
const RingSet* top_rings() { return g_agent->registry->top().buffer->rings(); }

}  // namespace
}  // namespace patchbay

using namespace patchbay;

extern "C" {

trace_array* patchbay_trace_array_create(const char* name) try {
  if (!name) return error_pointer(refuse_plain(-EINVAL));
  ApiScope scope;
  if (!scope) return error_pointer(scope.refusal());
  auto made = make_array(scope, name, nullptr);
  if (made.ok()) return *made;
  const TraceArray* there = scope.registry().find_array(name);
  if (there && has_ended(scope.agent(), *there))
    return error_pointer(refuse(user_error(
        EEXIST, "The last instance \"" + there->name + "\" is still used: a file of it is open.")));
  return error_pointer(refuse(made.error()));
} catch (const std::bad_alloc&) {
  return no_memory(error_pointer(-ENOMEM));
}

trace_array* patchbay_trace_array_get_by_name(const char* name, const char* systems) try {
  ApiScope scope;
  if (!name) return nullptr;
  if (!scope) return nullptr;
  trace_array* handle = nullptr;
  if (TraceArray* array = scope.registry().find_array(name)) {
    handle = handle_of(scope.agent(), *array);
    revive_instance(scope.agent(), *array);
    if (scope.registry().printk().started() && !scope.registry().printk().start(*array).ok())
      return nullptr;
  } else {
    auto made = make_array(scope, name, systems);
    if (!made.ok()) {
      (void)refuse(made.error());
      return nullptr;
    }
    handle = *made;
  }
  hold_array(scope.agent(), handle);
  return handle;
} catch (const std::bad_alloc&) {
  return no_memory(static_cast<trace_array*>(nullptr));
}

void patchbay_trace_array_put(trace_array* tr) {
  ApiScope scope;
  if (scope) release_array(scope.agent(), tr);
}

int patchbay_trace_array_destroy(trace_array* tr) try {
  if (!tr) return refuse_plain(-EINVAL);
  int answer = destroy(tr);
  // A file of it that was closed in a mount a moment ago is closed here a moment later.
  for (int tries = 20; answer == -EBUSY && tries > 0 && !is_held(tr); tries--) {
    timespec nap{0, 2'000'000};
    raw_syscall(SYS_nanosleep, raw_pointer(&nap));
    answer = destroy(tr);
  }
  return answer;
} catch (const std::bad_alloc&) {
  return no_memory(-ENOMEM);
}

int patchbay_trace_array_hold(trace_array* tr) {
  if (!tr) return refuse_plain(-EINVAL);
  ApiScope scope;
  if (!scope) return scope.refusal();
  if (!array_of(scope.agent(), tr)) return -ENODEV;
  hold_array(scope.agent(), tr);
  return 0;
}

int patchbay_trace_array_end(trace_array* tr) try {
  if (!tr) return refuse_plain(-EINVAL);
  ApiScope scope;
  if (!scope) return scope.refusal();
  TraceArray* array = array_of(scope.agent(), tr);
  if (!array) return -ENODEV;
  return array->is_top() ? -EINVAL : end_instance(scope.agent(), *array);
} catch (const std::bad_alloc&) {
  return no_memory(-ENOMEM);
}

trace_array* patchbay_trace_array_next(trace_array* tr) try {
  ApiScope scope;
  if (!scope) return nullptr;
  if (!tr) return handle_of(scope.agent(), scope.registry().top());
  if (!is_handle(tr)) return nullptr;
  for (TraceArray* array : scope.registry().arrays())  // in order of name
    if (tr->is_top || array->name > tr->name) return handle_of(scope.agent(), *array);
  return nullptr;
} catch (const std::bad_alloc&) {
  return no_memory(static_cast<trace_array*>(nullptr));
}

const char* patchbay_trace_array_name(const trace_array* tr) {
  return is_pointer(tr) ? tr->name.c_str() : "";
}

int patchbay_trace_array_set_clr_event(trace_array* tr, const char* system, const char* event,
                                       bool enable) try {
  if (!tr) return refuse_plain(-ENOENT);
  ApiScope scope;
  if (!scope) return scope.refusal();
  TraceArray* array = array_of(scope.agent(), tr);
  return array ? set_clr_event(scope, *array, system, event, enable) : -ENODEV;
} catch (const std::bad_alloc&) {
  return no_memory(-ENOMEM);
}

int patchbay_trace_set_clr_event(const char* system, const char* event, int set) try {
  ApiScope scope;
  if (!scope) return scope.refusal();
  return set_clr_event(scope, scope.registry().top(), system, event, set != 0);
} catch (const std::bad_alloc&) {
  return no_memory(-ENOMEM);
}

int patchbay_ftrace_set_clr_event(trace_array* tr, char* buf, int set) try {
  if (!tr) return refuse_plain(-ENOENT);
  if (!buf) return refuse_plain(-EINVAL);
  ApiScope scope;
  if (!scope) return scope.refusal();
  TraceArray* array = array_of(scope.agent(), tr);
  if (!array) return -ENODEV;
  return answer_of(scope.registry().requests().set(*array, (set ? "" : "!") + std::string(buf)));
} catch (const std::bad_alloc&) {
  return no_memory(-ENOMEM);
}

void patchbay_tracing_on(void) {
  if (g_agent) switch_recording(top_rings(), true);
}
void patchbay_tracing_off(void) {
  if (g_agent) switch_recording(top_rings(), false);
}
int patchbay_tracing_is_on(void) { return g_agent && ring_is_on(top_rings()); }

void patchbay_tracer_tracing_on(trace_array* tr) {
  if (is_pointer(tr)) switch_recording(rings_of(tr), true);
}
void patchbay_tracer_tracing_off(trace_array* tr) {
  if (is_pointer(tr)) switch_recording(rings_of(tr), false);
}
int patchbay_tracer_tracing_is_on(trace_array* tr) {
  return is_pointer(tr) && ring_is_on(rings_of(tr));
}

}  // extern "C"
