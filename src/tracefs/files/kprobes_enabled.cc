// SPDX-License-Identifier: MIT
// kprobes/enabled takes all probes of kprobe_events out of the program, and puts them back.
// kprobes/optimization says whether probes that are defined from now on may become jumps (the
// kernel's debug.kprobes-optimization). What both take is what the kernel takes for a truth value.
#include "tracefs/files/files.h"

namespace patchbay::tracefs {
namespace {

std::optional<bool> truth_value(std::string_view text) {
  if (text.empty()) return {};
  if (std::string_view("yYtT1").find(text[0]) != text.npos) return true;
  if (std::string_view("nNfF0").find(text[0]) != text.npos) return false;
  if (text.size() < 2 || (text[0] != 'o' && text[0] != 'O')) return {};
  if (text[1] == 'n' || text[1] == 'N') return true;
  if (text[1] == 'f' || text[1] == 'F') return false;
  return {};
}

}  // namespace

FilePtr make_kprobes_enabled(const Place& place) {
  auto show = [](TraceArray&, const Place& at) -> Result<std::string> {
    return std::string(at.tree->context.probes.armed() ? "1\n" : "0\n");
  };
  auto write = [](TraceArray&, const Place& at, std::string_view bytes) -> Status {
    const std::optional<bool> on = truth_value(bytes);
    if (!on) return user_error(EINVAL, "This is 0 or 1.");
    return at.tree->context.probes.set_armed(*on);
  };
  return make_value_file(place, show, write);
}

FilePtr make_kprobes_optimization(const Place& place) {
  auto show = [](TraceArray&, const Place& at) -> Result<std::string> {
    return std::string(at.tree->context.probes.optimization() ? "1\n" : "0\n");
  };
  auto write = [](TraceArray&, const Place& at, std::string_view bytes) -> Status {
    const std::optional<bool> on = truth_value(bytes);
    if (!on) return user_error(EINVAL, "This is 0 or 1.");
    at.tree->context.probes.set_optimization(*on);
    return {};
  };
  return make_value_file(place, show, write);
}

}  // namespace patchbay::tracefs
