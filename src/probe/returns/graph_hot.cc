// SPDX-License-Identifier: MIT
//
// Where a call stands in its thread (graph_hot.h), from the usual case to the rare ones:
//
//   current ── its slot hooks a word at or above the new call's, nearby ───────> the parent
//      │
//      ├── its word is below: longjmp or an exception has left it, or it is on another stack
//      │     '── its parent, and so on; the thread is in that one again
//      ├── another call has its slot by now: who was its parent is lost
//      │     '── look for a trampoline on the stack above the new call
//      └── its word is far above, or there is none, and a call that the thread seemed to have left
//          is still there: it may be that this is a fiber that goes on
//            '── the same
//
// Where frames are copied away and back (greenlet) a parent is believed only while its trampoline
// stands in its word; depths are plausible, never more.
#include "probe/returns/graph_hot.h"

#include "abi/ftrace_records.h"
#include "base/raw_syscall.h"
#include "hot/safe_load.h"
#include "probe/probe_hot.h"

namespace patchbay {

extern "C" {
GraphSettings pb_graph_settings = {};
const ProfileTable* pb_profile_table = nullptr;
}

namespace {

constexpr int kThreadCpuTime = 3;      // CLOCK_THREAD_CPUTIME_ID
constexpr uint64_t kLookBytes = 4096;  // of a stack, for the frame that a call is in
constexpr uint32_t kMaxLevels = kReturnSlots;
constexpr int kGenerationInToken = 16;

// --- slots and tokens

uint32_t token_of(uint32_t slot, uint64_t state) {
  return uint32_t(state >> kSlotGenerationShift) << kGenerationInToken | (slot + 1);
}

ReturnSlot* slot_of(uint32_t token) { return &pb_return_slots[(token & 0xffff) - 1]; }

bool is_trampoline_of(uint64_t value, const ReturnSlot* slot) {
  return value == trampoline_of(slot);
}

// The word that the slot hooks for the call of the token; 0: the slot is another call's by now.
uint64_t word_of(uint32_t token) {
  const uint64_t state = __atomic_load_n(&slot_of(token)->state, __ATOMIC_ACQUIRE);
  if (state >> kSlotGenerationShift != token >> kGenerationInToken) return 0;
  return state & kSlotSpare ? 0 : state & kSlotAddressMask;  // nor of an owned one
}

// Whether the call is still there, at `word`, also behind a tail call.
bool is_hooked(uint32_t token, uint64_t word) {
  uint64_t value;
  return try_load8(word, &value) && is_trampoline_of(value, slot_of(token));
}

bool is_there(uint32_t token) {
  const uint64_t word = token ? word_of(token) : 0;
  return word && is_hooked(token, word);
}

// --- the parent

// The token of the call whose trampoline stands at `word`; 0: none that is followed.
uint32_t call_at(uint64_t word, uint64_t value) {
  const ReturnSlot* slot = slot_of_return(word, trampoline_number(value));
  if (!slot) return 0;
  const uint64_t state = __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE);
  if ((state & kSlotSpare) || (state & kSlotAddressMask) != word) return 0;
  return slot->program->has_graph && (slot->graph.flags & kGraphFollowed)
             ? token_of(uint32_t(slot - pb_return_slots), state)
             : 0;
}

// The frame that is nearest above `word`, but below `end`.
uint32_t look_up_the_stack(uint64_t word, uint64_t end) {
  if (end - word > kLookBytes) end = word + kLookBytes;
  for (uint64_t at = word; at < end; at += 8) {
    uint64_t value;
    if (!try_load8(at, &value)) return 0;
    if (!is_return_trampoline(value)) continue;
    const uint32_t token = call_at(at, value);
    if (token) return token;
  }
  return 0;
}

// SLOW PATH: the thread is not where it was. Returns the parent's token, and where its word is.
__attribute__((noinline)) uint32_t find_parent(GraphThread* thread, uint64_t word) {
  uint32_t token = thread->current;
  uint64_t parent_word = 0;
  bool is_lost = false;
  for (uint32_t level = 0; token && level < kMaxLevels; level++) {
    parent_word = word_of(token);
    is_lost = parent_word == 0;
    if (is_lost) break;
    const bool hooked = is_hooked(token, parent_word);
    if (hooked && parent_word >= word) break;
    if (hooked && level == 0) thread->left = token;
    const uint32_t next = slot_of(token)->graph.parent;
    is_lost = word_of(token) != parent_word;  // else `next` is this call's
    if (is_lost) break;
    token = next;
  }
  if (is_lost) token = 0;
  if (!token || parent_word - word >= kGraphFarBytes) {
    if (thread->left && !is_there(thread->left)) thread->left = 0;
    if (is_lost || thread->left) {
      const uint32_t seen = look_up_the_stack(word, token ? parent_word : ~uint64_t{7});
      if (seen) token = seen;
    }
  }
  thread->current = token;
  return token;
}

// The call that the call at `word` is made in; 0: none that is followed.
inline uint32_t parent_of(GraphThread* thread, uint64_t word) {
  const uint32_t token = thread->current;
  if (!token) return __builtin_expect(thread->left != 0, 0) ? find_parent(thread, word) : 0;
  const uint64_t parent_word = word_of(token);
  // Also false if the word is below, or 0.
  if (__builtin_expect(parent_word - word < kGraphFarBytes && is_hooked(token, parent_word), 1))
    return token;
  return find_parent(thread, word);
}

// --- times

uint64_t raw_clock() {
  if (__builtin_expect(pb_graph_settings.monotonic, 0)) return raw_monotonic_ns();
  return __builtin_ia32_rdtsc();
}

uint64_t thread_cpu_ns() {
  long time[2] = {0, 0};
  raw_syscall(SYS_clock_gettime, kThreadCpuTime, raw_pointer(time));
  return uint64_t(time[0]) * 1000000000u + uint64_t(time[1]);
}

void start_time(GraphCall* call) {
  if (__builtin_expect(pb_graph_settings.without_sleep, 0)) {
    call->flags |= kGraphCpuTime;
    call->cpu_time = thread_cpu_ns();
  }
  call->call_time = raw_clock();
}

// What the call took until `now`, without what it slept, if that was asked for at its entry. A call
// that ends in another thread than it began in (fibers) has no CPU time of its own.
uint64_t duration_of(const GraphCall& call, uint64_t now) {
  const uint64_t ticks = now > call.call_time ? now - call.call_time : 0;
  if (__builtin_expect(!(call.flags & kGraphCpuTime), 1)) return ticks;
  const uint64_t cpu = thread_cpu_ns();
  if (cpu < call.cpu_time) return ticks;
  const auto ran = uint64_t(
      static_cast<unsigned __int128>(cpu - call.cpu_time) * pb_graph_settings.ticks_per_ns >> 32);
  return ran < ticks ? ran : ticks;
}

// --- entry

struct Entry {
  const CallSite* site;
  const uint64_t* word;
  const FetchRegisters* registers;
  uint32_t tid;
  uint32_t depth;
};

// Room for the largest entry: header, func, depth, retaddr, six arguments.
constexpr uint32_t kMaxEntryWords = sizeof(abi::GraphRetaddrEntryRecord) / 8 + abi::kRecordedArgs;

int record_entry(const EventProgram* event, const Entry& entry) {
  uint64_t words[kMaxEntryWords];
  const bool has_retaddr = event->graph_flags & kGraphRetaddr;
  write_header(reinterpret_cast<uint8_t*>(words),
               has_retaddr ? abi::kGraphRetaddrEntryId : abi::kGraphEntryId, entry.tid);
  words[1] = entry.site->function;
  words[2] = entry.depth;
  uint32_t n = 3;
  if (has_retaddr) words[n++] = real_return_address(*entry.word);
  if (event->graph_flags & kGraphArgs)
    for (uint32_t i = 0; i < abi::kRecordedArgs; i++) words[n++] = entry.registers->arg[i];
  return publish_record(event, reinterpret_cast<const uint8_t*>(words), n * 8);
}

// What set_graph_function, set_graph_notrace, max_graph_depth and tracing_thresh say of a call, for
// every instance.
enum class Verdict : uint8_t { kIgnore, kNotraced, kOnlyExit, kRecord };

inline Verdict judge(const CallSite* site, GraphCall* call) {
  const GraphSettings& settings = pb_graph_settings;
  if (call->flags & kGraphNotraced) return Verdict::kIgnore;
  const uint32_t marks = __atomic_load_n(&site->graph, __ATOMIC_RELAXED);
  if (settings.has_notrace && (marks & kGraphNotrace)) return Verdict::kNotraced;
  if (settings.has_roots) {
    const bool is_inside = (call->flags & kGraphInside) || (marks & kGraphRoot);
    if (!is_inside) return Verdict::kIgnore;
  }
  const uint32_t max_depth = __atomic_load_n(&settings.max_depth, __ATOMIC_RELAXED);
  if (max_depth && call->depth >= max_depth) return Verdict::kIgnore;
  return __atomic_load_n(&settings.thresh_ticks, __ATOMIC_RELAXED) ? Verdict::kOnlyExit
                                                                   : Verdict::kRecord;
}

// An entry that was dropped takes its exit along, which is lost as well.
__attribute__((noinline, cold)) void drop_exit(const EventProgram* event) {
  uint32_t steps = 0;
  ring_drop(&newest_program(event, &steps)->rings);
}

// Whether this instance follows the call; its entry is recorded then.
inline bool enter_event(const EventProgram* event, const Entry& entry, Verdict verdict) {
  if (verdict == Verdict::kIgnore) return false;
  if (!wants_thread(event, entry.tid)) return verdict == Verdict::kNotraced;
  if (verdict != Verdict::kRecord) return true;
  const int status = record_entry(event, entry);
  if (__builtin_expect(status == kRingDropped, 0)) drop_exit(event);
  return status == kRingPublished;
}

inline uint32_t thread_id(const SiteProgram* program) {
  const uint32_t tid = pb_thread.fast_tid;
  return __builtin_expect(tid != 0, 1) ? tid : meet_thread(&pb_thread, program);
}

inline void inherit(uint32_t parent, GraphCall* call) {
  *call = {};
  if (!parent) return;
  const GraphCall& from = slot_of(parent)->graph;
  call->parent = parent;
  call->flags = from.flags & (kGraphInside | kGraphNotraced);
  const uint32_t depth = uint32_t{from.depth} + ((from.flags & kGraphCounts) != 0);
  call->depth = depth > 0xffff ? 0xffff : uint16_t(depth);
}

void mark_followed(GraphCall* call, const CallSite* site, Verdict verdict) {
  call->flags |= kGraphFollowed | kGraphCounts;
  if (__atomic_load_n(&site->graph, __ATOMIC_RELAXED) & kGraphRoot) call->flags |= kGraphInside;
  if (verdict == Verdict::kNotraced) call->flags |= kGraphNotraced;
  if (verdict == Verdict::kRecord) call->flags |= kGraphEntered;
}

void mark_profiled(GraphCall* call) {
  const ProfileTable* table = __atomic_load_n(&pb_profile_table, __ATOMIC_ACQUIRE);
  call->flags |= kGraphFollowed | kGraphProfiled;
  call->session = table ? uint8_t(table->session) : 0;
}

// --- return

struct Exit {
  const CallSite* site;
  uint64_t retval;
  uint64_t now;
  uint64_t ticks;
  uint32_t tid;
};

void record_exit(const EventProgram* event, const Exit& exit, const GraphCall& call) {
  abi::GraphExitRecord record;
  write_header(reinterpret_cast<uint8_t*>(&record), abi::kGraphExitId, exit.tid);
  record.func = exit.site->function;
  record.retval = exit.retval;
  record.depth = call.depth;
  record.overrun = pb_return_thread.graph.lost;
  record.calltime = exit.now - exit.ticks;
  record.rettime = exit.now;
  publish_beside(event, reinterpret_cast<const uint8_t*>(&record), sizeof record);
}

// A call without an entry was one for tracing_thresh.
inline bool leaves_record(const GraphCall& call, uint64_t ticks) {
  if (call.flags & kGraphNotraced) return false;
  if (call.flags & kGraphEntered) return true;
  const uint64_t thresh = __atomic_load_n(&pb_graph_settings.thresh_ticks, __ATOMIC_RELAXED);
  return thresh && ticks >= thresh;
}

void add_to_profile(const Exit& exit, const GraphCall& call) {
  const ProfileTable* table = __atomic_load_n(&pb_profile_table, __ATOMIC_ACQUIRE);
  const uint32_t function = __atomic_load_n(&exit.site->profile, __ATOMIC_RELAXED);
  if (!table || uint8_t(table->session) != call.session) return;
  if (!function || function > table->functions) return;
  uint64_t ticks = exit.ticks;
  if (pb_graph_settings.without_children)
    ticks = call.child_time < ticks ? ticks - call.child_time : 0;
  profile_add(table, function - 1, ticks);
}

// Its time is no time of its parent's own; that of a call that only a graph wants belongs to
// the function that is profiled above it.
void add_to_parent(const GraphCall& call, uint64_t ticks) {
  if (!call.parent || !word_of(call.parent)) return;
  slot_of(call.parent)->graph.child_time += call.flags & kGraphProfiled ? ticks : call.child_time;
}

// The slot is free, its generation still that of the call.
inline void leave_call(GraphThread* thread, uint32_t slot, uint32_t parent) {
  const uint32_t token =
      uint32_t{pb_return_slots[slot].generation} << kGenerationInToken | (slot + 1);
  if (__builtin_expect(thread->current != token, 0) && thread->current)
    thread->left = thread->current;
  thread->current = parent;
}

bool is_of_graph(const EventProgram* event) {
  return event->kind == ConsumerKind::kGraph || event->kind == ConsumerKind::kProfile;
}

}  // namespace

