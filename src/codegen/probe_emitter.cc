// SPDX-License-Identifier: MIT
#include "codegen/probe_emitter.h"

#include <algorithm>
#include <vector>

#include "codegen/call_code.h"
#include "codegen/callback_code.h"
#include "codegen/code_frame.h"
#include "codegen/hist_code.h"
#include "codegen/publish_code.h"
#include "codegen/record_code.h"
#include "filter/filter_jit.h"
#include "patch/patcher.h"
#include "patch/stack_shape.h"
#include "probe/callbacks/callback_hot.h"
#include "probe/triggers/trigger_hot.h"

namespace patchbay {
namespace {

using reg::kControl, reg::kWork;

const Mem kSavedForEntry{reg::kStack, -16};         // where probe_entry.S leaves a word alone
constexpr Reg kSpentByCount[] = {kWork, kControl};  // emit_count()
const Mem kSavedWork{reg::kStack, -8};              // before save(): the word of kWork

class ProbeEmitter {
 public:
  ProbeEmitter(Emitter& emitter, const ProbeCode& code)
      : out_(emitter),
        code_(code),
        frame_(emitter, code),
        step_(frame_.step),
        tests_(code.filtered || code.gated || code.mirrored || code.soft),
        keeps_flags_(code.flags_live && (code.fast || tests_)),
        counts_(code.event.counts != nullptr && (code.fast || tests_)),
        only_hooks_(code.hooks_return && !code.site_has_events) {
    if (code.filtered && !code.at_return)
      filter_tests_ = filter_register_tests(*code.event.event->filter, *code.event.fetch);
    text_tests_ = has_text_tests(filter_tests_);
    if (code.hist) hist_ = hist_code(code.event);
    if (code.calls) callbacks_ = callback_code(code.event);
  }

  void emit() {
    if (code_.at_return) return emit_return();
    if (code_.takes) return emit_taking();
    if (code_.shared) return emit_shared();
    step_over_red_zone();
    if (tests_ || code_.fast) out_.store(frame_.lowest(), kWork);  // stack_touch.h
    if (tests_) emit_tests();
    if (code_.fast) emit_fast();
    if (!only_hooks_) {
      out_.bind(slow_call_);
      emit_call();
      out_.jump(code_.hooks_return ? leave_ : done_);
    } else {
      out_.jump(leave_);
    }
    if (tests_) emit_rejected();
    if (counts_ && code_.fast) emit_count_abort();
    emit_data();
    emit_end();
  }

 private:
  void emit_end() {
    out_.bind(leave_);
    out_.stack_is(step_now());
    if (code_.hooks_return) emit_hook();
    out_.bind(done_);
    out_.stack_is(step_now());
    step_back();
    out_.bind(end_);
  }
  int step_now() const { return only_hooks_ ? 0 : step_; }
  void step_over_red_zone() {
    if (step_now()) out_.move_stack(-reg::kRedZone);
  }
  void step_back() {
    if (step_now()) out_.move_stack(reg::kRedZone);
  }

  // All stubs of such places are alike: the site's programs say what is to be done.
  void emit_shared() {
    const CallOut& call = code_.hooks_return ? hook_call_ : entry_call_;
    code_.hooks_return ? emit_hook() : emit_call();
    out_.jump(done_);
    out_.room(call, reinterpret_cast<void*>(probe_entry_shared));
    out_.bind(done_);
  }

  // All is saved, reg::kReturnSlot is the slot.
  void emit_return() {
    Label done, general;
    if (code_.filtered) {
      frame_.ask_thread(slow_);
      emit_call_tests(frame_, rejected_, slow_);
    }
    emit_publish(frame_, record_, slow_);
    if (counts_) emit_count(frame_, count_);
    if (code_.filtered) out_.bind(rejected_);
    out_.jump_through(done);
    out_.abort_sequence(record_);
    out_.bind(slow_);
    out_.jump_through(general);
    if (counts_) {
      out_.abort_sequence(count_);
      emit_count_locked(frame_);
      out_.jump_through(done);
    }
    out_.align(8);
    out_.word(done, reinterpret_cast<uint64_t>(pb_return_done));
    out_.word(general, reinterpret_cast<uint64_t>(pb_return_general));
    emit_descriptors();
  }

  // All is saved, reg::kReturnSlot is the slot. What the call pushed is the stub's.
  void emit_taking() {
    Label done, general;
    out_.stack_is(sizeof(uint64_t));
    emit_take(frame_, slow_);
    out_.jump_through(done);
    out_.bind(slow_);
    out_.jump_through(general);
    out_.align(8);
    out_.word(done, reinterpret_cast<uint64_t>(pb_take_done));
    out_.word(general, reinterpret_cast<uint64_t>(pb_take_general));
  }

