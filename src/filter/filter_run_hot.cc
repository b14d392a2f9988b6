// SPDX-License-Identifier: MIT
//
// Evaluates predicates inside a traced thread, before the clock is read and before anything is
// published. Generated code (filter_jit.cc) has the comparisons of numbers inline and calls
// filter_test() for the rest; without generated code filter_interpret() does all of it.
//
// Texts in the record are bounded by the record, texts behind a pointer by kMaxText. They are read
// by one load that may fault (hot/safe_load.h), the only one here that follows an address of the
// traced program. A glob is matched with one point to fall back
// to, so the time is at most text length * pattern length.
#include "base/raw_syscall.h"
#include "filter/filter_abi.h"
#include "filter/filter_insn.h"
#include "hot/rseq.h"
#include "hot/safe_load.h"
#include "hot/thread_block.h"

namespace patchbay {

namespace {

constexpr int kPrGetName = 16;  // prctl(PR_GET_NAME)
constexpr uint32_t kCommSize = 16;
constexpr uint32_t kMaxText = 1024;  // behind a pointer, with the NUL

struct Text {
  const uint8_t* at;
  uint32_t size;  // without NUL
};

template <typename T>
struct __attribute__((packed, may_alias)) Unaligned {
  T value;
};
template <typename T>
inline T get(const uint8_t* at) {
  return reinterpret_cast<const Unaligned<T>*>(at)->value;
}

inline uint64_t load_number(const uint8_t* at, const FilterInsn* insn) {
  switch (insn->size) {
    case 1:
      return insn->is_signed ? uint64_t(int64_t(int8_t(*at))) : *at;
    case 2:
      return insn->is_signed ? uint64_t(int64_t(get<int16_t>(at))) : get<uint16_t>(at);
    case 4:
      return insn->is_signed ? uint64_t(int64_t(get<int32_t>(at))) : get<uint32_t>(at);
    default:
      return get<uint64_t>(at);
  }
}

// Both have been extended to 64 bits.
inline bool compare(const FilterInsn* insn, uint64_t left) {
  const uint64_t right = insn->value;
  // With the sign bit flipped, signed order is unsigned order.
  const uint64_t flip = uint64_t{insn->is_signed} << 63;
  switch (insn->op) {
    case FilterOp::kEqual:
      return left == right;
    case FilterOp::kNotEqual:
      return left != right;
    case FilterOp::kLess:
      return (left ^ flip) < (right ^ flip);
    case FilterOp::kLessEqual:
      return (left ^ flip) <= (right ^ flip);
    case FilterOp::kGreater:
      return (left ^ flip) > (right ^ flip);
    case FilterOp::kGreaterEqual:
      return (left ^ flip) >= (right ^ flip);
    case FilterOp::kAnyBit:
      return left & right;
    default:
      return false;
  }
}

inline bool has_cpu(const FilterInsn* insn, uint64_t cpu) {
  return cpu / 8 < insn->data_size && (insn->data[cpu / 8] >> cpu % 8 & 1);
}

// --- texts

inline uint32_t length_within(const uint8_t* at, uint32_t limit) {
  uint32_t length = 0;
  while (length < limit && at[length]) length++;
  return length;
}

// At most kMaxText - 1 bytes. Only aligned words are loaded: the bytes behind the NUL that are
// touched lie in its page.
bool copy_text(uint64_t address, uint8_t* out, uint32_t* length) {
  uint32_t used = 0;
  uint32_t skip = address & 7;
  for (address -= skip;; address += 8, skip = 0) {
    uint64_t word;
    if (!try_load8(address, &word)) return false;
    word >>= skip * 8;
    for (uint32_t i = skip; i < 8; i++, word >>= 8) {
      *length = used;
      if (!uint8_t(word) || used == kMaxText - 1) return true;
      out[used++] = uint8_t(word);
    }
  }
}

bool dynamic_text(const uint8_t* record, uint32_t size, const FilterInsn* insn, Text* text) {
  const uint32_t location = get<uint32_t>(record + insn->offset);
  uint32_t at = location & 0xffff;
  if (insn->place == TextPlace::kRelLoc) at += insn->offset + 4;
  if (at > size) return false;
  uint32_t room = location >> 16;
  if (room > size - at) room = size - at;
  if (insn->place != TextPlace::kCounted)
    room = length_within(record + at, room);
  else if (room && !record[at + room - 1])
    room--;
  *text = {record + at, room};
  return true;
}

void current_comm(uint8_t* buffer, Text* text) {
  if (const char* played = played_comm()) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(played);
    *text = {bytes, length_within(bytes, kCommSize)};
    return;
  }
  buffer[0] = 0;
  raw_syscall(SYS_prctl, kPrGetName, raw_pointer(buffer));
  *text = {buffer, length_within(buffer, kCommSize)};
}

inline bool same_bytes(const uint8_t* a, const uint8_t* b, uint32_t size) {
  for (uint32_t i = 0; i < size; i++)
    if (a[i] != b[i]) return false;
  return true;
}

bool contains(const Text& text, const uint8_t* part, uint32_t size) {
  for (uint32_t at = 0; at + size <= text.size; at++)
    if (same_bytes(text.at + at, part, size)) return true;
  return false;
}

// A class: pattern[at] is its '['. True when c is in it; *next is behind its ']'. compile_glob has
// seen to it that there is one.
bool class_has(const uint8_t* pattern, uint32_t size, uint32_t at, uint8_t c, uint32_t* next) {
  at++;
  const bool inverted = at < size && pattern[at] == '!';
  if (inverted) at++;
  bool found = false;
  for (bool first = true; at < size && (first || pattern[at] != ']'); first = false) {
    const uint8_t low = pattern[at++];
    uint8_t high = low;
    if (at + 1 < size && pattern[at] == '-' && pattern[at + 1] != ']') {
      high = pattern[at + 1];
      at += 2;
    }
    found |= low <= c && c <= high;
  }
  *next = at + 1;
  return found != inverted;
}

// Does one character match what stands at pattern[at] (not '*')?
inline bool one_matches(const uint8_t* pattern, uint32_t size, uint32_t at, uint8_t c,
                        uint32_t* next) {
  *next = at + 1;
  switch (pattern[at]) {
    case '?':
      return true;
    case '[':
      return class_has(pattern, size, at, c, next);
    case '\\':
      *next = at + 2;
      return at + 1 < size && pattern[at + 1] == c;
    default:
      return pattern[at] == c;
  }
}

bool glob_matches(const Text& text, const uint8_t* pattern, uint32_t size) {
  constexpr uint32_t kNone = ~0u;
  uint32_t at = 0, in_text = 0;
  uint32_t star = kNone, star_text = 0;  // behind the last '*', and where its part may begin
  for (;;) {
    uint32_t next;
    if (at < size && pattern[at] == '*') {
      star = ++at;
      star_text = in_text;
      if (at == size) return true;
    } else if (at < size && in_text < text.size &&
               one_matches(pattern, size, at, text.at[in_text], &next)) {
      at = next;
      in_text++;
    } else if (in_text == text.size) {
      // A lone backslash at the end quotes nothing.
      return at == size || (at + 1 == size && pattern[at] == '\\');
    } else if (star == kNone) {
      return false;
    } else {
      at = star;
      in_text = ++star_text;
    }
  }
}

bool text_matches(const FilterInsn* insn, const Text& text) {
  const uint32_t size = insn->data_size;
  if (insn->match == TextMatch::kGlob) return glob_matches(text, insn->data, size);
  if (text.size < size) return false;
  switch (insn->match) {
    case TextMatch::kWhole:
      return text.size == size && same_bytes(text.at, insn->data, size);
    case TextMatch::kBegins:
      return same_bytes(text.at, insn->data, size);
    case TextMatch::kEnds:
      return same_bytes(text.at + (text.size - size), insn->data, size);
    default:
      return contains(text, insn->data, size);
  }
}

__attribute__((noinline)) bool test_pointer(const FilterInsn* insn, const uint8_t* record) {
  uint8_t buffer[kMaxText];
  Text text{buffer, 0};
  if (!copy_text(get<uint64_t>(record + insn->offset), buffer, &text.size)) return false;
  return text_matches(insn, text) != insn->invert;
}

__attribute__((noinline)) bool test_comm(const FilterInsn* insn) {
  uint8_t buffer[kCommSize];
  Text text;
  current_comm(buffer, &text);
  return text_matches(insn, text) != insn->invert;
}

bool test_text(const FilterInsn* insn, const uint8_t* record, uint32_t size) {
  Text text{record + insn->offset, 0};
  switch (insn->place) {
    case TextPlace::kChars:
      text.size = length_within(text.at, insn->field_size);
      break;
    case TextPlace::kRest:
      text.size = length_within(text.at, size - insn->offset);
      break;
    case TextPlace::kDataLoc:
    case TextPlace::kCounted:
    case TextPlace::kRelLoc:
      if (!dynamic_text(record, size, insn, &text)) return false;
      break;
    case TextPlace::kPointer:
      return test_pointer(insn, record);
    case TextPlace::kComm:
      return test_comm(insn);
  }
  return text_matches(insn, text) != insn->invert;
}

// The set of CPUs in the field and the set of the filter. What one has more bytes of counts as 0 in
// the other.
bool test_cpumask(const FilterInsn* insn, const uint8_t* record, uint32_t size) {
  const uint32_t location = get<uint32_t>(record + insn->offset);
  const uint32_t at = location & 0xffff;
  if (at > size) return false;
  uint32_t bytes = location >> 16;
  if (bytes > size - at) bytes = size - at;
  bool equal = true, common = false;
  for (uint32_t i = 0; i < bytes || i < insn->data_size; i++) {
    const uint8_t left = i < bytes ? record[at + i] : 0;
    const uint8_t right = i < insn->data_size ? insn->data[i] : 0;
    equal &= left == right;
    common |= left & right;
  }
  if (insn->op == FilterOp::kAnyBit) return common;
  return equal == (insn->op == FilterOp::kEqual);
}

}  // namespace

