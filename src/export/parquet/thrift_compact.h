// SPDX-License-Identifier: MIT
//
// Writing Thrift's compact protocol, as far as the metadata of Parquet needs it. A structure is its
// fields in ascending order of their numbers, each with a byte for the step from the number before
// and the type, and a zero byte; numbers are zigzag varints.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace patchbay {

inline void put_varint(std::string* out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) *out += char(value | 0x80);
  *out += char(value);
}
constexpr uint64_t zigzag(int64_t value) { return uint64_t(value) << 1 ^ uint64_t(value >> 63); }

class ThriftCompact {
 public:
  enum Type : uint8_t {
    kTrue = 1,
    kFalse,
    kI8,
    kI16,
    kI32,
    kI64,
    kBinary = 8,
    kList,
    kStruct = 12
  };

  explicit ThriftCompact(std::string* out) : out_(out), last_ids_{0} {}

  void flag(int id, bool value) { field(id, value ? kTrue : kFalse); }
  void i8(int id, int8_t value) {
    field(id, kI8);
    *out_ += char(value);
  }
  void i16(int id, int16_t value) { number(id, kI16, value); }
  void i32(int id, int32_t value) { number(id, kI32, value); }
  void i64(int id, int64_t value) { number(id, kI64, value); }
  void binary(int id, std::string_view bytes) {
    field(id, kBinary);
    element(bytes);
  }
  // What stands between begin_struct() and end_struct() are its fields; those of the outermost
  // structure need only its end_struct().
  void begin_struct(int id) {
    field(id, kStruct);
    begin_element();
  }
  void end_struct() {
    *out_ += '\0';
    last_ids_.pop_back();
  }
  // `count` elements follow, of the kind that `type` says.
  void begin_list(int id, Type type, size_t count) {
    field(id, kList);
    *out_ += char((count < 15 ? count : 15) << 4 | type);
    if (count >= 15) put_varint(out_, count);
  }
  void begin_element() { last_ids_.push_back(0); }  // of a list of structures
  void element(int32_t value) { put_varint(out_, zigzag(value)); }
  void element(std::string_view bytes) {
    put_varint(out_, bytes.size());
    *out_ += bytes;
  }

 private:
  void field(int id, Type type) {
    const int step = id - last_ids_.back();
    if (step > 0 && step <= 15) {
      *out_ += char(step << 4 | type);
    } else {
      *out_ += char(type);
      put_varint(out_, zigzag(id));
    }
    last_ids_.back() = id;
  }
  void number(int id, Type type, int64_t value) {
    field(id, type);
    put_varint(out_, zigzag(value));
  }

  std::string* out_;
  std::vector<int> last_ids_;  // of the structures that are open
};

}  // namespace patchbay
