// SPDX-License-Identifier: MIT
#include "codegen/callback_code.h"

#include <algorithm>

#include "codegen/record_code.h"
#include "codegen/text_code.h"
#include "hist/hist_program.h"
#include "probe/callbacks/callback_hot.h"
#include "probe/stack_touch.h"
#include "probe/triggers/hist_hot.h"
#include "probe/triggers/trigger_hot.h"

namespace patchbay {
namespace {

using reg::kControl, reg::kPlace, reg::kStack, reg::kTime, reg::kWork;

// From the stack pointer up.
constexpr int64_t kSlotAt = sizeof(CallbackRecord), kKeptAt = kSlotAt + 8;
constexpr Reg kKept[] = {reg::kArgument[0], reg::kArgument[1], reg::kArgument[4]};
constexpr uint32_t kRecordAt = uint32_t(kKeptAt) + 8 * uint32_t(std::size(kKept));
constexpr Reg kWithVectors = reg::kArgument[4];  // the function, for callback_call_entry
constexpr int kFrameSize = kCallbackFrame;
static_assert(kRecordAt + abi::kMaxSmallData + kTextSlack + reg::kRedZone <= kFrameSize);
static_assert(kFrameSize % 16 == 8);  // at a function's entry the return address has been pushed

bool keeps_vectors(const HitCallback& callback) {
  return callback.vectors != LiveVectors::kUntouched;
}
uint64_t vector_call() {
  return reinterpret_cast<uint64_t>(pb_callback_xinuse ? callback_call_entry : callback_call_all);
}

class CallbackEmitter {
 public:
  CallbackEmitter(const CodeFrame& outer, const Sequence& sequence, const CallOut* calls,
                  const Label& unusual)
      : frame_(outer.out, outer.code, kFrameSize),
        out_(outer.out),
        fetch_(*outer.code.event.fetch),
        sequence_(sequence),
        calls_(calls),
        unusual_(unusual),
        thread_slot_(thread_local_word(thread_local_offset(&pb_thread.callback_slot))) {}

  void emit(const std::vector<const HitCallback*>& callbacks) {
    out_.move_stack(-kFrameSize);
    out_.stack_is(kFrameSize, true);
    if (callbacks[0]) {
      out_.apply(Op::kCompare, thread_slot_, Number{0});
      out_.jump_if(JumpCondition::kEqual, unusual_);
    }
    build_record();
    for (size_t i = 0; i < std::size(kKept); i++) out_.store(kept(i), kKept[i]);
    for (size_t i = 0; i < callbacks.size(); i++)
      callbacks[i] ? call(i, *callbacks[i]) : call_hist(i);
    for (size_t i = 0; i < std::size(kKept); i++) out_.load(kKept[i], kept(i));
    out_.move_stack(kFrameSize);
  }

 private:
  static Mem own(int64_t at) { return {kStack, at}; }
  static Mem kept(size_t i) { return own(kKeptAt + int64_t(8 * i)); }

  void build_record() {
    out_.begin_sequence(sequence_);
    frame_.ask_thread(unusual_);
    out_.load(kWork, own(-int64_t{kStackTouchDepth}));
    out_.move(kPlace, kStack);
    if (frame_.texts) out_.store(frame_.spill(Spill::kPlace), kPlace);
    emit_record(frame_, kRecordAt);
    if (frame_.texts) emit_texts(frame_, kRecordAt, unusual_);
    out_.commit_sequence(sequence_);
    out_.move(kTime, kStack);
    out_.apply(Op::kAdd, kTime, Number{kRecordAt});
    out_.store(own(offsetof(CallbackRecord, record)), kTime);
    store_size();
    out_.load(kTime, own(kRecordAt + int64_t{offsetof(abi::RecordHeader, common_pid)}), Width::k4);
    out_.store(own(offsetof(CallbackRecord, tid)), kTime, Width::k4);
  }
  // kTime is the beginning; where there are texts kPlace is the end.
  void store_size() {
    const Mem size = own(offsetof(CallbackRecord, size));
    if (!frame_.texts) return out_.store_number(size, fixed_record_size(fetch_), Width::k4);
    out_.apply(Op::kSub, kPlace, kTime);
    out_.apply(Op::kAdd, kPlace, Number{3});
    out_.apply(Op::kAnd, kPlace, Number{uint32_t(-4)});
    out_.store(size, kPlace, Width::k4);
  }

