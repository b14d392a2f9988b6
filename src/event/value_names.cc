// SPDX-License-Identifier: MIT
#include "event/value_names.h"

#include <algorithm>
#include <bit>
#include <cctype>

namespace patchbay {
namespace {

// Ends of a range beside flags: a MAX_ENUM, libstdc++'s _S_ios_openmode_min.
bool is_limit(int64_t value) {
  return value == -1 || value == INT32_MIN || value == INT64_MIN || value == INT64_MAX ||
         value == INT32_MAX || value == UINT32_MAX;
}

// 1 << 31 of an int is negative, too.
bool is_flag(int64_t value) { return value > 0 || value == INT32_MIN || value == INT64_MIN; }

bool ends_with_word(std::string_view name, std::string_view lower_case_word) {
  if (name.size() < lower_case_word.size()) return false;
  name.remove_prefix(name.size() - lower_case_word.size());
  return std::equal(name.begin(), name.end(), lower_case_word.begin(),
                    [](char a, char b) { return std::tolower(uint8_t(a)) == b; });
}

uint64_t low_bits(uint32_t size) {
  return size >= sizeof(uint64_t) ? ~uint64_t{0} : (uint64_t{1} << 8 * size) - 1;
}

bool is_top_bit_set(uint64_t bits, uint64_t all) { return (bits & ~(all >> 1)) != 0; }

std::string hexadecimal(uint64_t bits) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  do text.insert(text.begin(), kDigits[bits & 15]);
  while (bits >>= 4);
  return "0x" + text;
}

// Whether a mask's bits are one number: some enumerator in it is several bits, but not all of it.
bool is_field(const NamedValue& mask, const std::vector<NamedValue>& names) {
  const auto bits = uint64_t(mask.value);
  if (!ends_with_word(mask.name, "mask") || std::popcount(bits) < 2 || mask.value < 0) return false;
  return std::any_of(names.begin(), names.end(), [&](const NamedValue& one) {
    const bool is_inside = one.name != mask.name && (uint64_t(one.value) & ~bits) == 0;
    return is_inside && std::popcount(uint64_t(one.value)) > 1;
  });
}

}  // namespace

ValueNames::Kind ValueNames::kind_of(std::string_view name, const std::vector<NamedValue>& names) {
  uint64_t single = 0;
  std::vector<int64_t> combined;
  for (const NamedValue& one : names) {
    if (one.value == 0 || is_limit(one.value)) continue;
    if (one.value < 0) return Kind::kEnumeration;
    if (std::has_single_bit(uint64_t(one.value)))
      single |= uint64_t(one.value);
    else
      combined.push_back(one.value);
  }
  std::sort(combined.begin(), combined.end());
  combined.erase(std::unique(combined.begin(), combined.end()), combined.end());
  const int nr_single = std::popcount(single);
  const bool is_called_so = ends_with_word(name, "flags") || ends_with_word(name, "flag_bits") ||
                            ends_with_word(name, "flagbits");
  const bool are_sums = std::all_of(combined.begin(), combined.end(),
                                    [&](int64_t one) { return (uint64_t(one) & ~single) == 0; });
  constexpr uint64_t kOneTwoFour = 7;
  constexpr int kLeast = 3, kEnoughToCount = 5;
  const bool counts = (single & kOneTwoFour) == kOneTwoFour && nr_single < kEnoughToCount &&
                      std::binary_search(combined.begin(), combined.end(), 3);
  const bool is_it = nr_single >= (is_called_so ? 1 : kLeast) && are_sums &&
                     (is_called_so || !counts) && combined.size() < size_t(nr_single);
  return is_it ? Kind::kFlags : Kind::kEnumeration;
}

