// SPDX-License-Identifier: MIT
//
// The text of a histogram as it is shown. The file `hist` has sums and keys as the kernel writes
// them, without a sign; a reader wants -5 where it has 18446744073709551611.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace patchbay::cmd {

// `signed_fields`: of the event. Numbers of these in keys and sums get their sign. What has a
// modifier stays as it is: .hex shows bits.
std::string with_hist_signs(std::string_view untrusted_text,
                            const std::set<std::string>& signed_fields);

}  // namespace patchbay::cmd
