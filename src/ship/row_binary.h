// SPDX-License-Identifier: MIT
//
// Rows of ClickHouse's format RowBinary, one behind the other:
//
//   number            its bytes, little-endian         Nullable(T)   1, or 0 and the T
//   String            its length as LEB128, its bytes   Array(T)      LEB128 count, each T
//   UUID              two numbers of 8 bytes, the high half first        Date   u16: days
//
// The bytes are appended to one buffer, whose memory stays: no row allocates anything.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "ship/ship_table.h"

namespace patchbay {

class RowBinary {
 public:
  template <typename T>
  void put(T value) {
    append(&value, sizeof value);
  }
  void put_length(uint64_t value) {
    char bytes[10];
    size_t size = 0;
    for (; value >= 0x80; value >>= 7) bytes[size++] = char(value | 0x80);
    bytes[size++] = char(value);
    append(bytes, size);
  }
  void put_text(std::string_view text) {
    put_length(text.size());
    append(text.data(), text.size());
  }
  void append(const void* at, size_t size) {
    if (size > bytes_.size() - used_) grow(size);
    std::memcpy(bytes_.data() + used_, at, size);
    used_ += size;
  }
  std::string_view bytes() const { return {bytes_.data(), used_}; }
  size_t size() const { return used_; }
  void clear() { used_ = 0; }

 private:
  void grow(size_t size) { bytes_.resize(std::max(bytes_.size() * 2, used_ + size + 4096)); }
  // Not a string that grows: filling it with zeros would be half of the work.
  std::vector<char> bytes_;
  size_t used_ = 0;
};

// The columns of an event, one after the other, as EventTables gives them.
class RowBinaryRow {
 public:
  RowBinaryRow(RowBinary* out, const std::vector<ShipColumn>* columns, std::string* room)
      : out_(out), columns_(columns), list_(room) {}
  // The next column to be written.
  void go_to(size_t column) { at_ = column; }
  void number(uint64_t bits) {
    const ShipColumn& column = (*columns_)[at_];
    put_number(in_list_ ? nullptr : out_, column.type, bits);
    next();
  }
  void text(std::string_view text);
  // Of a number 0, of an array none.
  void null();
  void begin_list() {
    in_list_ = true;
    count_ = 0;
    list_->clear();
  }
  void end_list() {
    out_->put_length(count_);
    out_->append(list_->data(), list_->size());
    in_list_ = false;
    at_++;
  }

 private:
  void put_number(RowBinary* out, ColumnType type, uint64_t bits) {
    const size_t size = size_of(type);
    if (out)
      out->append(&bits, size);
    else
      list_->append(reinterpret_cast<const char*>(&bits), size);
  }
  void next() { in_list_ ? void(count_++) : void(at_++); }

  RowBinary* out_;
  const std::vector<ShipColumn>* columns_;
  std::string* list_;  // the elements, whose number stands before them
  size_t at_ = 0;
  uint64_t count_ = 0;
  bool in_list_ = false;
};

}  // namespace patchbay