ValueNames::ValueNames(std::vector<NamedValue> names, Kind kind) : kind_(kind) {
  if (kind == Kind::kFlags)
    for (const NamedValue& one : names)
      if (is_field(one, names)) masks_.push_back(uint64_t(one.value));
  const auto is_mask = [&](const NamedValue& one) {
    return ends_with_word(one.name, "mask") &&
           std::find(masks_.begin(), masks_.end(), uint64_t(one.value)) != masks_.end();
  };
  std::vector<size_t> order;
  for (size_t i = 0; i < names.size(); i++)
    if (!is_mask(names[i])) order.push_back(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return names[a].value < names[b].value; });
  for (const size_t i : order) {
    if (!names_.empty() && names_.back().value == names[i].value) continue;
    names_.push_back(std::move(names[i]));
    declared_.push_back(i);
  }
  if (kind == Kind::kEnumeration) return;
  for (const uint64_t mask : masks_) in_fields_ |= mask;
  // What is in a field, or partly in one, is no flag beside others.
  for (size_t i = 0; i < names_.size(); i++)
    if (is_flag(names_[i].value) && (uint64_t(names_[i].value) & in_fields_) == 0)
      candidates_.push_back(i);
  std::stable_sort(candidates_.begin(), candidates_.end(), [this](size_t a, size_t b) {
    return std::popcount(uint64_t(names_[a].value)) > std::popcount(uint64_t(names_[b].value));
  });
}

// A word that is being taken apart.
struct ValueNames::Word {
  uint64_t all, rest, unnamed;
  std::vector<size_t> fields, flags;  // of names_
};

// A value is as wide as the number: -1 is 0xffffffff of four bytes, 0xffffffff is -1.
const std::string* ValueNames::find(uint64_t bits, uint64_t all) const {
  const auto is_below = [](const NamedValue& one, int64_t wanted) { return one.value < wanted; };
  const auto find_exactly = [&](int64_t value) -> const std::string* {
    const auto found = std::lower_bound(names_.begin(), names_.end(), value, is_below);
    return found != names_.end() && found->value == value ? &found->name : nullptr;
  };
  if (const std::string* name = find_exactly(int64_t(bits))) return name;
  const bool may_be_negative = is_top_bit_set(bits, all);
  return may_be_negative ? find_exactly(int64_t(bits | ~all)) : nullptr;
}

void ValueNames::take_fields(Word* word) const {
  for (const uint64_t mask : masks_) {
    const uint64_t value = word->rest & mask;
    word->rest &= ~mask;
    if (const std::string* name = find(value, ~uint64_t{0}))
      word->fields.push_back(
          size_t(std::find_if(names_.begin(), names_.end(),
                              [&](const auto& one) { return &one.name == name; }) -
                 names_.begin()));
    else
      word->unnamed |= value;
  }
}

void ValueNames::take_flags(Word* word) const {
  for (const size_t i : candidates_) {
    const uint64_t value = uint64_t(names_[i].value) & word->all;
    if (value == 0 || (word->rest & value) != value) continue;
    word->rest &= ~value;
    word->flags.push_back(i);
  }
  word->unnamed |= word->rest;
  std::sort(word->flags.begin(), word->flags.end(),
            [this](size_t a, size_t b) { return declared_[a] < declared_[b]; });
}

std::string ValueNames::flags_text(uint64_t bits, uint64_t all) const {
  // Of a name that is outside all fields, theirs are shown, too (O_RDONLY|O_CLOEXEC).
  const std::string* whole = find(bits, all);
  if (whole && (bits == 0 || bits == all || (bits & in_fields_) != 0)) return *whole;
  if (bits == 0) return "0";
  Word word{all, bits, 0, {}, {}};
  take_fields(&word);
  take_flags(&word);
  std::string text;
  for (const std::vector<size_t>& some : {word.fields, word.flags})
    for (const size_t i : some) text += (text.empty() ? "" : "|") + names_[i].name;
  if (word.unnamed != 0) text += (text.empty() ? "" : "|") + hexadecimal(word.unnamed);
  return text;
}

std::string ValueNames::text(uint64_t bits, uint32_t size, bool is_signed) const {
  const uint64_t all = low_bits(size);
  bits &= all;
  if (kind_ == Kind::kFlags) return flags_text(bits, all);
  if (const std::string* name = find(bits, all)) return *name;
  const bool is_negative = is_signed && is_top_bit_set(bits, all);
  return is_negative ? std::to_string(int64_t(bits | ~all)) : std::to_string(bits);
}

SharedValueNames FunctionValueNames::of(std::string_view argument) const {
  for (const auto& [name, names] : arguments)
    if (name == argument) return names;
  return nullptr;
}

SharedValueNames names_of_bool() {
  static const auto names = std::make_shared<const ValueNames>(
      std::vector<NamedValue>{{"false", 0}, {"true", 1}}, ValueNames::Kind::kEnumeration);
  return names;
}

}  // namespace patchbay
