// SPDX-License-Identifier: MIT
//
// The slots of calls whose returns are hooked (return_hook.h). One word of a slot says what it is:
//
//     0              free
//     kOwned         being filled or emptied by the thread that made it so
//     word           hooks the call whose return address is at `word` (8-aligned)
//     word | 2       the same, and a tail call has hooked the word since. Both have the same
//                    trampoline; the slot of the tail call says which was before it
//     spare | 1      kept by the thread one of whose ReturnThread::spare is there, and not in use;
//                    a spare has two bytes, so that its address may end in any even digit
//
// The last three have the slot's generation in bits 48 to 63. It is raised whenever the slot is
// armed: who has seen a dead call, and claims the slot a moment later, must not meet the next call
// on the same word.
//
// Three rules make it safe without a lock, against other threads and against signal handlers of
// the same one, which may come between any two instructions:
//
// - A free slot is claimed by a locked compare-and-exchange; a thread's spare by one without the
//   lock, since no other thread may have it, behind a look that it is its spare. After that the
//   slot is only its owner's.
// - Where `word` holds the slot's trampoline while the slot says `word`, nobody else touches the
//   slot. So it is armed as: fields, trampoline into the word, state; and emptied the other way
//   round.
// - A slot whose word does not hold its trampoline may be claimed by anybody when no other is left.
//
// Whatever is interrupted in the middle for good (a handler that leaves by longjmp) costs one slot,
// and never gives it to two.
//
// Which slot a return has is asked with the word's address and the trampoline. The one of the
// thread's last level is it, mostly. One that is no spare (deep recursion, a call in doubt, one of
// another fiber) stands in g_by_word, at the hash of the two. At last all slots are looked at: for
// a fiber that has gone to another thread. Two that fit would be no answer, and are prevented:
//
//   A  a call is hooked at a word that is not below that of the thread's last level:
//      settle_levels() looks at all levels whose words are not above it. Those near below it on the
//      same stack, and those whose words hold something else, are in doubt: left by longjmp, or
//      copied away
//   B  a call that goes the general way finds a slot of its word and trampoline in g_by_word: in
//      doubt
//   C  the trampoline of a slot in doubt is retired, before the new call takes one
//
// So a slot in doubt is the only one at its word with its trampoline, and stays so for as long as
// it is kept.
#include "base/raw_syscall.h"
#include "hot/safe_load.h"
#include "probe/probe_hot.h"
#include "probe/returns/call_data.h"
#include "probe/returns/graph_hot.h"
#include "probe/returns/return_callers.h"
#include "probe/returns/return_hook.h"
#include "probe/returns/return_trampolines.h"

