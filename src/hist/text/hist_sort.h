// SPDX-License-Identifier: MIT
//
// The order of a histogram's entries in its file: by up to two keys or values, each ascending or
// descending; what is equal in the order in which it first came.
#pragma once

#include <cstdint>
#include <vector>

#include "hist/definition/hist_data.h"
#include "hist/hist_table.h"

namespace patchbay {

// Indexes into `entries`, sorted as `hist` says (hitcount, ascending, when it says nothing).
std::vector<uint32_t> sort_hist_entries(const HistData& hist,
                                        const std::vector<HistEntry>& entries);

}  // namespace patchbay
