// SPDX-License-Identifier: MIT
// trace_options: one option a line, `no` before those that are off; `NAME` and `noNAME` set one.
// Options of a tracer are here while it is the current one.
#include <optional>

#include "base/text.h"
#include "registry/settings.h"
#include "tracefs/files/files.h"

namespace patchbay::tracefs {
namespace {

bool is_listed(const TraceArray& array, size_t index) {
  switch (owner_of(TraceOption(index))) {
    case OptionOwner::kFunction:
      return array.tracer == Tracer::kFunction;
    case OptionOwner::kFunctionGraph:
      return array.tracer == Tracer::kFunctionGraph;
    default:
      return true;
  }
}

Result<std::string> show(TraceArray& array, const Place&) {
  std::string text;
  for (size_t i = 0; i < kTraceOptions.size(); i++) {
    if (!is_listed(array, i)) continue;
    if (!array.options[TraceOption(i)]) text += "no";
    text += std::string(kTraceOptions[i].name) + "\n";
  }
  return text;
}

std::optional<TraceOption> find_option(const TraceArray& array, std::string_view name) {
  for (size_t i = 0; i < kTraceOptions.size(); i++) {
    if (kTraceOptions[i].name == name && is_listed(array, i)) return TraceOption(i);
  }
  return std::nullopt;
}

Status write(TraceArray& array, const Place& place, std::string_view bytes) {
  PB_ASSIGN(std::string_view text, take_whole(bytes, kOptionLimit));
  std::string_view name = trim(text);
  bool on = !name.starts_with("no");
  if (!on) name.remove_prefix(2);
  std::optional<TraceOption> option = find_option(array, name);
  if (!option) {
    return user_error(EINVAL,
                      "There is no option '" + std::string(name) + "'; trace_options lists them.");
  }
  return place.registry().settings().set_option(array, *option, on);
}

}  // namespace

FilePtr make_trace_options(const Place& place) { return make_value_file(place, show, write); }

}  // namespace patchbay::tracefs
