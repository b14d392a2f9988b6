// SPDX-License-Identifier: MIT
// One recording, shipped: opened, told whose it is, cut into blocks, delivered.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cmd/common/export_input.h"
#include "ship/ship_convert.h"

namespace patchbay::cmd {

struct ShipRequest {
  std::string path;
  std::string host;     // empty: as the recording says
  uint64_t source = 0;  // 0: of the file's bytes
  ExportChoice choice;  // -e, -f
  ShipLimits limits;
};

// Where the rows go. `origin` is that of the recording.
using ShipInto = std::function<Status(ExportSource* source, const ShipOrigin& origin,
                                      const std::vector<ShipLoss>& losses)>;

// What a recording says of itself: host, boot, wall clock.
Result<ShipOrigin> origin_of(const ExportInput& input, const ShipRequest& request);
// What a recording has lost beside its marks: events that a full ring dropped.
std::vector<ShipLoss> dropped_of(const ExportInput& input);

// Each recording of the path; a runtime directory has several.
Status ship_recordings(const ShipRequest& request, const ShipInto& into);

}  // namespace patchbay::cmd
