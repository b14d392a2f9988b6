// SPDX-License-Identifier: MIT
#include "registry/event_requests.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "registry/registry_impl.h"

namespace patchbay {

Status EventRequests::set(TraceArray& array, std::string_view word) {
  return set(array, parse_event_spec(word));
}

Status EventRequests::set(TraceArray& array, const EventSpec& spec) {
  std::vector<LiveEvent*> found;
  for (const auto& event : core_.events)
    if (event->can_enable && !spec.empty && core_.sees(array, *event) && spec.matches(*event))
      found.push_back(event.get());
  if (!found.empty()) return core_.set_enabled(array, found, spec.on);
  if (!spec.module.empty() && !is_loaded(spec.module)) return cache(array, spec);
  return user_error(EINVAL, "No event has this name: see available_events.");
}

bool EventRequests::is_loaded(std::string_view module) {
  for (const auto& event : core_.events)
    if (is_module(module, event->module)) return true;
  core_.symbols.refresh();
  for (Module* loaded : core_.symbols.modules())
    if (is_module(module, loaded->name())) return true;
  return false;
}

Status EventRequests::cache(TraceArray& array, const EventSpec& spec) {
  auto& waiting = array.module_requests;
  auto place = std::find(waiting.begin(), waiting.end(), spec.request());
  if (spec.on) {
    if (place == waiting.end()) waiting.push_back(spec.request());
    return {};
  }
  if (place == waiting.end())
    return user_error(EINVAL, "Nothing waits for the module " + spec.module + ".");
  waiting.erase(place);
  return {};
}

bool EventRequests::waiting() const {
  for (const TraceArray* array : core_.all_arrays())
    if (!array->module_requests.empty()) return true;
  return !remembered_.empty();
}

std::vector<EventRequests::Remembered> EventRequests::take_remembered(std::string_view module) {
  std::vector<Remembered> here;
  std::erase_if(remembered_, [&](Remembered& one) {
    const bool is_here = one.module == module;
    if (is_here) here.push_back(std::move(one));
    return is_here;
  });
  return here;
}

// What was on when this library went.
void EventRequests::switch_on_again(std::string_view module) {
  for (const Remembered& one : take_remembered(module)) {
    LiveEvent* event = core_.find_event(one.system, one.name);
    TraceArray* array = one.array.empty() ? &core_.top : core_.find_array(one.array);
    if (!event || !array) continue;
    Status status = one.filter.empty() ? Status() : core_.filters.set(*array, event, one.filter);
    if (status.ok()) status = core_.set_enabled(*array, std::span(&event, 1), true);
    if (!status.ok()) array->errors.add("set_event", status.error().message(), one.name, 0);
  }
}

void EventRequests::module_loaded(std::string_view module) {
  switch_on_again(module);
  for (TraceArray* array : core_.all_arrays()) {
    std::vector<std::string> kept;
    for (std::string& request : std::exchange(array->module_requests, {})) {
      EventSpec spec = parse_event_spec(request);
      if (!is_module(spec.module, module)) {
        kept.push_back(std::move(request));
        continue;
      }
      // Nobody waits for an answer: what cannot be enabled is in the log.
      Status status = set(*array, spec);
      if (!status.ok()) array->errors.add("set_event", status.error().message(), request, 0);
    }
    // set() may have put a request back that its module does not serve.
    for (std::string& request : kept) array->module_requests.push_back(std::move(request));
  }
  [[maybe_unused]] Status ignored = core_.objects.describe();
}

std::string EventRequests::show(const TraceArray& array) const {
  std::string text;
  for (const auto& event : core_.events) {
    const EventFile* file = core_.find_file(array, event.get());
    if (file && (file->enabled || file->soft_users))
      text += event_key(event->call.system, event->call.name) + "\n";
  }
  for (const std::string& request : array.module_requests) text += request + "\n";
  return text;
}

Status EventRequests::clear(TraceArray& array) {
  std::vector<LiveEvent*> all;
  for (auto& [event, file] : array.files)
    if (file.is_on() && !event->is_tracer) all.push_back(file.event);
  PB_TRY(core_.set_enabled(array, all, false));
  array.module_requests.clear();
  forget(array);
  return {};
}

void EventRequests::remember(const TraceArray& array, const LiveEvent& event) {
  auto file = array.files.find(const_cast<LiveEvent*>(&event));
  remembered_.push_back({array.name, event.call.system, event.call.name, event.module,
                         file == array.files.end() ? std::string() : file->second.filter_text});
}

void EventRequests::forget(const TraceArray& array) {
  std::erase_if(remembered_, [&](const auto& one) { return one.array == array.name; });
}

}  // namespace patchbay
