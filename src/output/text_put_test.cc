// SPDX-License-Identifier: MIT
#include "output/text_put.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "output/graph_text.h"
#include "output/line_columns.h"
#include "output/trace_line.h"

namespace patchbay {
namespace {

// Values of all lengths, at both sides of each power of ten.
std::vector<uint64_t> numbers() {
  std::vector<uint64_t> all = {0, ~uint64_t{0}, uint64_t{1} << 63};
  for (uint64_t power = 1;; power *= 10) {
    for (uint64_t value : {power - 1, power, power + 1}) all.push_back(value);
    if (power == 10000000000000000000u) return all;
  }
}

TEST(Pieces, NumbersAreThoseOfTheLibrary) {
  std::string made, expected;
  {
    Pieces pieces(&made);
    for (uint64_t value : numbers()) {
      pieces.put_unsigned(value);
      pieces.put(' ');
      pieces.put_signed(int64_t(value));
      pieces.put(',');
      pieces.put_hex(value);
      char text[80];
      std::snprintf(text, sizeof text, "%llu %lld,%llx", static_cast<unsigned long long>(value),
                    static_cast<long long>(value), static_cast<unsigned long long>(value));
      expected += text;
    }
  }
  EXPECT_EQ(made, expected);
}

TEST(TextPut, NumbersOfSixteenBytes) {
  const auto wide = [](unsigned __int128 value, bool is_signed, unsigned base) {
    std::string text;
    put_wide(&text, value, is_signed, base);
    return text;
  };
  const auto top = static_cast<unsigned __int128>(1) << 127;
  EXPECT_EQ(wide(0, true, 10), "0");
  EXPECT_EQ(wide(top, true, 10), "-170141183460469231731687303715884105728");
  EXPECT_EQ(wide(top, false, 10), "170141183460469231731687303715884105728");
  EXPECT_EQ(wide(top | 0xabc, false, 16), "80000000000000000000000000000abc");
  EXPECT_EQ(wide(~top, true, 10), "170141183460469231731687303715884105727");
  std::string text;
  put_long_double(&text, 1.5L);
  put_long_double(&text, 1.0L / 3);
  EXPECT_EQ(text, "1.5~0.3333333333333333");
}

TEST(Pieces, TextsOfEachLengthStandBehindEachOther) {
  std::string long_text, made, expected;
  for (int i = 0; i < 300; i++) long_text += char('!' + i % 90);
  {
    Pieces pieces(&made);
    for (size_t size = 0; size <= long_text.size(); size++) {
      pieces.put(std::string_view(long_text).substr(long_text.size() - size));
      expected += long_text.substr(long_text.size() - size);
    }
    pieces.flush();
    EXPECT_EQ(made, expected);
    pieces.put("behind it");
  }
  EXPECT_EQ(made, expected + "behind it");
}

TEST(PutDigits, AreTheLastOnes) {
  char text[32];
  for (uint64_t value : numbers())
    for (int digits = 1; digits <= 20; digits++) {
      const std::string made(text, size_t(put_digits(text, value, digits) - text));
      std::string whole = std::to_string(value);
      if (whole.size() < 20) whole.insert(0, 20 - whole.size(), '0');
      EXPECT_EQ(made, whole.substr(20 - size_t(digits))) << value;
    }
}

TEST(LineColumns, AreThoseOfPrintf) {
  for (uint64_t value : numbers()) {
    const uint64_t us = value / 1000 + (value % 1000 >= 500);
    char text[128];
    for (uint32_t cpu : {0u, 7u, 42u, 999u, 1000u, 4294967295u}) {
      std::snprintf(text, sizeof text, "[%03u] ..... %5llu.%06llu: ", cpu,
                    static_cast<unsigned long long>(us / 1000000),
                    static_cast<unsigned long long>(us % 1000000));
      std::string made;
      put_place_and_time(&made, cpu, 0, 0, value);
      EXPECT_EQ(made, text);
    }
    const int32_t pid = int32_t(value);
    for (const char* comm : {"", "sh", "sixteen letters.", "longer than sixteen letters, and 32"}) {
      std::snprintf(text, sizeof text, "%16s-%-7d ", comm, pid);
      std::string made;
      put_task(&made, comm, pid);
      EXPECT_EQ(made, text);
    }
  }
}

// trace_print_graph_duration() of the kernel: seven digits, eight columns.
TEST(GraphDuration, IsThatOfPrintf) {
  std::vector<uint64_t> all = numbers();
  for (uint64_t ns = 0; ns < 3000; ns++) all.push_back(ns);
  for (uint64_t ns : all) {
    std::string wanted = std::to_string(ns / 1000);
    if (wanted.size() < 7) {
      char rest[8];
      std::snprintf(rest, sizeof rest, ".%03u", unsigned(ns % 1000));
      wanted = (wanted + rest).substr(0, std::min<size_t>(wanted.size() + 4, 8));
    }
    const size_t length = wanted.size();
    wanted += " us ";
    if (length < 8) wanted.append(8 - length, ' ');
    std::string made;
    put_graph_duration(&made, ns);
    EXPECT_EQ(made, wanted) << ns;
    EXPECT_LE(made.size(), kGraphDurationSize);
  }
}

// A text that is plain is what append_escaped() leaves as it is.
TEST(IsPlain, SaysWhatEscapingChanges) {
  std::mt19937 random(7);
  for (int byte = 0; byte < 256; byte++)
    for (size_t size = 1; size < 40; size++) {
      std::string text(size, ' ');
      for (char& c : text) c = char(' ' + random() % 95);
      EXPECT_TRUE(is_plain(text));
      text[random() % size] = char(byte);
      EXPECT_EQ(is_plain(text), byte >= ' ' && byte < 127) << byte << " in " << size;
    }
}

}  // namespace
}  // namespace patchbay
