// SPDX-License-Identifier: MIT
// events/header_event: how an event's header is packed. The text is the kernel's, byte by byte.
#include "tracefs/files/files.h"

namespace patchbay::tracefs {
namespace {

constexpr const char kText[] =
    "# compressed entry header\n"
    "\ttype_len    :    5 bits\n"
    "\ttime_delta  :   27 bits\n"
    "\tarray       :   32 bits\n"
    "\n"
    "\tpadding     : type == 29\n"
    "\ttime_extend : type == 30\n"
    "\ttime_stamp : type == 31\n"
    "\tdata max type_len  == 28\n";

}  // namespace

FilePtr make_header_event(const Place& place) {
  return make_text_file(
      place, [](TraceArray&, const Place&) -> Result<std::string> { return std::string(kText); });
}

}  // namespace patchbay::tracefs
