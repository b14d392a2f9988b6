// SPDX-License-Identifier: MIT
//
// A column of a table that has the events of one kind: what Parquet, SQLite and CTF are told of a
// field. Names are unique in their table whatever their case, because SQL does not look at it, and
// none is one of ours: a field `pid` of an event becomes `field_pid` beside the event's own pid.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

namespace patchbay {

enum class ColumnType : uint8_t {
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUint8,
  kUint16,
  kUint32,
  kUint64,
  kFloat,
  kDouble,
  kText,       // UTF-8
  kTimestamp,  // nanoseconds, of no time zone
};

constexpr bool is_unsigned(ColumnType type) {
  return type >= ColumnType::kUint8 && type <= ColumnType::kUint64;
}
// Bytes of a number.
constexpr uint32_t size_of(ColumnType type) {
  switch (type) {
    case ColumnType::kInt8:
    case ColumnType::kUint8:
      return 1;
    case ColumnType::kInt16:
    case ColumnType::kUint16:
      return 2;
    case ColumnType::kInt32:
    case ColumnType::kUint32:
    case ColumnType::kFloat:
      return 4;
    default:
      return 8;
  }
}

struct TypedColumn {
  std::string name;
  ColumnType type = ColumnType::kInt64;
  bool is_list = false;
  bool is_required = false;  // never null; a list may always be
  bool is_hex = false;       // shown in hexadecimal where the format can say so
};

class UniqueNames {
 public:
  // `reserved` are taken: a name that is one of them gets `prefix`, one that was given already a
  // number.
  explicit UniqueNames(std::set<std::string> reserved, std::string prefix = "field_")
      : reserved_(std::move(reserved)), taken_(reserved_), prefix_(std::move(prefix)) {}
  std::string unique(std::string_view name) {
    std::string made(name.empty() ? "unnamed" : name);
    if (reserved_.count(lower(made))) made = prefix_ + made;
    const std::string first = made;
    for (int i = 2; !taken_.insert(lower(made)).second; i++) made = first + "_" + std::to_string(i);
    return made;
  }
  static std::string lower(std::string_view name) {
    std::string text(name);
    for (char& c : text)
      if (c >= 'A' && c <= 'Z') c = char(c + 'a' - 'A');
    return text;
  }

 private:
  std::set<std::string> reserved_, taken_;
  std::string prefix_;
};

}  // namespace patchbay
