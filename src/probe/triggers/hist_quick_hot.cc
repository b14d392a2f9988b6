// SPDX-License-Identifier: MIT
//
// One hit of a histogram of numbers (hist/hist_quick.h), in the order of hist_hot.cc. Everything
// stands in registers or in `values`; a synthetic event that one instance records goes straight to
// its ring, with the time that the histogram has read.
#include "filter/filter_abi.h"
#include "hist/hist_pair.h"
#include "hist/hist_quick.h"
#include "probe/probe_hot.h"
#include "probe/triggers/hist_hot.h"
#include "probe/triggers/hist_value_hot.h"
#include "ring_buffer/ring_publish_at.h"

namespace patchbay {

namespace {

#define ALWAYS_INLINE __attribute__((always_inline)) inline

// What is indexed stands beside it, so that this stands in registers. `values` are not set before:
// each is written before it is read.
struct Quick {
  const HistQuick* quick;
  const TriggerHit& hit;
  const uint8_t* record;
  uint64_t* values;           // 2 * kMaxQuick
  HistVariableWord** others;  // kMaxQuick
  HistInstant now;
};

ALWAYS_INLINE uint64_t number(const Quick& at, const HistQuickNumber& value) {
  if (value.kind == HistQuickKind::kField) return hist_load(at.record + value.offset, value.load);
  if (value.kind == HistQuickKind::kValue) return at.values[value.slot];
  const uint64_t time = value.in_usecs ? hist_usecs(at.now.time) : at.now.time;
  return value.kind == HistQuickKind::kTime ? time : time - at.values[value.slot];
}

// hist_add(), its usual case in place: a thread without rseq, or one that is interrupted, goes
// there.
ALWAYS_INLINE void add_here(HistTable* table, uint64_t offset, uint64_t value,
                            uint32_t generation) {
  static_assert(offsetof(ProbeThread, no_rseq) == 12);
  const int64_t rseq = pb_rseq_offset;
  if (__builtin_expect(!rseq || pb_thread.no_rseq, 0)) {
    hist_add(table, offset, value, generation);
    return;
  }
  asm goto(
      ".pushsection __rseq_cs, \"aw\"\n"
      ".balign 32\n"
      "1: .long 0, 0\n"
      ".quad 2f, 3f - 2f, 4f\n"
      ".popsection\n"
      "lea 1b(%%rip), %%rax\n"
      "mov %%rax, %%fs:8(%[rseq])\n"
      "2: mov %%fs:(%[rseq]), %%eax\n"
      "cmp %%fs:4(%[rseq]), %%eax\n"
      "jne %l[general]\n"
      "cmp %c[nr_cpus](%[table]), %%eax\n"
      "jae %l[general]\n"
      "cmp %c[now](%[table]), %[generation]\n"
      "jne %l[general]\n"
      "imul %c[row_size](%[table]), %%rax\n"
      "add %c[sums](%[table]), %%rax\n"
      "addq %[value], (%%rax,%[offset])\n"
      "3:\n"
      ".pushsection .text.unlikely, \"ax\"\n"
      ".long 0x53053053\n"
      "4: jmp %l[general]\n"
      ".popsection\n"
      :
      : [rseq] "r"(rseq), [table] "r"(table), [offset] "r"(offset), [value] "er"(value),
        [generation] "r"(generation), [nr_cpus] "i"(offsetof(HistTable, nr_cpus)),
        [now] "i"(offsetof(HistTable, generation)), [row_size] "i"(offsetof(HistTable, row_size)),
        [sums] "i"(offsetof(HistTable, sums))
      : "rax", "memory", "cc"
      : general);
  return;
general:
  hist_add(table, offset, value, generation);
}

inline HistVariableWord* variable_at(uint8_t* entry, uint32_t at) {
  return reinterpret_cast<HistVariableWord*>(entry + at);
}

// How many there are of each: of most shapes that is known beforehand.
template <HistQuickShape kShape>
struct Shape {
  static constexpr bool kIsAny = kShape == HistQuickShape::kAny;
  static constexpr bool kHasOne = kShape == HistQuickShape::kMatches;

