// SPDX-License-Identifier: MIT
//
// A column of a table that has the events of one kind: what Parquet, SQLite and CTF are told of a
// field. Names are unique in their table (base/unique_names.h), and none is one of ours: a field
// `pid` of an event becomes `field_pid` beside the event's own pid.
#pragma once

#include <cstdint>
#include <string>

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

}  // namespace patchbay
