// SPDX-License-Identifier: MIT
//
// Snapshots at a hit: what was in the buffer at that moment, whatever is written until the control
// thread comes (ring_cut.h). The last test has eight threads on all CPUs and prints its seed.
#include "ring_buffer/ring_cut.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>

#include "base/raw_syscall.h"
#include "base/testing.h"
#include "hot/rseq_testing.h"
#include "ring_buffer/buffer_file.h"
#include "ring_buffer/ring_buffer.h"
#include "ring_buffer/ring_reader.h"
#include "ring_buffer/ring_state.h"
#include "ring_buffer/ring_write_hot.h"

namespace patchbay {
namespace {

struct Payload {
  abi::RecordHeader header;
  uint32_t thread, number;
};

void use_rseq(bool on) { pb_rseq_offset = on ? test::rseq_offset() : 0; }

using Numbers = std::vector<uint32_t>;
Numbers range(uint32_t from, uint32_t to) {
  Numbers numbers;
  for (uint32_t n = from; n < to; n++) numbers.push_back(n);
  return numbers;
}

// One thread on CPU 0, with rseq or by the ring with the lock.
class RingCutTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    use_rseq(GetParam());
    if (GetParam() && !pb_rseq_offset) GTEST_SKIP() << "this libc or kernel has no rseq";
    pb_thread.tid = uint32_t(raw_syscall(SYS_gettid));
    one_cpu_.emplace(0);
    make(true);
  }
  void TearDown() override {
    one_cpu_.reset();
    spare_.reset();
    buffer_.reset();
    forget_directory();
    pb_rseq_offset = 0;
  }
  void forget_directory() {
    for (const char* name : {"/buffer", "/snapshot"}) ::unlink((directory_ + name).c_str());
    if (!directory_.empty()) ::rmdir(directory_.c_str());
  }
  void make(bool in_file, uint64_t bytes = 16 * 4080) {
    RingBufferOptions options;
    if (in_file) {
      char directory[] = "/tmp/ring_cut_test.XXXXXX";
      ASSERT_NE(::mkdtemp(directory), nullptr);
      directory_ = directory;
      options.path = directory_ + "/buffer";
    }
    options.nr_cpus = uint32_t(::sysconf(_SC_NPROCESSORS_CONF));
    options.bytes_per_cpu = bytes;
    auto buffer = RingBuffer::create(options);
    ASSERT_TRUE(buffer.ok()) << buffer.error().message();
    buffer_ = std::move(*buffer);
    if (buffer_->header()->clock != abi::kClockTsc) pb_rseq_offset = 0;
    ring_ = pb_rseq_offset ? 0 : options.nr_cpus;
    ASSERT_TRUE(buffer_->enable().ok());
    rings_ = buffer_->rings();
  }
  void allocate() { ASSERT_TRUE(buffer_->allocate_spare(&spare_).ok()); }
  int write_one() {
    Payload payload{{7, 0, 0, 1}, 1, next_++};
    return ring_publish(&rings_, reinterpret_cast<const uint8_t*>(&payload), sizeof payload);
  }
  void write(uint32_t count) {
    for (uint32_t i = 0; i < count; i++) ASSERT_EQ(write_one(), kRingPublished);
  }
  void serve() {
    ASSERT_TRUE(buffer_->has_pending_cut());
    Status status = buffer_->take_cut(&spare_);
    ASSERT_TRUE(status.ok()) << status.error().message();
    EXPECT_FALSE(buffer_->has_pending_cut());
  }
  Numbers read_all(RingBuffer* buffer) {
    RingReader reader(buffer, false);
    Numbers all;
    PageImage page;
    while (reader.next_page(ring_, true, &page)) {
      EventIterator events(page.bytes, page.used);
      EventView event;
      while (events.next(&event)) {
        Payload payload;
        std::memcpy(&payload, event.record.data(), sizeof payload);
        all.push_back(payload.number);
      }
      EXPECT_FALSE(events.malformed());
    }
    return all;
  }
  // Everything up to the cut was there or overwritten before, what came later is in the buffer.
  void expect_split_at(uint32_t cut) {
    const RingCounts moved = spare_->counts(ring_), rest = buffer_->counts(ring_);
    EXPECT_EQ(moved.entries + moved.overrun, cut);
    EXPECT_EQ(rest.entries + rest.overrun, next_ - cut);
    EXPECT_EQ(read_all(spare_.get()), range(cut - uint32_t(moved.entries), cut));
    EXPECT_EQ(read_all(buffer_.get()), range(next_ - uint32_t(rest.entries), next_));
  }
  static constexpr uint32_t kWhole = 4080 / 20 * 15;  // the least that a full ring has

