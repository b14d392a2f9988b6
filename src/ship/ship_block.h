// SPDX-License-Identifier: MIT
//
// What is shipped: one recording, cut into blocks.
//
//   source: a recording   ── table A ── block 0 │ row 0 … 99,999 │ block 1 │ row 0 … │
//                         └─ table B ── block 0 │ row 0 … │
//
// A block is the rows of one table, sent in one request. The same recording gives the same blocks
// each time, so (host, source, block) in a table says whether it is there: who has sent one and got
// no answer asks, and sends it again if it is not.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ship/ship_table.h"

namespace patchbay {

// Where rows come from, the same for all of a source.
struct ShipOrigin {
  std::string host;
  std::array<uint8_t, 16> boot_id{};  // as its text has the digits; zeros: not known
  uint64_t source = 0;
  // CLOCK_REALTIME less the recording's clock, in nanoseconds.
  int64_t wall_offset = 0;
  bool has_wall = false;
};
// "9c3f…-…": 32 hexadecimal digits, with dashes wherever. False: it is none.
bool parse_boot_id(std::string_view text, std::array<uint8_t, 16>* id);
std::string boot_id_text(const std::array<uint8_t, 16>& id);

struct ShipBlock {
  const ShipTable* table = nullptr;
  const ShipOrigin* origin = nullptr;
  uint32_t number = 0;
  uint32_t rows = 0;
  std::string_view bytes;                       // RowBinary
  const std::vector<uint32_t>* ends = nullptr;  // of each row, in the bytes
};

class ShipSink {
 public:
  virtual ~ShipSink() = default;
  // Before the first block of a table. An error of EEXIST refuses this table alone.
  virtual Status prepare(const ShipTable& table, const ShipOrigin& origin) = 0;
  // When this returns without an error the block is there, once.
  virtual Status deliver(const ShipBlock& block) = 0;
};

// Takes all and keeps nothing: what the rest costs.
class NullShipSink : public ShipSink {
 public:
  Status prepare(const ShipTable&, const ShipOrigin&) override { return {}; }
  Status deliver(const ShipBlock& block) override {
    rows += block.rows;
    bytes += block.bytes.size();
    return {};
  }
  uint64_t rows = 0, bytes = 0;
};

}  // namespace patchbay
