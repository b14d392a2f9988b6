// SPDX-License-Identifier: MIT
// trace_options: one option a line, `no` before those that are off; `NAME` and `noNAME` set one.
#include "tracefs/files/files.h"

namespace patchbay::tracefs {
namespace {

Result<std::string> show(TraceArray& array, const Place&) {
  std::string text;
  for (size_t i = 0; i < kTraceOptions.size(); i++) {
    if (!array.options[TraceOption(i)]) text += "no";
    text += std::string(kTraceOptions[i].name) + "\n";
  }
  return text;
}

const TraceOptionInfo* find_option(std::string_view name) {
  for (const TraceOptionInfo& info : kTraceOptions) {
    if (info.name == name) return &info;
  }
  return nullptr;
}

Status write(TraceArray& array, const Place& place, std::string_view bytes) {
  Result<std::string_view> text = take_whole(bytes, kOptionLimit);
  if (!text.ok()) return text.error();
  std::string_view name = without_blanks_around(*text);
  bool on = !name.starts_with("no");
  if (!on) name.remove_prefix(2);
  const TraceOptionInfo* info = find_option(name);
  if (!info) {
    return user_error(EINVAL,
                      "There is no option '" + std::string(name) + "'; trace_options lists them.");
  }
  return place.registry().set_option(array, TraceOption(info - kTraceOptions.data()), on);
}

}  // namespace

FilePtr make_trace_options(const Place& place) { return make_value_file(place, show, write); }

}  // namespace patchbay::tracefs
