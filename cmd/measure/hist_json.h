// SPDX-License-Identifier: MIT
//
// A histogram as one JSON object on a line.
//
//   {"definition": "hist:keys=n:…", "entries": [{"keys": {"n": 3}, "values": {"hitcount": 7}}, …],
//    "hits": 7, "nr_entries": 1, "dropped": 0}
//
// A name with an address is {"symbol": "f", "address": 4096}, a power of two or a bucket
// {"from": 5, "to": 8}, a stack a list of functions, the counters of a value {"sum": 9, "ranges":
// [{"from": 4, "to": 4, "hits": 1}, …]}. What an entry's actions have kept is in "actions". A text
// of which there was more ends in "...".
#pragma once

#include <string>

#include "hist/image/hist_image.h"

namespace patchbay::cmd {

std::string hist_json(const HistImage& image);

}  // namespace patchbay::cmd