uint32_t graph_enter(const CallSite* site, const SiteProgram* program, const uint64_t* word,
                     const FetchRegisters* registers, uint32_t wanted, GraphCall* call) {
  inherit(parent_of(&pb_return_thread.graph, reinterpret_cast<uint64_t>(word)), call);
  const Verdict verdict = judge(site, call);
  const Entry entry = {site, word, registers, thread_id(program), call->depth};
  bool is_followed = false;
  for (uint32_t i = 0; i < program->nr_events; i++) {
    const EventProgram* event = program->event[i].event;
    if (!is_of_graph(event) || !(wanted >> wanted_bit(i) & 1)) continue;
    const bool is_profile = event->kind == ConsumerKind::kProfile;
    const bool wants =
        is_profile ? wants_thread(event, entry.tid) : enter_event(event, entry, verdict);
    if (!wants && i < kLastWantedBit) wanted &= ~(uint32_t{1} << i);
    if (wants && is_profile) mark_profiled(call);
    if (wants && !is_profile) is_followed = true;
  }
  if (is_followed) mark_followed(call, site, verdict);
  if (call->flags & kGraphFollowed) start_time(call);
  return wanted;
}

void graph_armed(uint32_t index) {
  const ReturnSlot* slot = &pb_return_slots[index];
  if (slot->graph.flags & kGraphFollowed)
    pb_return_thread.graph.current = token_of(index, slot->state);
}

