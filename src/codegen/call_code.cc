// SPDX-License-Identifier: MIT
#include "codegen/call_code.h"

#include <algorithm>
#include <bit>

#include "codegen/record_code.h"
#include "codegen/text_code.h"
#include "filter/filter_insn.h"
#include "filter/filter_jit.h"
#include "probe/returns/call_data.h"

namespace patchbay {
namespace {

using reg::kPlace, reg::kPublish, reg::kReturnSlot, reg::kSlot, reg::kTime, reg::kValue;

// In the room: the clock at the entry, then the record of the only event, whose size comes first.
constexpr uint32_t kRecord = sizeof(uint64_t);
constexpr uint32_t kHead = record_head_size(RecordHead::kFunction);
constexpr int kRoomShift = std::countr_zero(kCallDataBytes);
static_assert(std::has_single_bit(kCallDataBytes));
constexpr int kLengthBits = 32 - abi::kDeltaBits;

// Ticks times pb_call_clock.ns_per_tick have to fit into 64 bits: calls of less than a second or
// two. Ticks of a nanosecond and more would not do (ns_per_tick_fits()).
constexpr uint32_t kMostTicks = INT32_MAX;

bool ns_per_tick_fits() {
  return !pb_call_clock.is_monotonic && pb_call_clock.ns_per_tick &&
         pb_call_clock.ns_per_tick < uint64_t{1} << 32;
}

// Where the rooms are does not change once they are there.
void load_room(Emitter& out, Reg to, Reg other, uint32_t offset) {
  out.load(to, {kReturnSlot, offsetof(ReturnSlot, number)}, Width::k2);
  out.set(other, reinterpret_cast<uint64_t>(pb_call_data) - kCallDataBytes + offset);
  out.shift_left(to, kRoomShift);
  out.apply(Op::kAdd, to, other);
}

uint32_t duration_offset(const FetchProgram& fetch) {
  for (int i = 0; i + 1 < fetch.nr_insns; i++)
    if (fetch.insn[i].op == FetchOp::kField) return fetch.insn[i + 1].offset;
  return 0;
}

// The filter has asked for it: what it saw is what the record says.
bool is_duration_tested(const ProbeCode& code) {
  if (!code.filtered) return false;
  const FilterProgram& filter = *code.event.event->filter;
  const uint32_t begin = duration_offset(*code.event.fetch);
  return std::any_of(filter.insns, filter.insns + filter.nr_insns, [begin](const FilterInsn& insn) {
    return insn.offset < begin + 8 && insn.offset + insn.size > begin;
  });
}

// `time` is the clock now, and becomes the nanoseconds since `start`. A clock that goes back is as
// one that has gone far.
void emit_duration(Emitter& out, Reg time, Mem start, Reg other, const Label& unusual) {
  out.apply(Op::kSub, time, start);
  out.apply(Op::kCompare, time, Number{kMostTicks});
  out.jump_if(JumpCondition::kAbove, unusual);
  out.set(other, reinterpret_cast<uint64_t>(&pb_call_clock.ns_per_tick));
  out.load(other, {other});
  out.multiply(time, other);
  out.shift_right(time, 32);
}

class CallRecordCode {
 public:
  CallRecordCode(const CodeFrame& frame, uint32_t at, const Label& unusual)
      : frame_(frame),
        out_(frame.out),
        fetch_(*frame.code.event.fetch),
        at_(at),
        unusual_(unusual) {}

  void emit() {
    const bool is_open = is_taken_size_open(fetch_);
    out_.store(frame_.scratch(), kPublish);
    if (is_open) out_.shift_left(kValue, kLengthBits, Width::k4);
    load_room(out_, kPublish, kSlot, 0);
    is_open ? copy_open() : copy_fixed();
    if (!is_duration_tested(frame_.code)) store_duration();
    out_.load(kPublish, frame_.scratch());
    emit_head_and_result(frame_, at_);
  }

 private:
  Mem taken(uint32_t offset) const { return {kPublish, int64_t{kRecord} + offset}; }
  Mem at(uint32_t offset) const { return {kPlace, int64_t{at_} + offset}; }

  void copy_fixed() {
    const uint32_t size = fixed_record_size(fetch_);
    const uint32_t duration = is_duration_tested(frame_.code) ? 0 : duration_offset(fetch_);
    for (uint32_t done = kHead; done < size;) {
      const Width width = size - done >= 8 ? Width::k8 : Width::k4;
      if (done != duration) {
        out_.load(kValue, taken(done), width);
        out_.store(at(done), kValue, width);
      }
      done += uint32_t(width);
    }
  }

