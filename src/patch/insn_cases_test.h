// SPDX-License-Identifier: MIT
//
// The functions of insn_cases_test.cc.
#pragma once

#include <cstddef>

extern "C" void insn_callee();

namespace patchbay {

struct InsnCase {
  const char* name;
  void (*jump)();  // for one probe at a time as it is planned
  void (*trap)();  // the same code, for int3 alone
  void (*all)();   // the same, for all at once
  bool counted;    // stepping through it counts each instruction as often as it is executed
};
extern const InsnCase kInsnCases[];
extern const size_t kInsnCaseCount;

}  // namespace patchbay