  // callback_enter(), the call, callback_leave(). The slot is asked for each time: a callback may
  // have forked, and the child has another one. What was entered is what is left.
  void call(size_t number, const HitCallback& callback) {
    Label missed, off, done;
    out_.load(kWork, thread_slot_);
    out_.set_later(kControl, uint8_t(size_t(CodeValue::kCallback) + number));
    out_.apply(Op::kCompare, Mem{kWork}, Number{0});
    out_.jump_if(JumpCondition::kNotEqual, missed);
    out_.store({kWork}, kControl);
    out_.apply(Op::kCompare, of_callback(offsetof(HitCallback, off)), Number{0}, Width::k4);
    out_.jump_if(JumpCondition::kNotEqual, off);
    out_.store(own(kSlotAt), kWork);
    out_.move(reg::kArgument[0], kStack);
    out_.load(reg::kArgument[1], of_callback(offsetof(HitCallback, argument)));
    call_function(number, callback);
    out_.load(kWork, own(kSlotAt));
    out_.bind(off);
    out_.store_number({kWork}, 0, Width::k8);
    out_.jump(done);
    out_.bind(missed);
    out_.add_locked(of_callback(offsetof(HitCallback, missed)), Number{1}, Width::k8);
    out_.bind(done);
  }
  // hist_from_code(), which is ours: no callback that the thread would be in.
  void call_hist(size_t number) {
    out_.set(kWork, reinterpret_cast<uint64_t>(&hist_from_code));  // as in call_function()
    out_.move(reg::kArgument[0], kStack);
    frame_.later(reg::kArgument[1], CodeValue::kHist);
    out_.move(reg::kArgument[2], reg::kFrame);
    frame_.later(reg::kArgument[3], CodeValue::kIp);
    out_.call_out(calls_[number]);
  }
  static Mem of_callback(size_t field) { return {kControl, int64_t(field)}; }
  void call_function(size_t number, const HitCallback& callback) {
    // Not right before the call: that would look like a CallSite (probe/stack_touch.cc).
    if (keeps_vectors(callback)) out_.set(kWork, vector_call());
    const Reg function = keeps_vectors(callback) ? kWithVectors : kWork;
    out_.load(function, of_callback(offsetof(HitCallback, function)));
    out_.call_out(calls_[number]);
  }

  const CodeFrame frame_;
  Emitter& out_;
  const FetchProgram& fetch_;
  const Sequence& sequence_;
  const CallOut* const calls_;
  const Label& unusual_;
  const Mem thread_slot_;
};

bool is_callback(const Trigger& trigger) {
  return trigger.kind == TriggerKind::kCallback && trigger.after;
}

bool has_pair_half(const TriggerProgram& triggers) {
  const Trigger& one = triggers.trigger[0];
  return triggers.nr_triggers == 1 && one.kind == TriggerKind::kHist && one.hist->half;
}

}  // namespace

std::vector<const HitCallback*> callback_code(const SiteEvent& event) {
  if (!has_triggers_alone(event) || !can_be_compiled(*event.fetch)) return {};
  const TriggerProgram& triggers = *event.event->triggers;
  if (has_pair_half(triggers)) return {nullptr};
  if (triggers.nr_triggers > kMaxCodeCallbacks) return {};
  std::vector<const HitCallback*> made;
  for (uint32_t i = 0; i < triggers.nr_triggers; i++) {
    const Trigger& trigger = triggers.trigger[i];
    const bool has_own_filter = trigger.filter && triggers.nr_triggers > 1;
    if (!is_callback(trigger) || has_own_filter) return {};
    made.push_back(trigger.callback);
  }
  return made;
}

std::vector<uint64_t> callback_code_words(const std::vector<const HitCallback*>& callbacks) {
  std::vector<uint64_t> words = {uint64_t(thread_local_offset(&pb_thread.callback_slot))};
  for (const HitCallback* callback : callbacks)
    words.push_back(!callback                  ? reinterpret_cast<uint64_t>(&hist_from_code)
                    : keeps_vectors(*callback) ? vector_call()
                                               : 0);
  return words;
}

void emit_callbacks(const CodeFrame& frame, const std::vector<const HitCallback*>& callbacks,
                    const Sequence& sequence, const CallOut* calls, const Label& unusual) {
  CallbackEmitter(frame, sequence, calls, unusual).emit(callbacks);
}

void emit_no_callbacks(Emitter& out, const Label& unusual) {
  out.bind(unusual);
  out.stack_is(kFrameSize, true);
  out.move_stack(kFrameSize);
}

}  // namespace patchbay
