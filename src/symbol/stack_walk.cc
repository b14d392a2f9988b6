// SPDX-License-Identifier: MIT
#include "symbol/stack_walk.h"

#include <cstring>

namespace patchbay {
namespace {

// Of a ucontext, from where the handler's return finds it at rsp.
constexpr uint64_t kContextRbp = 120, kContextRsp = 160, kContextRip = 168;

}  // namespace

bool StackCopy::word_at(uint64_t address, uint64_t* word) const {
  const uint64_t offset = address - start;
  if (address < start || offset > bytes.size() || bytes.size() - offset < sizeof *word)
    return false;
  std::memcpy(word, bytes.data() + offset, sizeof *word);
  return true;
}

const UnwindTable* StackWalk::table_at(uint64_t address, uint64_t* bias) {
  for (Module* module : symbols_.modules()) {
    if (address < module->start() || address >= module->end()) continue;
    auto [found, is_new] = tables_.try_emplace(module);
    if (is_new) found->second = module->unwind_table();
    *bias = module->bias();
    return &found->second;
  }
  return nullptr;
}

UnwindRule StackWalk::rule_at(uint64_t address) {
  uint64_t bias = 0;
  const UnwindTable* const table = table_at(address, &bias);
  const uint64_t at = address - bias;
  if (!table || table->rows.empty() || at < table->first || at >= table->last) return {};
  const uint64_t offset = at - table->first;
  size_t row = table->blocks[offset / kUnwindBlock];
  while (row + 1 < table->rows.size() && table->rows[row + 1].start <= offset) row++;
  return unpack_rule(table->rows[row].rule);
}

// To the caller. False: what is needed for that is not in the copy.
bool StackWalk::step(UnwindRule rule, const StackCopy& stack, StackRegisters* at) const {
  const StackRegisters now = *at;
  uint64_t cfa = 0;
  switch (rule.kind) {
    case UnwindKind::kRsp:
      cfa = now.rsp + uint64_t(int64_t{rule.offset});
      break;
    case UnwindKind::kRbp:
      cfa = now.rbp + uint64_t(int64_t{rule.offset});
      break;
    case UnwindKind::kDeref:
      if (!stack.word_at(now.rbp + uint64_t(int64_t{rule.offset}), &cfa)) return false;
      break;
    case UnwindKind::kPlt:
      cfa = now.rsp + (now.rip % 16 >= uint64_t(rule.offset / 8) ? 16 : 8);
      break;
    case UnwindKind::kSignal:
      return stack.word_at(now.rsp + kContextRip, &at->rip) &&
             stack.word_at(now.rsp + kContextRsp, &at->rsp) &&
             stack.word_at(now.rsp + kContextRbp, &at->rbp);
    default:
      return false;
  }
  if (!stack.word_at(cfa - 8, &at->rip)) return false;
  at->rsp = cfa;
  if (rule.saved_rbp == kRbpAtRbp) return stack.word_at(now.rbp, &at->rbp);
  if (rule.saved_rbp == kRbpLost) at->rbp = 0;
  if (rule.saved_rbp == 0 || rule.saved_rbp == kRbpLost) return true;
  return stack.word_at(cfa - 8 * uint64_t{rule.saved_rbp}, &at->rbp);
}

StackWalk::End StackWalk::walk(StackRegisters at, const StackCopy& stack, size_t most,
                               std::vector<StackFrame>* frames) {
  bool is_interrupted = true, is_guessed = false;
  for (;;) {
    if (frames->size() >= most) return End::kTooLong;
    frames->push_back({.pc = at.rip, .is_interrupted = is_interrupted, .is_guessed = is_guessed});
    // A call may be the last instruction of its function.
    const UnwindRule rule = rule_at(is_interrupted ? at.rip : at.rip - 1);
    if (rule.kind == UnwindKind::kOutermost) return End::kOutermost;
    const StackRegisters before = at;
    is_interrupted = frames->back().is_signal = rule.kind == UnwindKind::kSignal;
    const bool has_rule = rule.kind != UnwindKind::kNone && rule.kind != UnwindKind::kUnsupported;
    if (has_rule) {
      is_guessed = false;
      if (!step(rule, stack, &at)) return End::kNoStack;
    } else {
      // Code made at run time, the vdso: it may keep the chain of rbp.
      is_guessed = true;
      if (at.rbp < at.rsp || !stack.word_at(before.rbp, &at.rbp) ||
          !stack.word_at(before.rbp + 8, &at.rip))
        return End::kNoTable;
      at.rsp = before.rbp + 16;
    }
    if (at.rip == 0) return End::kOutermost;
    // Handlers may have a stack of their own; anything else comes nearer to the end.
    if (!is_interrupted && at.rsp <= before.rsp) return End::kNoStack;
  }
}

}  // namespace patchbay
