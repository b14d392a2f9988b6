// SPDX-License-Identifier: MIT
//
// What of a printk call goes into the record (printk_hot.h has the way there). Foreign memory (the
// program's format, its strings) is read by the loads of hot/safe_load.h.
#include "probe/records/printk_hot.h"

#include "base/raw_syscall.h"
#include "event/printk_field.h"
#include "hot/safe_load.h"
#include "probe/probe_hot.h"
#include "probe/records/stack_hot.h"
#include "ring_buffer/ring_write_hot.h"

namespace patchbay {

extern "C" {
const EventProgram* pb_printk_dest;
abi::PrintkTable* pb_printk_table;
uint32_t pb_printk_entering;
uint32_t pb_printk_closed;
}

namespace {

constexpr uint64_t kOnes = 0x0101010101010101;
constexpr uint64_t kHighs = 0x8080808080808080;

template <typename T>
struct __attribute__((packed, may_alias)) Unaligned {
  T value;
};
template <typename T>
inline void put(uint8_t* at, uint64_t value) {
  reinterpret_cast<Unaligned<T>*>(at)->value = static_cast<T>(value);
}
inline uint64_t number(const char* address) { return reinterpret_cast<uint64_t>(address); }
inline uint64_t get8(const char* at) {
  return reinterpret_cast<const Unaligned<uint64_t>*>(at)->value;
}

// --- the program's texts

// Copies up to a NUL, at most `limit` bytes, without the NUL; -1: they cannot be read. `to` null:
// only counts. Aligned words, which never span two pages.
int32_t copy_text(char* to, const char* from, uint32_t limit) {
  const uint32_t skip = reinterpret_cast<uint64_t>(from) & 7;
  const char* word_at = from - skip;
  uint32_t bytes = 8 - skip, length = 0;
  for (uint32_t shift = skip * 8; length < limit; word_at += 8, bytes = 8, shift = 0) {
    uint64_t word;
    if (!try_load8(number(word_at), &word)) return -1;
    word >>= shift;
    const uint64_t zeros = (word - kOnes) & ~word & kHighs;
    uint32_t whole = zeros ? uint32_t(__builtin_ctzll(zeros)) / 8 : 8;
    const bool ends = whole < bytes;
    if (!ends) whole = bytes;
    for (uint32_t i = 0; i < whole && length < limit; i++, word >>= 8, length++)
      if (to) to[length] = char(word);
    if (ends) break;
  }
  return int32_t(length);
}

// Whether the program's text is still ours. `size` counts the NUL.
inline bool is_same_text(const char* ours, const char* theirs, uint32_t size) {
  uint64_t word;
  uint32_t at = 0;
  for (; at + 8 <= size; at += 8)
    if (!try_load8(number(theirs + at), &word) || word != get8(ours + at)) return false;
  if (at == size) return true;
  if (size >= 8)
    return try_load8(number(theirs + size - 8), &word) && word == get8(ours + size - 8);
  for (; at < size; at++)
    if (!try_load1(number(theirs + at), &word) || uint8_t(word) != uint8_t(ours[at])) return false;
  return true;
}

// --- plans

constexpr uint32_t kPlans = 2048, kPlanSlots = 4096, kPlanTries = 8;
// Each plan is filled before it is in a slot. Bytes, because plans that are made before anybody
// prints touch all their pages.
alignas(PrintkPlan) uint8_t g_plans[kPlans * sizeof(PrintkPlan)];
uint32_t g_used_plans;            // atomic, may exceed kPlans
PrintkPlan* g_slots[kPlanSlots];  // atomic

inline uint32_t slot_of(const char* format) {
  return uint32_t((reinterpret_cast<uint64_t>(format) * 0x9e3779b97f4a7c15) >> 52);
}
static_assert(kPlanSlots == 1 << 12);

// Where the plan of `format` is to go: its own place, a free one, or null.
PrintkPlan** place_for(const char* format) {
  for (uint32_t i = 0; i < kPlanTries; i++) {
    PrintkPlan** slot = &g_slots[(slot_of(format) + i) % kPlanSlots];
    const PrintkPlan* there = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
    if (!there || there->format == format) return slot;
  }
  return nullptr;
}

uint32_t hash_of(const char* text, uint32_t length) {
  uint32_t hash = 2166136261u;
  for (uint32_t i = 0; i < length; i++) hash = (hash ^ uint8_t(text[i])) * 16777619u;
  return hash;
}

bool equals(const char* a, const char* b, uint32_t length) {
  for (uint32_t i = 0; i < length; i++)
    if (a[i] != b[i]) return false;
  return true;
}

const char* find_text(const abi::PrintkTable* table, const char* text, uint32_t length,
                      uint32_t hash) {
  uint32_t used = __atomic_load_n(&table->used, __ATOMIC_RELAXED);
  if (used > abi::kPrintkTexts) used = abi::kPrintkTexts;
  for (uint32_t i = 0; i < used; i++) {
    const abi::PrintkText& entry = table->entry[i];
    if (!__atomic_load_n(&entry.complete, __ATOMIC_ACQUIRE)) continue;
    if (entry.hash != hash || entry.length != length) continue;
    const char* found = table->text + entry.offset;
    if (equals(found, text, length)) return found;
  }
  return nullptr;
}

const char* add_text(abi::PrintkTable* table, const char* text, uint32_t length, uint32_t hash) {
  const uint32_t size = (length + 8) & ~7u;
  if (__atomic_load_n(&table->used, __ATOMIC_RELAXED) >= abi::kPrintkTexts) return nullptr;
  if (__atomic_load_n(&table->used_bytes, __ATOMIC_RELAXED) + size > abi::kPrintkTextBytes)
    return nullptr;
  const uint32_t slot = __atomic_fetch_add(&table->used, 1, __ATOMIC_RELAXED);
  const uint32_t offset = __atomic_fetch_add(&table->used_bytes, size, __ATOMIC_RELAXED);
  if (slot >= abi::kPrintkTexts || offset > abi::kPrintkTextBytes - size) return nullptr;
  char* at = table->text + offset;
  for (uint32_t i = 0; i < size; i++) at[i] = i < length ? text[i] : '\0';
  abi::PrintkText* entry = &table->entry[slot];
  entry->address = reinterpret_cast<uint64_t>(at);
  entry->offset = offset;
  entry->length = length;
  entry->hash = hash;
  __atomic_store_n(&entry->complete, 1, __ATOMIC_RELEASE);  // pairs with BufferFile::printk_texts
  return at;
}

// Our copy of a text that is not the program's any more; null: no room, no table.
const char* keep_text(const char* text, uint32_t length) {
  abi::PrintkTable* table = __atomic_load_n(&pb_printk_table, __ATOMIC_ACQUIRE);
  if (!table) return nullptr;
  const uint32_t hash = hash_of(text, length);
  if (const char* found = find_text(table, text, length, hash)) return found;
  __atomic_fetch_add(&pb_printk_entering, 1, __ATOMIC_SEQ_CST);
  const char* added = __atomic_load_n(&pb_printk_closed, __ATOMIC_SEQ_CST)
                          ? nullptr
                          : add_text(table, text, length, hash);
  __atomic_fetch_sub(&pb_printk_entering, 1, __ATOMIC_SEQ_CST);
  return added;
}

// Steps of a format; false: too many.
bool plan_steps(const char* text, PrintkPlan* plan) {
  PrintkPiece piece;
  for (uint32_t at = 0; next_printk_piece(text, at, &piece); at = piece.end) {
    if (piece.pack == PrintkPack::kText || piece.pack == PrintkPack::kPercent) continue;
    if (plan->nr_steps == kPrintkMaxSteps) return false;
    plan->step[plan->nr_steps++] = piece;
  }
  return true;
}

// --- arguments

inline uint64_t next_word(VariadicArguments* from) {
  uint64_t at = from->overflow;
  if (from->gp_offset < 48) {
    at = from->registers + from->gp_offset;
    from->gp_offset += 8;
  } else {
    from->overflow += 8;
  }
  return *reinterpret_cast<const uint64_t*>(at);
}

inline uint64_t next_double(VariadicArguments* from) {
  uint64_t at = from->overflow;
  if (from->fp_offset < 176) {
    at = from->registers + from->fp_offset;
    from->fp_offset += 16;
  } else {
    from->overflow += 8;
  }
  return *reinterpret_cast<const uint64_t*>(at);
}

// The nearest double, ties to even, of 80 bits: no x87 register may be touched here.
uint64_t double_of(uint64_t mantissa, uint16_t sign_exponent) {
  const uint64_t sign = uint64_t(sign_exponent >> 15) << 63;
  const int32_t exponent = (sign_exponent & 0x7fff) - 16383;
  constexpr uint64_t kInfinity = 0x7ff0000000000000;
  if (exponent == 16384) {  // infinities and NaN
    const uint64_t payload = mantissa << 1 >> 12;
    return sign | kInfinity | (mantissa << 1 ? payload | uint64_t{1} << 51 : 0);
  }
  if (!mantissa || exponent < -1075) return sign;
  if (exponent > 1023) return sign | kInfinity;
  // Below the normal range fewer bits of the mantissa are left.
  const uint32_t drop = exponent < -1022 ? uint32_t(11 - 1022 - exponent) : 11;
  if (drop > 64) return sign;
  uint64_t kept = drop == 64 ? 0 : mantissa >> drop;
  const uint64_t half = uint64_t{1} << (drop - 1);
  const uint64_t rest = drop == 64 ? mantissa : mantissa & ((uint64_t{1} << drop) - 1);
  if (rest > half || (rest == half && (kept & 1))) kept++;
  // The leading bit counts one into the exponent.
  const uint64_t biased = exponent < -1022 ? 0 : uint64_t(exponent + 1022);
  return sign | ((biased << 52) + kept);
}

uint64_t next_long_double(VariadicArguments* from) {
  const uint64_t at = (from->overflow + 15) & ~uint64_t{15};
  from->overflow = at + 16;
  return double_of(*reinterpret_cast<const uint64_t*>(at),
                   *reinterpret_cast<const uint16_t*>(at + 8));
}

// The packed arguments, as far as they have come.
struct Packer {
  uint8_t* begin;
  uint8_t* at;
  uint8_t* end;

