// SPDX-License-Identifier: MIT
#include "cmd/measure/looks.h"

#include <algorithm>
#include <cstdio>

#include "base/text.h"

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

std::string list_of_programs(const std::vector<std::string>& names) {
  constexpr size_t kMost = 4;
  const size_t shown = names.size() > kMost ? kMost - 1 : names.size();
  std::string text;
  for (size_t i = 0; i < shown; i++)
    text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  return text +
         (shown < names.size() ? " and " + std::to_string(names.size() - shown) + " more" : "");
}

void add_program(const std::string& exe, std::vector<std::string>* names) {
  std::string name(base_name(exe));
  if (std::find(names->begin(), names->end(), name) == names->end())
    names->push_back(std::move(name));
}

std::string silent_text(int64_t age_ms) {
  return aged_text("does not answer (stopped?); what it counted is that of %.2f s ago", age_ms);
}

}  // namespace patchbay::cmd
