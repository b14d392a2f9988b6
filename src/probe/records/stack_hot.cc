// SPDX-License-Identifier: MIT
#include "probe/records/stack_hot.h"

#include "probe/probe_hot.h"
#include "probe/returns/return_hook.h"

namespace patchbay {

extern "C" {
StackDepth pb_stack_depth;
uint32_t pb_stack_tgid;
// Where this thread's stack ends, as the last walk found it; 0: not known.
__thread uint64_t pb_stack_end __attribute__((tls_model("initial-exec"), visibility("hidden"))) = 0;
}

namespace {

constexpr uint32_t kEndbr64 = 0xfa1e0ff3;
constexpr int kLockTries = 1000;

// The two records differ in four bytes.
struct StackRecord {
  uint64_t header;
  uint32_t count_or_tgid;
  StackHow how;
  uint64_t frame[kMaxStackFrames];
};
static_assert(offsetof(StackRecord, how) == kStackHowOffset);
static_assert(offsetof(StackRecord, frame) == kStackFramesOffset);

bool is_entry(const CallSite* at) {
  if (at->address == at->function) return true;
  return at->address == at->function + 4 &&
         *reinterpret_cast<const uint32_t*>(at->function) == kEndbr64;
}

void publish_stack(const EventProgram* event, uint8_t stacks, StackRecord* record, uint32_t frames,
                   uint32_t tid) {
  auto* bytes = reinterpret_cast<uint8_t*>(record);
  const auto size = uint32_t(offsetof(StackRecord, frame) + frames * sizeof(uint64_t));
  if (stacks & (kKernelStack | kFunctionStack) || !stacks) {
    write_header(bytes, kKernelStackId, tid);
    record->count_or_tgid = frames;
    publish_beside(event, bytes, size);
  }
  if (!(stacks & kUserStack)) return;
  write_header(bytes, kUserStackId, tid);
  record->count_or_tgid = pb_stack_tgid;
  for (uint32_t i = frames; i < kUserStackWords; i++) record->frame[i] = 0;
  constexpr uint32_t kLeast = offsetof(StackRecord, frame) + kUserStackWords * sizeof(uint64_t);
  publish_beside(event, bytes, size < kLeast ? kLeast : size);
}

// A signal stack in the middle has no depth of its own.
bool is_one_stack(const uint64_t* sp, uint32_t count, uint64_t end) {
  for (uint32_t i = 1; i < count; i++)
    if (sp[i] < sp[i - 1] || sp[i] > end) return false;
  return true;
}

}  // namespace

StackStart stack_start(const CallSite* at, const FetchRegisters* registers, const uint64_t* word) {
  const uint64_t ip = registers->reg[kIpRegister], fp = registers->reg[5];
  if (!at || ip != at->address) return {ip, registers->reg[4], fp, false};  // a return
  return {ip, reinterpret_cast<uint64_t>(word), fp, is_entry(at)};
}

void record_stacks(const EventProgram* event, uint8_t stacks, const StackStart& start, uint32_t tid,
                   uint32_t skip) {
  StackRecord record;
  const UnwindOutput out = {record.frame, nullptr, nullptr, kMaxStackFrames};
  uint32_t frames = unwind(start, out, &record.how);
  if (skip > frames) skip = frames;
  frames -= skip;
  for (uint32_t i = 0; skip && i < frames; i++) record.frame[i] = record.frame[i + skip];
  publish_stack(event, stacks, &record, frames, tid);
}

bool lock_stack_depth() {
  for (int i = 0; i < kLockTries; i++) {
    if (!__atomic_exchange_n(&pb_stack_depth.locked, 1, __ATOMIC_ACQUIRE)) return true;
    __builtin_ia32_pause();
  }
  return false;
}

void unlock_stack_depth() { __atomic_store_n(&pb_stack_depth.locked, 0, __ATOMIC_RELEASE); }

// `pb_stack_end` may be that of another stack (fibers, a signal's): then the stack seems too deep,
// or to lie above its end, and a walk finds the right one. It never seems too small: two stacks
// that both contain sp there are not.
void stack_depth_hit(const SiteEvent&, const StackStart& start) {
  const uint64_t deepest = __atomic_load_n(&pb_stack_depth.size, __ATOMIC_RELAXED);
  if (pb_stack_end >= start.sp && pb_stack_end - start.sp <= deepest) return;
  StackHow how;
  uint64_t end = 0;
  unwind(start, {nullptr, nullptr, &end, kMaxDepthSteps}, &how);
  if (end < start.sp) return;
  pb_stack_end = end;
  if (end - start.sp <= deepest || !lock_stack_depth()) return;
  StackDepth* kept = &pb_stack_depth;
  if (end - start.sp > kept->size) {
    const uint32_t count =
        unwind(start, {kept->ip, kept->depth, nullptr, kMaxDepthFrames}, &kept->how);
    const bool good = is_one_stack(kept->depth, count, end);
    kept->count = good ? count : 0;
    for (uint32_t i = 0; i < count; i++) kept->depth[i] = end - kept->depth[i];
    if (good) __atomic_store_n(&kept->size, end - start.sp, __ATOMIC_RELAXED);
  }
  unlock_stack_depth();
}

}  // namespace patchbay