namespace patchbay {

extern "C" {
ReturnSlot pb_return_slots[kReturnSlots];
__thread ReturnThread pb_return_thread
    __attribute__((tls_model("initial-exec"), visibility("hidden"))) = {};
}

namespace {

constexpr uint64_t kFree = kSlotFree, kOwned = kSlotOwned, kChained = kSlotChained;
constexpr uint64_t kSpare = kSlotSpare;
constexpr int kGenerationShift = kSlotGenerationShift;
constexpr uint64_t kGenerationMask = kSlotGenerationMask, kAddressMask = kSlotAddressMask;
constexpr uint32_t kNearby = 16;        // slots looked at from where the thread was last
constexpr uint32_t kThreadStride = 64;  // where threads begin
constexpr uint32_t kShortSweep = 64;
constexpr int64_t kTicksPerLook = 64;  // beyond a short sweep: a tenth of one CPU, at most
constexpr uint32_t kMaxChain = 1024;   // tail calls under one return address

// What no record shows of a return frame ends where the registers end: return_hook.S counts on it.

uint32_t g_next_start;                  // where the next new thread begins
uint32_t g_hand;                        // where the next sweep begins
int32_t g_credit = 0;                   // slots that sweeps may look at beyond the short ones
uint64_t g_credit_at = 0;               // ticks: when it was last added to
uint64_t g_limited[kReturnSlots / 64];  // bit: the slot hooks a call under a limit
uint32_t g_used_end;                    // no slot from here on was ever used
uint64_t g_reclaimed, g_no_slot;
uint64_t g_left;     // of g_reclaimed those whose program has_calls
uint64_t g_unknown;  // returns without a slot

constexpr int kWordHashBits = 16;
constexpr uint32_t kWordWindow = 32;
uint16_t g_by_word[1 << kWordHashBits];  // atomic; 1 + index, in the window behind its hash
uint32_t g_in_doubt[kReturnSlots];       // atomic; the trampoline of a slot that is in doubt

uint32_t index_of(const ReturnSlot* slot) { return uint32_t(slot - pb_return_slots); }

uint32_t number_of(const ReturnSlot* slot) { return trampoline_number(trampoline_of(slot)); }

uint64_t generation_of(const ReturnSlot* slot) {
  return uint64_t{slot->generation} << kGenerationShift;
}

// Hooks a call; chained or not.
bool is_armed(uint64_t state) { return state != kFree && !(state & kSpare); }
uint64_t hooked_word(uint64_t state) { return state & kAddressMask; }

uint64_t spare_state(const uint16_t* spare, const ReturnSlot* slot) {
  return reinterpret_cast<uint64_t>(spare) | kSpare | generation_of(slot);
}

// Of a state with kSpare.
uint64_t spare_of(uint64_t state) { return state & ~(kGenerationMask | kSpare); }

bool locked_exchange(uint64_t* state, uint64_t from, uint64_t to) {
  return __atomic_compare_exchange_n(state, &from, to, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}
// Against signal handlers of this thread only. The look before it matters: a cmpxchg that fails
// writes back what it has read, which without a lock would undo what another thread has written.
bool local_exchange(uint64_t* state, uint64_t from, uint64_t to) {
  if (__atomic_load_n(state, __ATOMIC_RELAXED) != from) return false;
  bool done;
  __asm__ volatile("cmpxchg %3, %0" : "+m"(*state), "=@ccz"(done), "+a"(from) : "r"(to) : "memory");
  return done;
}

// --- room under max_active

uint32_t limited_events(const SiteProgram* program) {
  return program->nr_events < kLastWantedBit ? program->nr_events : kLastWantedBit;
}

void leave_limits(const SiteProgram* program, uint32_t wanted) {
  for (uint32_t i = 0; i < limited_events(program); i++) {
    ProbeCounts* counts = program->event[i].counts;
    if (!counts || !counts->max_active || !(wanted >> i & 1)) continue;
    __atomic_fetch_sub(&counts->active, 1, __ATOMIC_RELAXED);
  }
}

void mark_limited(ReturnSlot* slot) {
  const uint32_t index = index_of(slot);
  slot->limited = 1;
  __atomic_fetch_or(&g_limited[index / 64], uint64_t{1} << index % 64, __ATOMIC_RELAXED);
}
// The caller owns the slot, or did a moment ago.
void unmark_limited(uint32_t index) {
  __atomic_fetch_and(&g_limited[index / 64], ~(uint64_t{1} << index % 64), __ATOMIC_RELAXED);
}

void count_missed(const SiteProgram* program, uint32_t wanted) {
  for (uint32_t i = 0; i < program->nr_events; i++) {
    ProbeCounts* counts = program->event[i].counts;
    if (counts && (wanted >> wanted_bit(i) & 1))
      __atomic_fetch_add(&counts->missed, 1, __ATOMIC_RELAXED);
  }
}

// --- dead slots

bool holds(const uint64_t* word, uint64_t value) {
  uint64_t found;
  return try_load8(reinterpret_cast<uint64_t>(word), &found) && found == value;
}

// Another thread's TLS may have gone with it, and something else be there. If that looks like our
// number, the slot is not found dead until it changes; nobody takes the slot meanwhile.
bool names(uint64_t spare, const ReturnSlot* slot) {
  uint64_t found;
  return try_load2(spare, &found) && found == index_of(slot) + 1;
}

bool is_dead(const ReturnSlot* slot, uint64_t state) {
  if (state == kOwned) return false;
  if (state & kSpare) return !names(spare_of(state), slot);
  return !holds(reinterpret_cast<const uint64_t*>(hooked_word(state)), trampoline_of(slot));
}

// --- slots by their words

uint32_t hash_of(uint64_t word, uint32_t trampoline) {
  return (uint32_t(word >> 3) + (trampoline << 8)) * kQuickHashFactor >> (32 - kWordHashBits);
}
uint16_t* by_word(uint64_t word, uint32_t trampoline, uint32_t step) {
  return &g_by_word[(hash_of(word, trampoline) + step) % (1u << kWordHashBits)];
}

// Puts the armed slot where it is found. Where there is no room all slots are looked at later.
__attribute__((noinline)) void index_word(uint32_t index, uint64_t word) {
  const uint32_t trampoline = number_of(&pb_return_slots[index]);
  for (uint32_t step = 0; step < kWordWindow; step++) {
    uint16_t* entry = by_word(word, trampoline, step);
    uint16_t number = __atomic_load_n(entry, __ATOMIC_RELAXED);
    if (number == index + 1) return;
    if (number && is_armed(__atomic_load_n(&pb_return_slots[number - 1].state, __ATOMIC_RELAXED)))
      continue;
    if (__atomic_compare_exchange_n(entry, &number, uint16_t(index + 1), false, __ATOMIC_RELEASE,
                                    __ATOMIC_RELAXED))
      return;
  }
}

__attribute__((noinline)) void forget_word(uint32_t index, uint64_t word) {
  const uint32_t trampoline = number_of(&pb_return_slots[index]);
  for (uint32_t step = 0; step < kWordWindow; step++) {
    uint16_t* entry = by_word(word, trampoline, step);
    auto number = uint16_t(index + 1);
    if (__atomic_load_n(entry, __ATOMIC_RELAXED) != number) continue;
    __atomic_compare_exchange_n(entry, &number, uint16_t{0}, false, __ATOMIC_RELAXED,
                                __ATOMIC_RELAXED);
    return;
  }
}

// --- slots in doubt

// The slot had this state, and is the caller's now: its call has ended without a return.
void count_left(const ReturnSlot* slot, uint64_t state) {
  __atomic_store_n(&g_in_doubt[index_of(slot)], 0u, __ATOMIC_RELAXED);
  if (slot->home >= kReturnSpares) forget_word(index_of(slot), hooked_word(state));
  if (slot->limited) {
    unmark_limited(index_of(slot));
    leave_limits(slot->program, slot->wanted);
  }
  if (slot->program->has_calls) __atomic_fetch_add(&g_left, 1, __ATOMIC_RELAXED);
  __atomic_fetch_add(&g_reclaimed, 1, __ATOMIC_RELAXED);
}

// How many more calls that seem to be left are kept in doubt. In programs that copy no stacks all
// of them are left for good: these run out of it, and the slots of such calls are taken at once.
// Each that comes back brings more.
int32_t g_doubts = 8192;
constexpr int32_t kMostDoubts = 1 << 20, kDoubtsForOne = 64, kDoubtsForUnknown = 4096;

bool may_come_back() {
  if (__atomic_load_n(&g_doubts, __ATOMIC_RELAXED) <= 0) return false;
  return __atomic_fetch_sub(&g_doubts, 1, __ATOMIC_RELAXED) > 0;
}
__attribute__((noinline, cold)) void note_come_back(int32_t doubts) {
  if (__atomic_load_n(&g_doubts, __ATOMIC_RELAXED) < kMostDoubts)
    __atomic_fetch_add(&g_doubts, doubts, __ATOMIC_RELAXED);
}

// Whatever its word holds, its call is left. True: it is the caller's.
bool claim_left(ReturnSlot* slot) {
  const uint64_t state = __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE);
  if (!is_armed(state) || !locked_exchange(&slot->state, state, kOwned)) return false;
  count_left(slot, state);
  slot->chain_length = 1;
  slot->limited = 0;
  return true;
}
void free_left(ReturnSlot* slot) {
  if (claim_left(slot)) __atomic_store_n(&slot->state, kFree, __ATOMIC_RELEASE);
}

// Rule C. The slot stays armed, and nobody's spare.
void put_in_doubt(ReturnSlot* slot) {
  const uint32_t number = number_of(slot);
  __atomic_store_n(&g_in_doubt[index_of(slot)], number, __ATOMIC_RELAXED);
  if (!is_retired(number)) retire_trampoline(number);
}

// Rule B. True: the trampoline is retired.
__attribute__((noinline)) bool doubt_other_at(uint64_t word, uint32_t trampoline) {
  for (uint32_t step = 0; step < kWordWindow; step++) {
    const uint32_t number = __atomic_load_n(by_word(word, trampoline, step), __ATOMIC_ACQUIRE);
    if (!number) continue;
    ReturnSlot* slot = &pb_return_slots[number - 1];
    const uint64_t state = __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE);
    if (!is_armed(state) || hooked_word(state) != word || number_of(slot) != trampoline) continue;
    may_come_back() ? put_in_doubt(slot) : free_left(slot);
  }
  return is_retired(trampoline);
}

// The thread's level no longer names the slot, which is in use.
void take_off_level(ReturnThread* thread, uint32_t level, ReturnSlot* slot, uint64_t word) {
  slot->home = kReturnSpares;
  index_word(index_of(slot), word);
  __atomic_store_n(&thread->spare[level], uint16_t{0}, __ATOMIC_RELEASE);
}

// What stands at a level of the thread: a call at `word`, or nothing that matters.
struct Level {
  ReturnSlot* slot;
  uint64_t word;
};
Level level_of(const ReturnThread* thread, uint32_t level) {
  const uint32_t number = thread->spare[level];
  if (!number) return {nullptr, 0};
  ReturnSlot* slot = &pb_return_slots[number - 1];
  const uint64_t state = __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE);
  return is_armed(state) ? Level{slot, hooked_word(state)} : Level{nullptr, 0};
}

