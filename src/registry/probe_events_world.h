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
#include "symbol/elf_module.h"

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

// --- for the places of definitions as well

// `LIB:` of a symbol; empty when it has none.
std::string_view library_of(std::string_view symbol);
// Nothing that is loaded is called so.
bool is_absent(SymbolTable& symbols, std::string_view library);
// The object whose text holds the address; null: it lies in no text.
ElfModule* module_of_text(SymbolTable& symbols, uint64_t address);
// The loaded object of this file, under whatever name; null: it is not loaded.
ElfModule* module_of_file(SymbolTable& symbols, std::string_view path);
// Where a byte of the file lies in memory; 0: nowhere.
uint64_t address_of_offset(const ElfModule& module, uint64_t file_offset);

// The events that an event probe can be attached to; null when there is none (now).
LiveEvent* find_probe_source(Registry& registry, std::string_view system, std::string_view name);
LiveEvent* find_tracepoint_event(Registry& registry, std::string_view name);

}  // namespace patchbay