  // From the end, eight bytes at a time; the last of them may be part of the head, which comes
  // later.
  void copy_open() {
    Label next;
    out_.load(kSlot, taken(0));
    out_.apply(Op::kCompare, kSlot, Number{abi::kMaxSmallData});
    out_.jump_if(JumpCondition::kAbove, unusual_);
    out_.store(frame_.spill(kTakenSize), kSlot);
    out_.shift_right(kSlot, 2);
    out_.apply(Op::kOr, kValue, kSlot, Width::k4);
    out_.store({kPlace}, kValue, Width::k4);
    out_.load(kSlot, frame_.spill(kTakenSize));
    out_.bind(next);
    out_.load(kValue, {kPublish, int64_t{kRecord} - 8, kSlot});
    out_.store({kPlace, int64_t{at_} - 8, kSlot}, kValue);
    out_.apply(Op::kSub, kSlot, Number{8});
    out_.apply(Op::kCompare, kSlot, Number{kHead});
    out_.jump_if(JumpCondition::kAbove, next);
  }

  void store_duration() {
    out_.move(kValue, kTime);
    emit_duration(out_, kValue, {kPublish}, kSlot, unusual_);
    out_.store(at(duration_offset(fetch_)), kValue);
  }

  const CodeFrame& frame_;
  Emitter& out_;
  const FetchProgram& fetch_;
  const uint32_t at_;
  const Label& unusual_;
};

}  // namespace

bool has_call_code(const SiteEvent& event) {
  const FetchProgram& fetch = *event.fetch;
  return fetch.at_entry && fetch.head == RecordHead::kFunction && pb_call_data &&
         ns_per_tick_fits() && can_be_returned(fetch) && duration_offset(fetch);
}

// Behind the head, which is in no room; a hit that does not match is not counted there.
bool has_call_tests(const SiteEvent& event) {
  const FilterProgram& filter = *event.event->filter;
  if (!has_inline_tests(filter) || event.counts) return false;
  return std::all_of(filter.insns, filter.insns + filter.nr_insns,
                     [](const FilterInsn& insn) { return insn.offset >= kHead; });
}

bool has_take_code(const SiteProgram& program) {
  const FetchProgram* taken = nullptr;
  for (uint32_t i = 0; i < program.nr_events; i++) {
    const SiteEvent& event = program.event[i];
    if (!is_whole_call(event)) continue;
    if (taken && taken != event.fetch->at_entry) return false;
    taken = event.fetch->at_entry;
  }
  return taken && pb_rseq_offset && pb_call_data && !pb_call_clock.is_monotonic &&
         can_be_taken(*taken);
}

bool is_taken_size_open(const FetchProgram& fetch) {
  return fetch.at_entry && fetch.at_entry->max_size > fixed_record_size(*fetch.at_entry);
}

void emit_take(const CodeFrame& frame, const Label& unusual) {
  Emitter& out = frame.out;
  const FetchProgram& fetch = *frame.code.event.fetch;
  load_room(out, kPlace, kValue, kRecord);
  emit_fields(frame, 0);
  if (frame.texts) {
    out.store(frame.spill(Spill::kPlace), kPlace);
    emit_texts(frame, 0, unusual);
    out.load(kValue, frame.spill(Spill::kPlace));
    out.apply(Op::kSub, kPlace, kValue);
    out.apply(Op::kAdd, kPlace, Number{3});
    out.apply(Op::kAnd, kPlace, Number{uint32_t(-4)});
    out.store({kValue}, kPlace);
    out.move(kPlace, kValue);
  } else {
    out.store_number({kPlace}, fixed_record_size(fetch), Width::k8);
  }
  out.read_clock();  // last: what taking costs is not the call's
  out.store({kPlace, -int64_t{kRecord}}, kTime);
}

void emit_call_record(const CodeFrame& frame, uint32_t at, const Label& unusual) {
  CallRecordCode(frame, at, unusual).emit();
}

void emit_call_tests(const CodeFrame& frame, const Label& rejected, const Label& unusual) {
  Emitter& out = frame.out;
  const FetchProgram& fetch = *frame.code.event.fetch;
  Label match;
  load_room(out, kPlace, kValue, kRecord);
  if (is_duration_tested(frame.code)) {
    out.read_clock();
    emit_duration(out, kTime, {kPlace, -int64_t{kRecord}}, kSlot, unusual);
    out.store({kPlace, duration_offset(fetch)}, kTime);
  }
  emit_result(frame, 0);
  out.load(kSlot, {kPlace});
  emit_record_tests(out, *frame.code.event.event->filter, kPlace, kSlot, match);
  out.jump(rejected);
  out.bind(match);
}

}  // namespace patchbay