extern "C" bool filter_test(const FilterInsn* insn, const uint8_t* record, uint32_t size) {
  switch (insn->test) {
    case FilterTest::kNumber:
      return compare(insn, load_number(record + insn->offset, insn));
    case FilterTest::kRange: {
      const uint64_t address = get<uint64_t>(record + insn->offset);
      return (address >= insn->value && address < insn->end) != insn->invert;
    }
    case FilterTest::kMember:
      return has_cpu(insn, load_number(record + insn->offset, insn));
    case FilterTest::kCpu:
      return compare(insn, current_cpu());
    case FilterTest::kCpuMember:
      return has_cpu(insn, current_cpu());
    case FilterTest::kCpumask:
      return test_cpumask(insn, record, size);
    case FilterTest::kText:
      return test_text(insn, record, size);
    case FilterTest::kAlways:
      return true;
    case FilterTest::kNever:
      break;
  }
  return false;
}

extern "C" bool filter_interpret(const FilterProgram* program, const uint8_t* record,
                                 uint32_t size) {
  if (size < program->min_size) return false;
  uint32_t at = 0;
  while (at < program->nr_insns) {
    const FilterInsn* insn = &program->insns[at];
    at = filter_test(insn, record, size) ? insn->on_true : insn->on_false;
  }
  return at == program->nr_insns;
}

}  // namespace patchbay
