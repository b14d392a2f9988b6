// SPDX-License-Identifier: MIT
// trace_clock: the clocks, the current one in brackets. Setting one clears the buffer, also when it
// is the current one. Blanks around the name are allowed; 64 bytes are too many.
#include "base/text.h"
#include "registry/settings.h"
#include "tracefs/files/files.h"

namespace patchbay::tracefs {
namespace {

Result<std::string> show(TraceArray& array, const Place&) {
  std::string text;
  for (size_t i = 0; i < kTraceClocks.size(); i++) {
    std::string name(kTraceClocks[i].name);
    if (!text.empty()) text += " ";
    text += array.clock == TraceClock(i) ? "[" + name + "]" : name;
  }
  return text + "\n";
}

Status write(TraceArray& array, const Place& place, std::string_view bytes) {
  PB_ASSIGN(std::string_view text, take_whole(bytes, kOptionLimit));
  std::string_view name = trim(text);
  for (size_t i = 0; i < kTraceClocks.size(); i++) {
    if (kTraceClocks[i].name == name)
      return place.registry().settings().set_clock(array, TraceClock(i));
  }
  return user_error(EINVAL,
                    "There is no clock '" + std::string(name) + "'; trace_clock lists them.");
}

}  // namespace

FilePtr make_trace_clock(const Place& place) { return make_value_file(place, show, write); }

}  // namespace patchbay::tracefs
