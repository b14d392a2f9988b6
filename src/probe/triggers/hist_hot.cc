// SPDX-License-Identifier: MIT
//
// One hit of a histogram, in the order of kernel/trace/trace_events_hist.c:
//
//   hist_update
//     |-- make_key        texts and stacks into words, numbers as they are; one number: no more
//     |-- find            the entry of the key
//     |-- find_others     variables of other histograms, by the same key: one not set ends it
//     |-- insert          the key is new; no room: counted as dropped, and the end
//     |-- add, remember   sums; variables, then those that actions need
//     |-- find_own        variables of this histogram, as they are now
//     '-- act             in the order of the definition
//
// What differs: of several hits that read one variable once, one gets it; a maximum is raised by an
// exchange, so that none is lost, and what save() keeps belongs to it; a quotient is exact
// (hist_program.h has the steps).
#include "probe/triggers/hist_hot.h"

#include "base/raw_syscall.h"
#include "fetch/fetch_abi.h"
#include "hist/hist_pair.h"
#include "hist/hist_program.h"
#include "hist/hist_saves_hot.h"
#include "hist/quantile_buckets.h"
#include "hot/rseq.h"
#include "hot/thread_block.h"
#include "probe/callbacks/callback_hot.h"
#include "probe/hit_counter.h"
#include "probe/probe_hot.h"
#include "probe/records/stack_hot.h"
#include "probe/triggers/action_hot.h"
#include "probe/triggers/hist_value_hot.h"