  void* entry_point() const {
    void (*plain[])() = {probe_entry, probe_entry_xmm};
    void (*flags[])() = {probe_entry_flags, probe_entry_xmm_flags};
    void (*all[])() = {probe_entry_all, probe_entry_all_xmm};
    auto* which = code_.inside ? all : code_.flags_live ? flags : plain;
    return reinterpret_cast<void*>(which[code_.uses_xmm]);
  }
  void* hook_point() const {
    void (*hooks[])() = {probe_entry_hook, probe_entry_hook_xmm};
    void (*flags[])() = {probe_entry_hook_flags, probe_entry_hook_xmm_flags};
    auto* which = code_.flags_live || code_.inside ? flags : hooks;
    return reinterpret_cast<void*>(which[code_.hook_uses_xmm]);
  }

  // probe_entry.S says how each is entered.
  void emit_call() {
    out_.stack_is(step_);
    step_ ? out_.push(kWork) : out_.store(kSavedForEntry, kWork);
    frame_.later(kWork, CodeValue::kSite);
    out_.call_out(entry_call_);
    step_ ? out_.pop(kWork) : out_.load(kWork, kSavedForEntry);
  }
  // At the entry nothing lies in the red zone, so its return can be hooked as any call's.
  void emit_hook() {
    Label hooked;
    step_back();
    out_.store(kSavedForEntry, kWork);
    out_.address_of(kWork, hooked);
    out_.push(kWork);
    frame_.later(kWork, CodeValue::kSite);
    out_.jump_out(hook_call_);
    out_.bind(hooked);
    out_.stack_is(0);
    out_.load(kWork, kSavedForEntry);
    if (step_ && !only_hooks_) out_.jump(end_);
  }

  // What decides on the registers alone whether there is anything to do.
  void emit_tests() {
    if (keeps_flags_) out_.save_flags(frame_.saved_flags());
    Label& rejected = !counts_ && !keeps_flags_ ? leave_ : rejected_;
    if (code_.hist || code_.calls) return emit_own_tests(rejected);
    if (code_.gated) emit_gate();
    if (code_.mirrored) emit_word_test(CodeValue::kListeners, JumpCondition::kNotEqual, matched_);
    if (code_.soft) emit_word_test(CodeValue::kSoft, JumpCondition::kEqual, rejected);
    if (text_tests_) frame_.ask_thread(matched_);
    if (code_.filtered) emit_filter(filter_tests_, rejected);
    if (!code_.fast) bind_matched();
  }
  // An event that somebody records goes the general way, and so do its histogram and subscribers.
  void emit_own_tests(const Label& rejected) {
    emit_word_test(CodeValue::kSoft, JumpCondition::kNotEqual, matched_);
    if (code_.gated) emit_filter(gate_tests(), rejected);
  }
  // Whether the 4-byte word is 0.
  void emit_word_test(CodeValue address, JumpCondition condition, const Label& to) {
    out_.store(kSavedWork, kWork);
    frame_.later(kWork, address);
    out_.apply(Op::kCompare, Mem{kWork}, Number{0}, Width::k4);
    out_.load(kWork, kSavedWork);
    out_.jump_if(condition, to);
  }
  void emit_filter(const std::vector<RegisterTest>& tests, const Label& rejected) {
    emit_register_tests(out_, tests, rejected, {text_sequence_, matched_});
  }
  void emit_gate() {
    Label none;
    emit_filter(gate_tests(), none);
    out_.jump(matched_);
    out_.bind(none);
  }
  std::vector<RegisterTest> gate_tests() const {
    return filter_register_tests(*code_.event.event->triggers->gate, *code_.event.fetch);
  }
  void bind_matched() {
    out_.bind(matched_);
    if (keeps_flags_) restore_flags_alone();
  }
  void restore_flags_alone() {
    out_.store(kSavedWork, kWork);
    out_.restore_flags(frame_.saved_flags());
    out_.load(kWork, kSavedWork);
  }

  void emit_rejected() {
    Label new_thread;
    out_.bind(rejected_);
    if (!counts_) {
      if (keeps_flags_) restore_flags_alone();
      out_.jump(leave_);
      return;
    }
    out_.stack_is(step_);
    frame_.ask_thread(new_thread);
    save_for_count();
    out_.load_cpu(kWork, rejected_locked_);
    emit_count(frame_, rejected_count_);
    leave_rejected();
    out_.bind(new_thread);
    emit_rejected_of_new_thread();
    out_.abort_sequence(rejected_count_);
    out_.bind(rejected_locked_);
    emit_count_locked(frame_);
    leave_rejected();
  }
  // A thread all of whose hits are left out would for ever count in the row that all unknown
  // threads share. So the general way gets to know it, unless there is no rseq, and no other row.
  void emit_rejected_of_new_thread() {
    if (pb_rseq_offset && !only_hooks_) {
      if (keeps_flags_) restore_flags_alone();
      return out_.jump(slow_call_);
    }
    save_for_count();
    out_.jump(rejected_locked_);
  }
  void save_for_count() {
    for (const Reg spent : kSpentByCount) out_.store(frame_.saved(spent), spent);
  }
  void leave_rejected() {
    if (keeps_flags_) out_.restore_flags(frame_.saved_flags());
    for (const Reg spent : kSpentByCount) out_.load(spent, frame_.saved(spent));
    out_.jump(leave_);
  }

