// SPDX-License-Identifier: MIT
//
// What kind of call site a function's entry can be. Pure reading: nothing is changed or remembered
// but the scans of modules.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "patch/function_body.h"
#include "patch/module_code.h"
#include "patch/patcher.h"
#include "patch/return_refusal.h"

namespace patchbay {

// Patcher::plan_key(). The address lies in mapped text: an object that is loaded has named it.
SitePlan plan_key(uint64_t address, uint64_t target);

// What stands in memory, in copies of some pages: the program may unload an object while its
// entries are planned. A copy may be old, so what it says is believed when it is what was expected.
class LiveText {
 public:
  // The bytes at `address`, as they are now; false: they cannot be read.
  static bool read(uint64_t address, uint8_t* out, size_t size);
  bool holds(uint64_t address, const uint8_t* expected, size_t size);

 private:
  static constexpr size_t kWindow = 64 << 10;
  std::vector<uint8_t> window_;
  uint64_t first_ = 0;  // of the window
  size_t size_ = 0;
};

class SitePlanner {
 public:
  SitePlan plan(Module& module, const FunctionSymbol& function);
  // Of the function itself, also where it has a stand-in or is one that is not traced.
  SitePlan plan_hook(Module& module, const FunctionSymbol& function);
  const char* return_refusal(Module& module, const FunctionSymbol& function);
  void set_stand_ins(std::vector<StandIn> list);
  void set_optimization(bool on) { optimization_ = on; }
  bool optimization() const { return optimization_; }
  SitePlan plan_insn(Module& module, uint64_t address);
  // What was read of modules goes, and is read again when it is needed.
  void drop_caches() {
    modules_.clear();
    last_module_ = nullptr;
    last_state_ = nullptr;
    live_ = {};
  }

 private:
  bool optimization_ = true;
  struct ModuleState {
    std::unique_ptr<ModuleCode> code;
    bool is_libc = false;  // libc or the dynamic linker: no int3 there
    std::string refusal;   // nothing of this module may be traced
    std::unique_ptr<FunctionBodies> bodies;
    // By entry: whether a function that jumps there may not have its return hooked.
    std::unordered_map<uint64_t, bool> refused_behind;
    std::vector<uint64_t> landing_pads;  // sorted
    bool landing_pads_read = false;
    bool landing_pads_known = false;

    bool has_landing_pad(Module& module, uint64_t first, uint64_t last);
  };
  ModuleState& state_of(Module& module);
  SitePlan plan_entry(ModuleState& state, const FunctionSymbol& function);
  const char* own_return_refusal(Module& module, const FunctionSymbol& function,
                                 std::vector<TailJump>* tail_jumps);
  bool looks_behind(Module& module, const FunctionSymbol& function,
                    const std::vector<TailJump>& tail_jumps, int level);
  bool is_refused_behind(Module& module, uint64_t target, int level);
  // Null: [address + 1, address + 5) is entered by nothing but the instruction before it.
  const char* no_jump_at(Module& module, const FunctionBody& body, uint64_t address);
  const char* outside_of_code(Module& module, uint64_t address);
  SitePlan compared_with_memory(SitePlan plan);
  uint64_t stand_in_for(uint64_t address) const;  // 0: none

  std::vector<StandIn> stand_ins_;  // by `real`
  std::unordered_map<const Module*, ModuleState> modules_;
  const Module* last_module_ = nullptr;
  ModuleState* last_state_ = nullptr;
  LiveText live_;
};

}  // namespace patchbay
