// SPDX-License-Identifier: MIT
#include "cmd/measure/looks.h"

#include <algorithm>
#include <cstdio>

namespace patchbay::cmd {
namespace {

constexpr int64_t kLongestMs = 2000, kShareOfTime = 20;

std::string aged_text(const char* format, int64_t age_ms) {
  char text[120];
  std::snprintf(text, sizeof text, format, double(age_ms) / 1e3);
  return text;
}

}  // namespace

void LookPause::next(int64_t look_ms) {
  const int64_t most = std::max<int64_t>(std::min(look_ms * kShareOfTime, kLongestMs), most_ms_);
  ms_ = int(std::min<int64_t>(2 * ms_, most));
}

std::string lost_at_end_text(int64_t age_ms) {
  return aged_text(
      "did not end by exit(); what it counted is that of %.2f s before its end was noticed",
      age_ms);
}

std::string counted_before_text(int64_t age_ms) {
  return aged_text("what it counted is that of %.2f s before that", age_ms);
}

std::string silent_text(int64_t age_ms) {
  return aged_text("does not answer (stopped?); what it counted is that of %.2f s ago", age_ms);
}

}  // namespace patchbay::cmd
