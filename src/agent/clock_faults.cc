// SPDX-License-Identifier: MIT
#include "agent/clock_faults.h"

#include <linux/seccomp.h>
#include <sys/prctl.h>

#include <atomic>
#include <cstdarg>
#include <cstdint>
#include <cstring>

#include "agent/agent.h"
#include "agent/next_function.h"
#include "agent/stand_ins.h"
#include "patch/patcher.h"
#include "patch/stub_views.h"
#include "probe/probe_hot.h"

// Of this very object.
extern "C" {
extern const uint8_t __ehdr_start[] __attribute__((visibility("hidden")));
extern const uint8_t etext[] __attribute__((visibility("hidden")));
}

namespace patchbay {
namespace {

constexpr uint32_t kRseqSignature = 0x53053053;

void silence(bool silent) {
  const bool was = pb_thread.in_agent & kSilent;
  if (silent && !was) pb_thread.in_agent += kSilent;
  if (!silent && was) pb_thread.in_agent -= kSilent;
  pb_thread.fast_tid = 0;
}

bool is_own_code(uint64_t ip) {
  if (ip - reinterpret_cast<uint64_t>(__ehdr_start) < uint64_t(etext - __ehdr_start)) return true;
  const size_t views = __atomic_load_n(&g_chunk_view_count, __ATOMIC_ACQUIRE);
  for (size_t i = 0; i < views; i++)
    if (ip - g_chunk_views[i].base < g_chunk_views[i].size) return patch_original_ip(ip) == 0;
  return false;
}

// The thread will make no system call for its next event.
void meet_now() {
  Agent* agent = own_agent();
  if (!agent || pb_thread.in_agent) return;
  meet_thread(&pb_thread, agent->registry->top().buffer->rings());
}

void tell(const char* what) {
  static std::atomic<bool> said{false};
  if (!own_agent() || said.exchange(true)) return;
  say(std::string("a thread ") + what +
      ", which forbids it to read the clock: it is not recorded any more");
}

// True: the thread is not recorded while this holds.
bool forbids_clock(int option, unsigned long value) {
  if (option == PR_SET_SECCOMP) return value == SECCOMP_MODE_STRICT;
  return option == PR_SET_TSC && value == PR_TSC_SIGSEGV;
}

}  // namespace

bool clock_fault_fixup(const siginfo_t& info, ucontext_t* context) {
  if (info.si_signo != SIGSEGV || info.si_code != SI_KERNEL) return false;
  greg_t* registers = context->uc_mcontext.gregs;
  const auto ip = static_cast<uint64_t>(registers[REG_RIP]);
  if (!is_own_code(ip)) return false;
  const auto* code = reinterpret_cast<const uint8_t*>(ip);
  uint32_t before;
  std::memcpy(&before, code - sizeof before, sizeof before);
  const bool is_rdtsc = code[0] == 0x0f && code[1] == 0x31;
  // In a restartable sequence the kernel has gone to its abort label first.
  if (!is_rdtsc && before != kRseqSignature) return false;
  silence(true);
  if (!is_rdtsc) return true;
  registers[REG_RAX] = registers[REG_RDX] = 0;
  registers[REG_RIP] += 2;
  return true;
}

// In a restartable sequence the kernel has gone to its abort label first, which is ours, too.
bool alignment_fault_fixup(const siginfo_t& info, ucontext_t* context) {
  constexpr greg_t kAlignmentChecks = 1 << 18;
  greg_t* registers = context->uc_mcontext.gregs;
  if (info.si_signo != SIGBUS || info.si_code != BUS_ADRALN) return false;
  if (!(registers[REG_EFL] & kAlignmentChecks)) return false;
  if (!is_own_code(static_cast<uint64_t>(registers[REG_RIP]))) return false;
  registers[REG_EFL] &= ~kAlignmentChecks;
  return true;
}

}  // namespace patchbay

// In front of libc's, so visible from outside.
#pragma GCC visibility push(default)
extern "C" PB_STAND_IN int prctl(int option, ...) noexcept {
  using namespace patchbay;
  using Prctl = int (*)(int, unsigned long, unsigned long, unsigned long, unsigned long);
  const auto real = next_function<Prctl>(Next::kPrctl);
  va_list list;
  va_start(list, option);
  unsigned long value[4];
  for (unsigned long& one : value) one = va_arg(list, unsigned long);
  va_end(list);
  const bool forbids = forbids_clock(option, value[0]);
  const bool was_silent = pb_thread.in_agent & kSilent;
  if (forbids && !was_silent)
    tell(option == PR_SET_TSC ? "has set PR_TSC_SIGSEGV" : "goes into strict seccomp mode");
  // A filter follows, or each system call of this thread becomes a SIGSYS of the program.
  if (option == PR_SET_NO_NEW_PRIVS || option == PR_SET_SECCOMP ||
      option == PR_SET_SYSCALL_USER_DISPATCH)
    meet_now();
  if (forbids) silence(true);
  const int answer = real(option, value[0], value[1], value[2], value[3]);
  if (forbids && answer != 0) silence(was_silent);
  if (option == PR_SET_TSC && value[0] == PR_TSC_ENABLE && answer == 0) silence(false);
  return answer;
}
#pragma GCC visibility pop
