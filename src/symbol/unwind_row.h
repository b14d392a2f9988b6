// SPDX-License-Identifier: MIT
//
// .eh_frame made ready for the probe path. Its instructions are run once, here. Each stretch of
// code in which frames look the same becomes a row. Two loads and a short search find the row:
//
//     block    (pc - first) / 256 ---> rows[block]: the row that holds the block's first byte
//     rows     start, rule            sorted by start; a rule holds until the next row
//
//     rule     31        13 12         4 3     0
//              offset / 8   saved rbp    kind
//
// A row has what a walk from a frame to its caller needs: the CFA and rbp. The return address
// always stands at CFA - 8, else the rule is kUnsupported.
#pragma once

#include <cstdint>

namespace patchbay {

enum class UnwindKind : uint8_t {
  kNone,         // no FDE covers it
  kRsp,          // CFA = rsp + offset
  kRbp,          // CFA = rbp + offset
  kDeref,        // CFA = *(rbp + offset): a function that has realigned its stack
  kPlt,          // CFA = rsp + 8, or 16 from byte `offset / 8` of 16 on: a PLT entry
  kSignal,       // a signal's return: the program goes on as the ucontext at rsp says
  kOutermost,    // nobody called it
  kUnsupported,  // a rule that nobody but hand-written code needs
};

struct UnwindRule {
  UnwindKind kind = UnwindKind::kNone;
  // Where the caller's rbp stands: 0: still in rbp; else at CFA - 8 * it, or one of the following.
  uint16_t saved_rbp = 0;
  int32_t offset = 0;  // a multiple of 8
  bool operator==(const UnwindRule&) const = default;
};
inline constexpr uint16_t kRbpAtRbp = 510;  // at *rbp
inline constexpr uint16_t kRbpLost = 511;
inline constexpr int32_t kMaxUnwindOffset = ((1 << 18) - 1) * 8;

struct UnwindRow {
  uint32_t start;  // from UnwindTable.first on
  uint32_t rule;
};
static_assert(sizeof(UnwindRow) == 8);

inline uint32_t pack_rule(UnwindRule rule) {
  return uint32_t(rule.offset / 8) << 13 | uint32_t{rule.saved_rbp} << 4 | uint32_t(rule.kind);
}
inline UnwindRule unpack_rule(uint32_t rule) {
  return {UnwindKind(rule & 15), uint16_t(rule >> 4 & 511), (int32_t(rule) >> 13) * 8};
}

inline constexpr uint32_t kUnwindBlock = 256;

}  // namespace patchbay
