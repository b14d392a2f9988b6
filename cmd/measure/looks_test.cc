// SPDX-License-Identifier: MIT
#include "cmd/measure/looks.h"

#include <gtest/gtest.h>

namespace patchbay::cmd {
namespace {

TEST(LookPause, GrowsUpToAShareOfTheTime) {
  LookPause pause(5, 250);
  std::vector<int> pauses;
  for (const int64_t look_ms : {0, 0, 0, 0, 0, 0, 0, 0, 40, 40, 5000, 5000, 0}) {
    pauses.push_back(pause.ms());
    pause.next(look_ms);
  }
  EXPECT_EQ(pauses,
            (std::vector<int>{5, 10, 20, 40, 80, 160, 250, 250, 250, 500, 800, 1600, 2000}));
  EXPECT_EQ(pause.ms(), 250);
}

TEST(LookTexts, SayHowOldTheCountsAre) {
  EXPECT_EQ(lost_at_end_text(1250),
            "did not end by exit(); what it counted is that of 1.25 s before its end was noticed");
  EXPECT_EQ(silent_text(60), "does not answer (stopped?); what it counted is that of 0.06 s ago");
}

}  // namespace
}  // namespace patchbay::cmd
