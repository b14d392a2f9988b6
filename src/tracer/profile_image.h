// SPDX-License-Identifier: MIT
// What the function profiler has counted, as values; as bytes for the tool (abi/table_abi.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace patchbay {

struct ProfiledFunction {
  uint64_t calls = 0, time_ns = 0;
  uint64_t place = 0;  // of its entry in `object`, the same in each process
  std::string name, object;

  std::string place_text() const;  // "libshop.so.1@0x1a40"
};

std::string profile_bytes(const std::vector<ProfiledFunction>& functions);
// EBADMSG.
Result<std::vector<ProfiledFunction>> parse_profile(std::string_view untrusted);

}  // namespace patchbay
