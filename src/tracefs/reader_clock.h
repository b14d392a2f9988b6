// SPDX-License-Identifier: MIT
//
// From the raw clock of records to the clock that an instance shows.
#pragma once

#include <cstdint>

#include "ring_buffer/buffer_file.h"
#include "tracefs/place.h"

namespace patchbay::tracefs {

uint64_t to_clock(const TraceArray& array, TreeState& tree, uint64_t raw);
// All times of a page, in place.
void page_to_clock(const TraceArray& array, TreeState& tree, PageImage& page);

}  // namespace patchbay::tracefs
