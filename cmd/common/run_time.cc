// SPDX-License-Identifier: MIT
#include "cmd/common/run_time.h"

#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <charconv>
#include <string>
#include <utility>

#include "base/monotonic_clock.h"

namespace patchbay::cmd {
namespace {

uint64_t g_run_ns = 0;  // 0: until somebody or something ends it
uint64_t g_end_ns = 0;  // once it has begun
std::string g_run_text;

}  // namespace

bool parse_time(std::string_view text, uint64_t* ns, std::string_view without) {
  struct Unit {
    std::string_view name;
    double ns;
  };
  constexpr Unit kUnits[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}};
  constexpr double kMost = 1e6 * 1e9;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return false;
  std::string_view unit = text.substr(size_t(end - text.data()));
  if (unit.empty()) unit = without;
  for (const Unit& one : kUnits) {
    if (unit != one.name || !(value >= 0) || value * one.ns > kMost) continue;
    *ns = uint64_t(value * one.ns);
    return true;
  }
  return false;
}

const char* take_run_time(std::string_view value) {
  if (!parse_time(value, &g_run_ns) || g_run_ns == 0)
    return "--for takes a time with its unit: 10s, 500ms, 2m.";
  g_run_text = value;
  return nullptr;
}

std::string_view run_time_text() { return g_run_text; }

// By the kernel's own calls: those of libc are new in 2.34, and the portable tool runs on older
// ones.
void run_time_begins() {
  if (g_run_ns == 0) return;
  constexpr uint64_t kSecond = 1'000'000'000;
  sigevent event = {};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGTERM;
  int timer = 0;
  itimerspec when = {};
  when.it_value = {time_t(g_run_ns / kSecond), long(g_run_ns % kSecond)};
  if (::syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer) != 0) return;
  ::syscall(SYS_timer_settime, timer, 0, &when, nullptr);
  g_end_ns = monotonic_ns() + std::exchange(g_run_ns, 0);
}

bool run_time_is_over() { return g_end_ns != 0 && monotonic_ns() >= g_end_ns; }

}  // namespace patchbay::cmd
