// SPDX-License-Identifier: MIT
// Hist commands of words that mean something in every order, one after the other on a few events
// that refer to each other. What is accepted is listed; where its listing is taken again, it is
// listed the same, and it is the same trigger. What is refused leaves an errno, and a caret inside
// the command.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "hist/definition/hist_build_testing.h"

namespace {

using patchbay::HistData;
using patchbay::test::FakeHistWorld;

constexpr std::string_view kWords[] = {"keys=",
                                       "vals=",
                                       "sort=",
                                       "size=",
                                       "name=",
                                       "clock=",
                                       "pause",
                                       "cont",
                                       "clear",
                                       "nohitcount",
                                       ":",
                                       ",",
                                       ".",
                                       "=",
                                       "$",
                                       "(",
                                       ")",
                                       "+",
                                       "-",
                                       "*",
                                       "/",
                                       " if ",
                                       "mask",
                                       "ret",
                                       "common_pid",
                                       "common_timestamp",
                                       "common_cpu",
                                       "common_stacktrace",
                                       "hitcount",
                                       "hex",
                                       "sym-offset",
                                       "execname",
                                       "log2",
                                       "buckets=",
                                       "usecs",
                                       "percent",
                                       "stacktrace",
                                       "quantiles",
                                       "counters",
                                       "syscalls",
                                       "sys_enter_umask",
                                       "sys_exit_umask",
                                       "sched",
                                       "fork",
                                       "parent_comm",
                                       "name",
                                       "stack",
                                       "x",
                                       "y",
                                       "lat",
                                       "onmatch(",
                                       "onmax($",
                                       "onchange($",
                                       ").trace(",
                                       ").save(",
                                       ").snapshot(",
                                       ").sy(",
                                       "sy",
                                       "128",
                                       "0",
                                       "7",
                                       "descending",
                                       "x=mask",
                                       ":y=$x",
                                       "keys=common_pid"};
constexpr size_t kNrWords = sizeof kWords / sizeof kWords[0];
constexpr const char* kEvents[] = {"sys_enter_umask", "sys_exit_umask", "fork"};

std::string command_of(const uint8_t*& data, const uint8_t* end) {
  std::string text;
  while (data < end && *data != 255 && text.size() < 500) {
    const uint8_t byte = *data++;
    if (byte >= 128 && byte < 128 + 95)
      text += char(byte - 128 + ' ');
    else
      text += kWords[byte % kNrWords];
  }
  if (data < end) data++;
  return text;
}

void check_listing(const char* event, const std::string& listing) {
  FakeHistWorld fresh;
  fresh.add_synthetic("sy u64 a");
  std::string again;
  // Without the others' variables it may be refused.
  if (fresh.write(event, std::string_view(listing).substr(5), &again)) return;
  PB_CHECK(again == listing);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const uint8_t* const end = data + size;
  FakeHistWorld world;
  world.add_synthetic("sy u64 a");
  while (data < end) {
    const char* event = kEvents[*data++ % 3];
    const std::string text = command_of(data, end);
    if (text.empty()) continue;
    std::string listing;
    const size_t before = world.hists().size();
    const int error = world.write(event, text, &listing);
    PB_CHECK(error >= 0);
    if (error) continue;
    PB_CHECK(world.hists().size() > before);
    check_listing(event, listing);
    const HistData& hist = *world.hists().back();
    PB_CHECK(!hist.keys.empty() && hist.keys.size() <= patchbay::kMaxHistKeys);
    PB_CHECK(hist.values.size() <= patchbay::kMaxHistValues);
    PB_CHECK(hist.variables.size() <= patchbay::kMaxHistVariables);
    PB_CHECK(same_hist(hist, hist, true));
  }
  return 0;
}
