// SPDX-License-Identifier: MIT
//
// The values of a column chunk, each once: an index by value, by open addressing. A column whose
// values hardly repeat outgrows it soon, and is then written plainly.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace patchbay {

inline constexpr uint32_t kNotInDictionary = UINT32_MAX;

// The slots of a hash table of indices; half of them at most are taken.
class DictionarySlots {
 public:
  // The index whose value is equal, by `equal(index)`; else the free slot becomes `next`'s.
  template <typename Equal>
  uint32_t find_or_add(uint64_t hash, uint32_t next, bool may_add, Equal equal) {
    if (slots_.empty()) slots_.assign(64, 0), hashes_.assign(64, 0);
    const size_t mask = slots_.size() - 1;
    size_t at = hash & mask;
    for (; slots_[at]; at = (at + 1) & mask)
      if (hashes_[at] == uint32_t(hash >> 32) && equal(slots_[at] - 1)) return slots_[at] - 1;
    if (!may_add) return kNotInDictionary;
    slots_[at] = next + 1;
    hashes_[at] = uint32_t(hash >> 32);
    return next;
  }
  bool is_half_full(size_t used) const { return used * 2 >= slots_.size(); }
  // `hash_of(index)` of the `used` indices.
  template <typename HashOf>
  void grow(uint32_t used, HashOf hash_of) {
    const size_t size = slots_.size() * 4;
    slots_.assign(size, 0);
    hashes_.assign(size, 0);
    for (uint32_t i = 0; i < used; i++) {
      const uint64_t hash = hash_of(i);
      size_t at = hash & (size - 1);
      while (slots_[at]) at = (at + 1) & (size - 1);
      slots_[at] = i + 1;
      hashes_[at] = uint32_t(hash >> 32);
    }
  }
  void clear() { std::vector<uint32_t>().swap(slots_), std::vector<uint32_t>().swap(hashes_); }
  size_t memory() const { return (slots_.capacity() + hashes_.capacity()) * 4; }

 private:
  std::vector<uint32_t> slots_, hashes_;  // index + 1; the upper half of the hash
};

class NumberDictionary {
 public:
  // kNotInDictionary: it is not there, and `max` values are.
  uint32_t index_of(uint64_t value, size_t max, bool* is_new) {
    const auto count = uint32_t(values_.size());
    const uint32_t index = slots_.find_or_add(hash(value), count, count < max,
                                              [&](uint32_t i) { return values_[i] == value; });
    *is_new = index == count;
    if (!*is_new) return index;
    values_.push_back(value);
    if (slots_.is_half_full(values_.size()))
      slots_.grow(count + 1, [&](uint32_t i) { return hash(values_[i]); });
    return index;
  }
  const std::vector<uint64_t>& values() const { return values_; }
  void clear() { slots_.clear(), std::vector<uint64_t>().swap(values_); }
  size_t memory() const { return slots_.memory() + values_.capacity() * 8; }

 private:
  static uint64_t hash(uint64_t value) {
    value *= 0x9e3779b97f4a7c15;
    return value ^ value >> 29;
  }
  DictionarySlots slots_;
  std::vector<uint64_t> values_;
};

// The texts stand as Parquet's PLAIN encoding has them: length, bytes.
class TextDictionary {
 public:
  uint32_t index_of(std::string_view text, size_t max_bytes, bool* is_new) {
    const auto count = uint32_t(begins_.size());
    const uint64_t hashed = hash(text);
    const uint32_t index =
        slots_.find_or_add(hashed, count, bytes_.size() + text.size() + 4 <= max_bytes,
                           [&](uint32_t i) { return at(i) == text; });
    *is_new = index == count;
    if (!*is_new) return index;
    begins_.push_back(uint32_t(bytes_.size()));
    const auto size = uint32_t(text.size());
    bytes_.append(reinterpret_cast<const char*>(&size), 4);
    bytes_ += text;
    if (slots_.is_half_full(begins_.size()))
      slots_.grow(count + 1, [&](uint32_t i) { return hash(at(i)); });
    return index;
  }
  std::string_view at(uint32_t index) const {
    uint32_t size;
    std::memcpy(&size, bytes_.data() + begins_[index], 4);
    return {bytes_.data() + begins_[index] + 4, size};
  }
  size_t count() const { return begins_.size(); }
  const std::string& bytes() const { return bytes_; }
  void clear() {
    slots_.clear();
    std::vector<uint32_t>().swap(begins_);
    std::string().swap(bytes_);
  }
  size_t memory() const { return slots_.memory() + begins_.capacity() * 4 + bytes_.capacity(); }

 private:
  static uint64_t hash(std::string_view text) { return std::hash<std::string_view>()(text); }
  DictionarySlots slots_;
  std::vector<uint32_t> begins_;
  std::string bytes_;
};

}  // namespace patchbay
