// SPDX-License-Identifier: MIT
// Every writer of this folder against the model, byte for byte: records of all sizes, over the ends
// of sub-buffers and of the ring, with time extends, in rings that overwrite and in rings that drop
// (G1, G2, G3, and G8 for the locked one). A failing run prints its seed.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include "base/testing.h"
#include "hot/rseq_testing.h"
#include "ring_buffer/ring_buffer.h"
#include "ring_buffer/ring_follower.h"
#include "ring_buffer/ring_publish_at.h"

namespace patchbay {
namespace {

using Rings = const RingSet* const*;
using Write = int (*)(Rings, const uint8_t* record, uint32_t size);

int write_rseq(Rings rings, const uint8_t* record, uint32_t size) {
  return ring_publish_rseq(rings, record, size);
}
int write_pieces(Rings rings, const uint8_t* record, uint32_t size) {
  if (size <= abi::kMaxSmallData || size % 8) return ring_publish_rseq(rings, record, size);
  const uint32_t cut = size / 2 & ~7u;
  const RingPiece pieces[] = {{0, cut}, {cut, size}, {0, 0}};
  return ring_publish_pieces(rings, record, size, pieces);
}
int write_at(Rings rings, const uint8_t* record, uint32_t size) {
  return ring_publish_rseq_at(rings, record, size, __builtin_ia32_rdtsc());
}
int write_value(Rings rings, const uint8_t* record, uint32_t size) {
  uint64_t words[2];
  std::memcpy(words, record, sizeof words);
  if (size == sizeof words &&
      ring_publish_value_at(rings, words[0], words[1], __builtin_ia32_rdtsc()) == kRingPublished)
    return kRingPublished;
  return ring_publish_rseq(rings, record, size);
}
int write_locked(Rings rings, const uint8_t* record, uint32_t size) {
  return ring_publish_locked(rings, record, size, 1);
}

struct Writer {
  const char* name;
  Write write;
  bool is_locked;
};
constexpr Writer kWriters[] = {{"Rseq", write_rseq, false},
                               {"Pieces", write_pieces, false},
                               {"At", write_at, false},
                               {"Value", write_value, false},
                               {"Locked", write_locked, true}};

class RingWriters : public ::testing::TestWithParam<std::tuple<Writer, bool>> {
 protected:
  void SetUp() override {
    pb_rseq_offset = test::rseq_offset();
    if (!writer().is_locked && !pb_rseq_offset) GTEST_SKIP() << "this libc or kernel has no rseq";
    make_ring();
  }
  void TearDown() override { pb_rseq_offset = 0; }
  void make_ring() {
    char directory[] = "/dev/shm/patchbay_writers_XXXXXX";
    ASSERT_NE(::mkdtemp(directory), nullptr);
    RingBufferOptions options;
    options.path = std::string(directory) + "/buffer";
    options.nr_cpus = uint32_t(::sysconf(_SC_NPROCESSORS_CONF));
    options.bytes_per_cpu = 5 * 4096;
    options.overwrite = std::get<1>(GetParam());
    auto made = RingBuffer::create(options);
    ASSERT_TRUE(made.ok()) << made.error().message();
    buffer_ = std::move(*made);
    ASSERT_TRUE(buffer_->enable().ok());
    buffer_->remove_file();
    ::rmdir(directory);
    rings_ = buffer_->rings();
    follower_.emplace(rings_, writer().is_locked ? options.nr_cpus : one_cpu_.cpu);
  }
  const Writer& writer() const { return std::get<0>(GetParam()); }

  int write(const std::string& record) {
    alignas(8) std::array<uint8_t, 4096> bytes;
    std::memcpy(bytes.data(), record.data(), record.size());
    return writer().write(&rings_, bytes.data(), uint32_t(record.size()));
  }
  abi::RingControl& control() {
    return *rings_->control(writer().is_locked ? rings_->nr_cpus : one_cpu_.cpu);
  }
  // Longer than the delta of a record can say.
  static void wait_for_time_extend() {
    const uint64_t from = __builtin_ia32_rdtsc();
    while (__builtin_ia32_rdtsc() - from <= uint64_t{1} << abi::kDeltaBits) ::usleep(10000);
  }

