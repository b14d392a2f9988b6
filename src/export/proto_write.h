// SPDX-License-Identifier: MIT
//
// Protocol buffers as bytes. A message is a std::string that its fields are appended to; a message
// inside another one is a string that is put as bytes:
//
//   08 96 01      field 1, varint 150        put_uint(&m, 1, 150)
//   1a 02 68 69   field 3, 2 bytes "hi"      put_bytes(&m, 3, "hi")
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace patchbay::proto {

inline void put_varint(std::string* out, uint64_t value) {
  char bytes[10];
  size_t size = 0;
  for (; value >= 0x80; value >>= 7) bytes[size++] = char(value | 0x80);
  bytes[size++] = char(value);
  out->append(bytes, size);
}
inline void put_tag(std::string* out, uint32_t field, uint32_t wire) {
  put_varint(out, uint64_t(field) << 3 | wire);
}
inline void put_uint(std::string* out, uint32_t field, uint64_t value) {
  put_tag(out, field, 0);
  put_varint(out, value);
}
// int32 and int64: ten bytes below zero.
inline void put_int(std::string* out, uint32_t field, int64_t value) {
  put_uint(out, field, uint64_t(value));
}
inline void put_fixed(std::string* out, uint32_t field, uint64_t bits) {
  put_tag(out, field, 1);
  for (int i = 0; i < 8; i++) *out += char(bits >> 8 * i);
}
inline void put_double(std::string* out, uint32_t field, double value) {
  put_fixed(out, field, std::bit_cast<uint64_t>(value));
}
inline void put_bytes(std::string* out, uint32_t field, std::string_view bytes) {
  put_tag(out, field, 2);
  put_varint(out, bytes.size());
  *out += bytes;
}

}  // namespace patchbay::proto
