// SPDX-License-Identifier: MIT
//
// A recording in columns, as the page of `patchbay view` unpacks it (page/columns.js).
//
//   <script id="recording">  base64 of a zlib stream of:
//   +-----------+------------+----------------------+---+----------+----------+-----
//   | PBPAGE1\n | u32 length | the header, as JSON  | 0 | column   | column   | …
//   +-----------+------------+----------------------+---+----------+----------+-----
//                                                       ^ the data: begins at a multiple of 8, and
//                                                         so does each column
//
// The header has all that is not a column, and for each column {"o": offset in the data, "n": how
// many, "e": how}, with e one of
//   1 2 4 8   numbers of so many bytes, little endian, to which "b" is added (decimal, in quotes:
//             it may be beyond what a double holds). 64-bit fields so take as many bytes as the
//             difference of their largest and smallest value.
//   "f"       doubles
//   "v"       unsigned LEB128 of "s" bytes in all; times are distances from the time before
//
// A row is a call or an event. Rows are in order of their beginning:
//   all rows       time kind thread cpu [stack]     kind: index in header.kinds, and so on
//                  [instance]                       where header.instances has several
//   calls only     duration depth how               how: ExportCallEnd, or kCutEnd
//   a kind's rows  a column a field [absent: 1 where this record does not have it]
// Texts are indexes into one table of strings; a stack is the number of its innermost frame in a
// tree of frames, in which 0 is no stack.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"

namespace patchbay::cmd {

// The data, and what the header says of each column.
class PageData {
 public:
  std::string fixed(const std::vector<uint64_t>& values, bool is_signed = false);
  std::string doubles(const std::vector<uint64_t>& bits);
  // `sum`: the values never decrease, and distances are stored.
  std::string varints(const std::vector<uint64_t>& values, bool sum);
  std::string bytes(std::string_view text);
  const std::string& data() const { return data_; }

 private:
  size_t begin();
  std::string data_;
};

// Texts by number. They were made harmless before.
class PageStrings {
 public:
  uint32_t of(std::string_view text);
  size_t size() const { return ends_.size(); }
  std::string pack(PageData* data) const;  // the header's "strings"

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  std::unordered_map<std::string, uint32_t, Hash, std::equal_to<>> numbers_;
  std::string text_;
  std::vector<uint64_t> ends_;
};

// Stacks as a tree of frames: equal callers are stored once.
class PageStacks {
 public:
  // The frame below `parent`; 0 is the tree's root.
  uint32_t child(uint32_t parent, uint32_t string);
  bool empty() const { return frames_.size() == 1; }
  std::string pack(PageData* data) const;  // the header's "stacks"

 private:
  std::vector<uint64_t> frames_ = {0}, parents_ = {0};
  std::unordered_map<uint64_t, uint32_t> index_;
};

struct PageField {
  std::string name;
  char type = 'x';  // i signed, u unsigned, x hexadecimal, f real, s text, a a function's name
};

struct PageRow {
  uint64_t time = 0, duration = 0;
  uint32_t kind = 0, thread = 0, cpu = 0, stack = 0;
  uint32_t in_kind = 0;  // where its fields stand
  uint16_t instance = 0, depth = 0;
  uint8_t how = 0;
};

// Rows and their fields.
class PageRows {
 public:
  // Of a call that its times nest, for want of a depth.
  static constexpr uint16_t kNoDepth = 65535;

  uint32_t add_kind(uint32_t name, uint32_t system, bool is_call,
                    const std::vector<PageField>& fields);
  // A row whose fields are absent as yet. Returns its number, for as long as it is not packed.
  uint32_t add(PageRow row);
  void set(uint32_t row, size_t field, uint64_t value);
  PageRow& row(uint32_t number) { return rows_[number]; }
  const std::vector<PageRow>& rows() const { return rows_; }
  size_t size() const { return rows_.size(); }
  size_t calls() const { return calls_; }
  size_t fields_of(uint32_t kind) const { return kinds_[kind].fields.size(); }

  struct Packed {
    std::string kinds, columns;  // of the header
  };
  struct Choice {
    bool stacks = false, instances = false;  // columns that not every recording has
  };
  // `cpu_order`: the new number of each CPU. Ends the rows.
  Packed pack(PageData* data, PageStrings* strings, const std::vector<uint32_t>& cpu_order,
              Choice choice);

 private:
  struct Field {
    PageField what;
    std::vector<uint64_t> values;
    std::vector<bool> present;
  };
  struct Kind {
    uint32_t name, system;
    bool is_call;
    uint32_t rows = 0;
    std::vector<Field> fields;
    std::vector<uint32_t> order;
  };
  std::string pack_columns(PageData* data, const std::vector<uint32_t>& cpu_order, Choice choice);
  static std::string pack_kind(const Kind& kind, PageData* data, PageStrings* strings);

  std::vector<PageRow> rows_;
  std::vector<Kind> kinds_;
  size_t calls_ = 0;
};

// Header and data as the text of the page's script element.
Result<std::string> page_payload(const std::string& header, const PageData& data);

}  // namespace patchbay::cmd