// Rule A. Calls that were left count as levels no more. What is on another stack looks so by
// chance: where it is neither near below the new word nor gone, it stays as it is.
__attribute__((noinline)) void settle_levels(ReturnThread* thread, uint64_t word,
                                             const ReturnSlot* before) {
  const uint32_t end = thread->at;
  uint32_t first = end;
  for (; first; first--) {
    const Level level = level_of(thread, first - 1);
    if (level.slot && (level.word > word || level.slot == before)) break;
  }
  uint64_t above = word;
  for (uint32_t i = first; i < end; i++) {
    const Level level = level_of(thread, i);
    if (!level.slot) continue;
    const bool is_near = level.word <= above && above - level.word < kGraphFarBytes;
    if (!is_near && holds(reinterpret_cast<const uint64_t*>(level.word), trampoline_of(level.slot)))
      return;
    above = level.word;
    if (!may_come_back()) {
      if (claim_left(level.slot))
        __atomic_store_n(&level.slot->state, spare_state(&thread->spare[i], level.slot),
                         __ATOMIC_RELEASE);
      continue;
    }
    take_off_level(thread, i, level.slot, level.word);
    put_in_doubt(level.slot);
  }
  thread->at = first;
}

// True: the slot was dead, and is the caller's.
bool claim_dead(ReturnSlot* slot, uint64_t state) {
  if (!is_dead(slot, state) || !locked_exchange(&slot->state, state, kOwned)) return false;
  if (is_armed(state))
    count_left(slot, state);
  else
    __atomic_fetch_add(&g_reclaimed, 1, __ATOMIC_RELAXED);
  return true;
}

