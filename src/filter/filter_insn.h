// SPDX-License-Identifier: MIT
//
// One predicate of a compiled filter, and where to go on after it. Predicates stand in the order of
// the text; jumps only go forward, so a filter ends after at most nr_insns steps:
//
//     a == 1 && (b == 2 || c == 3)          true   false
//       0: a == 1                             1      4     3 = nr_insns:     match
//       1: b == 2                             3      2     4 = nr_insns + 1: no match
//       2: c == 3                             3      4
#pragma once

#include <cstdint>

namespace patchbay {

enum class FilterOp : uint8_t {
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kAnyBit,  // &
  kGlob,    // ~; compiled to TextMatch
};

enum class FilterTest : uint8_t {
  kNumber,     // field op value
  kRange,      // value <= field < end (.function)
  kMember,     // field is one of the CPUs in data
  kCpu,        // this CPU op value
  kCpuMember,  // this CPU is one of data
  kCpumask,    // the set in the field op the set in data
  kText,       // the text at `place` matches data
  kAlways,
  kNever,
};

// kCounted: as kDataLoc, but that the text ends before the NUL that is its last byte.
enum class TextPlace : uint8_t { kChars, kDataLoc, kCounted, kRelLoc, kPointer, kRest, kComm };
enum class TextMatch : uint8_t { kWhole, kBegins, kEnds, kContains, kGlob };

struct FilterInsn {
  FilterTest test = FilterTest::kNever;
  FilterOp op = FilterOp::kEqual;
  uint8_t size = 0;  // of the number, 1 2 4 8
  bool is_signed = false;
  TextPlace place = TextPlace::kChars;
  TextMatch match = TextMatch::kWhole;
  bool invert = false;      // of kRange, kMember, kCpuMember, kText; never of an unreadable text
  uint32_t offset = 0;      // of the field in the record
  uint32_t field_size = 0;  // of kChars
  uint64_t value = 0;       // cut to the field's size, then extended as the field is
  uint64_t end = 0;
  const uint8_t* data = nullptr;  // characters without NUL, or a set of CPUs: CPU n is bit n % 8 of
  uint32_t data_size = 0;         // byte n / 8
  uint16_t on_true = 0;
  uint16_t on_false = 0;
};

extern "C" {
// Is this one predicate true? The record has at least the program's min_size bytes.
bool filter_test(const FilterInsn* insn, const uint8_t* record, uint32_t size);
}

}  // namespace patchbay