uint32_t graph_leave(const CallSite* site, const SiteProgram* program,
                     const FetchRegisters* registers, uint32_t wanted, uint32_t slot,
                     const GraphCall& call) {
  Exit exit = {site, registers->reg[0], 0, 0, 0};
  const bool is_followed = call.flags & kGraphFollowed;
  if (is_followed) {
    exit.now = raw_clock();
    exit.ticks = duration_of(call, exit.now);
    exit.tid = thread_id(program);
    leave_call(&pb_return_thread.graph, slot, call.parent);
  }
  uint32_t others = 0;
  for (uint32_t i = 0; i < program->nr_events; i++) {
    const EventProgram* event = program->event[i].event;
    const uint32_t bit = uint32_t{1} << wanted_bit(i);
    if (!(wanted & bit)) continue;
    if (!is_of_graph(event)) others |= bit;
    if (!is_followed || event->kind != ConsumerKind::kGraph) continue;
    if (leaves_record(call, exit.ticks)) record_exit(event, exit, call);
  }
  if (call.flags & kGraphProfiled) add_to_profile(exit, call);
  if (is_followed) add_to_parent(call, exit.ticks);
  return others;
}

void graph_missed(const SiteProgram* program, uint32_t wanted) {
  bool is_graph = false;
  for (uint32_t i = 0; i < program->nr_events; i++)
    is_graph |= is_of_graph(program->event[i].event) && (wanted >> wanted_bit(i) & 1);
  if (is_graph) pb_return_thread.graph.lost++;
}

}  // namespace patchbay