  void emit_count_and_leave() {
    emit_count(frame_, count_);
    leave();
  }
  void emit_count_abort() {
    out_.abort_sequence(count_);
    out_.stack_is(step_, true);
    emit_count_locked(frame_);
    leave();
  }
  void leave() {
    if (keeps_flags_) out_.restore_flags(frame_.saved_flags());
    restore();
    out_.jump(leave_);
  }

  // The record. Behind it, and before slow_call_, is what goes on to the general way.
  void emit_fast() {
    if ((keeps_flags_ && !tests_) || (code_.inside && !keeps_flags_))
      out_.save_flags(frame_.saved_flags());
    save();
    if (keeps_flags_ || code_.inside)
      out_.jump_if_unaligned_faults(frame_.saved_flags(), slow_);  // our stores may be unaligned
    if (needs_caller()) check_caller();
    emit_work();
    counts_ ? emit_count_and_leave() : leave();
    out_.abort_sequence(record_, code_.calls || has_loads(*code_.event.fetch));
    if (code_.calls) emit_no_callbacks(out_, no_callbacks_);
    out_.bind(slow_);
    out_.stack_is(step_, true);
    if (keeps_flags_) out_.restore_flags(frame_.saved_flags());
    restore();
    const bool has_matched = code_.gated || code_.mirrored || code_.hist || code_.calls;
    if (!has_matched && !text_tests_) return;
    out_.jump(slow_call_);
    bind_matched();
  }
  void emit_work() {
    if (code_.hist) return emit_hist(frame_, hist_, {record_, sum_sequences_}, slow_);
    if (!code_.calls) return emit_publish(frame_, record_, slow_);
    emit_callbacks(frame_, callbacks_, record_, callback_calls_, no_callbacks_);
    out_.stack_is(step_, true);
  }

  bool needs_caller() const {
    if (!code_.hist) return code_.event.fetch->head == RecordHead::kFunction;
    const auto is_caller = [](const HistCodeNumber& number) {
      return number.source == HistCodeNumber::Source::kCaller;
    };
    bool needs = std::any_of(hist_.keys.begin(), hist_.keys.end(), is_caller);
    for (const HistCodeSum& sum : hist_.sums) needs |= is_caller(sum.value);
    return needs;
  }
  // Only a call that is somebody's tail call can have a trampoline as its caller.
  void check_caller() {
    out_.load_return_address(kWork);
    out_.set(kControl, reinterpret_cast<uint64_t>(pb_return_trampolines));
    out_.apply(Op::kSub, kWork, kControl);
    out_.apply(Op::kCompare, kWork, Number{kReturnTrampolines * kReturnTrampolineSize});
    out_.jump_if(JumpCondition::kBelow, slow_);
  }

  void save() {
    for (const Reg spent : reg::kSpent) out_.store(frame_.saved(spent), spent);
    out_.stack_is(step_, true);
  }
  void restore() {
    for (const Reg spent : reg::kSpent) out_.load(spent, frame_.saved(spent));
    out_.stack_is(step_);
  }

  // Beside the code, never written again.
  void emit_data() {
    if (!only_hooks_) out_.room(entry_call_, entry_point());
    if (code_.hooks_return) out_.room(hook_call_, hook_point());
    for (size_t i = 0; i < callbacks_.size(); i++)
      out_.room(callback_calls_[i], reinterpret_cast<void*>(callback_from_code));
    emit_descriptors();
  }
  void emit_descriptors() {
    if (code_.fast) out_.describe(record_);
    for (size_t i = 0; i < hist_.sums.size(); i++) out_.describe(sum_sequences_[i]);
    if (counts_ && (code_.fast || code_.at_return)) out_.describe(count_);
    if (counts_ && tests_) out_.describe(rejected_count_);
    if (text_tests_) out_.describe(text_sequence_);
  }

  Emitter& out_;
  const ProbeCode& code_;
  const CodeFrame frame_;
  const int step_;  // from our stack pointer to the program's
  const bool tests_, keeps_flags_, counts_, only_hooks_;
  std::vector<RegisterTest> filter_tests_;
  bool text_tests_ = false;  // among these
  HistCode hist_;
  Sequence sum_sequences_[kMaxHistCodeSums];
  std::vector<const HitCallback*> callbacks_;
  CallOut entry_call_, hook_call_, callback_calls_[kMaxCodeCallbacks];
  Sequence record_, count_, rejected_count_, text_sequence_;
  Label slow_, slow_call_, no_callbacks_, leave_, done_, end_, rejected_locked_, rejected_,
      matched_;
};

}  // namespace

bool generate_probe(const ProbeCode& code, GeneratedCode* made, uint16_t* stack_shape) {
  const std::unique_ptr<Emitter> out = make_emitter(kMaxPrologue);
  ProbeEmitter emitter(*out, code);
  emitter.emit();
  if (!out->is_complete()) return false;
  *made = out->take();
  // Of these the unwind tables have one rule for all: pb_return_code, pb_take_code.
  const bool has_rule = code.at_return || code.takes;
  *stack_shape = has_rule ? uint16_t{0} : stack_shape_number(stack_shape_of(out->stack_notes()));
  return true;
}

}  // namespace patchbay