  std::optional<test::OneCpu> one_cpu_;
  std::string directory_;
  std::unique_ptr<RingBuffer> buffer_, spare_;
  const RingSet* rings_ = nullptr;
  uint32_t ring_ = 0, next_ = 0;
};

TEST_P(RingCutTest, HasWhatWasThereAtTheHit) {
  allocate();
  write(100);
  ASSERT_TRUE(ring_cut(rings_));
  write(7);
  serve();
  expect_split_at(100);
  EXPECT_EQ(spare_->counts(ring_).entries, 100u);
}

// However far the writers have come, also once round the ring and more.
TEST_P(RingCutTest, NothingOfItIsOverwritten) {
  allocate();
  for (uint32_t later : {300u, 2000u, 3300u, 6600u, 40000u}) {
    SCOPED_TRACE(later);
    const uint32_t start = next_;
    write(5000 + later / 7);
    const uint64_t held = buffer_->counts(ring_).entries;
    ASSERT_TRUE(ring_cut(rings_));
    const uint32_t cut = next_;
    write(later);
    serve();
    const RingCounts moved = spare_->counts(ring_), rest = buffer_->counts(ring_);
    EXPECT_GE(moved.entries, held);
    EXPECT_LE(moved.entries, cut - start);
    EXPECT_EQ(read_all(spare_.get()), range(cut - uint32_t(moved.entries), cut));
    EXPECT_EQ(rest.entries + rest.overrun, later);
    EXPECT_EQ(read_all(buffer_.get()), range(next_ - uint32_t(rest.entries), next_));
    buffer_->clear();
  }
}

TEST_P(RingCutTest, TheLastOfSeveralWins) {
  allocate();
  write(50);
  ASSERT_TRUE(ring_cut(rings_));
  write(60);
  ASSERT_TRUE(ring_cut(rings_));
  write(70);
  serve();
  EXPECT_EQ(read_all(spare_.get()), range(50, 110));
  EXPECT_EQ(spare_->counts(ring_).overrun, 0u) << "what the first one took is not lost here";
  EXPECT_EQ(spare_->counts(ring_).read, 0u);
  EXPECT_EQ(read_all(buffer_.get()), range(110, 180));
  ASSERT_TRUE(ring_cut(rings_));
  ASSERT_TRUE(ring_cut(rings_));
  serve();
  EXPECT_TRUE(read_all(spare_.get()).empty()) << "nothing came between the two";
  EXPECT_TRUE(read_all(buffer_.get()).empty());
}

TEST_P(RingCutTest, SeveralWhileTheRingGoesRound) {
  allocate();
  for (int i = 0; i < 5; i++) {
    write(1900);
    ASSERT_TRUE(ring_cut(rings_));
  }
  write(9000);
  serve();
  EXPECT_EQ(read_all(spare_.get()), range(4 * 1900, 5 * 1900));
  const RingCounts rest = buffer_->counts(ring_);
  EXPECT_EQ(rest.entries + rest.overrun, 9000u);
}

