// SPDX-License-Identifier: MIT
#include "output/clock_curve.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace patchbay {
namespace {

// 0.5 ns a tick and a little, which differs from fit to fit as pairs of clocks do.
ClockLine line_of(int64_t error_ns, uint32_t mult = 1u << 30) {
  return {0, uint64_t(int64_t{1'000'000'000} + error_ns), mult, 31};
}
constexpr uint64_t kSecond = 2'000'000'000;  // in ticks

TEST(ClockCurve, IsItsOnlyLine) {
  ClockCurve none, one(line_of(0));
  EXPECT_EQ(none.to_ns(123), 123u);
  for (uint64_t ticks : {uint64_t{0}, uint64_t{1}, kSecond, 100 * kSecond})
    EXPECT_EQ(one.to_ns(ticks), line_of(0).to_ns(ticks));
}

TEST(ClockCurve, UntilSomethingIsShownTheNewestLineIsTheTruth) {
  ClockCurve curve(line_of(5000));
  curve.bend(kSecond, line_of(0));
  EXPECT_EQ(curve.to_ns(kSecond / 2), line_of(0).to_ns(kSecond / 2));
}

TEST(ClockCurve, WhatWasShownStaysAndTimeNeverGoesBack) {
  std::mt19937_64 random(1);
  ClockCurve curve(line_of(0));
  std::vector<std::pair<uint64_t, uint64_t>> shown;
  uint64_t now = kSecond;
  for (int fit = 0; fit < 300; fit++) {
    for (int i = 0; i < 20; i++) {
      const uint64_t ticks = now - random() % kSecond;
      shown.push_back({ticks, curve.to_ns(ticks)});
    }
    now += 1 + random() % (fit % 3 ? kSecond : 1000);
    curve.bend(now, line_of(int64_t(random() % 2000) - 1000));
    for (const auto& [ticks, ns] : shown) ASSERT_EQ(curve.to_ns(ticks), ns) << fit;
  }
  std::sort(shown.begin(), shown.end());
  for (size_t i = 1; i < shown.size(); i++) EXPECT_GE(shown[i].second, shown[i - 1].second);
}

TEST(ClockCurve, MeetsTheNewLine) {
  ClockCurve curve(line_of(0));
  curve.to_ns(kSecond);
  curve.bend(3 * kSecond, line_of(700));
  EXPECT_NEAR(double(curve.to_ns(3 * kSecond)), double(line_of(700).to_ns(3 * kSecond)), 3);
  EXPECT_NEAR(double(curve.to_ns(9 * kSecond)), double(line_of(700).to_ns(9 * kSecond)), 3);
  EXPECT_NEAR(double(curve.to_ns(2 * kSecond)), double(line_of(350).to_ns(2 * kSecond)), 3);
  // A line that is far behind is waited for.
  curve.bend(9 * kSecond + 1, line_of(-50'000'000));
  const uint64_t shown = curve.to_ns(9 * kSecond);
  EXPECT_EQ(curve.to_ns(9 * kSecond + 1000), shown);
  EXPECT_GE(curve.to_ns(10 * kSecond), shown);
}

TEST(ClockCurve, TheSameLineAgainIsNoBend) {
  ClockCurve curve(line_of(0)), other(line_of(0));
  curve.to_ns(kSecond);
  for (uint64_t i = 2; i < 50; i++) curve.bend(i * kSecond, line_of(0));
  for (uint64_t i = 1; i < 60; i++) EXPECT_EQ(curve.to_ns(i * kSecond), other.to_ns(i * kSecond));
}

}  // namespace
}  // namespace patchbay
