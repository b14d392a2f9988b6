// SPDX-License-Identifier: MIT
// buffer_subbuf_size_kb: KB of one sub-buffer. Changing it clears the buffer; events/header_page
// follows. 3 gives 4, 5 gives 8; 0 and 513 are EINVAL (kernel 6.12).
#include "registry/settings.h"
#include "tracefs/files/files.h"

namespace patchbay::tracefs {

FilePtr make_buffer_subbuf_size_kb(const Place& place) {
  auto show = [](TraceArray& array, const Place&) -> Result<std::string> {
    return std::to_string(array.buffer->rings()->subbuf_size >> 10) + "\n";
  };
  auto write = [](TraceArray& array, const Place& at, std::string_view bytes) -> Status {
    PB_ASSIGN(uint64_t kb, parse_number(bytes));
    return at.registry().settings().set_subbuf_size(array, kb);
  };
  return make_value_file(place, show, write);
}

}  // namespace patchbay::tracefs