TEST_P(RingCutTest, ASnapshotOfNowComesBehindIt) {
  allocate();
  write(10);
  ASSERT_TRUE(ring_cut(rings_));
  write(20);
  ASSERT_TRUE(buffer_->take_snapshot(&spare_, {}).ok());
  EXPECT_EQ(read_all(spare_.get()), range(10, 30));
  EXPECT_FALSE(buffer_->has_pending_cut());
}

TEST_P(RingCutTest, WithoutTheRoomNoneIsTaken) {
  write(10);
  EXPECT_FALSE(ring_cut(rings_));
  EXPECT_FALSE(ring_cut(RingBuffer::dead_rings()));
  allocate();
  ASSERT_TRUE(ring_cut(rings_));
  buffer_->forget_cuts();
  spare_.reset();
  EXPECT_FALSE(buffer_->has_pending_cut());
  EXPECT_FALSE(ring_cut(rings_));
  write(9000);
  ASSERT_TRUE(buffer_->take_snapshot(&spare_, {}).ok());
  buffer_->clear();
  write(3);
  ASSERT_TRUE(ring_cut(rings_)) << "with the spare buffer the room is back";
  write(9000);
  serve();
  EXPECT_EQ(read_all(spare_.get()), range(18010 - 9000, 18010 - 9000 + 3));
}

TEST_P(RingCutTest, WithoutOverwritingTheRestCountsAsDropped) {
  allocate();
  buffer_->set_overwrite(false);
  write(kWhole / 4);
  const uint32_t cut = next_;
  ASSERT_TRUE(ring_cut(rings_));
  uint32_t published = 0;
  for (int i = 0; i < 9000; i++) published += write_one() == kRingPublished;
  serve();
  EXPECT_EQ(read_all(spare_.get()), range(0, cut));
  EXPECT_EQ(read_all(buffer_.get()), range(cut, cut + published));
  EXPECT_EQ(write_one(), kRingPublished) << "there is room again";
}

TEST_P(RingCutTest, AnotherSizeTakesItAlong) {
  allocate();
  write(30);
  const RingSet* late = rings_;
  ASSERT_TRUE(ring_cut(rings_));
  write(10);
  ASSERT_TRUE(buffer_->resize({}, 40 * 4080).ok());
  rings_ = buffer_->rings();
  write(10);
  serve();
  expect_split_at(30);
  ASSERT_TRUE(ring_cut(late)) << "a thread that has not seen the new rings yet";
  EXPECT_FALSE(buffer_->has_pending_cut());
  buffer_->settle();
  serve();
  EXPECT_EQ(read_all(spare_.get()), range(30, 50));
  write(5);
  ASSERT_TRUE(ring_cut(rings_));
  ASSERT_TRUE(buffer_->set_subbuf_size(8192).ok());
  EXPECT_FALSE(buffer_->has_pending_cut()) << "the buffer was cleared";
}

// A child has no control thread: its hit is served by the parent's, and what it overwrites it
// copies itself. It was forked before anybody wanted a snapshot.
TEST_P(RingCutTest, OfAForkedChild) {
  write(5000);
  int begin[2], end[2];
  ASSERT_EQ(::pipe(begin) | ::pipe(end), 0);
  char byte = 0;
  const pid_t child = ::fork();
  if (child == 0) {
    pb_thread.tid = uint32_t(raw_syscall(SYS_gettid));
    bool good = ::read(begin[0], &byte, 1) == 1;
    for (int i = 0; i < 100; i++) good &= write_one() == kRingPublished;
    good &= ring_cut(rings_);
    for (int i = 0; i < 4000; i++) good &= write_one() == kRingPublished;
    ::_exit(good ? 0 : 1);
  }
  allocate();
  ASSERT_EQ(::write(begin[1], &byte, 1), 1);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  for (int fd : {begin[0], begin[1], end[0], end[1]}) ::close(fd);
  next_ += 4100;
  serve();
  expect_split_at(5100);
  EXPECT_GE(spare_->counts(ring_).entries, kWhole);
}

