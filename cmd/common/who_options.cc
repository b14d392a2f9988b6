// SPDX-License-Identifier: MIT
#include "cmd/common/who_options.h"

#include <algorithm>

#include "base/text.h"

namespace patchbay::cmd {

bool take_number_list(std::string_view text, std::vector<uint64_t>* list) {
  constexpr uint64_t kMost = 65536;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    const size_t dash = word.find('-');
    uint64_t first = 0, last = 0;
    if (!to_number(word.substr(0, dash), &first)) return false;
    last = first;
    if (dash != word.npos && !to_number(word.substr(dash + 1), &last)) return false;
    if (last < first || last > UINT32_MAX || last - first >= kMost) return false;
    for (uint64_t number = first; number <= last; number++) list->push_back(number);
    at = end + 1;
  }
  return true;
}

const char* take_who_option(int id, const char* value, WhoChoice* choice) {
  const auto take = [value](std::vector<uint64_t>* list, const char* sentence) {
    return take_number_list(value, list) ? nullptr : sentence;
  };
  switch (id) {
    case kWhoTid:
      return take(&choice->tids, "--tid takes numbers of threads: 12, 12,15, 4-7.");
    case kWhoPid:
      return take(&choice->pids, "--pid takes numbers of processes: 12, 12,15, 4-7.");
    case kWhoTree:
      return take(&choice->trees, "--tree takes numbers of processes: 12, 12,15, 4-7.");
    case kWhoComm:
      choice->comms.push_back(value);
      return *value ? nullptr : "--comm takes a name, or a glob.";
    case kWhoExe:
      choice->exes.push_back(value);
      return *value ? nullptr : "--exe takes a program, or a glob.";
    default:
      return nullptr;
  }
}

}  // namespace patchbay::cmd
