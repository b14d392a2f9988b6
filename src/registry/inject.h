// SPDX-License-Identifier: MIT
//
// The language of `inject` (docs/files.md): `field=value …`, values are numbers or quoted
// strings; fields that are not named are zero or empty.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "event/event_call.h"

namespace patchbay {

// A whole record of `call`, padded to 4 bytes, with common_pid still 0. `keep_text` gives a text a
// place for good, for fields that are pointers to characters. ENOENT: no such field; EINVAL: not
// understood; E2BIG: larger than `max_size`.
Result<std::string> make_injected_record(
    const EventCall& call, std::string_view text, size_t max_size,
    const std::function<const char*(std::string_view)>& keep_text);

}  // namespace patchbay
