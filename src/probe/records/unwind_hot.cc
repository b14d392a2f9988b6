// SPDX-License-Identifier: MIT
#include "probe/records/unwind_hot.h"

#include "hot/safe_load.h"
#include "patch/stub_views.h"
#include "probe/returns/return_hook.h"

namespace patchbay {

extern "C" {
const UnwindModules* pb_unwind_modules;
}

namespace {

// In the ucontext that the kernel leaves at rsp for a signal's return.
constexpr uint64_t kContextRbp = 120, kContextRsp = 160, kContextRip = 168;
// A frame with a frame pointer is hardly larger: a wild rbp is told by it.
constexpr uint64_t kLargestFrame = 16 << 20;
// mov $15, %eax or %rax; syscall: a signal's return in libraries without unwind tables.
constexpr uint64_t kSigreturnLong = 0x0f0000000fc0c748, kSigreturnShort = 0x050f0000000fb8;

struct Frame {
  uint64_t ip, sp, fp;
  bool exact;  // ip has not run yet; else it is a return address, and the call lies before it
};

const UnwindModule* find_module(const UnwindModules* modules, uint64_t pc) {
  uint64_t low = 0, high = modules->count;
  while (low < high) {  // the first that ends behind pc
    const uint64_t middle = (low + high) / 2;
    if (modules->module[middle].last <= pc)
      low = middle + 1;
    else
      high = middle;
  }
  return low < modules->count && modules->module[low].first <= pc ? &modules->module[low] : nullptr;
}

UnwindRule find_rule(uint64_t pc) {
  const UnwindModules* modules =
      __atomic_load_n(&pb_unwind_modules, __ATOMIC_ACQUIRE);  // pairs with UnwindTables::publish
  const UnwindModule* module = modules ? find_module(modules, pc) : nullptr;
  if (!module) return {};
  const uint64_t offset = pc - module->first;
  const uint64_t block = offset / kUnwindBlock;
  uint32_t low = module->blocks[block], high = module->blocks[block + 1] + 1;
  while (high - low > 1) {  // rows[low].start <= offset
    const uint32_t middle = (low + high) / 2;
    if (module->rows[middle].start <= offset)
      low = middle;
    else
      high = middle;
  }
  return unpack_rule(module->rows[low].rule);
}

// --- one step. False: the walk ends, `end` says why.

bool leave_signal(Frame* frame, StackEnd* end) {
  uint64_t ip, sp, fp;
  if (!try_load8(frame->sp + kContextRip, &ip) || !try_load8(frame->sp + kContextRsp, &sp) ||
      !try_load8(frame->sp + kContextRbp, &fp)) {
    *end = StackEnd::kBadMemory;
    return false;
  }
  *frame = {ip, sp, fp, true};
  return true;
}

bool is_signal_return(const Frame& frame) {
  uint64_t code = 0;
  if (!try_load8(frame.ip, &code)) return false;
  return code == kSigreturnLong || (code & (~uint64_t{0} >> 8)) == kSigreturnShort;
}

bool by_frame_pointer(Frame* frame, StackEnd* end) {
  uint64_t ip, fp;
  const uint64_t at = frame->fp;
  if (at & 7 || at < frame->sp || at - frame->sp > kLargestFrame) return false;
  if (!try_load8(at, &fp) || !try_load8(at + 8, &ip)) return false;
  if (!ip) {
    *end = StackEnd::kOutermost;
    return false;
  }
  *frame = {real_return_address(ip), at + 16, fp, false};
  return true;
}

bool find_cfa(const Frame& frame, const UnwindRule& rule, uint64_t* cfa) {
  switch (rule.kind) {
    case UnwindKind::kRsp:
      *cfa = frame.sp + uint64_t(int64_t{rule.offset});
      return true;
    case UnwindKind::kRbp:
      *cfa = frame.fp + uint64_t(int64_t{rule.offset});
      return true;
    case UnwindKind::kPlt:
      *cfa = frame.sp + (int32_t(frame.ip & 15) >= rule.offset / 8 ? 16 : 8);
      return true;
    default:
      return try_load8(frame.fp + uint64_t(int64_t{rule.offset}), cfa);  // kDeref
  }
}

bool by_rule(Frame* frame, const UnwindRule& rule, StackEnd* end) {
  uint64_t cfa, ip, fp = frame->fp;
  *end = StackEnd::kBadMemory;
  if (!find_cfa(*frame, rule, &cfa)) return false;
  if (cfa <= frame->sp) {
    *end = StackEnd::kNotUpwards;
    return false;
  }
  if (!try_load8(cfa - 8, &ip)) return false;
  if (rule.saved_rbp == kRbpLost) {
    fp = 0;
  } else if (rule.saved_rbp) {
    const uint64_t at = rule.saved_rbp == kRbpAtRbp ? fp : cfa - 8 * uint64_t{rule.saved_rbp};
    if (!try_load8(at, &fp)) return false;
  }
  if (!ip) {
    *end = StackEnd::kOutermost;
    return false;
  }
  *frame = {real_return_address(ip), cfa, fp, false};
  return true;
}

// A signal may come while a thread is in code of ours: the place in the program that it stands for.
void leave_own_code(Frame* frame) {
  if (!frame->exact) return;
  StubPlace place;
  if (is_return_trampoline(frame->ip)) {
    frame->ip = real_return_address(frame->ip);
  } else if (stub_place(frame->ip, &place)) {
    frame->ip = place.original;
    frame->sp += place.moved;
  }
}

bool step(Frame* frame, StackHow* how, bool is_entry) {
  UnwindRule rule = find_rule(frame->exact ? frame->ip : frame->ip - 1);
  if (is_entry && (rule.kind == UnwindKind::kNone || rule.kind == UnwindKind::kUnsupported))
    rule = {UnwindKind::kRsp, 0, 8};
  how->end = StackEnd::kNoTable;
  switch (rule.kind) {
    case UnwindKind::kOutermost:
      how->end = StackEnd::kOutermost;
      return false;
    case UnwindKind::kSignal:
      if (!leave_signal(frame, &how->end)) return false;
      leave_own_code(frame);
      return true;
    case UnwindKind::kNone:
      if (!is_signal_return(*frame)) break;
      if (!leave_signal(frame, &how->end)) return false;
      leave_own_code(frame);
      return true;
    case UnwindKind::kUnsupported:
      how->end = StackEnd::kNoRule;
      break;
    default:
      return by_rule(frame, rule, &how->end);
  }
  if (!by_frame_pointer(frame, &how->end)) return false;
  if (how->by_frame_pointer < 255) how->by_frame_pointer++;
  return true;
}

// If that cannot be, the stack has a frame too many.
void leave_event_code(Frame* frame) {
  Frame caller = *frame;
  StackHow how = {};
  if (step(&caller, &how, false)) *frame = caller;
}

}  // namespace

uint32_t unwind(const StackStart& start, const UnwindOutput& out, StackHow* how) {
  Frame frame = {start.ip, start.sp, start.fp, true};
  *how = {0, 0, StackEnd::kLimit, 1};
  uint32_t count = 0;
  if (out.max == 0) return 0;
  if (start.is_inside) leave_event_code(&frame);
  for (;;) {
    if (out.ip) out.ip[count] = frame.ip;
    if (out.sp) out.sp[count] = frame.sp;
    if (out.last_sp) *out.last_sp = frame.sp;
    const bool is_entry = count == 0 && start.at_entry;
    count++;
    if (!step(&frame, how, is_entry)) break;
    if (count < out.max) continue;
    how->end = StackEnd::kLimit;
    break;
  }
  how->frames = uint8_t(count < 255 ? count : 255);
  return count;
}

}  // namespace patchbay