// Claims the first slot that is free, or the spare of a thread that is gone, among `count`; with
// `any` also one whose call may have been left. *looked: how many it has looked at.
ReturnSlot* sweep(uint32_t at, uint32_t count, bool any, uint32_t* looked) {
  for (uint32_t i = 0; i < count; i++) {
    ReturnSlot* slot = &pb_return_slots[(at + i) % kReturnSlots];
    *looked = i + 1;
    const uint64_t state = __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE);
    if (is_armed(state) && !any) continue;
    if (state == kFree ? locked_exchange(&slot->state, kFree, kOwned) : claim_dead(slot, state))
      return slot;
  }
  return nullptr;
}

void free_if_dead(ReturnSlot* slot) {
  const uint64_t state = __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE);
  if (state == kFree || !claim_dead(slot, state)) return;
  __atomic_store_n(&slot->state, kFree, __ATOMIC_RELEASE);
}

// All calls under a limit that never returned.
void free_dead_limited() {
  for (uint32_t i = 0; i < kReturnSlots / 64; i++) {
    uint64_t bits = __atomic_load_n(&g_limited[i], __ATOMIC_RELAXED);
    for (; bits; bits &= bits - 1)
      free_if_dead(&pb_return_slots[i * 64 + uint32_t(__builtin_ctzll(bits))]);
  }
}

// --- claiming

void note_used(uint32_t index) {
  uint32_t end = __atomic_load_n(&g_used_end, __ATOMIC_RELAXED);
  for (int i = 0; index >= end && i < 1000; i++)
    if (__atomic_compare_exchange_n(&g_used_end, &end, index + 1, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED))
      return;
}

// Slots in use may stand close together, more of them than a short sweep looks at: those of deep
// recursion, or those that threads keep. So a claim may look on, through all slots if need be; but
// where nearly all are in use, one claim after the other would. So time brings credit, and what
// long sweeps look at is taken off it. It is below 0 when several threads have used the same.
int32_t sweep_credit() {
  const uint64_t now = __builtin_ia32_rdtsc();
  const auto ticks = int64_t(now - __atomic_exchange_n(&g_credit_at, now, __ATOMIC_RELAXED));
  const int32_t there = __atomic_load_n(&g_credit, __ATOMIC_RELAXED);
  if (ticks <= 0) return there;  // another thread has read the clock later, and was here before
  const int64_t room = int64_t{kReturnSlots} - there, earned = ticks / kTicksPerLook;
  const auto more = int32_t(earned > room ? room : earned);
  return __atomic_add_fetch(&g_credit, more, __ATOMIC_RELAXED);
}

// Slots that were never used come before those that are in doubt.
ReturnSlot* claim_far() {
  uint32_t looked = 0;
  const uint32_t at = __atomic_fetch_add(&g_hand, kShortSweep, __ATOMIC_RELAXED);
  ReturnSlot* slot = sweep(at, kShortSweep, false, &looked);
  const uint32_t end = __atomic_load_n(&g_used_end, __ATOMIC_RELAXED);
  if (!slot && end < kReturnSlots) slot = sweep(end, kShortSweep, false, &looked);
  if (!slot) slot = sweep(at, kShortSweep, true, &looked);
  if (!slot) {
    const int32_t credit = sweep_credit();
    const uint32_t most = credit < 0 ? 0 : uint32_t(credit);
    looked = 0;
    slot = sweep(at + kShortSweep, most < kReturnSlots ? most : kReturnSlots, true, &looked);
    // The next claim begins behind what this one has found in use.
    __atomic_store_n(&g_hand, at + kShortSweep + looked, __ATOMIC_RELAXED);
    __atomic_fetch_sub(&g_credit, int32_t(looked), __ATOMIC_RELAXED);
  }
  if (!slot) __atomic_fetch_add(&g_no_slot, 1, __ATOMIC_RELAXED);
  return slot;
}

// The spare of this level, if another fiber's return has freed it. In use, it is taken off.
ReturnSlot* take_back(ReturnThread* thread) {
  const Level level = level_of(thread, thread->at);
  if (level.slot) {
    take_off_level(thread, thread->at, level.slot, level.word);
    if (!holds(reinterpret_cast<const uint64_t*>(level.word), trampoline_of(level.slot)))
      may_come_back() ? put_in_doubt(level.slot) : free_left(level.slot);
    return nullptr;
  }
  const uint32_t number = thread->spare[thread->at];
  ReturnSlot* slot = number ? &pb_return_slots[number - 1] : nullptr;
  return slot && locked_exchange(&slot->state, kFree, kOwned) ? slot : nullptr;
}