// What the files are when the process is killed between the hit and the copy.
TEST_P(RingCutTest, BeforeTheCopyTheFilesAreAsIfThereWereNoHit) {
  allocate();
  write(100);
  ASSERT_TRUE(buffer_->take_snapshot(&spare_, {}).ok());
  write(2000);
  ASSERT_TRUE(ring_cut(rings_));
  write(9000);
  for (const char* name : {"/buffer", "/snapshot"}) {
    auto file = BufferFile::open(directory_ + name, false);
    ASSERT_TRUE(file.ok()) << file.error().message();
    PageImage page;
    uint64_t events = 0, lost = 0;
    while ((*file)->next_page(ring_, true, &page)) {
      events += page.entries;
      lost += page.lost_before;
    }
    EXPECT_EQ(events + lost, name[1] == 's' ? 100u : 11000u) << name;
    EXPECT_EQ(lost == 0, name[1] == 's');
  }
}

TEST_P(RingCutTest, InMemory) {
  forget_directory();
  buffer_.reset();
  make(false);
  allocate();
  write(5000);
  const uint64_t held = buffer_->counts(ring_).entries;
  ASSERT_TRUE(ring_cut(rings_));
  write(9000);
  serve();
  expect_split_at(5000);
  EXPECT_GE(spare_->counts(ring_).entries, held);
  buffer_->forget_cuts();
}

TEST_P(RingCutTest, AnEarlierMomentThatIsEnteredLater) {
  allocate();
  auto* cut = const_cast<RingCut*>(&rings_->cut);
  ring_cut_at(cut, 100);
  ring_cut_at(cut, 300);
  EXPECT_EQ(cut->from, 100u);
  EXPECT_EQ(cut->to, 300u);
  for (uint64_t time : {200, 300, 200, 50, 100}) ring_cut_at(cut, time);
  EXPECT_EQ(cut->from, 200u);
  EXPECT_EQ(cut->to, 300u);
  if (!pb_rseq_offset) return;
  ASSERT_EQ(ring_cut_rseq(cut, ~uint64_t{0} - 1), 1) << "not before the floor";
  EXPECT_EQ(cut->from, 300u);
  EXPECT_EQ(cut->to, ~uint64_t{0} - 1);
}

