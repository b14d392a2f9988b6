// SPDX-License-Identifier: MIT
// events/, events/SYSTEM/, events/SYSTEM/EVENT/. Names are looked up, never listed to be found.
#include "tracefs/directories.h"

namespace patchbay::tracefs {
namespace {

// Its events cannot be switched: no enable, no filter (docs/files.md, "Files of events").
constexpr std::string_view kOwnSystem = "ftrace";

// Beside `hist`, for the tool. No directory lists it.
constexpr Entry kHistImage = {
    .name = "hist_image", .file = make_event_hist_image, .directory = nullptr, .is_listed = false};
constexpr Entry kEventEntries[] = {
    {"enable", make_event_enable, nullptr},         {"filter", make_event_filter, nullptr},
    {"format", make_event_format, nullptr},         {"hist", make_event_hist, nullptr},
    {"hist_debug", make_event_hist_debug, nullptr}, {"id", make_event_id, nullptr},
    {"inject", make_event_inject, nullptr},         {"mirror", make_event_mirror, nullptr},
    {"trigger", make_event_trigger, nullptr},       kHistImage,
};
// Of the system `ftrace` only `function` and `print` have an id, whose numbers are promised, and
// only `print` has triggers and histograms.
constexpr Entry kOwnEventEntries[] = {
    {"format", make_event_format, nullptr},         {"id", make_event_id, nullptr},
    {"trigger", make_event_trigger, nullptr},       {"hist", make_event_hist, nullptr},
    {"hist_debug", make_event_hist_debug, nullptr}, kHistImage,
};
constexpr uint16_t kFunctionId = 1, kPrintId = 5;

std::span<const Entry> entries_of(const LiveEvent& event) {
  if (event.can_enable) return kEventEntries;
  const bool is_print = event.call.id == kPrintId;
  return std::span(kOwnEventEntries)
      .first(is_print                       ? std::size(kOwnEventEntries)
             : event.call.id == kFunctionId ? 2
                                            : 1);
}

class SystemDirectory : public Directory {
 public:
  explicit SystemDirectory(Place place) : place_(std::move(place)) {}
  uint32_t mode() const override { return kEventsMode; }

  std::vector<std::string> list() override {
    std::vector<std::string> names;
    if (has_switches()) names = {"enable", "filter"};
    for (const LiveEvent* event : place_.tree->events_of(place_.system)) {
      names.push_back(event->call.name + "/");
    }
    return names;
  }

  FilePtr file(std::string_view name) override {
    if (!has_switches()) return nullptr;
    if (name == "enable") return make_events_enable(place_);
    return name == "filter" ? make_system_filter(place_) : nullptr;
  }

  DirectoryPtr directory(std::string_view name) override {
    const LiveEvent* event = place_.registry().find_event(place_.system, name);
    if (!event) return nullptr;
    Place place = place_;
    place.event = event;
    place.event_id = event->call.id;
    return std::make_unique<TableDirectory>(entries_of(*event), std::move(place), kEventsMode);
  }

 private:
  bool has_switches() const { return place_.system != kOwnSystem; }
  const Place place_;
};

class EventsDirectory : public Directory {
 public:
  explicit EventsDirectory(const Place& place) : place_(place) {}
  uint32_t mode() const override { return kEventsMode; }

  std::vector<std::string> list() override {
    std::vector<std::string> names = {"enable", "header_event", "header_page"};
    Result<TraceArray*> array = place_.find_array();
    if (!array.ok()) return names;
    for (const std::string& system : place_.tree->systems(**array)) names.push_back(system + "/");
    return names;
  }

  FilePtr file(std::string_view name) override {
    if (name == "enable") return make_events_enable(place_);
    if (name == "header_event") return make_header_event(place_);
    return name == "header_page" ? make_header_page(place_) : nullptr;
  }

  DirectoryPtr directory(std::string_view name) override {
    Result<TraceArray*> array = place_.find_array();
    if (!array.ok() || !place_.tree->has_system(**array, name)) return nullptr;
    Place place = place_;
    place.system = name;
    return std::make_unique<SystemDirectory>(std::move(place));
  }

 private:
  const Place place_;
};

}  // namespace

DirectoryPtr make_events_directory(const Place& place) {
  return std::make_unique<EventsDirectory>(place);
}

}  // namespace patchbay::tracefs