void look_from(ReturnThread* thread, uint32_t index) {
  thread->next = uint16_t(index % kReturnSlots + 1);
}

ReturnSlot* claim_near(ReturnThread* thread) {
  if (!thread->next)
    look_from(thread, __atomic_fetch_add(&g_next_start, kThreadStride, __ATOMIC_RELAXED));
  for (uint32_t i = 0; i < kNearby; i++) {
    ReturnSlot* near = &pb_return_slots[(thread->next - 1 + i) % kReturnSlots];
    if (__atomic_load_n(&near->state, __ATOMIC_RELAXED) == kFree &&
        locked_exchange(&near->state, kFree, kOwned))
      return near;
  }
  return nullptr;
}

// The slot becomes the spare of this level. What was that before is freed by its own return, if it
// is in use (of another fiber, say), or found as dead.
void keep_slot(ReturnThread* thread, ReturnSlot* slot) {
  const uint32_t at = thread->at;
  slot->home = uint8_t(at < kReturnSpares ? at : kReturnSpares);
  if (at >= kReturnSpares) return;
  __atomic_store_n(&thread->spare[at], uint16_t(index_of(slot) + 1), __ATOMIC_RELEASE);
  thread->at = at + 1;
}

// SLOW PATH: no spare: the first calls of a thread, or deep ones.
__attribute__((noinline)) ReturnSlot* claim_slot(ReturnThread* thread) {
  ReturnSlot* slot = thread->at < kReturnSpares ? take_back(thread) : nullptr;
  if (!slot) slot = claim_near(thread);
  if (!slot) slot = claim_far();
  if (!slot) return nullptr;
  slot->number = uint16_t(index_of(slot) + 1);
  look_from(thread, index_of(slot) + 1);
  if (index_of(slot) >= __atomic_load_n(&g_used_end, __ATOMIC_RELAXED)) note_used(index_of(slot));
  keep_slot(thread, slot);
  return slot;
}

inline ReturnSlot* take_slot(ReturnThread* thread) {
  const uint32_t at = thread->at;
  const uint32_t spare = at < kReturnSpares ? thread->spare[at] : 0;
  if (__builtin_expect(spare != 0, 1)) {
    ReturnSlot* slot = &pb_return_slots[spare - 1];
    // `spare` goes on to name it: never may it look dead between two uses.
    if (local_exchange(&slot->state, spare_state(&thread->spare[at], slot), kOwned)) {
      thread->at = at + 1;
      return slot;
    }
  }
  return claim_slot(thread);
}

// The slot is owned. By now a handler may have made another one the spare of this level.
inline void give_slot(ReturnSlot* slot) {
  ReturnThread* thread = &pb_return_thread;
  const uint32_t home = slot->home;
  slot->chain_length = 1;
  slot->limited = 0;
  if (home < kReturnSpares && thread->spare[home] == index_of(slot) + 1) {
    __atomic_store_n(&slot->state, spare_state(&thread->spare[home], slot), __ATOMIC_RELEASE);
  } else {
    __atomic_store_n(&slot->state, kFree, __ATOMIC_RELEASE);
    look_from(thread, index_of(slot));
  }
  if (home < kReturnSpares) thread->at = home;
}

// --- entry

// Events at different indexes may belong to one probe, in several instances; one of them counts.
uint32_t bits_of_probe(const SiteProgram* program, const SiteEvent& of) {
  uint32_t bits = 0;
  for (uint32_t i = 0; i < limited_events(program); i++) {
    const SiteEvent& event = program->event[i];
    if (event.event->id == of.event->id && event.ip == of.ip) bits |= uint32_t{1} << i;
  }
  return bits;
}

bool try_enter(ProbeCounts* counts) {
  if (__atomic_add_fetch(&counts->active, 1, __ATOMIC_RELAXED) <= counts->max_active) return true;
  __atomic_fetch_sub(&counts->active, 1, __ATOMIC_RELAXED);
  return false;
}

// SLOW PATH: the probe has max_active.
__attribute__((noinline, cold)) bool enter_limit(ProbeCounts* counts) {
  if (try_enter(counts)) return true;
  free_dead_limited();
  if (try_enter(counts)) return true;
  __atomic_fetch_add(&counts->missed, 1, __ATOMIC_RELAXED);
  return false;
}

// Which events take part in this call, and whether one of them has a limit.
struct Wanted {
  uint32_t events;
  bool limited;
};
inline Wanted enter_limits(const SiteProgram* program) {
  bool limited = false;
  uint32_t wanted =
      program->nr_events < 32 ? (uint32_t{1} << program->nr_events) - 1 : ~uint32_t{0};
  for (uint32_t i = 0; i < limited_events(program); i++) {
    const SiteEvent& event = program->event[i];
    if (!event.counts || !event.counts->max_active) continue;
    limited = true;
    if (!enter_limit(event.counts)) wanted &= ~bits_of_probe(program, event);
  }
  return {wanted, limited};
}

