// SPDX-License-Identifier: MIT
#include "attach/stack_copies.h"

#include <sys/syscall.h>

#include <algorithm>
#include <cstring>

#include "attach/all_threads.h"
#include "attach/own_thread.h"
#include "attach/proc_text.h"
#include "attach/process_maps.h"
#include "attach/target_process.h"
#include "base/monotonic_clock.h"

namespace patchbay::attach {
namespace {

constexpr int kStopMs = 2000;
constexpr size_t kMostOfOne = size_t{1} << 20, kMostOfAll = size_t{64} << 20;

std::string name_of_thread(pid_t pid, pid_t tid) {
  std::string name =
      read_text("/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid) + "/comm")
          .value_or("");
  if (name.ends_with('\n')) name.pop_back();
  return name;
}

// The mapping that the stack pointer is in ends where the stack begins, or a little above.
void copy_stack(const Target& target, const std::vector<MapLine>& maps, size_t most,
                ThreadCopy* copy) {
  const MapLine* const line = line_at(maps, copy->rsp);
  if (!line) return;
  copy->stack.resize(std::min<uint64_t>(line->range.end - copy->rsp, most));
  if (!target.read(copy->rsp, copy->stack.data(), copy->stack.size()).ok()) copy->stack.clear();
}

void copy_word(const Target& target, ThreadCopy* copy) {
  constexpr size_t kAround = 64;
  copy->around_word.resize(kAround);
  const uint64_t start = copy->arguments[0] - ThreadCopy::kBeforeWord;
  if (!target.read(start, copy->around_word.data(), kAround).ok()) copy->around_word.clear();
}

// A wait with a limit that was stopped before goes on by restart_syscall(). Which call it was
// stands in front of it: mov $NUMBER, %eax; syscall.
long call_behind_restart(const Target& target, const AllThreads::Standing& thread) {
  uint8_t code[9] = {};
  if (thread.system_call != SYS_restart_syscall ||
      !target.read(thread.registers.rip - 7, code, sizeof code).ok())
    return thread.system_call;
  for (const size_t at : {size_t{0}, size_t{2}}) {  // behind the call, or at it to make it again
    uint32_t number = 0;
    std::memcpy(&number, code + at + 1, sizeof number);
    if (code[at] == 0xb8 && code[at + 5] == 0x0f && code[at + 6] == 0x05) return long(number);
  }
  return thread.system_call;
}

Result<StackCopies> copy_all(const Target& target) {
  PB_ASSIGN(const std::unique_ptr<AllThreads> all, AllThreads::stop_to_look(target, kStopMs));
  const std::vector<MapLine> maps = read_maps(target.pid());
  StackCopies copies;
  size_t left = kMostOfAll;
  for (const AllThreads::Standing& one : all->standing()) {
    ThreadCopy copy;
    copy.tid = one.tid;
    copy.rip = one.registers.rip;
    copy.rsp = one.registers.rsp;
    copy.rbp = one.registers.rbp;
    copy.system_call = call_behind_restart(target, one);
    copy.arguments[0] = one.registers.rdi;
    copy.arguments[1] = one.registers.rsi;
    if (copy.system_call == SYS_futex) copy_word(target, &copy);
    copy_stack(target, maps, std::min(left, kMostOfOne), &copy);
    left -= copy.stack.size();
    copies.threads.push_back(std::move(copy));
  }
  PB_TRY(all->release());
  copies.stood_ns = monotonic_ns() - all->stopped_since_ns();
  return copies;
}

}  // namespace

Result<StackCopies> copy_stacks(const Target& target) {
  PB_TRY(may_attach(target.pid()));
  PB_ASSIGN(StackCopies copies,
            on_own_thread<StackCopies>(target.pid(), [&] { return copy_all(target); }));
  for (ThreadCopy& copy : copies.threads) copy.name = name_of_thread(target.pid(), copy.tid);
  std::sort(copies.threads.begin(), copies.threads.end(),
            [](const ThreadCopy& a, const ThreadCopy& b) { return a.tid < b.tid; });
  return copies;
}

}  // namespace patchbay::attach