namespace patchbay {

namespace {

constexpr int kPrGetName = 16;  // prctl(PR_GET_NAME)

#define ALWAYS_INLINE __attribute__((always_inline)) inline

// One hit of one histogram.
struct Update {
  const HistProgram* hist;
  const TriggerHit& hit;
  const uint8_t* record;
  uint32_t size;
  uint32_t generation;
  uint32_t entry;
  uint64_t* found;  // what the references are
  uint64_t* own;    // what this hit sets: kMaxHistOwn
  uint64_t time;
  bool has_time;
};

// --- numbers

// Of a step that loads a field.
inline uint64_t load(const uint8_t* record, const HistStep& step) {
  return hist_load(record + step.offset, step.op);
}

__attribute__((noinline)) uint64_t read_time(const HistProgram* hist) {
  return hist_read_time(hist->clock).time;
}

// All that one hit remembers is of the same time.
inline uint64_t time_of(Update* update) {
  if (!update->has_time) update->time = read_time(update->hist);
  update->has_time = true;
  return update->time;
}

// n with 2^n >= value > 2^(n-1): up to 64; 0 is 2^0 too.
inline uint64_t log2_up(uint64_t value) {
  if (value <= 1) return 0;
  return 64 - uint64_t(__builtin_clzll(value - 1));
}

inline uint64_t combine(HistOp op, uint64_t left, uint64_t right) {
  if (op == HistOp::kMinus) return left - right;
  if (op == HistOp::kPlus) return left + right;
  if (op == HistOp::kTimes) return left * right;
  return right ? left / right : ~uint64_t{0};
}

__attribute__((noinline)) uint64_t push_other(const HistStep& step) {
  if (step.op == HistOp::kConstant) return step.constant;
  return current_cpu();
}

ALWAYS_INLINE uint64_t push(Update* update, const HistStep& step) {
  if (step.op < HistOp::kConstant) return load(update->record, step);
  if (step.op == HistOp::kReference) return update->found[step.offset];
  if (step.op == HistOp::kTime) return time_of(update);
  if (step.op == HistOp::kTimeUsecs) return hist_usecs(time_of(update));
  return push_other(step);
}

// hist_compile has seen to it that no more than kMaxHistStack numbers wait, and one at the end.
__attribute__((noinline)) uint64_t run_steps(Update* update, const HistValue& value) {
  uint64_t stack[kMaxHistStack] = {0};
  uint32_t top = 0;  // the next one
  for (uint32_t i = 0; i < value.nr_steps; i++) {
    const HistStep& step = value.steps[i];
    if (step.op < HistOp::kLog2) {
      stack[top++] = push(update, step);
    } else if (step.op == HistOp::kLog2) {
      stack[top - 1] = log2_up(stack[top - 1]);
    } else if (step.op == HistOp::kBucket) {
      stack[top - 1] -= stack[top - 1] % step.constant;
    } else if (step.op == HistOp::kUnaryMinus) {
      stack[top - 1] = 0 - stack[top - 1];
    } else {
      top--;
      stack[top - 1] = combine(step.op, stack[top - 1], stack[top]);
    }
  }
  return stack[0];
}

// Most are one step, or two and what combines them.
inline uint64_t number(Update* update, const HistValue& value) {
  const HistStep* steps = value.steps;
  if (value.nr_steps == 1) return push(update, steps[0]);
  if (value.nr_steps == 3 && steps[1].op < HistOp::kLog2) {
    const uint64_t left = push(update, steps[0]);
    return combine(steps[2].op, left, push(update, steps[1]));
  }
  return run_steps(update, value);
}

// --- texts

inline HistText text_of(const Update* update, const HistValue& value) {
  return hist_text_of(value, update->record, update->size);
}

// Behind a char pointer: fetched into a record of its own, bad memory is an empty text.
__attribute__((noinline)) uint32_t copy_pointer_text(const Update* update, const HistValue& value,
                                                     uint64_t* out, uint32_t limit, bool is_key) {
  alignas(8) uint8_t record[32 + kHistTextBytes];
  fetch_run(value.fetch, nullptr, update->record, record);
  const uint32_t location = get<uint32_t>(record + value.fetch->fixed_size - 4);
  const HistText text = {record + (location & 0xffff), location >> 16};
  return is_key ? hist_copy_key_text(out, text, limit) : hist_copy_text(out, text, limit);
}

// Of the task that the thread plays, or its own.
__attribute__((noinline)) uint32_t copy_comm(uint64_t* out) {
  alignas(8) uint8_t name[8 + kCommTextSize] = {0};
  if (const char* played = played_comm())
    for (uint32_t i = 0; i < kCommTextSize - 1 && played[i]; i++) name[8 + i] = uint8_t(played[i]);
  else
    raw_syscall(SYS_prctl, kPrGetName, raw_pointer(name + 8));
  return hist_copy_text(out, {name + 8, kCommTextSize}, kCommTextSize - 1);
}

inline uint32_t copy_value_text(const Update* update, const HistValue& value, uint64_t* out,
                                bool is_key = false) {
  const uint32_t limit = uint32_t{value.size} - 1;
  if (value.source == HistSource::kComm) return copy_comm(out);
  if (value.source == HistSource::kPointer)
    return copy_pointer_text(update, value, out, limit, is_key);
  const HistText text = text_of(update, value);
  return is_key ? hist_copy_key_text(out, text, limit) : hist_copy_text(out, text, limit);
}

// --- stacks

// The number of frames, at most kHistStackFrames.
__attribute__((noinline)) uint32_t copy_stack(const Update* update, const HistValue& value,
                                              uint64_t* out) {
  if (value.source == HistSource::kCallStack) {
    if (!update->hit.stack) return 0;
    StackHow how;
    return unwind(*update->hit.stack, {out, nullptr, nullptr, kHistStackFrames}, &how);
  }
  const HistText words = text_of(update, value);
  if (words.size < 8) return 0;
  uint64_t count = get<uint64_t>(words.at);
  if (count > words.size / 8 - 1) count = words.size / 8 - 1;
  if (count > kHistStackFrames) count = kHistStackFrames;
  for (uint64_t i = 0; i < count; i++) out[i] = get<uint64_t>(words.at + 8 + i * 8);
  return uint32_t(count);
}

// --- key and entry

inline bool is_stack(const HistValue& value) { return value.source >= HistSource::kCallStack; }

inline uint32_t copy_part(Update* update, const HistValue& value, uint64_t* out) {
  if (is_stack(value)) return copy_stack(update, value, out);
  return copy_value_text(update, value, out, true);
}

// All but the last field fill their room, which only a text or stack in front of another does not
// by itself.
inline HistKey make_key(Update* update, uint64_t* words) {
  const HistProgram* hist = update->hist;
  const HistKeyField* field = hist->keys;
  const HistKeyField* const end = field + hist->nr_keys;
  uint32_t at = 0;
  for (; field != end && field->value.source == HistSource::kNumber; field++)
    words[at++] = number(update, field->value);
  for (; field != end; field++) {
    while (at < field->first) words[at++] = 0;
    at += copy_part(update, field->value, words + at);
  }
  return {words, at, hist->key_words};
}

// A key of one number, which most are, is found without a loop over its parts.
struct OneWord {
  uint64_t word;
};
inline uint32_t words_of(const OneWord&) { return 1; }
inline uint32_t words_of(const HistKey& key) { return key.size; }

inline uint32_t find(const HistTable* table, const OneWord& key, uint32_t hash,
                     uint32_t generation) {
  return hist_find(table, key.word, hash, generation);
}
inline uint32_t find(const HistTable* table, const HistKey& key, uint32_t hash,
                     uint32_t generation) {
  return hist_find(table, key, hash, generation);
}

__attribute__((noinline, cold)) uint32_t insert(HistTable* table, const HistKey& key, uint32_t hash,
                                                uint32_t generation) {
  return hist_insert(table, key, hash, generation);
}
__attribute__((noinline, cold)) uint32_t insert(HistTable* table, OneWord key, uint32_t hash,
                                                uint32_t generation) {
  return hist_insert(table, {&key.word, 1, 1}, hash, generation);
}

// In a table whose key is the first fields of this one.
__attribute__((noinline, cold)) uint32_t find_first(const HistTable* table, const HistKey& key,
                                                    uint32_t generation) {
  const uint32_t words = table->key_size / 8;
  if (words > key.size) return kHistNone;
  if (words == 1) return hist_find(table, *key.word, hist_hash(*key.word), generation);
  const HistKey first = {key.word, key.used < words ? key.used : words, words};
  return hist_find(table, first, hist_hash(first), generation);
}
inline uint32_t find_first(const HistTable*, const OneWord&, uint32_t) { return kHistNone; }

// False: one is not set.
template <typename Key>
ALWAYS_INLINE bool find_others(Update* update, const Key& key, uint32_t hash) {
  const HistProgram* hist = update->hist;
  for (uint32_t i = 0; i < hist->nr_references; i++) {
    const HistReference& reference = hist->references[i];
    if (reference.is_self) continue;
    const HistTable* table = reference.table;
    const uint32_t generation = hist_generation(table);
    if (generation & 1) return false;
    const uint32_t entry = table->key_size == words_of(key) * 8
                               ? find(table, key, hash, generation)
                               : find_first(table, key, generation);
    if (entry == kHistNone) return false;
    HistVariableWord* variable = hist_variable(table, entry, reference.variable);
    const bool found = reference.read_once ? hist_take_variable(variable, &update->found[i])
                                           : hist_read_variable(variable, &update->found[i]);
    if (!found) return false;
  }
  return true;
}

// What this hit has set is taken from it: in the entry there may be another's by now.
ALWAYS_INLINE bool find_own(Update* update) {
  const HistProgram* hist = update->hist;
  for (uint32_t i = 0; i < hist->nr_references; i++) {
    const HistReference& reference = hist->references[i];
    if (!reference.is_self) continue;
    if (reference.own) {
      update->found[i] = update->own[reference.own - 1];
      continue;
    }
    const HistVariableWord* variable =
        hist_variable(hist->table, update->entry, reference.variable);
    if (!hist_read_variable(variable, &update->found[i])) return false;
  }
  return true;
}

// --- sums and variables

ALWAYS_INLINE void add(Update* update) {
  const HistProgram* hist = update->hist;
  HistTable* table = hist->table;
  const uint32_t entry = update->entry;
  hist_add(table, hist_sum_at(table, entry, 0), 1, update->generation);
  for (uint32_t i = 0; i < hist->nr_values; i++) {
    const HistSum& sum = hist->values[i];
    const uint64_t value = number(update, sum.value);
    hist_add(table, hist_sum_at(table, entry, sum.index), value, update->generation);
    if (!sum.quantiles) continue;
    const uint32_t bucket =
        sum.is_signed ? signed_quantile_bucket(value) : quantile_bucket(value);
    hist_count_quantile(table, entry, sum.quantiles - 1 + bucket);
  }
}

// The value of the variable.
// A text or stack is kept in the entry, and the variable is its address, which readers of other
// events follow. Two hits of one key at once may mix their texts; the NUL stays.
__attribute__((noinline)) uint64_t remember_bytes(Update* update, const HistVariable& variable) {
  const HistTable* table = update->hist->table;
  auto* out = reinterpret_cast<uint64_t*>(hist_text(table, update->entry, variable.text));
  if (is_stack(variable.value))
    out[0] = copy_stack(update, variable.value, out + 1);
  else
    copy_value_text(update, variable.value, out);
  return reinterpret_cast<uint64_t>(out);
}

ALWAYS_INLINE uint64_t remember_one(Update* update, const HistVariable& variable) {
  const bool is_number = variable.value.source == HistSource::kNumber;
  const uint64_t value =
      is_number ? number(update, variable.value) : remember_bytes(update, variable);
  hist_set_variable(hist_variable(update->hist->table, update->entry, variable.index), value);
  return value;
}

ALWAYS_INLINE void remember(Update* update) {
  const HistProgram* hist = update->hist;
  for (uint32_t i = 0; i < hist->nr_variables; i++)
    update->own[i] = remember_one(update, hist->variables[i]);
}

// --- actions

// The record of a synthetic event while it is built: dynamic texts and stacks grow at its end.
struct Building {
  uint8_t* record;
  uint32_t size;
};

inline void put_location(const Building& building, const HistParam& param, uint32_t bytes) {
  *reinterpret_cast<uint64_t*>(building.record + param.offset) = bytes << 16 | building.size;
}

void put_text(Building* building, const HistParam& param, uint64_t address) {
  const bool is_dynamic = param.kind == HistParamKind::kDynamicText;
  uint8_t* out = building->record + (is_dynamic ? building->size : param.offset);
  const auto* text = reinterpret_cast<const uint8_t*>(address);
  uint32_t length = 0;
  for (; address && length < kHistTextBytes - 1 && text[length]; length++)
    out[length] = text[length];
  out[length] = 0;
  if (!is_dynamic) return;
  put_location(*building, param, length + 1);
  building->size += length + 1;
}

void put_stack(Building* building, const HistParam& param, uint64_t address) {
  const auto* words = reinterpret_cast<const uint64_t*>(address);
  uint64_t count = address ? words[0] : 0;
  if (count > kHistStackFrames) count = kHistStackFrames;
  building->size = (building->size + 7) & ~7u;
  auto* out = reinterpret_cast<uint64_t*>(building->record + building->size);
  out[0] = count;
  for (uint64_t i = 0; i < count; i++) out[i + 1] = words[i + 1];
  const auto bytes = uint32_t(count + 1) * 8;
  put_location(*building, param, bytes);
  building->size += bytes;
}

void put_number(const Building& building, const HistParam& param, uint64_t value) {
  const uint64_t mask = param.size == 8 ? ~uint64_t{0} : (uint64_t{1} << param.size * 8) - 1;
  *reinterpret_cast<uint64_t*>(building.record + param.offset) = value & mask;
}

void put_param(Building* building, const HistParam& param, uint64_t value) {
  switch (param.kind) {
    case HistParamKind::kNumber:
      return put_number(*building, param, value);
    case HistParamKind::kChars:
    case HistParamKind::kDynamicText:
      return put_text(building, param, value);
    case HistParamKind::kStack:
      return put_stack(building, param, value);
  }
}

// A function of its own, for the scratch.
__attribute__((noinline)) void trace(Update* update, const HistAct& act) {
  if (!__atomic_load_n(&act.target->program, __ATOMIC_RELAXED)) return;
  alignas(8) uint8_t record[act.max_size];
  auto* words = reinterpret_cast<uint64_t*>(record);
  for (uint32_t i = 0; i < act.fixed_size / 8; i++) words[i] = 0;
  Building building = {record, act.fixed_size};
  for (uint32_t i = 0; i < act.nr_params; i++)
    put_param(&building, act.params[i], update->found[act.params[i].reference]);
  while (building.size & 3) record[building.size++] = 0;
  synthetic_hit(act.target, update->hit, record, building.size);
}

// True: this hit has raised the maximum, or changed the value.
bool track(uint64_t* kept, HistWhen when, uint64_t value) {
  if (when == HistWhen::kChange) return __atomic_exchange_n(kept, value, __ATOMIC_ACQ_REL) != value;
  uint64_t seen = __atomic_load_n(kept, __ATOMIC_RELAXED);
  while (value > seen)
    if (__atomic_compare_exchange_n(kept, &seen, value, true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
      return true;
  return false;
}

inline bool beats(HistWhen when, uint64_t value, uint64_t kept) {
  return when == HistWhen::kMax ? value > kept : value != kept;
}

void fill_save(Update* update, const HistAct& act, uint32_t save) {
  uint8_t* fields = hist_save_fields(update->hist->table, save);
  for (uint32_t i = 0; i < act.nr_saved; i++) {
    const HistVariable& variable = act.saved[i];
    auto* out = reinterpret_cast<uint64_t*>(fields + variable.kept);
    if (variable.value.source == HistSource::kNumber)
      *out = number(update, variable.value);
    else if (is_kept_text(variable))
      copy_value_text(update, variable.value, out);
    else
      *out =
          reinterpret_cast<uint64_t>(hist_text(update->hist->table, update->entry, variable.text));
  }
  hist_save_filled(update->hist->table, save, update->generation);
}

// What another hit has written already stays as it is: it may have been read, once, since.
void set_kept(const Update* update, uint32_t index, uint64_t value, bool is_own) {
  HistVariableWord* variable = hist_variable(update->hist->table, update->entry, index);
  if (is_own || __atomic_load_n(&variable->value, __ATOMIC_ACQUIRE) != value)
    hist_set_variable(variable, value);
}

// The variables of what save() keeps are for other histograms, which read them one by one. Several
// hits that raise the maximum write them, in any order; so whoever has written looks whether the
// value is still the one that is kept, and writes the one that has replaced it. The last to look
// has written what stays. Texts are in the entry, where hits of one key may mix them; and where no
// save was free, fields may be those of another hit.
void remember_kept(Update* update, const HistAct& act, uint64_t value) {
  const HistTable* table = update->hist->table;
  const HistKept* kept = hist_kept(table, update->entry);
  HistKept seen;
  do {
    seen = hist_look_at(kept);
    if (!hist_mark_is_of(seen.mark, update->generation)) return;
    const uint32_t save = hist_save_of(seen.mark);
    for (uint32_t i = 0; save < table->nr_saves && i < act.nr_saved; i++) {
      const HistVariable& variable = act.saved[i];
      if (variable.value.source != HistSource::kNumber) continue;
      const auto* word =
          reinterpret_cast<const uint64_t*>(hist_save_fields(table, save) + variable.kept);
      set_kept(update, variable.index, __atomic_load_n(word, __ATOMIC_ACQUIRE),
               seen.value == value);
    }
    set_kept(update, act.track, seen.value, seen.value == value);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);  // written, before it is looked at again
  } while (__atomic_load_n(&kept->mark, __ATOMIC_ACQUIRE) != seen.mark);
}

// The value with the fields of its event, as one thing (hist/hist_saves_hot.h has the letters).
__attribute__((noinline)) void save(Update* update, const HistAct& act, uint64_t value) {
  HistTable* table = update->hist->table;
  HistKept* kept = hist_kept(table, update->entry);
  HistKept seen = hist_look_at(kept);
  uint32_t mine = kHistNone;
  bool is_filled = false;
  while (hist_mark_is_of(seen.mark, update->generation) && beats(act.when, value, seen.value)) {
    if (!is_filled) mine = hist_take_save(table, update->generation); /*B*/
    if (!is_filled && mine != kHistNone) fill_save(update, act, mine);
    is_filled = true;
    if (!hist_replace(kept, &seen, value, mine)) continue; /*C*/
    const bool has_save = mine != kHistNone;
    mine = hist_save_of(seen.mark);
    for (uint32_t i = 0; i < act.nr_saved; i++)
      if (!has_save || act.saved[i].value.source != HistSource::kNumber)
        remember_one(update, act.saved[i]);
    remember_kept(update, act, value);
    break;
  }
  if (mine != kHistNone) hist_give_save(table, mine, update->generation); /*D*/
}

bool exchange_tracked(HistTracked* kept, HistTracked* seen, uint64_t value, uint64_t entry) {
  bool done;
  asm volatile("lock cmpxchg16b %1"
               : "=@ccz"(done), "+m"(*kept), "+a"(seen->value), "+d"(seen->entry)
               : "b"(value), "c"(entry)
               : "memory");
  return done;
}

// Over all entries: the first, and then what goes beyond it.
void snapshot(Update* update, const HistAct& act, uint64_t value) {
  HistTracked seen = *act.tracked;
  do {
    if (!beats(act.when, value, seen.value)) return;
  } while (!exchange_tracked(act.tracked, &seen, value, uint64_t{update->entry} + 1));
  if (!act.snapshot) return;
  EventProgram asks = {};
  uint32_t steps = 0;
  if (update->hit.event)
    asks.rings =
        __atomic_load_n(&newest_program(update->hit.event, &steps)->rings, __ATOMIC_ACQUIRE);
  asks.action = act.snapshot;
  action_run(&asks, 0, {}, update->hit.tid);
}

void act_once(Update* update, const HistAct& act) {
  uint64_t value = 0;
  if (act.when != HistWhen::kAlways) {
    value = update->found[act.reference];
    if (act.what == HistDo::kSave) return save(update, act, value); /*A*/
    HistVariableWord* kept = hist_variable(update->hist->table, update->entry, act.track);
    if (!track(&kept->value, act.when, value)) return;
    __atomic_store_n(&kept->set, 1, __ATOMIC_RELEASE);
  }
  switch (act.what) {
    case HistDo::kTrace:
      return trace(update, act);
    case HistDo::kSave:
      return;  // always tracks
    case HistDo::kSnapshot:
      return snapshot(update, act, value);
  }
}

// --- the way of a hit

// One field as the key, and nothing but how often.
__attribute__((noinline)) void count_one(const HistProgram* hist, const uint8_t* record,
                                         uint32_t generation) {
  HistTable* table = hist->table;
  const OneWord key = {load(record, hist->keys[0].value.steps[0])};
  const uint32_t hash = hist_hash(key.word);
  uint32_t entry = find(table, key, hash, generation);
  if (__builtin_expect(entry == kHistNone, 0)) entry = insert(table, key, hash, generation);
  if (__builtin_expect(entry < kHistLate, 1))
    hist_add(table, hist_sum_at(table, entry, 0), 1, generation);
  else if (entry == kHistFull)
    hist_drop(table, generation);
}

template <typename Key>
ALWAYS_INLINE void update_at(Update* update, const Key& key, uint32_t hash) {
  const HistProgram* hist = update->hist;
  // Looked for before variables are taken: that waits for all that stands before it.
  update->entry = find(hist->table, key, hash, update->generation);
  if (hist->has_others && !find_others(update, key, hash)) return;
  if (__builtin_expect(update->entry == kHistNone, 0))
    update->entry = insert(hist->table, key, hash, update->generation);
  if (update->entry == kHistFull) return hist_drop(hist->table, update->generation);
  if (update->entry >= kHistLate) return;
  add(update);
  remember(update);
  if (!hist->nr_acts || (hist->has_self && !find_own(update))) return;
  for (uint32_t i = 0; i < hist->nr_acts; i++) act_once(update, hist->acts[i]);
}

__attribute__((noinline)) void update_one_word(Update* update) {
  const OneWord key = {number(update, update->hist->keys[0].value)};
  update_at(update, key, hist_hash(key.word));
}

__attribute__((noinline)) void update_whole(Update* update) {
  uint64_t words[kMaxHistKeySize / 8 + 1];
  const HistKey key = make_key(update, words);
  update_at(update, key, hist_hash(key));
}

// All that a definition may say.
__attribute__((noinline)) void update_any(const HistProgram* hist, const TriggerHit& hit,
                                          const uint8_t* record, uint32_t size,
                                          uint32_t generation) {
  uint64_t found[kMaxHistReferences], own[kMaxHistOwn];
  for (uint32_t i = 0; i < hist->nr_references; i++) found[i] = 0;
  Update update = {hist, hit, record, size, generation, kHistNone, found, own, 0, false};
  if (hist->key_words == 1 && hist->keys[0].value.source == HistSource::kNumber)
    update_one_word(&update);
  else
    update_whole(&update);
}

}  // namespace

// Jumps to one of them: none of this is worth a stack frame.
void hist_update(const HistProgram* hist, const TriggerHit& hit, const uint8_t* record,
                 uint32_t size) {
  if (hist_is_paused(hist)) return;
  if (hist->half) return hist->half->way(hist->half, &hit, record);
  const uint32_t generation = hist_generation(hist->table);
  if (__builtin_expect(generation & 1, 0)) return;
  if (hist->is_simple) return count_one(hist, record, generation);
  if (hist->quick) return hist_update_quick(hist, hit, record, size, generation);
  update_any(hist, hit, record, size, generation);
}

void hist_from_code(const CallbackRecord* given, const HistProgram* hist, uint64_t fp,
                    uint64_t ip) {
  const uint64_t sp = reinterpret_cast<uint64_t>(given) + kCallbackFrame;
  const StackStart start = {ip, sp, fp, true};
  const TriggerHit hit = {nullptr, &start, given->tid};
  hist_update(hist, hit, static_cast<const uint8_t*>(given->record), given->size);
}

void synthetic_hit(const SyntheticTarget* target, const TriggerHit& hit, uint8_t* record,
                   uint32_t size) {
  const SiteProgram* program = __atomic_load_n(&target->program, __ATOMIC_ACQUIRE);
  if (!program) return;
  StackStart start = hit.stack ? *hit.stack : StackStart{};
  if (start.depth >= kMaxHistDepth) return count_recursion(program);
  start.depth++;
  for (uint32_t i = 0; i < program->nr_events; i++) {
    const SiteEvent& site = program->event[i];
    if (site.counts) count_hit(site.counts->hits);
    if (site.event->triggers && !site.event->from_record)
      if (!trigger_early({site.event, &start, hit.tid})) continue;
    if (!wants_thread(site.event, hit.tid)) continue;
    if (offer_record(site, nullptr, hit.tid, record, size, &start) && site.event->stack)
      record_stack(site.event, start, hit.tid);
  }
}

}  // namespace patchbay
