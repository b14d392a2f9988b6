// SPDX-License-Identifier: MIT
//
// What kind of call site a function's entry can be. Pure reading: nothing is changed or remembered
// but the scans of modules.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>

#include "patch/module_code.h"
#include "patch/patcher.h"

namespace patchbay {

// Patcher::plan_key(). The address lies in mapped text: an object that is loaded has named it.
SitePlan plan_key(uint64_t address, uint64_t target);

class SitePlanner {
 public:
  SitePlan plan(Module& module, const FunctionSymbol& function);
  SitePlan plan_probe(Module& module, uint64_t address);

 private:
  struct ModuleState {
    std::unique_ptr<ModuleCode> code;
    bool is_libc = false;  // libc or the dynamic linker: no int3 there
    std::string refusal;   // nothing of this module may be traced
  };
  ModuleState& state_of(Module& module);

  std::unordered_map<const Module*, ModuleState> modules_;
  const Module* last_module_ = nullptr;
  ModuleState* last_state_ = nullptr;
};

}  // namespace patchbay
