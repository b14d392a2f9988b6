// SPDX-License-Identifier: MIT
//
// One instruction each: what it is taken for, and what it becomes at another address, byte by byte.

#include "arch/x86_64/relocate.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "arch/x86_64/decoder.h"

namespace patchbay {
namespace {

using Bytes = std::vector<uint8_t>;

constexpr uint64_t kFrom = 0x10000000;
constexpr uint64_t kNear = 0x10010000;
constexpr uint64_t kFar = kFrom + (uint64_t{1} << 33);

std::string hex(const uint8_t* bytes, size_t size) {
  std::string text;
  char byte[4];
  for (size_t i = 0; i < size; i++) {
    std::snprintf(byte, sizeof(byte), "%02x ", bytes[i]);
    text += byte;
  }
  return text;
}

// The relocated bytes as hex, or the reason in brackets.
std::string moved(const Bytes& code, uint64_t to, uint64_t from = kFrom) {
  uint8_t padded[kMaxDisplaced] = {};
  std::memcpy(padded, code.data(), code.size());
  DisplacedRun run;
  run.from = from;
  run.code = padded;
  run.displaced = static_cast<uint8_t>(code.size());
  run.count = 1;
  uint8_t out[kMaxBody];
  RelocatedRun result;
  if (const char* why = relocate_run(run, to, out, &result)) return std::string("[") + why + "]";
  return hex(out, result.size);
}

TEST(Relocate, PlainInstructionsAreCopiedAndFollowedByTheJumpBack) {
  EXPECT_EQ(moved({0x48, 0x89, 0xfb}, kNear), "48 89 fb e9 fb ff fe ff ");
}

// push %rbx; mov %rdi,%rbx; sub $8,%rsp: known to run anywhere, and looked at one by one.
TEST(Relocate, WhatRunsAnywhereIsCopiedWithoutBeingDecoded) {
  const uint8_t code[kMaxDisplaced] = {0x53, 0x48, 0x89, 0xfb, 0x48, 0x83, 0xec, 0x08};
  DisplacedRun run;
  run.from = kFrom;
  run.code = code;
  run.displaced = 8;
  run.count = 3;
  run.offset[1] = 1;
  run.offset[2] = 4;
  for (uint64_t to : {kNear, kFar}) {
    for (bool falls_through : {false, true}) {
      uint8_t out[2][kMaxBody];
      RelocatedRun result[2];
      run.falls_through = falls_through;
      for (bool known : {false, true}) {
        run.runs_anywhere = known;
        ASSERT_EQ(relocate_run(run, to, out[known], &result[known]), nullptr);
      }
      EXPECT_EQ(hex(out[0], result[0].size), hex(out[1], result[1].size));
      EXPECT_EQ(result[0].jump_back, result[1].jump_back);
      EXPECT_TRUE(result[1].comes_back && !result[1].called);
      EXPECT_EQ(hex(result[0].start, 3), hex(result[1].start, 3));
    }
  }
}

TEST(Relocate, RipRelativeOperandsKeepTheirTarget) {
  // mov 0x100(%rip),%rax; cmpl $imm,0x100(%rip): the displacement counts from the end of the whole.
  EXPECT_EQ(moved({0x48, 0x8b, 0x05, 0, 1, 0, 0}, kNear), "48 8b 05 00 01 ff ff e9 fb ff fe ff ");
  EXPECT_EQ(moved({0x81, 0x3d, 0, 1, 0, 0, 1, 2, 3, 4}, kNear),
            "81 3d 00 01 ff ff 01 02 03 04 e9 fb ff fe ff ");
  EXPECT_EQ(moved({0x48, 0x8b, 0x05, 0, 1, 0, 0}, kFar),
            "[a RIP-relative operand is out of reach of the stub]");
}

TEST(Relocate, BranchesGrowToTheirLongForm) {
  EXPECT_EQ(moved({0xeb, 0x10}, kNear), "e9 0d 00 ff ff ");
  EXPECT_EQ(moved({0xe9, 0, 1, 0, 0}, kNear), "e9 00 01 ff ff ");
  EXPECT_EQ(moved({0x74, 0x10}, kNear), "0f 84 0c 00 ff ff e9 f7 ff fe ff ");
  EXPECT_EQ(moved({0x0f, 0x87, 0, 1, 0, 0}, kNear), "0f 87 00 01 ff ff e9 fb ff fe ff ");
}

TEST(Relocate, BranchesOutOfReachBecomeAbsolute) {
  EXPECT_EQ(moved({0xeb, 0x10}, kFar), "ff 25 00 00 00 00 12 00 00 10 00 00 00 00 ");
  EXPECT_EQ(moved({0x74, 0x10}, kFar).substr(0, 48),
            "75 0e ff 25 00 00 00 00 12 00 00 10 00 00 00 00 ");
}

TEST(Relocate, LoopAndJrcxzJumpOverAShortJump) {
  EXPECT_EQ(moved({0xe2, 0x10}, kNear), "e2 02 eb 05 e9 09 00 ff ff e9 f4 ff fe ff ");
  EXPECT_EQ(moved({0xe3, 0x10}, kNear), "e3 02 eb 05 e9 09 00 ff ff e9 f4 ff fe ff ");
  EXPECT_EQ(moved({0x67, 0xe3, 0x10}, kNear).substr(0, 27), "67 e3 02 eb 05 e9 09 00 ff ");
}

TEST(Relocate, CallsPushTheOriginalReturnAddress) {
  EXPECT_EQ(moved({0xe8, 0, 1, 0, 0}, kNear),
            "ff 35 05 00 00 00 e9 fa 00 ff ff 05 00 00 10 00 00 00 00 ");
  EXPECT_EQ(moved({0xff, 0xd0}, kNear), "ff 35 02 00 00 00 ff e0 02 00 00 10 00 00 00 00 ");
  EXPECT_EQ(moved({0xff, 0x15, 0, 1, 0, 0}, kNear),
            "ff 35 06 00 00 00 ff 25 fa 00 ff ff 06 00 00 10 00 00 00 00 ");
  EXPECT_EQ(moved({0x41, 0xff, 0x14, 0x24}, kNear).substr(0, 30),
            "ff 35 04 00 00 00 41 ff 24 24 ");  // r12 is not rsp
}

// Behind the push of the return address an operand based on rsp is 8 bytes further up.
TEST(Relocate, CallsThroughTheStackAreCorrectedForThePush) {
  const struct {
    Bytes code;
    const char* jump;
  } kCases[] = {
      {{0xff, 0x14, 0x24}, "ff a4 24 08 00 00 00 "},           // call *(%rsp)
      {{0xff, 0x54, 0x24, 0x08}, "ff a4 24 10 00 00 00 "},     // call *8(%rsp)
      {{0xff, 0x54, 0x24, 0xf0}, "ff a4 24 f8 ff ff ff "},     // call *-16(%rsp)
      {{0xff, 0x54, 0xcc, 0x08}, "ff a4 cc 10 00 00 00 "},     // call *8(%rsp,%rcx,8)
      {{0x42, 0xff, 0x14, 0xc4}, "42 ff a4 c4 08 00 00 00 "},  // call *(%rsp,%r8,8)
      {{0xff, 0x94, 0x24, 0x00, 0x01, 0x00, 0x00}, "ff a4 24 08 01 00 00 "},
  };
  for (const auto& c : kCases) {
    const std::string text = moved(c.code, kNear);
    SCOPED_TRACE(text);
    EXPECT_EQ(text.substr(0, 3 * 6),
              "ff 35 0" + std::to_string(std::strlen(c.jump) / 3) + " 00 00 00 ");
    EXPECT_EQ(text.substr(18, std::strlen(c.jump)), c.jump);
  }
}

TEST(Relocate, ASystemCallLeavesTheOriginalAddressInRcx) {
  EXPECT_EQ(moved({0x0f, 0x05}, kNear), "0f 05 48 8d 0d f9 ff fe ff e9 f4 ff fe ff ");
  EXPECT_EQ(moved({0x0f, 0x05}, kFar),
            "[the address behind a system call is out of reach of the stub]");
}

TEST(Relocate, NopsLeaveNothing) {
  EXPECT_EQ(moved({0x0f, 0x1f, 0x44, 0, 0}, kNear), "e9 00 00 ff ff ");
}

// Whatever its prefixes and whatever follows its displacement.
TEST(Relocate, EveryEncodingOfARipRelativeOperandKeepsItsTarget) {
  const Bytes kCodes[] = {
      {0xf0, 0x48, 0x0f, 0xb1, 0x0d, 0, 1, 0, 0},              // lock cmpxchg %rcx,m
      {0xf0, 0x48, 0x0f, 0xc7, 0x0d, 0, 1, 0, 0},              // lock cmpxchg16b m
      {0xc4, 0xe3, 0x7d, 0x19, 0x05, 0, 1, 0, 0, 1},           // vextractf128 $1,%ymm0,m
      {0xc5, 0xf9, 0xc6, 0x05, 0, 1, 0, 0, 1},                 // vshufpd $1,m,%xmm0,%xmm0
      {0x62, 0xf3, 0x7d, 0x48, 0x25, 0x05, 0, 1, 0, 0, 0x55},  // vpternlogd $0x55,m,%zmm
      {0x62, 0xf1, 0x7c, 0x48, 0x58, 0x05, 0, 1, 0, 0},        // vaddps m,%zmm0,%zmm0
      {0x66, 0x0f, 0x3a, 0x0f, 0x05, 0, 1, 0, 0, 4},           // palignr $4,m,%xmm0
      {0x66, 0x81, 0x05, 0, 1, 0, 0, 1, 2},                    // addw $imm16,m
      {0xf2, 0x0f, 0x10, 0x05, 0, 1, 0, 0},                    // movsd m,%xmm0
      {0x48, 0xc7, 0x05, 0, 1, 0, 0, 1, 2, 3, 4},              // movq $imm32,m
      {0x83, 0x3d, 0, 1, 0, 0, 7},                             // cmpl $7,m
      {0xff, 0x35, 0, 1, 0, 0},                                // push m
      {0x8f, 0x05, 0, 1, 0, 0},                                // pop m
      {0xff, 0x25, 0, 1, 0, 0},                                // jmp *m
      {0x3e, 0xff, 0x25, 0, 1, 0, 0},                          // notrack jmp *m
      {0xd9, 0x2d, 0, 1, 0, 0},                                // fldcw m
      {0x0f, 0xae, 0x15, 0, 1, 0, 0},                          // ldmxcsr m
      {0x48, 0x8d, 0x05, 0, 0, 0, 0},                          // lea 0(%rip),%rax
  };
  for (const Bytes& code : kCodes) {
    SCOPED_TRACE(hex(code.data(), code.size()));
    uint8_t padded[kMaxDisplaced] = {}, out[kMaxBody];
    std::memcpy(padded, code.data(), code.size());
    DisplacedRun run;
    run.from = kFrom;
    run.code = padded;
    run.displaced = static_cast<uint8_t>(code.size());
    run.count = 1;
    RelocatedRun result;
    const char* why = relocate_run(run, kNear, out, &result);
    ASSERT_EQ(why, nullptr) << why;
    Insn before, after;
    ASSERT_TRUE(decode_insn(padded, code.size(), kFrom, &before));
    ASSERT_TRUE(decode_insn(out, result.size, kNear, &after));
    ASSERT_NE(before.rip_disp_offset, 0);
    EXPECT_EQ(after.target, before.target);
    EXPECT_EQ(after.length, before.length);
    EXPECT_EQ(after.kind, before.kind);
  }
}

TEST(Relocate, ReturnsEndTheStub) {
  EXPECT_EQ(moved({0xc3}, kNear), "c3 ");
  EXPECT_EQ(moved({0xff, 0xe0}, kNear), "ff e0 ");
}

TEST(Relocate, WhatCannotBeMovedSaysSo) {
  EXPECT_EQ(moved({0xcc}, kNear), "[an int3 of the program]");
  EXPECT_EQ(moved({0xc7, 0xf8, 0, 0, 0, 0}, kNear), "[an instruction that cannot be moved]");
  EXPECT_EQ(moved({0xff, 0x18}, kNear), "[an instruction that cannot be moved]");  // far call
  EXPECT_EQ(moved({0x06}, kNear), "[bytes that are no instruction]");
  EXPECT_EQ(moved({0xcd, 0x03}, kNear), "[an int3 of the program]");
  EXPECT_EQ(moved({0xf1}, kNear), "[an int3 of the program]");
  EXPECT_EQ(moved({0xcb}, kNear), "[an instruction that cannot be moved]");              // lret
  EXPECT_EQ(moved({0x48, 0xff, 0x28}, kNear), "[an instruction that cannot be moved]");  // ljmp
  EXPECT_EQ(moved({0x66, 0xe9, 0, 0, 0, 0}, kNear), "[an instruction that cannot be moved]");
  EXPECT_EQ(moved({0x67, 0x8b, 0x05, 0, 0, 0, 0}, kNear),
            "[an instruction that cannot be moved]");  // eip-relative
}

TEST(Decoder, FlagsAndKinds) {
  const struct {
    Bytes code;
    InsnKind kind;
    bool reads, writes_all;
  } kCases[] = {
      {{0x48, 0x29, 0xf8}, InsnKind::kPlain, false, true},   // sub
      {{0x48, 0x11, 0xf0}, InsnKind::kPlain, true, true},    // adc
      {{0x48, 0x8d, 0x07}, InsnKind::kPlain, false, false},  // lea
      {{0x0f, 0x94, 0xc0}, InsnKind::kPlain, true, false},   // sete
      {{0x9c}, InsnKind::kPlain, true, false},               // pushfq
      {{0x48, 0xff, 0xc0}, InsnKind::kPlain, false, false},  // inc leaves CF
      {{0x90}, InsnKind::kNop, false, false},
      {{0x0f, 0x1f, 0x44, 0, 0}, InsnKind::kNop, false, false},
      {{0x75, 0}, InsnKind::kCondJump, true, false},
      {{0xe1, 0}, InsnKind::kLoop, true, false},  // loope
      {{0x0f, 0x0b}, InsnKind::kStop, false, false},
  };
  for (const auto& c : kCases) {
    Insn insn;
    SCOPED_TRACE(hex(c.code.data(), c.code.size()));
    ASSERT_TRUE(decode_insn(c.code.data(), c.code.size(), kFrom, &insn));
    EXPECT_EQ(insn.kind, c.kind);
    EXPECT_EQ(insn.flags_read != 0, c.reads);
    EXPECT_EQ(insn.flags_written == kAllArithmeticFlags, c.writes_all);
  }
}

}  // namespace
}  // namespace patchbay