INSTANTIATE_TEST_SUITE_P(Rings, RingCutTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Rseq" : "Locked"; });

// --- under load

constexpr uint32_t kThreads = 8;

// What a thread knows of its records: up to `before` they were published when nobody had asked for
// a snapshot yet; from `after` on they were begun when it had been asked for.
struct Writer {
  std::atomic<uint32_t> published{0};
  uint32_t before = 0, after = ~0u;
};

class RingCutLoad : public RingCutTest {
 protected:
  void SetUp() override {
    RingCutTest::SetUp();
    one_cpu_.reset();
    const char* seed = ::getenv("PATCHBAY_SEED");
    seed_ = seed ? uint32_t(::strtoul(seed, nullptr, 0)) : std::random_device{}();
  }
  void write_for_ever(uint32_t thread) {
    pb_thread.tid = uint32_t(raw_syscall(SYS_gettid));
    Writer& self = writers_[thread];
    for (uint32_t number = 1; !stop_; number++) {
      const bool asked = done_;
      Payload payload{{7, 0, 0, 1}, thread, number};
      if (ring_publish(&rings_, reinterpret_cast<const uint8_t*>(&payload), sizeof payload) !=
          kRingPublished) {
        number--;
        continue;
      }
      self.published = number;
      if (asked && self.after == ~0u) self.after = number;
      if (!begun_) self.before = number;
    }
    pb_thread = {};
  }
  // A thread of its own, so that it too is preempted: a record, and the snapshot that it fires.
  void fire() {
    pb_thread.tid = uint32_t(raw_syscall(SYS_gettid));
    Payload payload{{7, 0, 0, 1}, kThreads, 1};
    const uint64_t before = published();
    while (ring_publish(&rings_, reinterpret_cast<const uint8_t*>(&payload), sizeof payload))
      continue;
    begun_ = true;
    ASSERT_TRUE(ring_cut(rings_));
    between_ = published() - before;
    done_ = true;
    pb_thread = {};
  }
  uint64_t published() {
    uint64_t sum = 0;
    for (Writer& writer : writers_) sum += writer.published;
    return sum;
  }
  void wait_for(uint64_t count) {
    while (published() < count) ::usleep(100);
  }
  // Each ring's records, without a gap.
  template <typename See>
  uint64_t walk(RingBuffer* buffer, See see) {
    uint64_t sum = 0;
    RingReader reader(buffer, false);
    PageImage page;
    for (uint32_t ring = 0; ring < reader.nr_rings(); ring++) {
      const RingCounts counts = buffer->counts(ring);
      uint64_t entries = 0;
      while (reader.next_page(ring, true, &page)) {
        EXPECT_TRUE(entries == 0 || page.lost_before == 0);
        EventIterator events(page.bytes, page.used);
        for (EventView event; events.next(&event); entries++) {
          Payload payload;
          std::memcpy(&payload, event.record.data(), sizeof payload);
          see(payload);
        }
        EXPECT_FALSE(events.malformed());
      }
      EXPECT_EQ(entries, counts.entries) << ring;
      if (buffer == spare_.get() && counts.overrun && GetParam()) {
        EXPECT_GE(entries, kWhole) << "overwritten after the hit, ring " << ring;
      }
      sum += counts.entries + counts.overrun;
    }
    return sum;
  }
  void run_once(std::mt19937* random);

  uint32_t seed_ = 0;
  std::atomic<bool> stop_{false}, begun_{false}, done_{false};
  uint64_t between_ = 0;  // records of others between the one that fires and the hit's moment
  Writer writers_[kThreads];
};

void RingCutLoad::run_once(std::mt19937* random) {
  allocate();
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < kThreads; i++) threads.emplace_back([this, i] { write_for_ever(i); });
  wait_for(3000 + (*random)() % 20000);
  std::thread(&RingCutLoad::fire, this).join();
  wait_for(published() + (*random)() % 40000);  // up to several times round the ring
  serve();
  stop_ = true;
  for (std::thread& thread : threads) thread.join();
  bool fired = false;
  const uint64_t moved = walk(spare_.get(), [&](const Payload& record) {
    fired |= record.thread == kThreads;
    if (record.thread < kThreads) {
      ASSERT_LT(record.number, writers_[record.thread].after);
    }
  });
  // Where it was preempted for so long before it asked, others may have overwritten its record.
  EXPECT_TRUE(fired || between_ > kWhole) << "the record that fired is not in the snapshot";
  const uint64_t rest = walk(buffer_.get(), [&](const Payload& record) {
    ASSERT_LT(record.thread, kThreads);
    ASSERT_GT(record.number, writers_[record.thread].before);
  });
  EXPECT_EQ(moved + rest, published() + 1);
}

// A ring of 64 KB has some 3000 of these records.
TEST_P(RingCutLoad, TheSnapshotIsThatOfTheHit) {
  std::mt19937 random(seed_);
  for (int i = 0; i < 20 && !HasFailure(); i++) {
    SCOPED_TRACE("PATCHBAY_SEED=" + std::to_string(seed_) + " round " + std::to_string(i));
    run_once(&random);
    spare_.reset();
    buffer_.reset();
    forget_directory();
    stop_ = begun_ = done_ = false;
    for (Writer& writer : writers_) writer.published = writer.before = 0, writer.after = ~0u;
    make(true);
  }
}

INSTANTIATE_TEST_SUITE_P(Rings, RingCutLoad, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Rseq" : "Locked"; });

}  // namespace
}  // namespace patchbay
