// SPDX-License-Identifier: MIT
#include "registry/probes/probe_world.h"

#include <sys/stat.h>

#include <algorithm>

#include "base/text.h"
#include "registry/events/static_events.h"
#include "registry/events/usdt_events.h"
#include "registry/probes/probe_events.h"
#include "registry/sites/loaded_objects.h"
#include "symbol/elf_module.h"
#include "symbol/resolve.h"

namespace patchbay {

namespace {

constexpr size_t kShownNames = 5;

// How one of several is written: f@file.c, a C++ function with its parameters, or its address.
std::string how_to_write(const ResolvedFunction& function) {
  const std::string_view file = elf(function.module)->file_of(function.symbol);
  const std::string address = hex_number(function.symbol.address);
  if (!file.empty()) return function.display_name + "@" + std::string(file) + " (" + address + ")";
  const std::string name = demangle(function.symbol.name, true);
  if (name != function.symbol.name) return name;
  return address + " (" + function.module->name() + "+" +
         hex_number(function.symbol.address - function.module->bias()) + ")";
}

std::string several(const std::vector<ResolvedFunction>& functions) {
  std::string text = std::to_string(functions.size()) + " functions have this name; write";
  for (size_t i = 0; i < std::min(functions.size(), kShownNames); i++)
    text += (i ? ", " : " ") + how_to_write(functions[i]);
  return text + (functions.size() > kShownNames ? ", ..." : "");
}

}  // namespace

// As in the kernel: no kprobes, no event probes, none that cannot be enabled. Nor probes on static
// events, which have no record of their own to read from.
LiveEvent* find_probe_source(Registry& registry, std::string_view system, std::string_view name) {
  LiveEvent* live = registry.find_event(system, name);
  if (!live || !live->source || !live->can_enable) return nullptr;
  const auto* probes = dynamic_cast<const ProbeEvents*>(live->source);
  return probes && !probes->takes_event_probes(live) ? nullptr : live;
}

LiveEvent* find_tracepoint_event(Registry& registry, std::string_view name) {
  for (LiveEvent* live : registry.events_of(registry.top(), "")) {
    if (live->call.name != name || !live->source) continue;
    if (dynamic_cast<const StaticEvents*>(live->source) ||
        dynamic_cast<const UsdtEvents*>(live->source))
      return live;
  }
  return nullptr;
}

ProbeWorld::Function RegistryWorld::find_function(std::string_view symbol) {
  SymbolTable& symbols = registry_.symbols();
  reason_.clear();
  Function answer;
  const std::string_view library = library_of(symbol);
  if (!library.empty() && is_absent(symbols, library)) {
    answer.library_is_loaded = false;
    return answer;
  }
  auto found = symbols.resolve(symbol);
  if (!found.ok()) {
    reason_ = found.error().message();
    return answer;
  }
  answer.matches = uint32_t(found->size());
  if (!found->empty()) answer.size = found->front().symbol.size;
  if (found->size() > 1) reason_ = several(*found);
  return answer;
}

bool RegistryWorld::is_text(uint64_t address, bool* entry) {
  ElfModule* module = module_of_text(registry_.symbols(), address);
  *entry = module && module->function_at(address);
  return module != nullptr;
}

uint64_t RegistryWorld::address_of(std::string_view symbol) {
  return registry_.symbols().address_of(symbol);
}

uint64_t RegistryWorld::data_at(std::string_view path, uint64_t file_offset) {
  const ElfModule* module = module_of_file(registry_.symbols(), path);
  return module ? address_of_offset(*module, file_offset) : 0;
}

const EventCall* RegistryWorld::find_event(std::string_view system, std::string_view name) {
  const LiveEvent* live = find_probe_source(registry_, system, name);
  return live ? &live->call : nullptr;
}

const EventCall* RegistryWorld::find_tracepoint(std::string_view name) {
  const LiveEvent* live = find_tracepoint_event(registry_, name);
  return live ? &live->call : nullptr;
}

ProbeWorld::FileKind RegistryWorld::file_kind(std::string_view path) {
  struct stat found = {};
  if (::stat(std::string(path).c_str(), &found) != 0) return FileKind::kNone;
  return S_ISREG(found.st_mode) ? FileKind::kRegular : FileKind::kOther;
}

}  // namespace patchbay
