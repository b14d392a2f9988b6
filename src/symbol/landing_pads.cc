// SPDX-License-Identifier: MIT
//
// A table of handlers, as gcc's and clang's personality routines read it:
//
//   | encoding, what landing pads count from (omitted: the function's start)  |
//   | encoding, distance to the table of types (omitted: none)                |
//   | encoding of the call sites, their length in bytes                       |
//   | call site: start, length, landing pad (0: none), action                 |
//   | ...                                                                     |
//
// Personality routines of other languages (Rust, Ada, D, C with cleanup attributes) use the same.
#include "symbol/landing_pads.h"

#include <algorithm>

#include "symbol/eh_frame.h"
#include "symbol/eh_records.h"

namespace patchbay {

bool add_landing_pads(Bytes table, uint64_t address, uint64_t function,
                      std::vector<uint64_t>* pads) {
  ByteReader reader(table);
  uint64_t base = function;
  const uint8_t base_encoding = reader.read<uint8_t>();
  if (base_encoding != kOmittedPointer &&
      !read_encoded_pointer(reader, base_encoding, address + reader.position(), &base)) {
    return false;
  }
  if (reader.read<uint8_t>() != kOmittedPointer) reader.uleb();
  const uint8_t encoding = reader.read<uint8_t>();
  const uint64_t size = reader.uleb();
  if (!reader.ok() || size > reader.remaining() || (encoding & 0xf0) != 0) return false;
  const size_t end = reader.position() + size;
  while (reader.position() < end) {
    uint64_t start = 0, length = 0, pad = 0;
    const bool good = read_encoded_pointer(reader, encoding, 0, &start) &&
                      read_encoded_pointer(reader, encoding, 0, &length) &&
                      read_encoded_pointer(reader, encoding, 0, &pad);
    reader.uleb();  // which handlers
    if (!good || !reader.ok() || reader.position() > end) return false;
    if (pad != 0) pads->push_back(base + pad);
  }
  return true;
}

bool read_landing_pads(const ElfImage& image, std::vector<uint64_t>* pads) {
  pads->clear();
  // Without its section no object has handlers; without sections the unwind tables have to say so.
  if (!image.sections().empty() && !image.find_section(".gcc_except_table")) return true;
  std::vector<HandlerTable> tables;
  if (!read_handler_tables(image, &tables)) return false;
  for (const HandlerTable& table : tables) {
    if (!add_landing_pads(image.at(table.address), table.address, table.function, pads)) {
      return false;
    }
  }
  std::sort(pads->begin(), pads->end());
  pads->erase(std::unique(pads->begin(), pads->end()), pads->end());
  return true;
}

}  // namespace patchbay
