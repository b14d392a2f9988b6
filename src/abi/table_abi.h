// SPDX-License-Identifier: MIT
//
// Tables as bytes: what an agent has counted, for the tool. Texts are made of them by whoever shows
// them, so that no name and no traced text can be taken for anything else.
//
//   events/SYSTEM/EVENT/hist_image     of each histogram of the event an image, the oldest first
//   DIR/PID/hist/[INSTANCE/]S:E        the same, as a program that ends leaves it
//   debug/profile_image                what the function profiler has counted on all CPUs
//   DIR/PID/trace_stat/profile         the same, as a program that ends leaves it
//
//   image    magic "PBHI", "PBFP" | version: 1 byte | size: 4 bytes | body, `size` bytes
//   number   7 bits a byte, the lowest first; the top bit says that there is more (LEB128). Of one
//            with a sign the 64 bits are written
//   text     number of its bytes | they
//   list     number of its members | they
//
// A profile is a list of (calls | nanoseconds | place | name: text | object: text).
//
// A histogram:
//
//   body     definition: text | flags (kTablePaused)
//            keys, values: lists of columns
//            tracks: list of (flags (kTrackMax, kTrackSnapshot) | variable: text)
//            saved: list of columns         what save() keeps beside each track
//            sorts: list of (column | descending: 0, 1)      values first, then keys
//            names: list of (flags (kNameKnown) | number | offset | size | place | name: text |
//                   object: text)
//            rows: list of rows
//            snapshots: list of (track | value | key)
//            hits | dropped
//   column   form (HistForm) | flags (kColumn…) | size | buckets | name: text | modifier: text
//   row      key | a number for each value | for each value that counts ranges: list of
//            (range, zigzag | hits), ascending | list of (track | value | saved…)
//   key      text: for each key, one after the other, by its form:
//              text    2 x its bytes, + 1 where more of it was cut off | they
//              stack   list of numbers of names
//              symbol, thread   number of a name
//              all others       number
//
// A name says what only the agent knows of a number: of an address its symbol, how far behind its
// beginning it is and how large that is, and where it is in which object (`place` is the same in
// each process, wherever the object is loaded); of a thread id the thread's name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace patchbay::abi {

inline constexpr std::string_view kHistMagic = "PBHI", kProfileMagic = "PBFP";
inline constexpr uint8_t kTableVersion = 1;
inline constexpr size_t kTableHead = kHistMagic.size() + 1 + sizeof(uint32_t);

inline constexpr uint64_t kTablePaused = 1;
inline constexpr uint64_t kColumnSigned = 1, kColumnHidden = 2, kColumnGeneric = 4;
inline constexpr uint64_t kTrackMax = 1, kTrackSnapshot = 2;
inline constexpr uint64_t kNameKnown = 1;

// What a reader takes at most.
inline constexpr size_t kMostTableRows = size_t{1} << 17;
inline constexpr size_t kMostTableNames = size_t{1} << 20;
inline constexpr size_t kMostTableMemory = size_t{512} << 20;  // of what is made of a file
inline constexpr size_t kMostTables = 4096;                    // in a file
inline constexpr size_t kMostTableColumns = 3, kMostTableSorts = 2;
inline constexpr size_t kMostTableTracks = 64;  // and columns of save(), and snapshots
inline constexpr size_t kMostTableText = 4096;  // but of a definition

inline void put_table_number(std::string* out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) *out += char(value | 0x80);
  *out += char(value);
}
inline void put_table_text(std::string* out, std::string_view text) {
  put_table_number(out, text.size());
  out->append(text);
}
constexpr uint64_t zigzag(int32_t value) {
  return value < 0 ? (uint64_t(-int64_t{value}) << 1) - 1 : uint64_t(value) << 1;
}

inline std::string table_image(std::string_view magic, std::string_view body) {
  const auto size = uint32_t(body.size());
  std::string image(magic);
  image += char(kTableVersion);
  image.append(reinterpret_cast<const char*>(&size), sizeof size);
  return image.append(body);
}
// The body of the image that the bytes begin with, and takes it off. False: they begin with none.
inline bool take_table_image(std::string_view magic, std::string_view* untrusted,
                             std::string_view* body) {
  if (untrusted->size() < kTableHead || !untrusted->starts_with(magic) ||
      uint8_t((*untrusted)[magic.size()]) != kTableVersion)
    return false;
  uint32_t size = 0;
  std::memcpy(&size, untrusted->data() + magic.size() + 1, sizeof size);
  if (size > untrusted->size() - kTableHead) return false;
  *body = untrusted->substr(kTableHead, size);
  untrusted->remove_prefix(kTableHead + size);
  return true;
}

// Reads from bytes that may be anything. What is not there is 0 and empty; ok() is false from then
// on, for good.
class TableReader {
 public:
  explicit TableReader(std::string_view untrusted) : rest_(untrusted) {}

  bool ok() const { return ok_; }
  bool at_end() const { return rest_.empty(); }
  size_t left() const { return rest_.size(); }
  void fail() { ok_ = false, rest_ = {}; }

  uint64_t number() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = uint8_t(rest_.front());
      rest_.remove_prefix(1);
      if (shift == 63 && byte > 1) break;
      value |= uint64_t(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    fail();
    return 0;
  }
  // One that is below `end`.
  uint64_t number_below(uint64_t end) {
    const uint64_t value = number();
    if (value >= end) fail();
    return ok_ ? value : 0;
  }
  // How many members a list has: at most `most`, and each has a byte at least.
  size_t count(size_t most) {
    const uint64_t value = number();
    if (value > most || value > rest_.size()) fail();
    return ok_ ? size_t(value) : 0;
  }
  std::string_view bytes(uint64_t size) {
    if (size > rest_.size()) return fail(), std::string_view();
    const std::string_view text = rest_.substr(0, size_t(size));
    rest_.remove_prefix(size_t(size));
    return text;
  }
  std::string_view text(size_t most = kMostTableText) {
    const uint64_t size = number();
    if (size > most) fail();
    return bytes(ok_ ? size : 0);
  }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace patchbay::abi
