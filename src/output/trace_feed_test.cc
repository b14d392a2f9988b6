// SPDX-License-Identifier: MIT
// TraceText over a real buffer: what it consumes is gone for others, and the other way round.
#include "output/trace_feed.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>

#include "output/trace_text.h"

namespace patchbay {
namespace {

struct RealBuffer : ::testing::Test {
  RealBuffer() {
    RingBufferOptions options;
    options.path = ::testing::TempDir() + "trace_feed_test." + std::to_string(::getpid());
    ::unlink(options.path.c_str());
    options.nr_cpus = uint32_t(::sysconf(_SC_NPROCESSORS_CONF));
    options.bytes_per_cpu = 64 * 1024;
    auto made = RingBuffer::create(options);
    EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().message());
    buffer = std::move(*made);
    buffer->add_clock_pair();
    EXPECT_TRUE(buffer->enable().ok());
    call = {"app", "count", 900, common_fields(), {{"int", "n", 8, 4, true}}, "\"n=%d\", REC->n"};
    sources.events = [this] { return std::vector<const EventCall*>{&call}; };
    sources.comms = [] { return std::vector<abi::CommEntry>(); };
    sources.clock = [](TraceClock clock) {
      return TraceClockConvert(clock, abi::kClockMonotonic, {});
    };
  }
  ~RealBuffer() override { ::unlink(buffer->path().c_str()); }
  void write(int from, int to) {
    for (int n = from; n < to; n++) {
      uint8_t record[12] = {};
      uint16_t id = 900;
      std::memcpy(record, &id, 2);
      std::memcpy(record + 8, &n, 4);
      EXPECT_EQ(buffer->publish(record, sizeof record), 0);
    }
  }
  // The numbers of the lines.
  static std::vector<int> numbers(const std::string& text) {
    std::vector<int> all;
    for (size_t at = 0; (at = text.find("count: n=", at)) != std::string::npos; at += 9)
      all.push_back(std::atoi(text.c_str() + at + 9));
    return all;
  }
  static std::vector<int> range(int from, int to) {
    std::vector<int> all;
    for (int n = from; n < to; n++) all.push_back(n);
    return all;
  }
  std::string all(TraceText* text) {
    std::string out;
    for (std::string part; !(part = text->next(4096)).empty();) out += part;
    return out;
  }
  std::string trace() {
    TraceText text(sources, array, buffer.get(), TraceText::Mode::kTrace, {});
    return all(&text);
  }

  std::unique_ptr<RingBuffer> buffer;
  EventCall call;
  TraceTextSources sources;
  TraceArray array;
};

TEST_F(RealBuffer, TraceDoesNotConsumeAndThePipeDoes) {
  write(0, 300);
  EXPECT_EQ(numbers(trace()), range(0, 300));
  EXPECT_EQ(numbers(trace()), range(0, 300));
  TraceText pipe(sources, array, buffer.get(), TraceText::Mode::kPipe, {});
  std::vector<int> first = numbers(pipe.next(4096));
  ASSERT_GT(first.size(), 30u);
  ASSERT_LT(first.size(), 100u);
  EXPECT_EQ(numbers(trace()), range(int(first.size()), 300));
  write(300, 310);
  EXPECT_EQ(numbers(all(&pipe)), range(int(first.size()), 310));
  EXPECT_EQ(numbers(trace()), range(0, 0));
  write(310, 320);
  EXPECT_EQ(numbers(pipe.next(1)), range(310, 311));
  buffer->clear();
  write(320, 330);
  EXPECT_EQ(numbers(all(&pipe)), range(320, 330));
}

TEST_F(RealBuffer, ThePipeSpeaksOfWhatWasOverwritten) {
  write(0, 20000);
  TraceText pipe(sources, array, buffer.get(), TraceText::Mode::kPipe, {});
  std::string text = all(&pipe);
  std::vector<int> seen = numbers(text);
  uint64_t lost = 0;
  for (size_t at = 0; (at = text.find("[LOST ", at)) != std::string::npos; at += 6)
    lost += std::strtoull(text.c_str() + at + 6, nullptr, 10);
  EXPECT_EQ(seen.size() + lost, 20000u);
  EXPECT_EQ(seen.back(), 19999);
  EXPECT_EQ(trace().find("LOST"), std::string::npos);
}

TEST_F(RealBuffer, APipeGoesOnOverAResize) {
  write(0, 200);
  TraceText pipe(sources, array, buffer.get(), TraceText::Mode::kPipe, {});
  std::vector<int> seen = numbers(pipe.next(4096));
  EXPECT_TRUE(buffer->resize({}, 256 * 1024).ok());
  write(200, 300);
  for (int n : numbers(all(&pipe))) seen.push_back(n);
  EXPECT_EQ(seen, range(0, 300));
}

TEST_F(RealBuffer, CounterNumbersGoOnOverReads) {
  array.clock = TraceClock::kCounter;
  write(0, 100);
  TraceText pipe(sources, array, buffer.get(), TraceText::Mode::kPipe, {});
  std::string text = all(&pipe);
  write(100, 101);
  text = all(&pipe);
  EXPECT_NE(text.find("          101: count: n=100\n"), std::string::npos) << text;
  TraceText again(sources, array, buffer.get(), TraceText::Mode::kPipe, {});
  write(101, 102);
  text = all(&again);
  EXPECT_NE(text.find("          102: count: n=101\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace patchbay