  static uint32_t others(const HistQuick* quick) { return kIsAny ? quick->nr_others : kHasOne; }
  static uint32_t acts(const HistQuick* quick) { return kIsAny ? quick->nr_acts : kHasOne; }
  static uint32_t sums(const HistQuick* quick) {
    return kIsAny || kShape == HistQuickShape::kCounts ? quick->nr_sums : 0;
  }
  static uint32_t variables(const HistQuick* quick) {
    return kShape == HistQuickShape::kCounts ? 0 : quick->nr_variables;
  }
};

// Finds the first ones up to one that is not set, as far as can be seen. How many they are.
template <typename Key>
ALWAYS_INLINE uint32_t find_others(Quick* at, uint32_t count, const Key& key, uint32_t hash) {
  for (uint32_t i = 0; i < count; i++) {
    const HistQuickOther& other = at->quick->others[i];
    const uint32_t generation = hist_generation(other.table);
    if (generation & 1) return i;
    const uint32_t entry = hist_find(other.table, key, hash, generation);
    if (entry == kHistNone) return i;
    at->others[i] = variable_at(hist_entry(other.table, entry), other.at);
    if (!__atomic_load_n(&at->others[i]->set, __ATOMIC_RELAXED)) return i;
  }
  return count;
}

// Those in front of one that is not set are taken all the same.
ALWAYS_INLINE bool take_others(Quick* at, uint32_t count, uint32_t found) {
  for (uint32_t i = 0; i < found; i++) {
    const bool is_set = at->quick->others[i].read_once
                            ? hist_take_variable(at->others[i], &at->values[i])
                            : hist_read_variable(at->others[i], &at->values[i]);
    if (!is_set) return false;
  }
  return found == count;
}

// Whatever trace() has no way of its own for.
__attribute__((noinline)) void trace_any(const Quick& at, const HistQuickAct& act,
                                         const SiteProgram* program) {
  alignas(8) uint64_t record[kMaxQuickRecord / 8];
  for (uint32_t i = 0; i < act.nr_params; i++)
    record[i + 1] = at.values[act.params[i].slot] & act.params[i].mask;
  const auto size = uint32_t(8 + 8 * act.nr_params);
  auto* bytes = reinterpret_cast<uint8_t*>(record);
  if (program->plain != kPlain) return synthetic_hit(act.target, at.hit, bytes, size);
  const EventProgram* event = program->event[0].event;
  write_header(bytes, event->id, at.hit.tid);
  if (event->filter && !filter_match(event->filter, bytes, size)) return;
  const int status = at.quick->uses_time ? ring_publish_at(&event->rings, bytes, size, at.now.ticks)
                                         : ring_publish(&event->rings, bytes, size);
  if (__builtin_expect(has_successor(event, status), 0)) publish_by_successor(event, bytes, size);
}

// One number that is recorded, as a latency mostly is, never is in memory.
ALWAYS_INLINE void trace(const Quick& at, const HistQuickAct& act) {
  // Pairs with SyntheticEvents::update().
  const SiteProgram* program = __atomic_load_n(&act.target->program, __ATOMIC_ACQUIRE);
  if (!program) return;
  if (act.nr_params == 1 && at.quick->uses_time && program->plain == kPlain) {
    const EventProgram* event = program->event[0].event;
    const uint64_t value = at.values[act.params[0].slot] & act.params[0].mask;
    if (!event->filter && ring_publish_value_at(&event->rings, record_header(event->id, at.hit.tid),
                                                value, at.now.ticks) == kRingPublished)
      return;
  }
  trace_any(at, act, program);
}

__attribute__((noinline, cold)) uint32_t insert(HistTable* table, uint64_t word, uint32_t hash,
                                                uint32_t generation) {
  return hist_insert(table, {&word, 1, 1}, hash, generation);
}
__attribute__((noinline, cold)) uint32_t insert(HistTable* table, const HistKey& key, uint32_t hash,
                                                uint32_t generation) {
  return hist_insert(table, key, hash, generation);
}

// The key is known; a word of its own, where it is one.
template <HistQuickShape kShape, typename Key>
ALWAYS_INLINE void update(const HistProgram* hist, Quick* at, const Key& key, uint32_t hash,
                          uint32_t generation) {
  using Has = Shape<kShape>;
  const HistQuick* quick = at->quick;
  HistTable* table = hist->table;
  // To take a variable waits for all that was begun, and nothing is begun meanwhile: so what can
  // be looked up, and the clock, which takes longest, stand before it.
  uint32_t entry = hist_find(table, key, hash, generation);
  const uint32_t nr_others = Has::others(quick);
  const uint32_t others = find_others(at, nr_others, key, hash);
  if (kShape != HistQuickShape::kCounts && quick->uses_time && others == nr_others)
    at->now = hist_read_time(hist->clock);
  if (nr_others && !take_others(at, nr_others, others)) return;
  if (__builtin_expect(entry == kHistNone, 0)) entry = insert(table, key, hash, generation);
  if (__builtin_expect(entry >= kHistLate, 0)) {
    if (entry == kHistFull) hist_drop(table, generation);
    return;
  }
  uint8_t* const variables = hist_entry(table, entry);
  const uint64_t first = hist_sum_at(table, entry, 0);
  add_here(table, first, 1, generation);
  for (uint32_t i = 0; i < Has::sums(quick); i++)
    add_here(table, first + 8 * uint64_t{quick->sums[i].index}, number(*at, quick->sums[i].value),
             generation);
  for (uint32_t i = 0; i < Has::variables(quick); i++) {
    const uint64_t value = number(*at, quick->variables[i].value);
    at->values[kQuickOwn + i] = value;
    hist_set_variable(variable_at(variables, quick->variables[i].at), value);
  }
  for (uint32_t i = 0; i < Has::acts(quick); i++) trace(*at, quick->acts[i]);
}

// Several fields, or a text.
template <HistQuickShape kShape>
__attribute__((noinline)) void update_long(const HistProgram* hist, const TriggerHit& hit,
                                           const uint8_t* record, uint32_t size,
                                           uint32_t generation) {
  const HistQuick* quick = hist->quick;
  uint64_t values[2 * kMaxQuick];
  HistVariableWord* others[kMaxQuick];
  Quick at = {quick, hit, record, values, others, {0, 0}};
  uint64_t words[kMaxHistKeySize / 8 + 1];
  uint32_t used = quick->nr_keys;
  uint64_t sum = 0;
  for (uint32_t i = 0; i < used; i++) {
    words[i] = hist_load(record + quick->keys[i].offset, quick->keys[i].load);
    sum += words[i] * kHistMultipliers.of[i];
  }
  if (quick->text)
    used =
        hist_each_key_word(hist_text_of(*quick->text, record, size),
                           uint32_t{quick->text->size} - 1, used, [&](uint64_t i, uint64_t word) {
                             words[i] = word;
                             sum += word * kHistMultipliers.of[i];
                           });
  const HistKey key = {words, used, hist->key_words};
  update<kShape>(hist, &at, key, hist_hash_sum(sum), generation);
}

template <HistQuickShape kShape>
__attribute__((noinline)) void update_short(const HistProgram* hist, const TriggerHit& hit,
                                            const uint8_t* record, uint32_t generation) {
  uint64_t values[2 * kMaxQuick];
  HistVariableWord* others[kMaxQuick];
  Quick at = {hist->quick, hit, record, values, others, {0, 0}};
  const HistQuickNumber& field = at.quick->keys[0];
  const uint64_t word = hist_load(record + field.offset, field.load);
  update<kShape>(hist, &at, word, hist_hash(word), generation);
}

// The end of a pair behind the variable that it has taken.
ALWAYS_INLINE void trace_latency(const HistPairHalf* half, const TriggerHit& hit, uint64_t latency,
                                 uint64_t ticks) {
  uint64_t values[2 * kMaxQuick];
  values[kQuickOwn] = latency;
  const HistQuick* quick = half->hist->quick;
  trace({quick, hit, nullptr, values, nullptr, {ticks, 0}}, quick->acts[0]);
}

}  // namespace

// What hist_pair.S leaves to C. `number`: 1 + its entry.
extern "C" {
void hist_pair_general(const HistPairHalf* half, const TriggerHit* hit, const uint8_t* record);
void hist_pair_finish(const HistPairHalf* half, const TriggerHit* hit, uint64_t latency,
                      uint64_t ticks, uint64_t number, uint32_t generation);
void hist_pair_trace(const HistPairHalf* half, const TriggerHit* hit, uint64_t latency,
                     uint64_t ticks);

void hist_pair_general(const HistPairHalf* half, const TriggerHit* hit, const uint8_t* record) {
  const HistProgram* hist = half->hist;
  const uint32_t generation = hist_generation(hist->table);
  if (!(generation & 1)) hist_update_quick(hist, *hit, record, 0, generation);
}

void hist_pair_finish(const HistPairHalf* half, const TriggerHit* hit, uint64_t latency,
                      uint64_t ticks, uint64_t number, uint32_t generation) {
  HistTable* table = half->own.table;
  const auto entry = uint32_t(number - 1);
  hist_add(table, hist_sum_at(table, entry, 0), 1, generation);
  hist_set_variable(variable_at(hist_entry(table, entry), uint32_t(half->variable_at)), latency);
  trace_latency(half, *hit, latency, ticks);
}

void hist_pair_trace(const HistPairHalf* half, const TriggerHit* hit, uint64_t latency,
                     uint64_t ticks) {
  trace_latency(half, *hit, latency, ticks);
}
}

// Jumps to one of them.
void hist_update_quick(const HistProgram* hist, const TriggerHit& hit, const uint8_t* record,
                       uint32_t size, uint32_t generation) {
  using enum HistQuickShape;
  const HistQuickShape shape = hist->quick->shape;
  if (hist->quick->is_word) {
    if (shape == kMatches) return update_short<kMatches>(hist, hit, record, generation);
    if (shape == kRemembers) return update_short<kRemembers>(hist, hit, record, generation);
    if (shape == kCounts) return update_short<kCounts>(hist, hit, record, generation);
    return update_short<kAny>(hist, hit, record, generation);
  }
  if (shape == kCounts) return update_long<kCounts>(hist, hit, record, size, generation);
  if (shape == kMatches) return update_long<kMatches>(hist, hit, record, size, generation);
  if (shape == kRemembers) return update_long<kRemembers>(hist, hit, record, size, generation);
  return update_long<kAny>(hist, hit, record, size, generation);
}

}  // namespace patchbay