// The slot that hooks the word already, for a tail call; null if it does not, or the chain is full.
ReturnSlot* slot_before(uint64_t address, const uint64_t* word) {
  ReturnSlot* slot = slot_of_return(reinterpret_cast<uint64_t>(word), trampoline_number(address));
  return slot && slot->chain_length < kMaxChain ? slot : nullptr;
}

struct Call {
  const CallSite* site;
  const SiteProgram* program;
  uint64_t* word;
  const FetchRegisters* registers;
};

void fill(ReturnSlot* slot, const Call& call, Wanted wanted) {
  slot->site = call.site;
  slot->program = call.program;
  slot->wanted = wanted.events;
  slot->chain_length = 1;
  slot->limited = 0;
  if (__builtin_expect(wanted.limited, 0)) mark_limited(slot);
  for (int i = 0; i < 6; i++) slot->arg[i] = call.registers->arg[i];
  if (!call.program->has_graph) slot->graph.flags = 0;  // return_entry looks at them first
}

void chain(ReturnSlot* before, ReturnSlot* slot, const uint64_t* word) {
  slot->chain_length = uint16_t(before->chain_length + 1);
  slot->return_address = index_of(before);
  forget_word(index_of(before), reinterpret_cast<uint64_t>(word));  // found by the later one
  __atomic_store_n(&before->state,
                   reinterpret_cast<uint64_t>(word) | kChained | generation_of(before),
                   __ATOMIC_RELEASE);
}

// The tail call has returned: the call before it is the next one.
__attribute__((noinline)) void unchain(const ReturnSlot* slot, uint64_t word) {
  ReturnSlot* before = &pb_return_slots[slot->return_address];
  const uint64_t state = __atomic_load_n(&before->state, __ATOMIC_ACQUIRE);
  if ((state & kSlotTagMask) != kChained || hooked_word(state) != word) return;
  if (before->chain_length + 1 != slot->chain_length) return;
  __atomic_store_n(&before->state, state & ~kChained, __ATOMIC_RELEASE);
  if (before->home >= kReturnSpares) index_word(index_of(before), word);
}

// The slot is owned and filled.
void arm(ReturnSlot* slot, ReturnSlot* before, uint64_t* word, uint32_t trampoline) {
  slot->trampoline = uint32_t(trampoline_address(trampoline));
  slot->return_address = pb_return_address[trampoline];
  if (before) chain(before, slot, word);
  __atomic_store_n(word, trampoline_of(slot), __ATOMIC_RELEASE);
  slot->generation++;
  __atomic_store_n(&slot->state, reinterpret_cast<uint64_t>(word) | generation_of(slot),
                   __ATOMIC_RELEASE);
  if (slot->home >= kReturnSpares) index_word(index_of(slot), reinterpret_cast<uint64_t>(word));
}

// Gives up the calls that are in doubt under this number.
__attribute__((noinline, cold)) void give_up(uint32_t trampoline) {
  const uint32_t end = __atomic_load_n(&g_used_end, __ATOMIC_RELAXED);
  for (uint32_t i = 0; i < end; i++)
    if (__atomic_load_n(&g_in_doubt[i], __ATOMIC_RELAXED) == trampoline)
      free_left(&pb_return_slots[i]);
}

// The trampoline for a call from there; 0: none is left. The levels are settled.
uint32_t take_trampoline(uint64_t caller) {
  bool again;
  const uint32_t trampoline = trampoline_for(caller, &again);
  if (__builtin_expect(again, 0)) give_up(trampoline);
  return trampoline;
}

// function_graph and the profiler look at the call when it is sure that there is a slot for it: an
// entry that is recorded has its exit.
inline uint32_t enter_graph(ReturnSlot* slot, const Call& call, uint32_t wanted) {
  return graph_enter(call.site, call.program, call.word, call.registers, wanted, &slot->graph);
}

enum class Hooked { kNo, kNotWanted, kLeftAlone, kYes };

Hooked hook(const Call& call, Wanted wanted) {
  const uint64_t caller = *call.word;
  const auto word = reinterpret_cast<uint64_t>(call.word);
  if (__builtin_expect(word & ~kAddressMask, 0)) return Hooked::kNo;
  const bool is_tail_call = is_return_trampoline(caller);
  ReturnSlot* before = is_tail_call ? slot_before(caller, call.word) : nullptr;
  if (is_tail_call && !before) return Hooked::kNo;
  const uint32_t version = __atomic_load_n(&pb_callers_version, __ATOMIC_ACQUIRE);
  if (!is_tail_call && !may_hook_return_to(caller)) return Hooked::kLeftAlone;
  ReturnThread* thread = &pb_return_thread;
  settle_levels(thread, word, before);
  uint32_t trampoline = before ? number_of(before) : take_trampoline(caller);
  if (!before && doubt_other_at(word, trampoline)) trampoline = take_trampoline(caller);
  if (__builtin_expect(!trampoline, 0)) return Hooked::kLeftAlone;
  if (!before) note_trampoline(caller, trampoline, version);
  ReturnSlot* slot = take_slot(thread);
  if (__builtin_expect(!slot, 0)) return Hooked::kNo;
  if (call.program->has_graph) wanted.events = enter_graph(slot, call, wanted.events);
  if (__builtin_expect(call.program->has_calls, 0))
    wanted.events = take_call(call.program, call.registers, wanted.events, index_of(slot));
  if (!wanted.events) {
    give_slot(slot);
    return Hooked::kNotWanted;
  }
  fill(slot, call, wanted);
  arm(slot, before, call.word, trampoline);
  if (call.program->has_graph) graph_armed(index_of(slot));
  return Hooked::kYes;
}

