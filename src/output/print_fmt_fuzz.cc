// SPDX-License-Identifier: MIT
// Input: a print format up to a NUL, then a record. The fields are a fixed set.
#include <algorithm>
#include <string>

#include "output/event_text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace patchbay;
  std::string_view input(reinterpret_cast<const char*>(data), size);
  size_t end = std::min(input.find('\0'), input.size());
  EventCall call{"fuzz", "fuzz", 1, common_fields(), {}, std::string(input.substr(0, end))};
  call.fields = {{"int", "i", 8, 4, true},
                 {"unsigned long", "u", 16, 8},
                 {"char", "c", 24, 16, false, 16},
                 {"u16", "a", 40, 8, false, 4},
                 {"__data_loc char[]", "s", 48, 4},
                 {"__rel_loc u64[]", "d", 52, 4},
                 {"double", "f", 56, 8},
                 {"struct x", "x", 64, 24}};
  std::span<const uint8_t> record(data + end, size - end);
  AddressText addresses(nullptr, true);
  TextContext context;
  context.addresses = &addresses;
  context.escape = true;
  EventText text(call, true);
  std::string out;
  text.append(&out, record, &context);
  text.append_fields(&out, record, &context);
  text.append_json(&out, record, &context);
  return 0;
}
