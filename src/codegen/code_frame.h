// SPDX-License-Identifier: MIT
//
// What the parts of one piece of code share: the emitter, what the code is for, and where the
// program's registers stand while the code spends them.
#pragma once

#include <iterator>

#include "arch/emitter.h"
#include "codegen/probe_compile.h"
#include "fetch/fetch_abi.h"
#include "probe/returns/return_hook.h"
#include "ring_buffer/ring_write_hot.h"

namespace patchbay {

inline constexpr size_t kMaxCodeCallbacks = 4;  // of one event (codegen/callback_code.h)

// What Emitter::set_later() leaves open: it differs from one site or event to the next.
enum class CodeValue : uint8_t {
  kId,
  kIp,
  kSite,
  kEvent,
  kHits,
  kSoft,
  kListeners,
  kHist,
  kHistSwitch,
  kCallback,  // the first one; the others follow
  kCount = kCallback + kMaxCodeCallbacks
};

// Words for what the code holds in registers while it copies texts (codegen/text_code.h). The code
// that takes what a whole call keeps has the first three, that of its return the first one.
enum class Spill : uint8_t { kPlace, kBegin, kBound, kTime, kSlot, kControl, kPublish, kDelta };
inline constexpr Spill kTakenSize = Spill::kPlace;

inline bool has_texts(const FetchProgram& fetch) {
  for (int i = 0; i < fetch.nr_insns; i++)
    if (fetch.insn[i].op == FetchOp::kString) return true;
  return false;
}

// Bytes of a record all of whose fields are fixed.
inline uint32_t fixed_record_size(const FetchProgram& fetch) {
  return (fetch.fixed_size + 3) & ~3u;
}

class CodeFrame {
 public:
  // `lower`: how much lower the stack pointer is than where it was when the registers were saved.
  CodeFrame(Emitter& emitter, const ProbeCode& what, int lower = 0)
      : out(emitter),
        code(what),
        step(what.inside ? reg::kRedZone : 0),
        texts(what.fast && !what.hist && !what.at_return && has_texts(*what.event.fetch)),
        spills_(texts || what.hist),
        below_(what.at_return ? 8 : -lower),
        tid_(thread_local_offset(&pb_thread.fast_tid)) {}

  // Below the stack pointer, a word each: reg::kSpent, a scratch word, the flags, kReturnSlot. In
  // the code of a return the word below the stack pointer is the trampoline's, so that all of these
  // stand 8 lower, and return_hook.S saves them. Where texts are copied, Spill follows the flags,
  // and so do a histogram's numbers: such code is not a return's, and all 128 bytes that handlers
  // keep off are used then. Behind what return_hook.S has saved there is room for some of them.
  //
  // probe_entry_hook has saved all for the code that takes what a whole call keeps. It has words of
  // its own (function_entry.S), and leaves these.
  Mem saved(Reg spent) const { return word_below(number_of(spent)); }
  Mem scratch() const { return code.takes ? taking_word(kNrTaking - 1) : word_below(kScratch); }
  Mem saved_flags() const { return word_below(kFlags); }
  Mem spill(Spill which) const { return spilled(int(which)); }
  Mem spilled(int number) const {  // < kNrSpilled
    if (code.takes) return taking_word(number);
    return word_below((code.at_return ? kReturnSlot + 1 : kSpill) + number);
  }
  Mem lowest() const {
    return {reg::kStack, -8 * (spills_ ? kSpill + kNrSpilled : kReturnSlot + 1)};
  }
  bool is_saved(Reg program) const {
    if (program == reg::kReturnSlot) return code.at_return;
    return number_of(program) < kScratch;
  }

  Mem tid() const { return thread_local_word(tid_); }  // ProbeThread.fast_tid: 0: none is known
  // A handler may go through the agent at any time, which makes it 0. So it is asked for in the
  // sequence that stores it, where no handler comes between.
  void ask_thread(const Label& none) const {
    out.apply(Op::kCompare, tid(), Number{0}, Width::k4);
    out.jump_if(JumpCondition::kEqual, none);
  }
  void later(Reg to, CodeValue value) const { out.set_later(to, uint8_t(value)); }
  // Of the event that the slot's program has: such code serves every event of its shape.
  void load_slot_event(Reg to, size_t field) const {
    out.load(to, {reg::kReturnSlot, offsetof(ReturnSlot, program)});
    out.load(to, {to, int64_t(offsetof(SiteProgram, event) + field)});
  }

  Emitter& out;
  const ProbeCode& code;
  const int step;    // from our stack pointer to the program's
  const bool texts;  // the code copies texts

 private:
  static constexpr int kScratch = int(std::size(reg::kSpent)), kFlags = kScratch + 1,
                       kReturnSlot = kScratch + 2, kSpill = kReturnSlot;
  static constexpr int kNrSpilled = int(Spill::kDelta) + 1;
  static_assert(8 * (kSpill + kNrSpilled) == reg::kRedZone);
  static constexpr int kTaking = 88, kNrTaking = 4;  // down to BELOW_R10
  static Mem taking_word(int number) { return {reg::kStack, -kTaking - 8 * number}; }
  static int number_of(Reg program) {
    if (program == reg::kReturnSlot) return kReturnSlot;
    int number = 0;
    while (number < kScratch && !(reg::kSpent[number] == program)) number++;
    return number;
  }
  Mem word_below(int number) const { return {reg::kStack, -8 * (number + 1) - below_}; }

  const bool spills_;  // it needs the words of spilled()
  const int below_;    // how much of the stack below it is in use; negative: what is saved is above
  const int64_t tid_;  // of ProbeThread.fast_tid, from the thread pointer
};

}  // namespace patchbay
