// SPDX-License-Identifier: MIT
// For tests and the fuzzer: an event with a field of every kind, records of it, and random filters
// over it.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "filter/filter.h"

namespace patchbay {

// The first ones are sched_switch's.
inline std::optional<FilterField> test_field(std::string_view name) {
  using Kind = FilterField::Kind;
  struct Named {
    const char* name;
    FilterField field;
  };
  static const Named kFields[] = {
      {"common_type", {Kind::kNumber, 0, 2, false}},
      {"common_pid", {Kind::kNumber, 4, 4, true}},
      {"prev_comm", {Kind::kChars, 8, 16, false}},
      {"prev_pid", {Kind::kNumber, 24, 4, true}},
      {"next_pid", {Kind::kNumber, 28, 4, true}},
      {"prev_state", {Kind::kNumber, 32, 8, true}},
      {"u8", {Kind::kNumber, 40, 1, false}},
      {"s8", {Kind::kNumber, 41, 1, true}},
      {"u16", {Kind::kNumber, 42, 2, false}},
      {"s16", {Kind::kNumber, 44, 2, true}},
      {"u32", {Kind::kNumber, 48, 4, false}},
      {"u64", {Kind::kNumber, 56, 8, false}},
      {"name", {Kind::kDataLoc, 64, 4, false}},
      {"rel", {Kind::kRelLoc, 68, 4, false}},
      {"ptr", {Kind::kPointer, 72, 8, false}},
      {"cpus", {Kind::kCpumask, 80, 4, false}},
      {"args", {Kind::kOther, 84, 12, false}},
      {"buf", {Kind::kRestText, 96, 0, false}},
      {"counted", {Kind::kDataLoc, 172, 4, false, 0, 0, true}},
      {"guarded", {Kind::kNumber, 48, 4, false, 42, 2}},  // u32, where u16 has the bit 2
      {"guarded_real", {Kind::kReal, 160, 8, true, 42, 2}},
      {"real", {Kind::kReal, 160, 8, true}},
      {"real4", {Kind::kReal, 168, 4, true}},
  };
  for (const Named& named : kFields)
    if (name == named.name) return named.field;
  return std::nullopt;
}

// "one" is [4096, 8192), "two(int)" behind it.
inline bool test_function(std::string_view name, uint64_t address, uint64_t* start, uint64_t* end) {
  if (name == "one") address = 4096;
  if (name == "two(int)" || name == "two") address = 8192;
  if (address < 4096 || address >= 3 * 4096) return false;
  *start = address / 4096 * 4096;
  *end = *start + 4096;
  return true;
}

inline FilterContext test_context(uint32_t nr_cpus = 8) {
  return FilterContext{test_field, test_function, nr_cpus};
}

struct TestRecord {
  std::vector<uint8_t> bytes = std::vector<uint8_t>(176);

  template <typename T>
  TestRecord& set(const char* field, T value) {
    std::memcpy(&bytes[test_field(field)->offset], &value, sizeof value);
    return *this;
  }
  // A fixed array, or the dynamic text that has the room [104, 128) for name, [128, 144) for rel.
  TestRecord& text(const char* field, const std::string& value) {
    const FilterField place = *test_field(field);
    const uint32_t size = uint32_t(value.size()) + 1;
    uint32_t at = place.offset;
    if (place.kind == FilterField::Kind::kDataLoc) {  // of "counted" too
      at = 104;
      set(field, uint32_t{at | size << 16});
    } else if (place.kind == FilterField::Kind::kRelLoc) {
      at = 128;
      set(field, uint32_t{(at - place.offset - 4) | size << 16});
    }
    std::memcpy(&bytes[at], value.data(), std::min<size_t>(size, place.size == 16 ? 16 : size));
    return *this;
  }
  TestRecord& cpus(uint64_t mask) {
    set("cpus", uint32_t{144 | 8 << 16});
    std::memcpy(&bytes[144], &mask, 8);
    return *this;
  }
  uint32_t size() const { return uint32_t(bytes.size()); }
};

class RandomFilter {
 public:
  explicit RandomFilter(uint64_t seed) : random_(seed) {}

  // At most 81 predicates.
  std::string expression(int depth = 0) {
    if (depth > 3 || below(3) == 0) return pred();
    std::string text = below(4) ? "" : "!";
    text += "(" + expression(depth + 1);
    for (uint64_t n = below(2) + 1; n; n--)
      text += (below(2) ? " && " : "||") + expression(depth + 1);
    return text + ")";
  }
  // Numbers are small, so that comparisons come out both ways.
  TestRecord record(const char* pointed_to) {
    TestRecord record;
    for (uint8_t& byte : record.bytes) byte = below(3) ? 0 : uint8_t(below(4) - 1);
    record.text("prev_comm", word()).text("name", word()).text("rel", word());
    record.set("ptr", pointed_to).cpus(below(4));
    if (!below(4)) record.set("name", uint32_t(random_()));
    if (!below(4)) record.set("cpus", uint32_t(random_()));
    static const double kReals[] = {0, -0.0, 1, -1, 2.5, HUGE_VAL, -HUGE_VAL, NAN, -NAN};
    const double real = kReals[below(std::size(kReals))];
    record.set("real", real).set("real4", float(real));
    return record;
  }
  uint64_t below(uint64_t limit) { return random_() % limit; }

 private:
  template <size_t N>
  std::string one_of(const char* const (&list)[N]) {
    return list[below(N)];
  }
  std::string pred() {
    static const char* const kNumbers[] = {
        "common_type", "common_pid", "prev_pid", "prev_state", "u8",   "s8",     "u16",
        "s16",         "u32",        "u64",      "CPU",        "args", "guarded"};
    static const char* const kTexts[] = {"prev_comm", "name", "rel", "ptr.ustring", "buf", "COMM"};
    static const char* const kNumberOps[] = {"==", "!=", "<", "<=", ">", ">=", "&"};
    static const char* const kCpuOps[] = {"==", "!=", "&"};
    static const char* const kTextOps[] = {"==", "!=", "~", "~"};
    static const char* const kValues[] = {"0", "1", "2", "3", "255", "0x1000000000", "07"};
    static const char* const kSets[] = {"CPUS{0}", "CPUS{0-1}", "CPUS{1,3}"};
    static const char* const kReals[] = {"0", "-0.0", "1", "-1", "inf", "-inf", "nan"};
    switch (below(7)) {
      case 6:
        return std::string(below(4) ? below(2) ? "real " : "real4 " : "guarded_real ") +
               std::string(kNumberOps[below(6)]) + " " + one_of(kReals);
      case 0:
        return one_of(kTexts) + one_of(kTextOps) + "'" + pattern() + "'";
      case 1:
        return (below(2) ? "cpus" : one_of(kNumbers)) + one_of(kCpuOps) + one_of(kSets);
      case 2:
        return std::string("prev_state.function ") + (below(2) ? "==" : "!=") + " one";
      default:
        return one_of(kNumbers) + " " + one_of(kNumberOps) + " " + one_of(kValues);
    }
  }
  std::string word() {
    std::string text;
    for (uint64_t n = below(6); n; n--) text += char('a' + below(2));
    return text;
  }
  std::string pattern() {
    static const char* const kParts[] = {"a", "b", "*", "?", "[a]", "[!a]", "\\a", "*", "["};
    std::string text = below(6) ? "" : "!";
    for (uint64_t n = below(5); n; n--) text += one_of(kParts);
    return text;
  }
  std::mt19937_64 random_;
};

}  // namespace patchbay
