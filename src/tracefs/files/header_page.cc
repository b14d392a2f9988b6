// SPDX-License-Identifier: MIT
// events/header_page: the layout of a sub-buffer. Readers take offsets and sizes from this text.
#include "tracefs/files/files.h"

namespace patchbay::tracefs {

FilePtr make_header_page(const Place& place) {
  return make_text_file(place, [](TraceArray& array, const Place&) -> Result<std::string> {
    uint32_t data_size = array.buffer->rings()->subbuf_size - abi::kPageHeaderSize;
    return "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
           "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
           "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
           "\tfield: char data;\toffset:16;\tsize:" +
           std::to_string(data_size) + ";\tsigned:0;\n";
  });
}

}  // namespace patchbay::tracefs
