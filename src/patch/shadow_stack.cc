// SPDX-License-Identifier: MIT
#include "patch/shadow_stack.h"

#include <cstdint>

#include "base/raw_syscall.h"

namespace patchbay {
namespace {

constexpr long kArchShstkStatus = 0x5005;
bool g_pretended = false;

}  // namespace

bool has_shadow_stack() {
  static const bool active = [] {
    uint64_t features = 0;
    return raw_syscall(SYS_arch_prctl, kArchShstkStatus, raw_pointer(&features)) == 0 &&
           (features & 1);
  }();
  return active || g_pretended;
}

void pretend_shadow_stack(bool there) { g_pretended = there; }

}  // namespace patchbay
