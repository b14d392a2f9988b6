// SPDX-License-Identifier: MIT
// Raw pages in a clock's units: times by our own walk, and by libtraceevent's kbuffer, which is
// what trace-cmd reads trace_pipe_raw with (skipped where it is not installed).
#include "output/raw_page.h"

#include <gtest/gtest.h>

#include <random>
#include <span>

#include "abi/ftrace_records.h"
#include "base/guarded_bytes.h"
#include "output/page_feed.h"

#if __has_include(<traceevent/kbuffer.h>)
#include <dlfcn.h>
#include <traceevent/kbuffer.h>
#define HAVE_JUDGE 1
#endif

namespace patchbay {
namespace {

using test::make_page;

// 2.5 GHz: 0.4 ns a tick.
std::vector<abi::ClockPair> pairs() {
  return {{1000000000, 5000000000, 0}, {3500000000, 6000000000, 0}, {26000000000, 15000000000, 0}};
}

std::vector<uint64_t> times(const PageImage& page) {
  EventIterator events(page.bytes, page.used);
  EventView event;
  std::vector<uint64_t> all;
  while (events.next(&event)) all.push_back(event.time);
  EXPECT_FALSE(events.malformed());
  return all;
}

PageImage random_page(uint32_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::pair<uint64_t, std::string>> events;
  uint64_t time = 2000000000 + random() % 1000000;
  for (size_t bytes = 0; bytes < 3500;) {
    uint64_t kind = random() % 10;
    time += kind == 0 ? random() % (uint64_t{1} << 36) : kind < 3 ? 0 : random() % 5000;
    events.push_back({time, std::string(8 + 4 * (random() % 40), char('a' + kind))});
    bytes += events.back().second.size() + 16;
  }
  return make_page(events, seed % 3);
}

TEST(RawPage, EachEventIsAtTheConvertedTime) {
  TraceClockConvert clock(TraceClock::kMono, abi::kClockTsc, pairs());
  for (uint32_t seed = 0; seed < 300; seed++) {
    PageImage page = random_page(seed), before = page;
    convert_raw_page(page.bytes, clock);
    std::vector<uint64_t> expected = times(before);
    for (uint64_t& time : expected) time = clock.convert(time);
    EXPECT_EQ(times(page), expected);
    EXPECT_EQ(page.bytes.size(), before.bytes.size());
    EXPECT_EQ(0, std::memcmp(page.bytes.data() + 8, before.bytes.data() + 8, 8)) << "commit";
  }
}

TEST(RawPage, TicksStayAsTheyAre) {
  for (TraceClock clock : {TraceClock::kTsc, TraceClock::kCounter}) {
    PageImage page = random_page(1), before = page;
    convert_raw_page(page.bytes, TraceClockConvert(clock, abi::kClockTsc, pairs()));
    EXPECT_EQ(page.bytes, before.bytes);
  }
}

// A TSC below 1 GHz: a delta may not have room for its nanoseconds. Time never goes back, and
// catches up.
TEST(RawPage, SlowTicks) {
  TraceClockConvert clock(TraceClock::kMono, abi::kClockTsc,
                          {{1000, 1000, 0}, {1000000001000, 4000000001000, 0}});
  uint64_t delta = (uint64_t{1} << 27) - 1;
  PageImage page = make_page({{5000, "12345678"},
                              {5000 + delta, "12345678"},
                              {5100 + delta, "12345678"},
                              {6000 + 40 * delta, "12345678"}});
  std::vector<uint64_t> expected = times(page);
  for (uint64_t& time : expected) time = clock.convert(time);
  convert_raw_page(page.bytes, clock);
  std::vector<uint64_t> shown = times(page);
  ASSERT_EQ(shown.size(), 4u);
  EXPECT_EQ(shown[0], expected[0]);
  EXPECT_EQ(shown[1], shown[0] + delta);
  EXPECT_EQ(shown[2], shown[1] + delta);
  EXPECT_EQ(shown[3], expected[3]);
}

// Offset and bytes of each record of a page; of a graph exit, whose times are converted too, the
// bytes before them.
std::vector<std::pair<size_t, std::string>> records(std::span<const uint8_t> page) {
  const uint32_t commit = uint32_t(page[8]) | uint32_t(page[9]) << 8;
  EventIterator events(page, std::min(commit, uint32_t(page.size() - abi::kPageHeaderSize)));
  std::vector<std::pair<size_t, std::string>> found;
  for (EventView event; events.next(&event);) {
    std::string bytes(event.record.begin(), event.record.end());
    if (bytes.size() >= sizeof(abi::GraphExitRecord) && uint8_t(bytes[0]) == abi::kGraphExitId)
      bytes.resize(offsetof(abi::GraphExitRecord, calltime));
    found.emplace_back(event.record.data() - page.data(), bytes);
  }
  return found;
}

// Any bytes; every other word is a small number, as lengths are.
std::vector<uint8_t> hostile_page(std::mt19937_64& random) {
  std::vector<uint8_t> page(random() % 300);
  for (uint8_t& byte : page) byte = uint8_t(random());
  for (size_t at = 8; at + 4 <= page.size(); at += 4)
    if (at == 8 || random() % 2) page[at + 1] = page[at + 2] = page[at + 3] = 0;
  return page;
}

// The page ends where nobody may read or write. Only times change: the records and the bytes behind
// the committed ones are those of before.
TEST(RawPage, HostilePagesStayInsideTheirBytes) {
  TraceClockConvert clock(TraceClock::kTai, abi::kClockTsc, pairs());
  test::GuardedBytes guarded(300);
  std::mt19937_64 random(7);
  size_t events = 0;
  for (int i = 0; i < 20000; i++) {
    const std::vector<uint8_t> before = hostile_page(random);
    const std::span<uint8_t> page = guarded.put(before);
    convert_raw_page(page, clock);
    ASSERT_TRUE(guarded.is_front_intact()) << i;
    if (before.size() < abi::kPageHeaderSize) {
      ASSERT_TRUE(std::equal(page.begin(), page.end(), before.begin())) << i;
      continue;
    }
    const size_t end = std::min(before.size(), abi::kPageHeaderSize + size_t(before[8]));
    ASSERT_TRUE(std::equal(page.begin() + 8, page.begin() + 16, before.begin() + 8)) << i;
    ASSERT_TRUE(std::equal(page.begin() + ptrdiff_t(end), page.end(), before.begin() + end)) << i;
    const auto expected = records(before);
    ASSERT_EQ(records(page), expected) << i;
    events += expected.size();
  }
  EXPECT_GT(events, 10000u);
}

TEST(TraceClock, OffsetsOfTheSystemsClocks) {
  uint64_t ticks = raw_clock_now(abi::kClockTsc);
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  uint64_t mono = uint64_t(now.tv_sec) * 1000000000 + uint64_t(now.tv_nsec);
  std::vector<abi::ClockPair> now_pairs = {{ticks - 2500000000, mono - 1000000000, 0},
                                           {ticks, mono, 0}};
  const std::pair<TraceClock, clockid_t> rows[] = {{TraceClock::kMono, CLOCK_MONOTONIC},
                                                   {TraceClock::kMonoRaw, CLOCK_MONOTONIC_RAW},
                                                   {TraceClock::kBoot, CLOCK_BOOTTIME},
                                                   {TraceClock::kTai, CLOCK_TAI}};
  for (const auto& [clock, id] : rows) {
    TraceClockConvert convert(clock, abi::kClockTsc, now_pairs);
    clock_gettime(id, &now);
    double there = double(now.tv_sec) * 1e9 + double(now.tv_nsec);
    EXPECT_NEAR(double(convert.convert(ticks)), there, 10e9) << int(clock);
    EXPECT_TRUE(convert.in_ns());
  }
  TraceClockConvert uptime(TraceClock::kUptime, abi::kClockTsc, now_pairs);
  EXPECT_NEAR(double(uptime.convert(ticks)), double(mono / 10000000), 2);
  EXPECT_FALSE(uptime.in_ns());
}

#ifdef HAVE_JUDGE
template <typename F>
F* find(void* library, const char* name) {
  return reinterpret_cast<F*>(dlsym(library, name));
}
#define TEP(name) find<decltype(name)>(library, #name)

TEST(RawPage, KbufferReadsTheSameTimesAndRecords) {
  void* library = dlopen("libtraceevent.so.1", RTLD_NOW);
  if (!library) GTEST_SKIP() << "libtraceevent.so.1 (Debian: libtraceevent1) is not installed";
  TraceClockConvert clock(TraceClock::kBoot, abi::kClockTsc, pairs());
  for (uint32_t seed = 0; seed < 100; seed++) {
    PageImage page = random_page(seed);
    PageImage raw = page;
    convert_raw_page(page.bytes, clock);
    kbuffer* buffer = TEP(kbuffer_alloc)(KBUFFER_LSIZE_8, KBUFFER_ENDIAN_LITTLE);
    ASSERT_EQ(TEP(kbuffer_load_subbuffer)(buffer, page.bytes.data()), 0);
    EventIterator walk(raw.bytes, raw.used);
    EventView event;
    unsigned long long stamp = 0;
    void* data = TEP(kbuffer_read_event)(buffer, &stamp);
    while (walk.next(&event)) {
      ASSERT_TRUE(data);
      EXPECT_EQ(stamp, clock.convert(event.time));
      EXPECT_EQ(0, std::memcmp(data, event.record.data(), event.record.size()));
      data = TEP(kbuffer_next_event)(buffer, &stamp);
    }
    EXPECT_FALSE(data);
    TEP(kbuffer_free)(buffer);
  }
}
#endif

}  // namespace
}  // namespace patchbay