  void align() {
    while (reinterpret_cast<uint64_t>(at) & 3) *at++ = 0;
  }
  void word(uint64_t value) {
    align();
    put<uint32_t>(at, value);
    at += 4;
  }
  void two_words(uint64_t value) {
    align();
    put<uint64_t>(at, value);
    at += 8;
  }
};

// What a conversion may take besides its strings: alignment, two words, a double, a NUL.
constexpr uint32_t kLeastRoom = 24;

// What is shown for a string: its bytes, or what is wrong with it. `room`: at least kLeastRoom.
int32_t copy_string(char* to, uint64_t address, int32_t precision, uint32_t room) {
  const char* instead = nullptr;
  uint32_t limit = precision >= 0 && uint32_t(precision) < room ? uint32_t(precision) : room;
  if (address) {
    const int32_t length = copy_text(to, reinterpret_cast<const char*>(address), limit);
    if (length >= 0) return length;
    instead = "(fault)";
    limit = room;
  } else {
    instead = precision >= 0 && precision < 6 ? "" : "(null)";  // as glibc
  }
  int32_t length = 0;
  for (; instead[length] && uint32_t(length) < limit; length++) to[length] = instead[length];
  return length;
}

// kMade: the conversion as printf does it.
void pack_made(Packer* to, PrintkSpec spec, VariadicArguments* arguments, uint32_t room) {
  if (spec.width == kPrintkArgument) resolve_printk_width(&spec, int32_t(next_word(arguments)));
  if (spec.precision == kPrintkArgument)
    resolve_printk_precision(&spec, int32_t(next_word(arguments)));
  const uint64_t word = next_word(arguments);
  auto* at = reinterpret_cast<char*>(to->at);
  PrintkOut out = {at, at + room};
  if (spec.type == 's') {
    // In place: moved behind the blanks that come before it.
    const int32_t length = copy_string(at, word, spec.precision, room);
    const int32_t missing = spec.width - length;
    const bool left = spec.flags & kPrintkMinus;
    uint32_t shift = !left && missing > 0 ? uint32_t(missing) : 0;
    if (shift + uint32_t(length) > room) shift = room - uint32_t(length);
    for (int32_t i = length; shift && i-- > 0;) at[uint32_t(i) + shift] = at[i];
    for (uint32_t i = 0; i < shift; i++) at[i] = ' ';
    out.at = at + length + shift;
    if (left) out.repeat(' ', missing);
  } else if (spec.type == 'c') {
    const char c = char(word);
    put_printk_padded(&out, spec, &c, c ? 1 : 0);
  } else if (spec.type == 'p') {
    put_printk_pointer(&out, spec, word);
  } else {
    put_printk_integer(&out, spec, printk_value(spec, word));
  }
  *out.at++ = '\0';
  to->at = reinterpret_cast<uint8_t*>(out.at);
}

void pack_double(Packer* to, const PrintkSpec& spec, VariadicArguments* arguments) {
  if (spec.width == kPrintkArgument) to->word(next_word(arguments));
  if (spec.precision == kPrintkArgument) to->word(next_word(arguments));
  to->two_words(spec.size == 16 ? next_long_double(arguments) : next_double(arguments));
}

void pack_string(Packer* to, const PrintkSpec& spec, VariadicArguments* arguments, uint32_t room) {
  auto* at = reinterpret_cast<char*>(to->at);
  to->at += copy_string(at, next_word(arguments), spec.precision, room);
  *to->at++ = 0;
}

// --- records

struct alignas(8) PrintkRecord {
  uint64_t header;
  uint64_t ip;
  uint64_t text;
  uint8_t arguments[kPrintkArgumentBytes];
};

inline uint32_t thread_of(const EventProgram* program) {
  ProbeThread* thread = &pb_thread;
  if (__builtin_expect(thread->fast_tid != 0, 1)) return thread->fast_tid;
  const uint32_t tid = meet_thread(thread, __atomic_load_n(&program->rings, __ATOMIC_RELAXED));
  if (thread->in_agent) thread->fast_tid = 0;  // hits in there are still counted as recursion
  return tid;
}

int publish(const PrintkCall& call, PrintkRecord* record, uint16_t id, uint32_t size) {
  const EventProgram* program = call.program;
  const uint32_t tid = thread_of(program);
  auto* bytes = reinterpret_cast<uint8_t*>(record);
  write_header(bytes, id, tid);
  record->ip = call.ip;
  const RingSet* set = __atomic_load_n(&program->rings, __ATOMIC_RELAXED);
  if (__builtin_expect(size > set->subbuf_size - abi::kPageHeaderSize - 8, 0)) {
    __atomic_fetch_add(&set->header->missed, 1, __ATOMIC_RELAXED);
    return 0;
  }
  if (ring_publish(&program->rings, bytes, size) != kRingPublished) return 0;
  const uint8_t stacks = __atomic_load_n(&program->stack, __ATOMIC_RELAXED);
  if (__builtin_expect(stacks != 0, 0)) record_stacks(program, stacks, call.start, tid);
  return int(size - sizeof record->header);
}

}  // namespace

const PrintkPlan* printk_plan(const char* format) {
  for (uint32_t i = 0; i < kPlanTries; i++) {
    const PrintkPlan* plan =
        __atomic_load_n(&g_slots[(slot_of(format) + i) % kPlanSlots], __ATOMIC_ACQUIRE);
    if (!plan) return nullptr;
    if (plan->format != format) continue;
    return is_same_text(plan->text, format, plan->length + 1) ? plan : nullptr;
  }
  return nullptr;
}

const PrintkPlan* printk_learn(const char* format) {
  char text[kPrintkMaxFormat + 1];
  const int32_t length = copy_text(text, format, kPrintkMaxFormat);
  if (length < 0 || uint32_t(length) == kPrintkMaxFormat || !printk_is_constant(format))
    return nullptr;
  text[length] = '\0';
  PrintkPlan** slot = place_for(format);
  if (!slot || __atomic_load_n(&g_used_plans, __ATOMIC_RELAXED) >= kPlans) return nullptr;
  const char* kept = keep_text(text, uint32_t(length));
  const uint32_t number = kept ? __atomic_fetch_add(&g_used_plans, 1, __ATOMIC_RELAXED) : kPlans;
  if (number >= kPlans) return nullptr;
  auto* plan = reinterpret_cast<PrintkPlan*>(g_plans + number * sizeof(PrintkPlan));
  plan->format = format;
  plan->text = kept;
  plan->length = uint32_t(length);
  if (!plan_steps(kept, plan)) return nullptr;
  // Somebody else may have found the same place free: then the plan that comes last stays, and the
  // other format is learned again.
  __atomic_store_n(slot, plan, __ATOMIC_RELEASE);
  return plan;
}

uint32_t printk_pack(const PrintkSpec* step, uint32_t count, VariadicArguments* arguments,
                     uint8_t* out) {
  Packer to = {out, out, out + kPrintkArgumentBytes};
  for (uint32_t i = 0; i < count; i++) {
    const PrintkSpec& spec = step[i];
    const uint32_t others = (count - i) * kLeastRoom;  // of this one, and of those behind it
    const auto room = uint32_t(to.end - to.at) - others;
    if (__builtin_expect(spec.pack == PrintkPack::kWord, 1)) {
      to.word(printk_value(spec, next_word(arguments)));
    } else if (spec.pack == PrintkPack::kLong) {
      to.two_words(next_word(arguments));
    } else if (spec.pack == PrintkPack::kString) {
      pack_string(&to, spec, arguments, room);
    } else if (spec.pack == PrintkPack::kDouble) {
      pack_double(&to, spec, arguments);
    } else {
      pack_made(&to, spec, arguments, room);
    }
  }
  to.align();
  return uint32_t(to.at - out);
}

int printk_write(const PrintkCall& call, const PrintkPlan* plan, VariadicArguments* arguments) {
  PrintkRecord record;
  record.text = reinterpret_cast<uint64_t>(plan->text);
  const uint32_t bytes = printk_pack(plan->step, plan->nr_steps, arguments, record.arguments);
  return publish(call, &record, abi::kBprintId, offsetof(PrintkRecord, arguments) + bytes);
}

int printk_write_bputs(const PrintkCall& call, const PrintkPlan* plan) {
  PrintkRecord record;
  record.text = reinterpret_cast<uint64_t>(plan->text);
  return publish(call, &record, abi::kBputsId, offsetof(PrintkRecord, arguments));
}

int printk_write_print(const PrintkCall& call, const char* text, uint32_t length) {
  PrintkRecord record;
  auto* at = reinterpret_cast<char*>(&record.text);
  constexpr uint32_t kRoom = sizeof record - offsetof(PrintkRecord, text) - 4;
  if (length > kRoom) length = kRoom;
  const int32_t copied = copy_text(at, text, length);
  if (copied < 0) return 0;
  uint32_t size = uint32_t(copied);
  do at[size++] = '\0';
  while (size & 3);
  return publish(call, &record, abi::kPrintId, offsetof(PrintkRecord, text) + size);
}

void printk_write_stack(const PrintkCall& call, uint32_t skip) {
  record_stacks(call.program, kKernelStack, call.start, thread_of(call.program), skip);
}

int32_t printk_text_length(const char* text, uint32_t limit) {
  return copy_text(nullptr, text, limit);
}

// The kernel adds 0 to a word of it, atomically, if it may be written at all.
bool printk_is_constant(const char* text) {
  constexpr long kWakeOpPrivate = 5 | 128, kAddZero = 1 << 28;  // FUTEX_WAKE_OP, FUTEX_OP(ADD, 0 …)
  constexpr long kFault = -14;
  static uint32_t nobody_waits_here;
  const uint64_t word = reinterpret_cast<uint64_t>(text) & ~uint64_t{3};
  return raw_syscall(SYS_futex, raw_pointer(&nobody_waits_here), kWakeOpPrivate, 0, 0, long(word),
                     kAddZero) == kFault;
}

}  // namespace patchbay
