// SPDX-License-Identifier: MIT
#include "attach/signal_frame.h"

#include <cpuid.h>
#include <signal.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "attach/tracing.h"

namespace patchbay::attach {
namespace {

// arch/x86/include/uapi/asm/sigcontext.h and ucontext.h, as the kernel has them.
struct KernelContext {
  uint64_t flags, link;
  uint64_t stack_address;
  int32_t stack_flags, stack_padding;
  uint64_t stack_size;
  uint64_t r8, r9, r10, r11, r12, r13, r14, r15;
  uint64_t rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip, eflags;
  uint16_t cs, gs, fs, ss;
  uint64_t error, trap, old_mask, cr2, vectors, reserved[8];
  uint64_t mask;
};
struct KernelFrame {
  uint64_t return_address;
  KernelContext context;
  uint8_t siginfo[128];
};
static_assert(offsetof(KernelContext, mask) == 40 + 256 && sizeof(KernelFrame) == 8 + 304 + 128);

constexpr uint64_t kExtendedState = 1, kHasSs = 2, kStrictSs = 4;  // flags of the context
constexpr int32_t kNoSuchStackMode = 4;
constexpr size_t kSoftwareBytes = 464;  // in the legacy area; there NT_X86_XSTATE has xcr0
constexpr size_t kXstateBv = 512, kHeaderEnd = 576;
constexpr uint64_t kLegacyFeatures = 3;
constexpr uint32_t kMagic1 = 0x46505853, kMagic2 = 0x46505845;

struct SoftwareBytes {  // struct _fpx_sw_bytes
  uint32_t magic1, extended_size;
  uint64_t features;
  uint32_t state_size, padding[7];
};
static_assert(sizeof(SoftwareBytes) == 48);

// Where the last of these features ends in the standard format.
size_t state_size_of(uint64_t features) {
  size_t end = kHeaderEnd;
  for (unsigned i = 2; i < 63; i++) {
    unsigned size = 0, offset = 0, c = 0, d = 0;
    if (features >> i & 1 && __get_cpuid_count(0xd, i, &size, &offset, &c, &d))
      end = std::max(end, size_t{offset} + size);
  }
  return end;
}

// Features that are as a new program has them are not in the header: the kernel makes them so.
std::vector<uint8_t> signal_vectors(const std::vector<uint8_t>& state) {
  if (state.size() < kHeaderEnd) return state;  // a processor without XSAVE: FXSAVE's 512 bytes
  uint64_t features = 0;
  std::memcpy(&features, state.data() + kXstateBv, sizeof features);
  const size_t size = std::min(state.size(), state_size_of(features));
  std::vector<uint8_t> bytes(state.begin(), state.begin() + long(size));
  const SoftwareBytes software = {
      kMagic1, uint32_t(size + sizeof kMagic2), features | kLegacyFeatures, uint32_t(size), {}};
  std::memcpy(bytes.data() + kSoftwareBytes, &software, sizeof software);
  bytes.resize(size + sizeof kMagic2);
  std::memcpy(bytes.data() + size, &kMagic2, sizeof kMagic2);
  return bytes;
}

// What the kernel does with the registers when a thread goes on behind a stop. rt_sigreturn knows
// nothing of the call that was interrupted, so this is done here.
user_regs_struct restarted(user_regs_struct registers) {
  constexpr long kRestartSys = -512, kRestartNoIntr = -513, kRestartNoHand = -514,
                 kRestartBlock = -516;
  const auto answer = long(registers.rax);
  if (long(registers.orig_rax) < 0) return registers;
  if (answer == kRestartBlock && registers.orig_rax == SYS_restart_syscall) {
    registers.rax = uint64_t(-EINTR);  // the kernel alone knew what it was
  } else if (answer == kRestartSys || answer == kRestartNoIntr || answer == kRestartNoHand ||
             answer == kRestartBlock) {
    registers.rip -= kSyscallLength;
    registers.rax = registers.orig_rax;
  }
  return registers;
}

KernelContext context_of(const user_regs_struct& from, uint64_t mask, uint64_t vectors) {
  const user_regs_struct r = restarted(from);
  KernelContext c = {};
  c.flags = kExtendedState | kHasSs | kStrictSs;
  // The kernel refuses this mode and leaves the alternate stack of the thread as it is. What that
  // is cannot be asked from outside.
  c.stack_flags = kNoSuchStackMode;
  c.r8 = r.r8, c.r9 = r.r9, c.r10 = r.r10, c.r11 = r.r11;
  c.r12 = r.r12, c.r13 = r.r13, c.r14 = r.r14, c.r15 = r.r15;
  c.rdi = r.rdi, c.rsi = r.rsi, c.rbp = r.rbp, c.rbx = r.rbx;
  c.rdx = r.rdx, c.rax = r.rax, c.rcx = r.rcx, c.rsp = r.rsp;
  c.rip = r.rip, c.eflags = r.eflags;
  c.cs = uint16_t(r.cs), c.gs = uint16_t(r.gs), c.fs = uint16_t(r.fs), c.ss = uint16_t(r.ss);
  c.vectors = vectors;
  c.mask = mask;
  return c;
}

}  // namespace

SignalFrame signal_frame(const user_regs_struct& registers, uint64_t mask,
                         const std::vector<uint8_t>& vectors, uint64_t top,
                         uint64_t return_address) {
  constexpr uint64_t kVectorAlignment = 64, kStackAlignment = 16;
  const std::vector<uint8_t> state = signal_vectors(vectors);
  const uint64_t state_at = (top - state.size()) & ~(kVectorAlignment - 1);
  SignalFrame frame;
  frame.address = ((state_at - sizeof(KernelFrame)) & ~(kStackAlignment - 1)) - 8;
  frame.bytes.resize(state_at + state.size() - frame.address);
  const KernelFrame head = {return_address, context_of(registers, mask, state_at), {}};
  std::memcpy(frame.bytes.data(), &head, sizeof head);
  std::memcpy(frame.bytes.data() + (state_at - frame.address), state.data(), state.size());
  return frame;
}

}  // namespace patchbay::attach
