// SPDX-License-Identifier: MIT
#include "probe/triggers/synthetic_hot.h"

#define PATCHBAY_NO_KERNEL_NAMES
#define PATCHBAY_OWN_SOURCE
#include <patchbay/trace_events.h>

#include "base/error_pointer.h"
#include "hot/fault.h"
#include "probe/hit_counter.h"
#include "probe/open_signals.h"
#include "probe/probe_hot.h"
#include "probe/records/stack_hot.h"
#include "probe/triggers/trigger_hot.h"

namespace patchbay {

namespace {

constexpr int kNoDevice = -19, kInvalid = -22, kNotSupported = -524;
constexpr uint64_t kFaultText = 0x0029746c75616628;  // "(fault)"
constexpr uint32_t kMaxPieces = kMaxPlanFields + 2;
constexpr uint32_t kMaxRecord = 64 * 1024 - 8;  // what a __data_loc word can point into
constexpr uint32_t kMaxStackWords = 31;
constexpr uint32_t kMaxStateTexts = sizeof(synth_event_trace_state::text_end) / 2 - 1;

inline uint32_t round_up_8(uint32_t bytes) { return (bytes + 7) & ~7u; }
inline uint64_t* word_at(uint8_t* record, uint32_t offset) {
  return reinterpret_cast<uint64_t*>(record + offset);
}

inline const SiteProgram* program_of(const EventFileHandle* file) {
  return __atomic_load_n(&file->target.program, __ATOMIC_ACQUIRE);  // pairs with SyntheticEvents
}

// --- texts of fixed size. A load that may fault continues at the label `fault`.

__attribute__((noinline)) uint32_t put_text_slowly(uint8_t* at, uint64_t address) {
  const OpenSignals open;
  if (const uint32_t size = fetch_text(at, address, kSyntheticTextBytes)) return round_up_8(size);
  *word_at(at, 0) = kFaultText;
  return sizeof kFaultText;
}

// Returns the bytes that it has stored, a multiple of 8; 0: it is for put_text_slowly().
inline __attribute__((always_inline)) uint32_t put_text_quickly(uint8_t* at, uint64_t address) {
  constexpr uint64_t kPage = 4096, kOnes = 0x0101010101010101, kHighs = 0x8080808080808080;
  if (__builtin_expect((address & (kPage - 1)) > kPage - kSyntheticTextBytes, 0)) return 0;
  if (__builtin_expect(!pb_thread.fast_tid, 0)) return 0;
  for (uint32_t done = 0; done < kSyntheticTextBytes; done += 8) {
    uint64_t word;
    asm goto("1: movq (%1, %q2), %0\n" PB_FAULT_ENTRY("1b", "%l3")
             : "=r"(word)
             : "r"(address), "r"(done)
             : "memory"
             : fault);
    const uint64_t zeros = (word - kOnes) & ~word & kHighs;
    if (zeros) {
      const uint64_t before = (zeros - 1) & ~zeros;  // the bits below the top one of the NUL
      *word_at(at, done) = word & before >> 7;
      return done + 8;
    }
    *word_at(at, done) = word;
  }
  at[kSyntheticTextBytes - 1] = 0;
  return kSyntheticTextBytes;
fault:
  return 0;
}

inline __attribute__((always_inline)) uint32_t put_text(uint8_t* at, uint64_t address) {
  const uint32_t stored = put_text_quickly(at, address);
  return __builtin_expect(stored != 0, 1) ? stored : put_text_slowly(at, address);
}

// The values of an event without dynamic fields, and which bytes of the record they are.
inline void put_values(const SyntheticPlan* plan, const uint64_t* value, uint8_t* record,
                       RingPiece* piece) {
  const SyntheticPlan::Field* const end = plan->field + plan->nr_fields;
  piece->from = 0;
  for (const SyntheticPlan::Field* field = plan->field; field != end; field++, value++) {
    if (__builtin_expect(field->kind == SyntheticKind::kNumber, 1)) {
      *word_at(record, field->offset) = *value & field->mask;
      continue;
    }
    const uint32_t offset = field->offset;
    piece->to = offset + put_text(record + offset, *value);
    (++piece)->from = offset + kSyntheticTextBytes;
  }
  if (piece->from < plan->fixed_size) (piece++)->to = plan->fixed_size;
  piece->to = 0;
}

// What lies between the pieces has never been written.
void zero_holes(uint8_t* record, uint32_t size, const RingPiece* piece) {
  for (; piece->to; piece++) {
    const uint32_t end = piece[1].to ? piece[1].from : size;
    for (uint32_t at = piece->to; at < end; at += 8) *word_at(record, at) = 0;
  }
}

inline int publish(const EventProgram* event, const SyntheticPlan* plan, uint8_t* record,
                   const RingPiece* pieces) {
  int status;
  if (plan->nr_texts)
    status = ring_publish_pieces(&event->rings, record, plan->fixed_size, pieces);
  else
    status = ring_publish_rseq(&event->rings, record, plan->fixed_size);
  if (__builtin_expect(status == kRingNoRseq, 0)) {
    zero_holes(record, plan->fixed_size, pieces);
    status = ring_publish_locked(&event->rings, record, plan->fixed_size, pb_thread.tid);
  }
  if (__builtin_expect(has_successor(event, status), 0)) {
    zero_holes(record, plan->fixed_size, pieces);
    status = publish_by_successor(event, record, plan->fixed_size);
  }
  return status == kRingPublished ? 0 : kInvalid;
}

// One event of all threads and nothing else; the record is complete but for its header and holes.
inline int finish_plain(const EventProgram* event, const SyntheticPlan* plan, uint8_t* record,
                        const RingPiece* pieces, uint32_t tid) {
  write_header(record, event->id, tid);
  if (__builtin_expect(event->filter == nullptr, 1)) return publish(event, plan, record, pieces);
  zero_holes(record, plan->fixed_size, pieces);
  if (filter_match(event->filter, record, plan->fixed_size)) publish(event, plan, record, pieces);
  return 0;
}

// --- dynamic fields

struct Dynamic {
  uint32_t size[kMaxPlanFields];  // bytes of each; 0: a text that cannot be read
  uint32_t end;                   // of the record, a multiple of 4
};

uint32_t stack_bytes(uint64_t address) {
  uint64_t count = 0;
  if (address) fetch_words(reinterpret_cast<uint8_t*>(&count), address, 1);
  return uint32_t(count < kMaxStackWords ? count : kMaxStackWords) * 8 + 8;
}

void measure(const SyntheticPlan* plan, const uint64_t* values, Dynamic* dynamic) {
  uint32_t end = plan->fixed_size;
  for (uint32_t i = 0; i < plan->nr_fields; i++) {
    const SyntheticKind kind = plan->field[i].kind;
    if (kind == SyntheticKind::kDynamicText) {
      dynamic->size[i] = fetch_text_size(values[i], kMaxDynamicText);
      end += dynamic->size[i] ? dynamic->size[i] : sizeof kFaultText;
    } else if (kind == SyntheticKind::kStack) {
      dynamic->size[i] = stack_bytes(values[i]);
      end = round_up_8(end) + dynamic->size[i];
    }
  }
  dynamic->end = (end + 3) & ~3u;
}

// A text may have become longer since it was measured, or shorter. Whole words are stored: `at` has
// room for them.
uint32_t put_dynamic_text(uint8_t* at, uint64_t address, uint32_t size) {
  struct __attribute__((packed, may_alias)) Word {
    uint64_t value;
  };
  if (!size) {
    reinterpret_cast<Word*>(at)->value = kFaultText;
    return sizeof kFaultText;
  }
  const uint32_t found = fetch_text(at, address, round_up_8(size));
  const uint32_t stored = found < size ? found : size;
  at[stored ? stored - 1 : 0] = 0;
  return stored ? stored : 1;
}

uint32_t put_dynamic(const SyntheticPlan::Field& field, uint64_t value, uint32_t size,
                     uint8_t* record, uint32_t end) {
  if (field.kind == SyntheticKind::kDynamicText) {
    const uint32_t stored = put_dynamic_text(record + end, value, size);
    *word_at(record, field.offset) = stored << 16 | end;
    return end + stored;
  }
  while (end & 7) record[end++] = 0;
  *word_at(record, end) = size / 8 - 1;
  if (size > 8) fetch_words(record + end + 8, value + 8, size / 8 - 1);
  *word_at(record, field.offset) = size << 16 | end;
  return end + size;
}

// The whole record, every byte of it; its size. `record` has 8 bytes more than dynamic->end.
uint32_t build_whole(const SyntheticPlan* plan, const uint64_t* values, const Dynamic* dynamic,
                     uint8_t* record) {
  for (uint32_t at = 0; at < plan->fixed_size; at += 8) *word_at(record, at) = 0;
  uint32_t end = plan->fixed_size;
  for (uint32_t i = 0; i < plan->nr_fields; i++) {
    const SyntheticPlan::Field& field = plan->field[i];
    if (field.kind == SyntheticKind::kNumber)
      *word_at(record, field.offset) = values[i] & field.mask;
    else if (field.kind == SyntheticKind::kText)
      put_text(record + field.offset, values[i]);
    else
      end = put_dynamic(field, values[i], dynamic->size[i], record, end);
  }
  while (end & 3) record[end++] = 0;
  return end;
}

// --- everything but the plain case

struct Offer {
  const SiteProgram* program;
  StackStart start;
  uint32_t tid;
};

// False: an answer stands in `tid`'s place already.
inline bool meet(Offer* offer) {
  ProbeThread* thread = &pb_thread;
  if (!thread->fast_tid) look_at_clock();
  if (thread->in_agent) {
    count_recursion(offer->program);
    return false;
  }
  offer->tid = thread->fast_tid ? thread->fast_tid : meet_thread(thread, offer->program);
  return true;
}

// As event_triggers_call() and the checks behind it, before there is a record. Where nobody needs
// the record of an event that soft mode has switched off, that is all.
bool is_wanted(const SiteEvent& site, const Offer& offer) {
  const EventProgram* event = site.event;
  if (site.counts) count_hit(site.counts->hits);
  if (event->triggers && !event->from_record)
    if (!trigger_early({event, &offer.start, offer.tid})) return false;
  if (!wants_thread(event, offer.tid)) return false;
  return !event->has_soft || event->triggers || __atomic_load_n(event->soft, __ATOMIC_ACQUIRE);
}

// True: it had to be recorded and was not.
bool offer_one(const SiteEvent& site, const Offer& offer, uint8_t* record, uint32_t size) {
  const EventProgram* event = site.event;
  const bool published = offer_record(site, nullptr, offer.tid, record, size, &offer.start);
  if (published && event->stack) record_stack(event, offer.start, offer.tid);
  return !published && !event->from_record && !event->triggers && !event->filter &&
         !event->has_soft;
}

__attribute__((noinline)) int trace_offered(const EventFileHandle* file, const Offer* call,
                                            uint32_t nr_values, const uint64_t* values) {
  Offer offer = *call;
  if (!meet(&offer)) return kInvalid;
  const OpenSignals open;
  const SyntheticPlan* plan = file->plan;
  Dynamic dynamic;
  uint8_t* record = nullptr;
  uint32_t size = 0;
  bool lost = false;
  for (uint32_t i = 0; i < offer.program->nr_events; i++) {
    const SiteEvent& site = offer.program->event[i];
    if (!is_wanted(site, offer)) continue;
    if (!record) {
      if (nr_values != plan->nr_fields) return kInvalid;
      measure(plan, values, &dynamic);
      if (dynamic.end > kMaxRecord) return kInvalid;
      record = static_cast<uint8_t*>(__builtin_alloca_with_align(dynamic.end + 8, 64));
      size = build_whole(plan, values, &dynamic, record);
    }
    lost |= offer_one(site, offer, record, size);
  }
  return lost ? kInvalid : 0;
}

// --- piece by piece

constexpr uint32_t kMaxStateRecord = PATCHBAY_SYNTH_RECORD_WORDS * 8;

inline const SyntheticPlan* plan_of(const synth_event_trace_state* state) {
  return reinterpret_cast<const EventFileHandle*>(state->file)->plan;
}
inline uint8_t* record_of(synth_event_trace_state* state) {
  return reinterpret_cast<uint8_t*>(state->record);
}

// synth_event_trace_state.open: its address and one of these. `kFresh`: nothing was added yet.
enum : uint64_t { kFresh = 0, kByNext = kStateByNext, kByName = 2, kOff = 4 };

inline uint64_t open_as(const synth_event_trace_state* state, uint64_t how) {
  return reinterpret_cast<uint64_t>(state) + how;
}

__attribute__((noinline)) bool same_text(const char* a, const char* b) {
  for (; *a && *a == *b; a++) b++;
  return *a == *b;
}

// Whole words, where the page of `name` has them.
inline __attribute__((always_inline)) bool is_named(const SyntheticPlan::Field& field,
                                                    const char* name) {
  struct __attribute__((packed, may_alias)) Word {
    uint64_t value;
  };
  constexpr uint64_t kPage = 4096;
  const uint32_t words = field.name_words, last = words - 1;
  if (!words || (reinterpret_cast<uint64_t>(name) & (kPage - 1)) > kPage - 8 * words)
    return same_text(field.name, name);
  const Word* a = reinterpret_cast<const Word*>(field.name);
  const Word* b = reinterpret_cast<const Word*>(name);
  for (uint32_t i = 0; i < last; i++)
    if (a[i].value != b[i].value) return false;
  return !((a[last].value ^ b[last].value) & field.name_mask);
}

int put_no_text(synth_event_trace_state* state, const SyntheticPlan::Field& field) {
  *word_at(record_of(state), field.offset) = 0;
  state->text_end[field.text] = uint16_t(field.offset + 8);
  return kInvalid;
}

__attribute__((noinline)) int add_text_slowly(synth_event_trace_state* state,
                                              const SyntheticPlan::Field* field, uint64_t value) {
  const uint32_t stored = put_text_slowly(record_of(state) + field->offset, value);
  state->text_end[field->text] = uint16_t(field->offset + stored);
  return 0;
}

inline __attribute__((always_inline)) int add_value(synth_event_trace_state* state,
                                                    const SyntheticPlan::Field* field,
                                                    uint64_t value, bool by_name) {
  state->next = field + 1;
  uint8_t* at = record_of(state) + field->offset;
  const bool is_number = field->kind == SyntheticKind::kNumber;
  if (!is_number && !value) return by_name ? kInvalid : put_no_text(state, *field);
  if (by_name) state->given |= uint64_t{1} << (field - plan_of(state)->field);
  if (is_number) {
    *word_at(at, 0) = value & field->mask;
    return 0;
  }
  const uint32_t stored = put_text_quickly(at, value);
  if (__builtin_expect(!stored, 0)) return add_text_slowly(state, field, value);
  state->text_end[field->text] = uint16_t(field->offset + stored);
  return 0;
}

__attribute__((noinline)) int add_found(synth_event_trace_state* state, const char* name,
                                        uint64_t value) {
  const SyntheticPlan::Field* field = plan_of(state)->field;
  while (field->kind != SyntheticKind::kEnd && !is_named(*field, name)) field++;
  return field->kind == SyntheticKind::kEnd ? kInvalid : add_value(state, field, value, true);
}

// What was not given is 0, or an empty text. `open`: how the values were given; by next_val it were
// all before `next`.
__attribute__((noinline)) void fill_state(synth_event_trace_state* state, uint64_t open) {
  const SyntheticPlan* plan = plan_of(state);
  const auto count = static_cast<const SyntheticPlan::Field*>(state->next) - plan->field;
  const uint64_t given = open == kByName ? state->given : (uint64_t{1} << count) - 1;
  if (given == ~uint64_t{0} >> (kMaxPlanFields - plan->nr_fields)) return;
  for (uint32_t i = 0; i < plan->nr_fields; i++) {
    const SyntheticPlan::Field& field = plan->field[i];
    if (given >> i & 1) continue;
    if (field.kind == SyntheticKind::kText)
      put_no_text(state, field);
    else
      *word_at(record_of(state), field.offset) = 0;
  }
}

void pieces_of(const SyntheticPlan* plan, const synth_event_trace_state* state, RingPiece* piece) {
  piece->from = 0;
  for (uint32_t i = 0; i < plan->nr_texts; i++) {
    piece->to = state->text_end[i];
    (++piece)->from = plan->text[i] + kSyntheticTextBytes;
  }
  if (piece->from < plan->fixed_size) (piece++)->to = plan->fixed_size;
  piece->to = 0;
}

__attribute__((noinline)) int end_offered(synth_event_trace_state* state, const Offer* call) {
  Offer offer = *call;
  if (!meet(&offer)) return kInvalid;
  const OpenSignals open;
  const SyntheticPlan* plan = plan_of(state);
  RingPiece pieces[kMaxPieces];
  pieces_of(plan, state, pieces);
  zero_holes(record_of(state), plan->fixed_size, pieces);
  bool lost = false;
  for (uint32_t i = 0; i < offer.program->nr_events; i++) {
    const SiteEvent& site = offer.program->event[i];
    if (is_wanted(site, offer)) lost |= offer_one(site, offer, record_of(state), plan->fixed_size);
  }
  return lost ? kInvalid : 0;
}

// All but the usual case.
__attribute__((noinline)) int end_general(synth_event_trace_state* state,
                                          const SiteProgram* program, const StackStart& start) {
  const uint32_t tid = pb_thread.fast_tid;
  if (!tid || program->plain != kPlain) {
    const Offer offer = {program, start, 0};
    return end_offered(state, &offer);
  }
  const SyntheticPlan* plan = plan_of(state);
  RingPiece pieces[kMaxPieces];
  pieces_of(plan, state, pieces);
  return finish_plain(program->event[0].event, plan, record_of(state), pieces, tid);
}

__attribute__((noinline)) int trace_plain(const SiteProgram* program, const SyntheticPlan* plan,
                                          const uint64_t* values, uint32_t tid) {
  alignas(8) uint8_t record[plan->fixed_size];
  RingPiece pieces[kMaxPieces];
  put_values(plan, values, record, pieces);
  return finish_plain(program->event[0].event, plan, record, pieces, tid);
}

}  // namespace

extern "C" int synthetic_off(const EventFileHandle* file) {
  if (!__atomic_load_n(&file->references, __ATOMIC_ACQUIRE)) return kInvalid;
  if (__atomic_load_n(&file->gone, __ATOMIC_ACQUIRE)) return kNoDevice;
  return file->plan ? 0 : kInvalid;
}

extern "C" int synthetic_trace(const EventFileHandle* file, uint32_t nr_values,
                               const uint64_t* values, uint64_t ip, uint64_t sp, uint64_t fp) {
  if (__builtin_expect(!is_pointer(file) || !values, 0)) return kInvalid;
  const SiteProgram* program = program_of(file);
  if (!program) return synthetic_off(file);
  const SyntheticPlan* plan = file->plan;
  const uint32_t tid = pb_thread.fast_tid;  // 0 also while the thread runs agent code
  if (__builtin_expect(!tid || program->plain != kPlain || plan->nr_dynamic, 0)) {
    const Offer offer = {program, {ip, sp, fp, false}, 0};
    return trace_offered(file, &offer, nr_values, values);
  }
  if (nr_values != plan->nr_fields) return kInvalid;
  return trace_plain(program, plan, values, tid);
}

static int start_off(const EventFileHandle* file, synth_event_trace_state* state) {
  const int answer = synthetic_off(file);
  if (!answer) state->open = open_as(state, kOff);
  return answer;
}

extern "C" int synthetic_start(const EventFileHandle* file, synth_event_trace_state* state) {
  if (!state) return kInvalid;
  state->open = 0;
  if (!is_pointer(file)) return kInvalid;
  const SiteProgram* program = program_of(file);
  if (!program) return start_off(file, state);
  const SyntheticPlan* plan = file->plan;
  if (plan->nr_dynamic) return kNotSupported;
  if (plan->fixed_size > kMaxStateRecord || plan->nr_texts > kMaxStateTexts) return kInvalid;
  const EventProgram* event = program->event[0].event;
  const RingSet* set = __atomic_load_n(&event->rings, __ATOMIC_RELAXED);
  if (!event->filter && !event->triggers && !event->has_soft && !ring_is_on(set) &&
      !has_successor(event, kRingOff))
    return kInvalid;
  state->file = reinterpret_cast<trace_event_file*>(const_cast<EventFileHandle*>(file));
  state->next = plan->field;
  state->open = open_as(state, kFresh);
  return 0;
}

// Is the state open for this way? The first value decides.
static inline bool is_open(synth_event_trace_state* state, uint64_t how) {
  const uint64_t open = state->open - open_as(state, 0);
  if (__builtin_expect(open == how, 1)) return true;
  if ((open & ~kOff) != kFresh && (open & ~kOff) != how) return false;
  state->open |= how;
  state->given = 0;
  return true;
}

extern "C" int synthetic_add_next(synth_event_trace_state* state, uint64_t value) {
  if (!state || !is_open(state, kByNext)) return kInvalid;
  if (__builtin_expect(state->open & kOff, 0)) return 0;
  const auto* field = static_cast<const SyntheticPlan::Field*>(state->next);
  return field->kind == SyntheticKind::kEnd ? kInvalid : add_value(state, field, value, false);
}

// `next` is looked at first, so that fields that are named in order are found at once.
extern "C" int synthetic_add_named(synth_event_trace_state* state, const char* name,
                                   uint64_t value) {
  if (!state || !is_open(state, kByName)) return kInvalid;
  if (__builtin_expect(state->open & kOff, 0)) return 0;
  const auto* next = static_cast<const SyntheticPlan::Field*>(state->next);
  if (next->kind != SyntheticKind::kEnd && !next->repeats && is_named(*next, name))
    return add_value(state, next, value, true);
  return add_found(state, name, value);
}

extern "C" int synthetic_end(synth_event_trace_state* state, uint64_t ip, uint64_t sp,
                             uint64_t fp) {
  if (!state) return kInvalid;
  const uint64_t open = state->open - open_as(state, 0);
  if (open > (kByNext | kByName | kOff)) return kInvalid;
  state->open = 0;
  if (open & kOff) return 0;
  const SiteProgram* program = program_of(reinterpret_cast<EventFileHandle*>(state->file));
  if (!program) return 0;  // switched off meanwhile
  const auto* next = static_cast<const SyntheticPlan::Field*>(state->next);
  if (open != kByNext || next->kind != SyntheticKind::kEnd) fill_state(state, open);
  if (__builtin_expect(program->code == kSyntheticInPlace, 1))
    if (!synthetic_place_state(program->event[0].event, plan_of(state), state)) return 0;
  return end_general(state, program, {ip, sp, fp, false});
}

}  // namespace patchbay
