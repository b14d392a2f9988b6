// SPDX-License-Identifier: MIT
//
// What definitions of probe events are checked against in the process itself: its symbols, its
// loaded objects, its events, and the files that it can see.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "event/probe_event.h"
#include "registry/registry.h"

namespace patchbay {

class RegistryWorld : public ProbeWorld {
 public:
  explicit RegistryWorld(Registry& registry) : registry_(registry) {}

  Function find_function(std::string_view symbol) override;
  bool is_text(uint64_t address, bool* entry) override;
  uint64_t address_of(std::string_view symbol) override;
  uint64_t data_at(std::string_view path, uint64_t file_offset) override;
  const EventCall* find_event(std::string_view system, std::string_view name) override;
  const EventCall* find_tracepoint(std::string_view name) override;
  FileKind file_kind(std::string_view path) override;

  // Why the last find_function() did not find exactly one, for the user; empty when it did.
  const std::string& reason() const { return reason_; }

 private:
  Registry& registry_;
  std::string reason_;
};

// The events that an event probe can be attached to; null when there is none (now).
LiveEvent* find_probe_source(Registry& registry, std::string_view system, std::string_view name);
LiveEvent* find_tracepoint_event(Registry& registry, std::string_view name);

}  // namespace patchbay
