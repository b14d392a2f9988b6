// SPDX-License-Identifier: MIT
// Any event with any text behind its line's columns: without the escape sequences it is as before.
#include "base/check.h"
#include "cmd/report/report_color.cc"  // the tool is no library

using namespace patchbay;
using namespace patchbay::cmd;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t end = text.find('\0');
  if (end == text.npos) return 0;
  EventCall event;
  event.system = size % 2 ? "ftrace" : "app";
  event.name = text.substr(0, end);
  event.fields = {{"unsigned long", "func", 8, 8}, {"int", "depth", 16, 4}};
  event.id = 1;
  std::string plain, colored;
  append_escaped(&plain, text.substr(end + 1));
  const ReportColors colors({event});
  const uint8_t record[] = {1, 0};
  colors.append_text(&colored, plain, record);
  for (std::string_view color : {kDim, kCyan, kYellow, kRed, kBold, kPlain})
    for (size_t at; (at = colored.find(color)) != colored.npos;) colored.erase(at, color.size());
  PB_CHECK(colored == plain);
  return 0;
}