abi::BufferHeader* header_of(const SiteEvent& event) {
  return __atomic_load_n(&event.event->rings, __ATOMIC_RELAXED)->header;
}

// Once in each instance.
__attribute__((noinline, cold)) void count_unhooked(const SiteProgram* program, uint32_t wanted) {
  for (uint32_t i = 0; i < program->nr_events; i++) {
    if (!(wanted >> wanted_bit(i) & 1)) continue;
    abi::BufferHeader* header = header_of(program->event[i]);
    bool is_counted = false;
    for (uint32_t k = 0; k < i; k++) is_counted |= header_of(program->event[k]) == header;
    if (!is_counted) __atomic_fetch_add(&header->unhooked, 1, __ATOMIC_RELAXED);
  }
}

// What a return has taken out of its slot.
struct Returned {
  const CallSite* site;
  const SiteProgram* program;
  uint64_t caller;
  uint32_t wanted;
  bool limited;
};

void free_slot(ReturnSlot* slot, uint64_t* word, const Returned& call) {
  const bool is_tail_call = slot->chain_length > 1;
  __atomic_store_n(&slot->state, kOwned, __ATOMIC_RELEASE);
  if (is_tail_call) unchain(slot, reinterpret_cast<uint64_t>(word));
  __atomic_store_n(word, is_tail_call ? trampoline_of(slot) : call.caller, __ATOMIC_RELEASE);
  if (slot->home >= kReturnSpares) {
    forget_word(index_of(slot), reinterpret_cast<uint64_t>(word));
    uint32_t* in_doubt = &g_in_doubt[index_of(slot)];
    if (__atomic_load_n(in_doubt, __ATOMIC_RELAXED)) note_come_back(kDoubtsForOne);
    __atomic_store_n(in_doubt, 0u, __ATOMIC_RELAXED);
  }
  if (__builtin_expect(call.limited, 0)) unmark_limited(index_of(slot));
  give_slot(slot);
  if (__builtin_expect(call.limited, 0)) leave_limits(call.program, call.wanted);
}

// `data`: what whole calls have taken, or null.
__attribute__((always_inline)) inline void leave(ReturnFrame* frame, ReturnSlot* slot,
                                                 uint64_t* word, Returned call,
                                                 const uint8_t* data) {
  const GraphCall graph = slot->graph;
  free_slot(slot, word, call);
  if (call.program->has_graph)
    call.wanted =
        graph_leave(call.site, call.program, &frame->registers, call.wanted, index_of(slot), graph);
  if (call.wanted)
    offer_events(call.program, call.site, &frame->registers, &call.caller, call.wanted, data);
}

// The quick entry of a program with one event does not say it (kGraphQuick).
uint32_t wanted_of(const ReturnSlot* slot) {
  return slot->graph.flags & kGraphQuick ? 1 : slot->wanted;
}

// Another call may take the slot as soon as it is free. A function of its own, for the stack.
__attribute__((noinline)) void leave_with_data(ReturnFrame* frame, ReturnSlot* slot, uint64_t* word,
                                               const Returned& call) {
  alignas(8) uint8_t data[kCallDataBytes];
  copy_call(call.program, index_of(slot), data);
  leave(frame, slot, word, call, data);
}

// What a slot says of a return: nothing, that it is its own, or that a tail call's is in between.
enum class Fit { kNo, kBehindTailCall, kYes };

Fit fit(const ReturnSlot* slot, uint64_t word, uint32_t trampoline) {
  const uint64_t state = __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE) & ~kGenerationMask;
  if ((state & ~kChained) != word || number_of(slot) != trampoline) return Fit::kNo;
  return state == word ? Fit::kYes : Fit::kBehindTailCall;
}

// Of two that fit, in a search of all, none is known to be right. Behind a tail call whose slot is
// gone the one of the longest chain comes next.
struct Search {
  uint64_t word;
  uint32_t trampoline;
  ReturnSlot* found = nullptr;
  ReturnSlot* chained = nullptr;
  bool is_unclear = false;

  void look(ReturnSlot* slot) {
    const Fit fits = fit(slot, word, trampoline);
    if (__builtin_expect(fits == Fit::kNo, 1)) return;
    if (fits == Fit::kBehindTailCall) {
      if (!chained || chained->chain_length < slot->chain_length) chained = slot;
      return;
    }
    is_unclear |= found && found != slot;
    found = slot;
  }
};

}  // namespace

