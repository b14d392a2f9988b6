// SPDX-License-Identifier: MIT
#include "registry/object_log.h"

#include <utility>

#include "base/text.h"
#include "registry/trace_array.h"

namespace patchbay {

Status ObjectLog::describe() {
  symbols_.refresh();
  std::vector<Module*> now = symbols_.modules();
  if (now == last_) return {};
  const RingBuffer::OpenFile open(top_.buffer.get());
  for (Module* module : now) {
    std::string key = module->path() + "@" + hex_number(module->start()) + module->build_id();
    if (!described_.insert(key).second) continue;
    abi::ModuleRecord record{module->start(), module->end(), module->bias()};
    std::string payload(reinterpret_cast<const char*>(&record), sizeof record);
    payload += module->build_id();
    payload += '\0';
    payload += module->path();
    payload += '\0';
    PB_TRY(top_.buffer->append_meta(abi::kMetaModule, payload));
  }
  last_ = std::move(now);
  return {};
}

}  // namespace patchbay
