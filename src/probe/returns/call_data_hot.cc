// SPDX-License-Identifier: MIT
#include "probe/returns/call_data.h"

#include "base/raw_syscall.h"
#include "probe/probe_hot.h"
#include "probe/returns/return_hook.h"

namespace patchbay {

extern "C" {
CallClock pb_call_clock;
uint8_t* pb_call_data;
}

namespace {

// The parts of a place's events, in their order: which event begins a part, and where it lies. It
// depends on the program alone, so that entry and return find the same.
class Parts {
 public:
  struct Part {
    uint32_t at;  // kNoCallData: the event has nothing, or no room
    bool is_new;  // not that of the event before
  };
  Part next(const SiteEvent& event) {
    if (!is_whole_call(event)) return {kNoCallData, false};
    const FetchProgram* const taken = event.fetch->at_entry;
    if (taken == last_) return {at_, false};
    last_ = taken;
    const uint32_t size = (taken->max_size + 7) & ~7u;
    at_ = size <= kCallDataBytes - end_ ? end_ : kNoCallData;
    if (at_ != kNoCallData) end_ += size;
    return {at_, at_ != kNoCallData};
  }

 private:
  const FetchProgram* last_ = nullptr;
  uint32_t at_ = kNoCallData, end_ = sizeof(uint64_t);
};

uint8_t* room_of(uint32_t slot) { return pb_call_data + uint64_t{slot} * kCallDataBytes; }

uint64_t raw_clock() {
  if (__builtin_expect(pb_call_clock.is_monotonic != 0, 0)) return raw_monotonic_ns();
  return __builtin_ia32_rdtsc();
}

// A clock that goes back on another CPU gives 0, never an age.
uint64_t ns_since(uint64_t start, uint64_t now) {
  if (__builtin_expect(int64_t(now - start) < 0, 0)) return 0;
  const uint64_t scale = __atomic_load_n(&pb_call_clock.ns_per_tick, __ATOMIC_RELAXED);
  return uint64_t(static_cast<unsigned __int128>(now - start) * scale >> 32);
}

void count_missed_by(const SiteEvent& event) {
  const RingSet* set = __atomic_load_n(&event.event->rings, __ATOMIC_RELAXED);
  __atomic_fetch_add(&set->header->missed, 1, __ATOMIC_RELAXED);
}

}  // namespace

__attribute__((noinline)) uint32_t take_call(const SiteProgram* program,
                                             const FetchRegisters* registers, uint32_t wanted,
                                             uint32_t slot) {
  uint8_t* const room = room_of(slot);
  Parts parts;
  for (uint32_t i = 0; i < program->nr_events; i++) {
    const SiteEvent& event = program->event[i];
    const Parts::Part part = parts.next(event);
    if (part.is_new) {
      uint8_t* const record = room + part.at;
      *reinterpret_cast<uint64_t*>(record) =
          fetch_run(event.fetch->at_entry, registers, nullptr, record);
    } else if (__builtin_expect(part.at == kNoCallData && is_whole_call(event), 0)) {
      count_missed_by(event);
      // Who shares the last bit finds at the return that it has no room.
      if (i < kLastWantedBit) wanted &= ~(uint32_t{1} << i);
    }
  }
  *reinterpret_cast<uint64_t*>(room) = raw_clock();  // last: what taking costs is not the call's
  return wanted;
}

void count_missed_calls(const SiteProgram* program, uint32_t wanted) {
  for (uint32_t i = 0; i < program->nr_events; i++)
    if ((wanted >> wanted_bit(i) & 1) && is_whole_call(program->event[i]))
      count_missed_by(program->event[i]);
}

__attribute__((noinline)) void copy_call(const SiteProgram* program, uint32_t slot, uint8_t* copy) {
  const uint8_t* const room = room_of(slot);
  const uint64_t duration = ns_since(*reinterpret_cast<const uint64_t*>(room), raw_clock());
  Parts parts;
  for (uint32_t i = 0; i < program->nr_events; i++) {
    const Parts::Part part = parts.next(program->event[i]);
    if (!part.is_new) continue;
    const auto* from = reinterpret_cast<const uint64_t*>(room + part.at);
    auto* to = reinterpret_cast<uint64_t*>(copy + part.at);
    for (uint64_t k = 0; k * 8 < from[0]; k++) to[k] = from[k];
    to[1] = duration;
  }
}

uint32_t call_data_of(const SiteProgram* program, const SiteEvent* event) {
  Parts parts;
  for (uint32_t i = 0; i < program->nr_events; i++) {
    const Parts::Part part = parts.next(program->event[i]);
    if (&program->event[i] == event) return part.at;
  }
  return kNoCallData;
}

}  // namespace patchbay
