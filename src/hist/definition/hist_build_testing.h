// SPDX-License-Identifier: MIT
// For tests: events as the kernel of the oracle has them, and what definitions may refer to,
// without hits and without a registry.
#pragma once

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "event/synthetic_event.h"
#include "hist/definition/hist_build.h"
#include "hist/definition/hist_listing.h"

namespace patchbay::test {

class FakeHistWorld : public HistWorld {
 public:
  FakeHistWorld() {
    const EventField number = {"int", "__syscall_nr", 8, 4, true, 0, {}};
    const EventField mask = {"int", "mask", 16, 8, false, 0, {}};
    const EventField ret = {"long", "ret", 16, 8, true, 0, {}};
    add_event("syscalls", "sys_enter_umask", {number, mask});
    add_event("syscalls", "sys_exit_umask", {number, ret});
    add_event("syscalls", "sys_enter_kill", {number, {"pid_t", "pid", 16, 8, false, 0, {}}});
    add_event("syscalls", "sys_enter_chdir", {number});
    add_event("sched", "fork",
              {{"char", "parent_comm", 8, 16, false, 16, {}},
               {"pid_t", "parent_pid", 24, 4, true, 0, {}},
               {"__data_loc char[]", "name", 28, 4, false, 0, {}},
               {"unsigned long", "words", 32, 24, false, 3, {}},
               {"__data_loc long[]", "stack", 56, 8, true, 0, {}}});
    add_event("ftrace", "print", {{"unsigned long", "ip", 8, 8, false, 0, {}}})->can_enable = false;
  }

  LiveEvent* add_event(std::string system, std::string name, std::vector<EventField> fields) {
    auto event = std::make_unique<LiveEvent>();
    event->call.system = std::move(system);
    event->call.name = std::move(name);
    event->call.common = common_fields();
    event->call.fields = std::move(fields);
    events_.push_back(std::move(event));
    return events_.back().get();
  }
  LiveEvent* add_synthetic(std::string_view line) {
    auto parsed = parse_synthetic_event(line, SyntheticForm::kOwn, [](auto) { return false; });
    EventCall call = make_synthetic_event_call(*parsed.definition);
    return add_event(call.system, call.name, call.fields);
  }
  LiveEvent* event(std::string_view name) {
    for (const auto& event : events_)
      if (event->call.name == name) return event.get();
    return nullptr;
  }
  ErrorLog& log() { return array_.errors; }

  // A command as the trigger file takes it, without its "hist:". 0 or the errno; the listing.
  int write(std::string_view event_name, std::string_view text, std::string* listing = nullptr) {
    LiveEvent* on = event(event_name);
    HistErrors errors(&array_.errors, on->call.system, on->call.name, "hist:" + std::string(text));
    auto made = make(on, text, &errors);
    if (!made.ok()) return made.error().errno_value;
    Status status = make_hist_actions(*this, made->get(), &errors);
    if (!status.ok()) return status.error().errno_value;
    if (listing) *listing = hist_listing(**made);
    hists_.push_back(std::move(*made));
    return 0;
  }
  void clear() {
    hists_.clear();
    snapshot_ = nullptr;
    array_.errors.clear();
  }
  // The newest, which is not there any more.
  std::unique_ptr<HistData> release() {
    auto hist = std::move(hists_.back());
    hists_.pop_back();
    return hist;
  }
  const std::vector<std::unique_ptr<HistData>>& hists() const { return hists_; }

  // HistWorld
  LiveEvent* find_event(const TraceArray&, std::string_view system,
                        std::string_view name) override {
    LiveEvent* found = event(name);
    return found && found->call.system == system ? found : nullptr;
  }
  LiveEvent* find_synthetic(std::string_view name) override {
    return find_event(array_, kSyntheticSystem, name);
  }
  std::vector<HistData*> hists_of(const TraceArray&, const LiveEvent* event) override {
    std::vector<HistData*> found;
    for (const auto& hist : hists_)
      if (hist->event == event) found.push_back(hist.get());
    return found;
  }
  std::vector<HistData*> hists_with_variables(const TraceArray&) override {
    std::vector<HistData*> found;
    for (const auto& hist : hists_) found.insert(found.begin(), hist.get());
    return found;
  }
  Status add_auxiliary(TraceArray&, LiveEvent* event, std::string_view text,
                       HistErrors* errors) override {
    PB_ASSIGN(auto made, make(event, text, errors));
    made->is_auxiliary = true;
    hists_.push_back(std::move(made));
    return {};
  }
  Status take_snapshot(TraceArray&, HistData* hist) override {
    if (snapshot_) return user_error(EBUSY, "taken");
    snapshot_ = hist;
    return {};
  }

 private:
  Result<std::unique_ptr<HistData>> make(LiveEvent* on, std::string_view text, HistErrors* errors) {
    PB_ASSIGN(auto definition, parse_hist(text, errors));
    auto made = make_hist(*this, array_, on, definition, false, errors);
    if (made.ok()) (*made)->filter_text = definition.filter.value_or("");
    return made;
  }

  TraceArray array_;
  std::vector<std::unique_ptr<LiveEvent>> events_;
  std::vector<std::unique_ptr<HistData>> hists_;
  HistData* snapshot_ = nullptr;
};

}  // namespace patchbay::test
