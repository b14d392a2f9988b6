// SPDX-License-Identifier: MIT
#include "probe/stack_touch.h"

#include <cstdint>
#include <cstring>

#include "patch/stub_views.h"
#include "probe/probe_hot.h"

namespace patchbay {
namespace {

// One line of stack_touch.inc.
struct Touch {
  int32_t ip;  // relative to this word
  int32_t kind;
  int32_t frame;
};
constexpr auto kFrameRdi = int32_t(StackTouch::kFrameRdi);  // the only one whose registers differ

extern "C" {
extern const Touch __start_pb_stack_touches[] __attribute__((weak, visibility("hidden")));
extern const Touch __stop_pb_stack_touches[] __attribute__((weak, visibility("hidden")));
}

constexpr int kRedZone = 128;
// probe_entry.S. Without xmm registers a frame has so much less below.
constexpr int32_t kFrame = offsetof(ProbeFrame, stub_return),
                  kFrameAll = offsetof(ProbeFrame, wanted),
                  kNoXmm = offsetof(ProbeFrame, registers.reg);
constexpr uint32_t kFrameArgument = offsetof(ProbeFrame, registers.arg);

// A prologue in a stub, and the program's instruction behind it. {0, 0}: `ip` lies in none.
struct Prologue {
  uint64_t begin = 0, end = 0;
};

Prologue prologue_in(const StubRecord& stub, uint64_t at) {
  for (uint8_t i = 0; i < stub.count; i++) {
    const uint64_t begin = i ? stub.start[i] : 0;
    if (at >= begin && at < stub.moved[i])
      return {stub.address + begin, stub.address + stub.moved[i]};
  }
  return {};
}

Prologue find_prologue(uint64_t ip) {
  const StubRecord* stub = stub_at(ip);
  return stub ? prologue_in(*stub, ip - stub->address) : Prologue{};
}

template <size_t N>
bool has_code(uint64_t at, const uint8_t (&bytes)[N]) {
  return std::memcmp(reinterpret_cast<const void*>(at), bytes, N) == 0;
}

constexpr uint8_t kMovSite[] = {0x48, 0xb8};                        // mov $CallSite, %rax
constexpr uint8_t kLeaHooked[] = {0x48, 0x8d, 0x05};                // lea 1f(%rip), %rax
constexpr uint8_t kSaveRax[] = {0x48, 0x89, 0x44, 0x24, 0xf0};      // mov %rax, -16(%rsp)
constexpr uint8_t kLowestWord[] = {0x48, 0x89, 0x44, 0x24, 0xb8};   // mov %rax, -72(%rsp)
constexpr uint8_t kLowestOfAll[] = {0x48, 0x89, 0x44, 0x24, 0x80};  // mov %rax, -128(%rsp)
constexpr uint8_t kStepOver[] = {0x48, 0x8d, 0x64, 0x24, 0x80};     // lea -128(%rsp), %rsp
constexpr uint8_t kPushRax = 0x50;

// How much lower than the program's the stack pointer is, if a first look of the stub is at `ip`;
// -1: none is.
int stepped_at(uint64_t ip, const Prologue& prologue) {
  const uint64_t behind = ip + sizeof kSaveRax;
  if (has_code(ip, kSaveRax) && (has_code(behind, kMovSite) || has_code(behind, kLeaHooked)))
    return 0;
  const bool has_stepped =
      ip >= prologue.begin + sizeof kStepOver && has_code(ip - sizeof kStepOver, kStepOver);
  if (has_code(ip, kLowestWord) || has_code(ip, kLowestOfAll)) return has_stepped ? kRedZone : 0;
  const bool pushes = *reinterpret_cast<const uint8_t*>(ip) == kPushRax;
  return pushes && has_code(ip + 1, kMovSite) ? kRedZone : -1;
}

// The CallSite that the prologue names behind `ip`; null: none.
const CallSite* named_site(uint64_t ip, const Prologue& prologue) {
  constexpr uint8_t kIndirect = 0xff;  // call or jmp *(%rip)
  constexpr uint64_t kSize = sizeof kMovSite + sizeof(uint64_t);
  for (; ip + kSize < prologue.end; ip++) {
    if (!has_code(ip, kMovSite)) continue;
    if (*reinterpret_cast<const uint8_t*>(ip + kSize) != kIndirect) continue;
    const CallSite* site;
    std::memcpy(&site, reinterpret_cast<const void*>(ip + sizeof kMovSite), sizeof site);
    return site;
  }
  return nullptr;
}

void count_given_up(const CallSite* site) {
  if (!site) return;
  if (const SiteProgram* program = __atomic_load_n(&site->program, __ATOMIC_ACQUIRE))
    count_recursion(program);
  else if (const SiteProgram* returns = __atomic_load_n(&site->return_program, __ATOMIC_ACQUIRE))
    count_recursion(returns);
}

const Touch* find_touch(uint64_t ip) {
  for (const Touch* touch = __start_pb_stack_touches; touch != __stop_pb_stack_touches; touch++)
    if (reinterpret_cast<uint64_t>(&touch->ip) + uint64_t(int64_t{touch->ip}) == ip) return touch;
  return nullptr;
}

uint64_t word_at(uint64_t address) { return *reinterpret_cast<const uint64_t*>(address); }

bool leave_stub(greg_t* registers, uint64_t ip) {
  const Prologue prologue = find_prologue(ip);
  const int stepped = prologue.end ? stepped_at(ip, prologue) : -1;
  if (stepped < 0) return false;
  count_given_up(named_site(ip, prologue));
  registers[REG_RSP] += stepped;
  registers[REG_RIP] = greg_t(prologue.end);
  return true;
}

// The stub's return address is on top of the frame, its rax beside it: above where all registers
// were asked for, else below.
bool leave_entry(greg_t* registers, const Touch& touch) {
  const bool is_deep = touch.kind == kFrameRdi;
  const auto sp = static_cast<uint64_t>(registers[REG_RSP]) + (is_deep ? kStackTouchDepth : 0);
  const uint64_t top = sp + uint64_t(touch.frame);
  const bool is_all = touch.frame == kFrameAll || touch.frame == kFrameAll - kNoXmm;
  const auto less = uint64_t((is_all ? kFrameAll : kFrame) - touch.frame);
  const Prologue prologue = find_prologue(word_at(top) - 1);
  if (!prologue.end) return false;
  count_given_up(reinterpret_cast<const CallSite*>(registers[REG_RAX]));
  if (is_deep) registers[REG_RDI] = greg_t(word_at(sp + kFrameArgument - less));
  registers[REG_RAX] = greg_t(word_at(is_all ? top + 8 : top - 8));
  registers[REG_RSP] = greg_t(is_all ? top + 16 + kRedZone : top + 8);
  registers[REG_RIP] = greg_t(prologue.end);
  return true;
}

}  // namespace

bool stack_touch_fixup(ucontext_t* context) {
  greg_t* registers = context->uc_mcontext.gregs;
  const auto ip = static_cast<uint64_t>(registers[REG_RIP]);
  if (const Touch* touch = find_touch(ip)) return leave_entry(registers, *touch);
  return leave_stub(registers, ip);
}

}  // namespace patchbay
