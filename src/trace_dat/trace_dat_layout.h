// SPDX-License-Identifier: MIT
// Everything of a trace.dat but its pages, as bytes (version 6 and 7).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace_dat/trace_dat_write.h"

namespace patchbay {

// The file from its start up to the first page. CPU i's pages belong at (*offsets)[i]:
// `reserved[i]` pages have room there, `present[i]` of them are listed.
std::string trace_dat_layout(const TraceDatOptions& options, const TraceDatMetadata& metadata,
                             const std::vector<uint64_t>& reserved,
                             const std::vector<uint64_t>& present, std::vector<uint64_t>* offsets);

}  // namespace patchbay
