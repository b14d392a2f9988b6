// SPDX-License-Identifier: MIT
#include "registry/sites/walked_callers.h"

#include "probe/returns/return_caller_ranges.h"

namespace patchbay {

void WalkedCallers::begin(SymbolTable& symbols) {
  if (!wanted_) symbols.refresh();
  wanted_ = true;
  refresh(symbols);
}

void WalkedCallers::refresh(SymbolTable& symbols) {
  if (!wanted_) return;
  Ranges walked, objects;
  for (Module* module : symbols.modules()) {
    const auto key = std::make_pair(static_cast<const Module*>(module), module->start());
    auto known = walked_.find(key);
    if (known == walked_.end()) known = walked_.emplace(key, module->walked_code()).first;
    walked.insert(walked.end(), known->second.begin(), known->second.end());
    const auto& text = module->text_ranges();
    objects.insert(objects.end(), text.begin(), text.end());
  }
  set_return_callers(std::move(walked), std::move(objects));
}

}  // namespace patchbay
