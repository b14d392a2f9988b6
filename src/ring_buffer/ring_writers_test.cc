// SPDX-License-Identifier: MIT
// Every writer of this folder against the model, byte for byte: records of all sizes, over the ends
// of sub-buffers and of the ring, with time extends, in rings that overwrite and in rings that drop
// (G1, G2, G3, and G8 for the locked one). A failing run prints its seed.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <random>

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
    auto* offset = static_cast<const ptrdiff_t*>(::dlsym(RTLD_DEFAULT, "__rseq_offset"));
    auto* size = static_cast<const unsigned*>(::dlsym(RTLD_DEFAULT, "__rseq_size"));
    pb_rseq_offset = offset && size && *size ? int64_t(*offset) : 0;
    if (!writer().is_locked && !pb_rseq_offset) GTEST_SKIP() << "this libc or kernel has no rseq";
    ASSERT_EQ(::sched_getaffinity(0, sizeof before_, &before_), 0);
    cpu_ = uint32_t(::sched_getcpu());
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu_, &one);
    ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
    make_ring();
  }
  void TearDown() override {
    pb_rseq_offset = 0;
    ::sched_setaffinity(0, sizeof before_, &before_);
  }
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
    follower_.emplace(rings_, writer().is_locked ? options.nr_cpus : cpu_);
  }
  const Writer& writer() const { return std::get<0>(GetParam()); }

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
  cpu_set_t before_;
  uint32_t cpu_ = 0;
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
    if (i == 500) ::usleep(120000);  // a time extend
    const int status = writer().write(&rings_, record.data(), size);
    ASSERT_EQ(status, drops && status ? kRingDropped : kRingPublished) << i;
    ASSERT_TRUE(follower_->follow({reinterpret_cast<char*>(record.data()), size})) << i;
    if (i % 50 == 0) {
      ASSERT_TRUE(follower_->is_equal()) << i;
    }
  }
  EXPECT_TRUE(follower_->is_equal());
}

INSTANTIATE_TEST_SUITE_P(All, RingWriters,
                         ::testing::Combine(::testing::ValuesIn(kWriters), ::testing::Bool()),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param).name) +
                                  (std::get<1>(info.param) ? "Overwrites" : "Drops");
                         });

}  // namespace
}  // namespace patchbay