__attribute__((noinline)) ReturnSlot* slot_of_return(uint64_t word, uint32_t trampoline) {
  Search search = {word, trampoline};
  const ReturnThread* thread = &pb_return_thread;
  const auto look = [&search](uint32_t number) {
    if (number) search.look(&pb_return_slots[number - 1]);
    return search.found != nullptr;
  };
  if (thread->at && look(thread->spare[thread->at - 1])) return search.found;
  for (uint32_t step = 0; step < kWordWindow; step++)
    if (look(__atomic_load_n(by_word(word, trampoline, step), __ATOMIC_ACQUIRE)))
      return search.found;
  for (uint32_t level = 0; level < kReturnSpares; level++)
    if (look(thread->spare[level])) return search.found;
  const uint32_t end = __atomic_load_n(&g_used_end, __ATOMIC_RELAXED);
  for (uint32_t i = 0; i < end; i++) search.look(&pb_return_slots[i]);
  if (search.is_unclear) return nullptr;
  return search.found ? search.found : search.chained;
}

extern "C" bool return_hook(const CallSite* site, const SiteProgram* program, uint64_t* word,
                            const FetchRegisters* registers) {
  const Wanted wanted = enter_limits(program);
  if (!wanted.events) return false;
  const Hooked done = hook({site, program, word, registers}, wanted);
  if (done == Hooked::kYes || done == Hooked::kNotWanted) return done == Hooked::kYes;
  leave_limits(program, wanted.events);
  count_missed(program, wanted.events);
  if (done == Hooked::kLeftAlone) return count_unhooked(program, wanted.events), false;
  if (program->has_calls) count_missed_calls(program, wanted.events);
  if (program->has_graph) graph_missed(program, wanted.events);
  return false;
}

// A call that returns later goes on to its caller and nothing else: no load that may fault.
void forget_outstanding_returns() {
  static const SiteProgram nothing = {};
  for (uint32_t i = 0; i < __atomic_load_n(&g_used_end, __ATOMIC_RELAXED); i++) {
    ReturnSlot* slot = &pb_return_slots[i];
    if (slot->state == kFree || (slot->state & kSpare)) continue;  // or kOwned
    if (slot->limited) {
      unmark_limited(i);
      slot->limited = 0;
      leave_limits(slot->program, slot->wanted);
    }
    slot->wanted = 0;
    slot->graph.flags &= uint8_t(~kGraphQuick);
    slot->program = &nothing;
  }
}

extern "C" void return_hit(ReturnFrame* frame, uint32_t trampoline) {
  auto* word = reinterpret_cast<uint64_t*>(frame->registers.reg[4]) - 1;
  const uint64_t caller = pb_return_address[trampoline];
  ReturnSlot* slot = slot_of_return(reinterpret_cast<uint64_t>(word), trampoline);
  if (__builtin_expect(!slot, 0)) {
    __atomic_fetch_add(&g_unknown, 1, __ATOMIC_RELAXED);
    note_come_back(kDoubtsForUnknown);
    *word = caller;
    return;
  }
  Returned call = {slot->site, slot->program, caller, wanted_of(slot), slot->limited != 0};
  for (int i = 0; i < 6; i++) frame->registers.arg[i] = slot->arg[i];
  frame->registers.reg[kIpRegister] = call.caller;
  if (__builtin_expect(call.program->has_calls, 0)) return leave_with_data(frame, slot, word, call);
  leave(frame, slot, word, call, nullptr);
}

ReturnHookCounts return_hook_counts() {
  ReturnHookCounts counts = {};
  for (uint32_t i = 0; i < __atomic_load_n(&g_used_end, __ATOMIC_RELAXED); i++) {
    const uint64_t state = __atomic_load_n(&pb_return_slots[i].state, __ATOMIC_RELAXED);
    counts.in_use += state == kOwned || (state != kFree && !(state & kSpare));
  }
  counts.reclaimed = __atomic_load_n(&g_reclaimed, __ATOMIC_RELAXED);
  counts.no_slot = __atomic_load_n(&g_no_slot, __ATOMIC_RELAXED);
  counts.unknown = __atomic_load_n(&g_unknown, __ATOMIC_RELAXED);
  return counts;
}

// Programs are never freed; what the slot says is of this call if its state is the same afterwards.
uint64_t left_calls(bool (*is_gone)(uint64_t address, uint64_t value)) {
  uint64_t count = __atomic_load_n(&g_left, __ATOMIC_RELAXED);
  for (uint32_t i = 0; i < __atomic_load_n(&g_used_end, __ATOMIC_RELAXED); i++) {
    const ReturnSlot* slot = &pb_return_slots[i];
    const uint64_t state = __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE);
    if (state == kFree || state == kOwned || (state & (kSpare | kChained))) continue;
    const SiteProgram* program = __atomic_load_n(&slot->program, __ATOMIC_ACQUIRE);
    const bool is_left = program->has_calls && is_gone(state & kAddressMask, trampoline_of(slot));
    count += is_left && __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE) == state;
  }
  return count;
}

}  // namespace patchbay
