// SPDX-License-Identifier: MIT
// patchbay/subscribe.h: callbacks that are triggers of events (trigger/event_triggers.h).
#include <patchbay/subscribe.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/change.h"
#include "api/leaving.h"
#include "probe/callbacks/callbacks.h"

using namespace patchbay;

struct patchbay_subscription {
  HitCallback* callback;
};

namespace {

static_assert(sizeof(patchbay_record) == sizeof(CallbackRecord) &&
              offsetof(patchbay_record, size) == offsetof(CallbackRecord, size) &&
              offsetof(patchbay_record, pid) == offsetof(CallbackRecord, tid));

// Those that are not unsubscribed yet. Under the agent's lock.
std::vector<std::unique_ptr<patchbay_subscription>>& all_subscriptions() {
  static auto* const all = new std::vector<std::unique_ptr<patchbay_subscription>>;
  return *all;
}

// A static event's hit is a call of the program's: no vector register is to be kept.
LiveVectors vectors_at(const Agent& agent, const LiveEvent& event, unsigned flags) {
  const bool is_call = event.source == agent.static_events.get() && !event.from_record;
  if (is_call) return LiveVectors::kNone;
  return flags & PATCHBAY_SUBSCRIBE_GENERAL_REGS ? LiveVectors::kUntouched : LiveVectors::kAll;
}

bool sees(const TraceArray& array, std::string_view system) {
  const auto& only = array.systems;
  return only.empty() || std::find(only.begin(), only.end(), system) != only.end();
}

int subscribe(Agent& agent, TraceArray& array, LiveEvent* event, std::string_view filter,
              uint64_t function, uint64_t data, unsigned flags, patchbay_subscription** made) {
  HitCallback* callback = make_callback(function, data, vectors_at(agent, *event, flags));
  if (!callback) return -ENOMEM;
  const int answer = answer_of(agent.triggers->subscribe(array, event, callback, filter));
  if (answer) {
    switch_off(callback);
    return answer;
  }
  auto& all = all_subscriptions();
  all.push_back(std::make_unique<patchbay_subscription>(patchbay_subscription{callback}));
  *made = all.back().get();
  return 0;
}

uint8_t kind_of(const EventField& field) {
  const bool is_char = field.type == "char" || field.type.ends_with(" char");
  if (field.type.starts_with("__data_loc")) return PATCHBAY_FIELD_DYNAMIC;
  if (field.array_len || !field.brackets.empty())
    return is_char ? PATCHBAY_FIELD_TEXT : PATCHBAY_FIELD_BYTES;
  const bool is_number = field.size == 1 || field.size == 2 || field.size == 4 || field.size == 8;
  return is_number ? PATCHBAY_FIELD_NUMBER : PATCHBAY_FIELD_BYTES;
}

bool is_float(const EventField& field) {
  return kind_of(field) == PATCHBAY_FIELD_NUMBER &&
         (field.type == "float" || field.type == "double");
}

int no_event(std::string_view system, std::string_view event) {
  return refuse(user_error(
      EINVAL, "There is no event " + std::string(system) + ":" + std::string(event) + "."));
}

int no_field(const EventCall& call, std::string_view name) {
  std::string names;
  for (const EventField& field : call.fields) names += (names.empty() ? "" : ", ") + field.name;
  return refuse(user_error(ENOENT, "The event " + call.system + ":" + call.name +
                                       " has no field \"" + std::string(name) +
                                       "\"; its fields are: " + names + "."));
}

const EventField* find_field(const EventCall& call, std::string_view name) {
  for (const EventField& one : call.common)
    if (one.name == name) return &one;
  return call.find(name);
}

}  // namespace

namespace patchbay {

void unsubscribe_inside(Agent& agent, uint64_t start, uint64_t end,
                        std::vector<const HitCallback*>* callbacks) {
  std::erase_if(all_subscriptions(), [&](const auto& one) {
    const uint64_t function = one->callback->function;
    if (function < start || function >= end) return false;
    agent.triggers->unsubscribe(one->callback);
    switch_off(one->callback);
    callbacks->push_back(one->callback);
    return true;
  });
}

}  // namespace patchbay

int patchbay_subscribe(const char* instance, const char* system, const char* event,
                       const char* filter, patchbay_record_fn callback, void* data,
                       patchbay_subscription** subscription) {
  return patchbay_subscribe_with(instance, system, event, filter, callback, data, 0, subscription);
}

int patchbay_subscribe_with(const char* instance, const char* system, const char* event,
                            const char* filter, patchbay_record_fn callback, void* data,
                            unsigned flags, patchbay_subscription** subscription) {
  return change([&](Agent& agent) {
    if (!system || !event || !callback || !subscription) return -EINVAL;
    if (flags & ~PATCHBAY_SUBSCRIBE_GENERAL_REGS) return -EINVAL;
    TraceArray* array = instance ? agent.registry->find_array(instance) : &agent.registry->top();
    if (!array)
      return refuse(user_error(ENOENT, "There is no instance \"" + std::string(instance) + "\"."));
    LiveEvent* found = sees(*array, system) ? agent.registry->find_event(system, event) : nullptr;
    if (!found) return no_event(system, event);
    return subscribe(agent, *array, found, filter ? filter : "",
                     reinterpret_cast<uint64_t>(callback), reinterpret_cast<uint64_t>(data), flags,
                     subscription);
  });
}

int patchbay_unsubscribe(patchbay_subscription* subscription) {
  HitCallback* callback = nullptr;
  const int answer = change([&](Agent& agent) {
    auto& all = all_subscriptions();
    const auto found = std::find_if(all.begin(), all.end(),
                                    [&](const auto& one) { return one.get() == subscription; });
    if (found == all.end()) return -EINVAL;
    callback = subscription->callback;
    agent.triggers->unsubscribe(callback);
    switch_off(callback);
    all.erase(found);
    return 0;
  });
  return answer ? answer : wait_for_callback(callback);
}

uint64_t patchbay_subscription_missed(const patchbay_subscription* subscription) {
  uint64_t missed = 0;
  (void)change([&](Agent&) {
    for (const auto& one : all_subscriptions())
      if (one.get() == subscription)
        missed = __atomic_load_n(&one->callback->missed, __ATOMIC_RELAXED);
    return 0;
  });
  return missed;
}

int patchbay_find_field(const char* system, const char* event, const char* name,
                        patchbay_field_place* field) {
  return change([&](Agent& agent) {
    if (!system || !event || !name || !field) return -EINVAL;
    const LiveEvent* found = agent.registry->find_event(system, event);
    if (!found) return no_event(system, event);
    const EventField* place = find_field(found->call, name);
    if (!place) return no_field(found->call, name);
    *field = {place->offset, place->size, kind_of(*place), place->is_signed, is_float(*place), {}};
    return 0;
  });
}
