// SPDX-License-Identifier: MIT
//
//   (event, record: rsi, size: edx)
//     thread new, or in agent code? -> offer
//     kPlain    filter of the event; no match: done
//               header, -> static_event_publish
//     kGated    filters of its triggers; one matches: -> offer
//               off in soft mode? done
//               header, -> static_event_wanted
//     kMirrored somebody listens? -> offer; then as kGated
//     kCalls    on in soft mode? -> offer
//               filter of the callback, if it has one; no match: done
//               header, -> static_event_callback
//   offer:
//     -> static_event_offer
//
// Budget (docs/invariants.md): a filter's no 0.5 x floor, callback 0.7 x. What counts is mostly how
// often the way jumps, so that it runs straight on where there is a budget, and tests are in it
// instead of being called.
#include "codegen/static_event_code.h"

#include <algorithm>

#include "base/check.h"
#include "filter/filter_insn.h"
#include "filter/filter_jit.h"
#include "probe/entry/static_event_hot.h"
#include "probe/triggers/trigger_hot.h"
#include "ring_buffer/ring_set.h"

namespace patchbay {
namespace {

constexpr Reg kRecord = reg::kArgument[1], kSize = reg::kArgument[2], kThread = reg::kArgument[3];

constexpr uint32_t kMaxTests = 64;
constexpr size_t kMaxCode = 256 + 64 * kMaxTests;

bool is_usable(const FilterProgram* filter) {
  return filter && filter->nr_insns <= kMaxTests && has_inline_tests(*filter);
}

// Fields of the common header, which is not written yet.
bool reads_header(const FilterProgram& filter) {
  return std::any_of(filter.insns, filter.insns + filter.nr_insns,
                     [](const FilterInsn& insn) { return insn.offset < sizeof(uint64_t); });
}

class HitEmitter {
 public:
  HitEmitter(Emitter& out, const SiteProgram& program)
      : out_(out), program_(program), event_(*program.event[0].event) {}

  // False: there is nothing to be gained.
  bool emit() {
    const bool done = program_.plain == kPlain      ? emit_plain()
                      : program_.plain == kGated    ? emit_gated()
                      : program_.plain == kCalls    ? emit_calls()
                      : program_.plain == kMirrored ? emit_mirrored()
                                                    : false;
    if (!done) return false;
    out_.bind(offer_);
    out_.set(reg::kArgument[0], address(&program_));
    out_.move(reg::kArgument[3], reg::kStack);
    out_.move(reg::kArgument[4], reg::kFrame);
    go_on(address(&static_event_offer));
    return true;
  }

 private:
  bool emit_plain() {
    if (!is_usable(event_.filter)) return false;
    emit_tests(*event_.filter, wanted_);
    out_.return_to_caller();
    out_.bind(wanted_);
    emit_header();
    out_.set(reg::kArgument[0], address(&event_));
    go_on(address(&static_event_publish));
    return true;
  }

  bool emit_gated() {
    const FilterProgram* gate = event_.triggers->gate;
    if (!is_usable(gate)) return false;
    emit_tests(*gate, offer_);
    emit_if_on();
    return true;
  }

  bool emit_mirrored() {
    jump_if_not_0(event_.triggers->listeners, offer_);
    emit_if_on();
    return true;
  }

  // No trigger has anything to do.
  void emit_if_on() {
    jump_if_not_0(event_.soft, wanted_);
    out_.return_to_caller();
    out_.bind(wanted_);
    emit_header();
    out_.set(reg::kArgument[0], address(&program_));
    out_.set(reg::kArgument[4], address(&event_));
    go_on(address(&static_event_wanted));
  }

  bool emit_calls() {
    const Trigger& one = event_.triggers->trigger[0];
    if (!is_usable(one.filter)) return false;
    jump_if_not_0(event_.soft, offer_);  // on in soft mode
    emit_tests(*one.filter, wanted_);
    out_.return_to_caller();
    out_.bind(wanted_);
    emit_header();
    out_.set(reg::kArgument[0], address(one.callback));
    go_on(address(&static_event_callback));
    return true;
  }

  template <typename T>
  static uint64_t address(T* of) {
    return reinterpret_cast<uint64_t>(of);
  }
  void go_on(uint64_t function) {
    out_.set(reg::kWork, function);
    out_.jump_to(reg::kWork);
  }

  void emit_tests(const FilterProgram& filter, const Label& match) {
    if (reads_header(filter)) {
      emit_header();
    } else {
      out_.apply(Op::kCompare, tid_, Number{0}, Width::k4);
      out_.jump_if(JumpCondition::kEqual, offer_);
    }
    emit_record_tests(out_, filter, kRecord, kSize, match);
  }
  void jump_if_not_0(const uint32_t* word, const Label& to) {
    out_.set(reg::kWork, address(word));
    out_.apply(Op::kCompare, Mem{reg::kWork}, Number{0}, Width::k4);
    out_.jump_if(JumpCondition::kNotEqual, to);
  }
  // RecordHeader, flags are 0. Leaves the thread in kThread.
  void emit_header() {
    out_.load(kThread, tid_, Width::k4);
    out_.apply(Op::kTest, kThread, kThread, Width::k4);
    out_.jump_if(JumpCondition::kEqual, offer_);  // a handler may have changed who the thread is
    out_.move(reg::kWork, kThread);
    out_.shift_left(reg::kWork, 32);
    out_.apply(Op::kOr, reg::kWork, Number{event_.id});
    out_.store({kRecord}, reg::kWork);
  }

  Emitter& out_;
  const SiteProgram& program_;
  const EventProgram& event_;
  const Mem tid_ = thread_local_word(thread_local_offset(&pb_thread.fast_tid));
  Label wanted_, offer_;
};

}  // namespace

FilterCode static_event_code(const SiteProgram& program) {
  PB_CHECK_VALUES(program.nr_events == 1 || program.plain == 0, program.nr_events, program.plain);
  const std::unique_ptr<Emitter> out = make_emitter(kMaxCode);
  const bool done = HitEmitter(*out, program).emit();
  if (!done || !out->is_complete()) return FilterCode();
  const GeneratedCode code = out->take();
  return FilterCode(code.bytes.data(), code.bytes.size());
}

}  // namespace patchbay