  // Mostly of the usual case, at times as large as a sub-buffer.
  uint32_t random_size() {
    constexpr uint32_t kLargest = 4096 - abi::kPageHeaderSize - 8;
    switch (random_() % 8) {
      case 0:
        return 16;
      case 1:
        return 8 + uint32_t(random_() % (kLargest / 4 - 1)) * 4;
      case 2:
        return 120 + uint32_t(random_() % 40) * 8;
      default:
        return 8 + uint32_t(random_() % 27) * 4;
    }
  }

  const uint64_t seed_ = std::random_device()();
  std::mt19937_64 random_{seed_};
  std::unique_ptr<RingBuffer> buffer_;
  const RingSet* rings_ = nullptr;
  std::optional<test::RingFollower> follower_;
  const test::OneCpu one_cpu_;
};

TEST_P(RingWriters, WriteWhatTheModelWrites) {
  SCOPED_TRACE("seed " + std::to_string(seed_));
  const bool drops = !std::get<1>(GetParam());
  alignas(8) std::array<uint8_t, 4096> record;
  for (int i = 0; i < 4000; i++) {
    const uint32_t size = std::min<uint32_t>(random_size(), 4072);
    for (uint32_t at = 0; at < size; at += 4) {
      const auto word = uint32_t(random_());
      std::memcpy(record.data() + at, &word, 4);
    }
    if (i == 500) wait_for_time_extend();
    const int status = writer().write(&rings_, record.data(), size);
    ASSERT_EQ(status, drops && status ? kRingDropped : kRingPublished) << i;
    ASSERT_TRUE(follower_->follow({reinterpret_cast<char*>(record.data()), size})) << i;
    if (i % 50 == 0) {
      ASSERT_TRUE(follower_->is_equal()) << i;
    }
  }
  EXPECT_TRUE(follower_->is_equal());
}

// An event that fits, but not behind the time extend that it needs, begins the next sub-buffer.
TEST_P(RingWriters, ATimeExtendNeedsRoomToo) {
  const std::string record(8, 'r');
  std::vector<uint32_t> room = {16, 12, 20};     // 4 of a header and 8 of data, and 8 of the extend
  if (!std::get<1>(GetParam())) room.resize(1);  // what is dropped has no time
  for (const uint32_t left : room) {
    // Records of 8 bytes up to there, and one that leaves just so much.
    for (;;) {
      const uint32_t used = uint32_t(control().publish) % 4096;
      const uint32_t free = used ? 4096 - used : 0;
      const bool is_last = free >= left + 12 && free < left + 12 + 12;
      const std::string bytes(is_last ? free - left - 4 : 8, 'x');
      ASSERT_NE(write(bytes), kRingOff);
      ASSERT_TRUE(follower_->follow(bytes));
      if (is_last) break;
    }
    wait_for_time_extend();
    ASSERT_NE(write(record), kRingOff);
    ASSERT_TRUE(follower_->follow(record)) << left;
    ASSERT_TRUE(follower_->is_equal()) << left;
  }
}

// A virtual machine that was moved may show an earlier time: then the record has that of the last
// one.
TEST_P(RingWriters, TimeNeverGoesBack) {
  const std::string record(8, 'r');
  ASSERT_EQ(write(record), kRingPublished);
  ASSERT_TRUE(follower_->follow(record));
  uint64_t* last = &control().slot[control().publish & abi::kParityBit ? 1 : 0].time;
  const uint64_t time = *last + (uint64_t{1} << 45);  // hours ahead of the clock
  *last = time;
  ASSERT_EQ(write(record), kRingPublished);
  EXPECT_EQ(control().slot[control().publish & abi::kParityBit ? 1 : 0].time, time);
}

INSTANTIATE_TEST_SUITE_P(All, RingWriters,
                         ::testing::Combine(::testing::ValuesIn(kWriters), ::testing::Bool()),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param).name) +
                                  (std::get<1>(info.param) ? "Overwrites" : "Drops");
                         });

}  // namespace
}  // namespace patchbay
