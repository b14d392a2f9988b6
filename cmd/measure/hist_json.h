// SPDX-License-Identifier: MIT
//
// The text of a file `hist` as one JSON object on a line:
//
//   { n:          3, name: sh   } hitcount:          2  size:          9      (50 columns of name)
//   {"definition": "hist:keys=n,name:vals=hitcount,size:…",
//    "entries": [{"keys": {"n": 3, "name": "sh"}, "values": {"hitcount": 2, "size": 9}}],
//    "hits": 2, "nr_entries": 1, "dropped": 0}
//
// The text does not say what is a number. But numbers are set to the right, and texts fill at least
// 50 columns with blanks on their right. Which digits are hexadecimal, the definition says.
#pragma once

#include <string>
#include <string_view>

namespace patchbay::cmd {

// Its line end included. A text without a histogram gives one without entries.
std::string hist_json(std::string_view untrusted_text);

}  // namespace patchbay::cmd
