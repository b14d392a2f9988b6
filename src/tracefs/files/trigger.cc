// SPDX-License-Identifier: MIT
// events/SYSTEM/EVENT/trigger: what hits of the event do beside recording; one write, one command.
//
// Opened with O_TRUNC it loses its hists only. It does not hold the instance
// (docs/files.md, "Instances").
#include <fcntl.h>

#include "tracefs/files/files.h"

namespace patchbay::tracefs {
namespace {

class TriggerFile : public File {
 public:
  explicit TriggerFile(const Place& place) : place_(place) {}
  uint32_t mode() const override { return kWritable; }

  Status open(uint32_t flags) override {
    PB_ASSIGN(auto found, find());
    const bool writes = (flags & O_ACCMODE) != O_RDONLY;
    if (!writes || !(flags & O_TRUNC)) return {};
    return triggers().truncate(*found.array, found.event);
  }
  Result<std::string> read() override {
    PB_ASSIGN(auto found, find());
    return triggers().show(*found.array, found.event);
  }
  Result<size_t> write(std::string_view bytes) override {
    if (bytes.empty()) return size_t{0};
    PB_ASSIGN(std::string_view command, take_whole(bytes, kFilterLimit));
    PB_ASSIGN(auto found, find());
    PB_TRY(triggers().write(*found.array, found.event, command));
    return bytes.size();
  }

 private:
  struct Found {
    TraceArray* array;
    LiveEvent* event;
  };
  Result<Found> find() const {
    PB_ASSIGN(auto array, place_.find_array());
    PB_ASSIGN(auto event, place_.find_event(*array));
    return Found{array, event};
  }
  EventTriggers& triggers() const { return place_.tree->context.triggers; }

  const Place place_;
};

}  // namespace

FilePtr make_event_trigger(const Place& place) { return std::make_unique<TriggerFile>(place); }

}  // namespace patchbay::tracefs
