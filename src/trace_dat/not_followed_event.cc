// SPDX-License-Identifier: MIT
#include "trace_dat/not_followed_event.h"

#include <algorithm>
#include <cstring>

#include "abi/buffer_abi.h"

namespace patchbay {
namespace {

constexpr size_t kMostText = 1024;  // of each; what is longer is cut

struct Record {
  abi::RecordHeader header;
  uint32_t path, reason;  // __data_loc: the offset, and above it the size with the NUL
};
static_assert(sizeof(Record) == 16);

uint32_t add_text(const std::string& text, std::vector<uint8_t>* record) {
  const size_t length = std::min(text.size(), kMostText);
  const uint32_t place = uint32_t(length + 1) << 16 | uint32_t(record->size());
  record->insert(record->end(), text.begin(), text.begin() + ptrdiff_t(length));
  record->push_back('\0');
  return place;
}

}  // namespace

EventCall not_followed_event() {
  EventCall event;
  event.system = "patchbay";
  event.name = "exec_not_followed";
  event.common = common_fields();
  event.fields = {{"__data_loc char[]", "path", offsetof(Record, path), 4, true},
                  {"__data_loc char[]", "reason", offsetof(Record, reason), 4, true}};
  event.print_fmt = "\"path=%s reason=%s\", __get_str(path), __get_str(reason)";
  return event;
}

std::vector<uint8_t> not_followed_record(const NotFollowed& what, uint16_t id) {
  Record head{};
  head.header.common_type = id;
  head.header.common_pid = what.pid;
  std::vector<uint8_t> record(sizeof head);
  head.path = add_text(what.path, &record);
  head.reason = add_text(what.reason, &record);
  std::memcpy(record.data(), &head, sizeof head);
  return record;
}

}  // namespace patchbay
