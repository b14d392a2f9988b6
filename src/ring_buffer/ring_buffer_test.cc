// SPDX-License-Identifier: MIT
//
// What the control side does with a buffer while threads write into it: switching, positions,
// counts, size, snapshot. Records carry a number, so that it can be seen which ones are there; at
// the end every event is accounted for (G3). A failing run of the last tests prints its seed.
#include "ring_buffer/ring_buffer.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/rseq.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <thread>
#include <utility>

#include "base/agreed.h"
#include "base/raw_syscall.h"
#include "base/testing.h"
#include "base/unique_fd.h"
#include "hot/rseq_testing.h"
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

int write_record(const RingSet* const* rings, uint32_t thread, uint32_t number,
                 uint32_t size = sizeof(Payload)) {
  alignas(8) uint8_t record[4072] = {};
  Payload payload{{7, 0, 0, int32_t(thread)}, thread, number};
  std::memcpy(record, &payload, sizeof payload);
  return ring_publish(rings, record, size);
}

std::vector<uint32_t> numbers_of(const PageImage& page) {
  std::vector<uint32_t> numbers;
  EventIterator events(page.bytes, page.used);
  EventView event;
  while (events.next(&event)) {
    Payload payload;
    std::memcpy(&payload, event.record.data(), sizeof payload);
    numbers.push_back(payload.number);
  }
  EXPECT_FALSE(events.malformed());
  EXPECT_EQ(numbers.size(), page.entries);
  return numbers;
}

// One CPU's worth of buffer: this thread stays on CPU 0.
class RingBufferTest : public ::testing::Test {
 protected:
  void SetUp() override {
    use_rseq(true);
    pb_thread.tid = uint32_t(raw_syscall(SYS_gettid));
    one_cpu_.emplace(0);
    if (!pb_rseq_offset) GTEST_SKIP() << "this libc or kernel has no rseq";
    make(16 * 4080);
  }
  void TearDown() override {
    one_cpu_.reset();
    buffer_.reset();
    if (!directory_.empty()) {
      for (const char* name : {"/buffer", "/snapshot", "/buffer.new"})
        ::unlink((directory_ + name).c_str());
      EXPECT_EQ(::rmdir(directory_.c_str()), 0) << "left something else in " << directory_;
    }
    pb_rseq_offset = 0;
  }
  void make(uint64_t bytes) {
    char directory[] = "/tmp/ring_buffer_test.XXXXXX";
    ASSERT_NE(::mkdtemp(directory), nullptr);
    directory_ = directory;
    RingBufferOptions options;
    options.path = directory_ + "/buffer";
    options.nr_cpus = uint32_t(::sysconf(_SC_NPROCESSORS_CONF));
    options.bytes_per_cpu = bytes;
    auto buffer = RingBuffer::create(options);
    ASSERT_TRUE(buffer.ok()) << buffer.error().message();
    buffer_ = std::move(*buffer);
    if (buffer_->header()->clock != abi::kClockTsc) pb_rseq_offset = 0;
    ring_ = pb_rseq_offset ? 0 : options.nr_cpus;
  }
  void enable() {
    ASSERT_TRUE(buffer_->enable().ok());
    rings_ = buffer_->rings();
  }
  void write(uint32_t count, uint32_t size = sizeof(Payload)) {
    for (uint32_t i = 0; i < count; i++)
      ASSERT_EQ(write_record(&rings_, 1, next_++, size), kRingPublished);
  }
  // Whatever a reader finds now.
  std::vector<uint32_t> read_all(RingBuffer* buffer, uint64_t* lost = nullptr) {
    RingReader reader(buffer, false);
    std::vector<uint32_t> all;
    PageImage page;
    for (uint32_t ring = 0; ring < reader.nr_rings(); ring++) {
      while (reader.next_page(ring, true, &page)) {
        for (uint32_t number : numbers_of(page)) all.push_back(number);
        if (lost) *lost += page.lost_before;
      }
    }
    return all;
  }
  // The same, by another process that has only the file.
  std::vector<uint32_t> read_file(const std::string& path) {
    auto file = BufferFile::open(path, false);
    EXPECT_TRUE(file.ok()) << file.error().message();
    std::vector<uint32_t> all;
    PageImage page;
    for (uint32_t ring = 0; file.ok() && ring < (*file)->nr_rings(); ring++)
      while ((*file)->next_page(ring, true, &page))
        for (uint32_t number : numbers_of(page)) all.push_back(number);
    return all;
  }
  std::vector<uint32_t> range(uint32_t from, uint32_t to) {
    std::vector<uint32_t> numbers;
    for (; from < to; from++) numbers.push_back(from);
    return numbers;
  }

  std::string directory_;
  std::unique_ptr<RingBuffer> buffer_;
  const RingSet* rings_ = nullptr;
  uint32_t ring_ = 0, next_ = 0;
  std::optional<test::OneCpu> one_cpu_;
};

// To sleep and back, as an agent that was detached does: what was recorded goes, names stay.
TEST_F(RingBufferTest, MovesToMemoryAndBackToAFile) {
  enable();
  buffer_->add_comm(4711, 4711, "sleeper");
  write(10);
  const uint32_t comms = buffer_->rings()->comms->used;
  const std::string path = directory_ + "/buffer";
  for (int round = 0; round < 100; round++) {
    buffer_->disable();
    ASSERT_TRUE(buffer_->move_to("", 1024).ok());
    EXPECT_TRUE(buffer_->in_memory());
    EXPECT_EQ(::access(path.c_str(), F_OK), -1);
    ASSERT_TRUE(buffer_->move_to(path, 16 * 4080).ok());
    EXPECT_EQ(buffer_->path(), path);
    EXPECT_EQ(buffer_->header()->meta_used, 0u);
  }
  EXPECT_EQ(buffer_->rings()->comms->used, comms);
  ASSERT_TRUE(buffer_->append_meta(abi::kMetaExe, std::string("/bin/x\0", 7)).ok());
  enable();
  buffer_->settle();
  const uint32_t first = next_;
  write(3);
  EXPECT_EQ(read_all(buffer_.get()), (std::vector<uint32_t>{first, first + 1, first + 2}));
  EXPECT_EQ(read_file(path), (std::vector<uint32_t>{first, first + 1, first + 2}));
}

size_t count_mappings() {
  auto maps = patchbay::read_file("/proc/self/maps");
  return size_t(std::count(maps->begin(), maps->end(), '\n'));
}

// Instances that come, get another size and go leave no more behind than the first ones.
TEST_F(RingBufferTest, WhatAResizedBufferLeavesIsUsedAgain) {
  size_t behind_first = 0;
  for (int round = 0; round < 6; round++) {
    RingBufferOptions options;
    options.path = directory_ + "/snapshot";
    options.nr_cpus = 2;
    auto made = RingBuffer::create(options);
    ASSERT_TRUE(made.ok());
    ASSERT_TRUE((*made)->enable().ok());
    ASSERT_TRUE((*made)->resize({}, 512 * 1024).ok());
    (*made)->remove_file();
    made->reset();
    if (round == 1) behind_first = count_mappings();
    if (round > 1) {
      EXPECT_EQ(count_mappings(), behind_first);
    }
  }
}

TEST_F(RingBufferTest, SizesAreTheKernels) {
  EXPECT_FALSE(buffer_->expanded());
  EXPECT_EQ(buffer_->bytes_of(0) >> 10, 7u);
  EXPECT_EQ(buffer_->wanted_bytes(), 16u * 4080);
  ASSERT_TRUE(buffer_->resize({}, 100 << 10).ok());
  EXPECT_TRUE(buffer_->expanded());
  EXPECT_EQ(buffer_->bytes_of(0) >> 10, 103u);
  ASSERT_TRUE(buffer_->resize({}, 1408 << 10).ok());
  EXPECT_EQ(buffer_->bytes_of(0) >> 10, 1410u);
  ASSERT_TRUE(buffer_->resize(0, 1).ok());
  EXPECT_EQ(buffer_->bytes_of(0) >> 10, 7u);
  uint32_t last = buffer_->rings()->nr_cpus;
  EXPECT_EQ(buffer_->rings()->control(last)->nr_subbufs, 355u / 4);  // others stay
  EXPECT_EQ(buffer_->resize({}, 0).error().errno_value, EINVAL);
  EXPECT_EQ(buffer_->resize({}, uint64_t{1} << 32).error().errno_value, ENOMEM);
  EXPECT_EQ(buffer_->resize({}, uint64_t{1} << 62).error().errno_value, ENOMEM);
  EXPECT_EQ(buffer_->resize(99999, 4096).error().errno_value, EINVAL);
  EXPECT_EQ(buffer_->set_subbuf_size(12288).error().errno_value, EINVAL);
  EXPECT_EQ(buffer_->set_subbuf_size(2048).error().errno_value, EINVAL);
  EXPECT_EQ(buffer_->set_subbuf_size(1 << 20).error().errno_value, EINVAL);
}

TEST_F(RingBufferTest, ReadersTakePartsAndNobodyGetsThemAgain) {
  enable();
  write(1000);
  RingReader reader(buffer_.get(), false);
  PageImage page;
  uint32_t got = 0;
  while (reader.next_page(ring_, true, &page)) {
    // Takes up to three events of what it was given.
    EventIterator events(page.bytes, page.used);
    EventView event;
    uint64_t taken = 0;
    while (taken < 3 && events.next(&event)) taken++;
    for (uint64_t i = 0; i < taken; i++) ASSERT_EQ(numbers_of(page)[i], got + i);
    reader.consume_part(ring_, events.position() - abi::kPageHeaderSize, event.time, taken);
    got += uint32_t(taken);
    if (got % 50 == 0) {
      ASSERT_EQ(read_file(buffer_->path()), range(got, 1000));
    }
    ASSERT_EQ(buffer_->counts(ring_).read, got);
    ASSERT_EQ(buffer_->counts(ring_).entries, 1000 - got);
  }
  EXPECT_EQ(got, 1000u);
  EXPECT_FALSE(buffer_->has_data(ring_));
  EXPECT_EQ(buffer_->counts(ring_).overrun, 0u);
  write(5);
  for (int i = 0; i < 2; i++) {
    ASSERT_TRUE(reader.next_page(ring_, true, &page));
    EXPECT_EQ(numbers_of(page), range(1000, 1005));
    reader.consume_part(ring_, 0, 0, 0);  // nothing was taken: the page comes again
  }
  EXPECT_EQ(read_all(buffer_.get()), range(1000, 1005));
}

TEST_F(RingBufferTest, ClearForgetsAndCountsBeginAgain) {
  enable();
  write(40000);  // more than fits
  RingCounts counts = buffer_->counts(ring_);
  EXPECT_GT(counts.overrun, 0u);
  EXPECT_EQ(counts.entries + counts.overrun, 40000u);
  EXPECT_EQ(counts.read, 0u);
  EXPECT_EQ(counts.entries, read_all(buffer_.get()).size());
  EXPECT_EQ(counts.bytes, counts.entries * (sizeof(Payload) + 4));
  EXPECT_GT(counts.oldest_time, 0u);
  EXPECT_LT(counts.oldest_time, counts.now_time);
  EXPECT_EQ(buffer_->unread_percent(ring_), 100u);
  buffer_->clear();
  counts = buffer_->counts(ring_);
  EXPECT_EQ(counts.entries + counts.overrun + counts.read + counts.bytes + counts.oldest_time, 0u);
  EXPECT_EQ(buffer_->unread_percent(ring_), 0u);
  uint64_t lost = 0;
  EXPECT_TRUE(read_all(buffer_.get(), &lost).empty());
  write(3);
  EXPECT_EQ(read_all(buffer_.get(), &lost), range(40000, 40003));
  EXPECT_EQ(lost, 0u);
  EXPECT_EQ(read_file(buffer_->path()), range(40000, 40003));
  EXPECT_EQ(buffer_->counts(ring_).entries, 3u);
}

TEST_F(RingBufferTest, OverwriteCanBeSwitchedWhileTracing) {
  enable();
  buffer_->set_overwrite(false);
  uint32_t written = 0, refused = 0;
  for (; written < 100000 && !refused; written++)
    refused = write_record(&rings_, 1, written) == kRingDropped;
  written--;
  ASSERT_EQ(refused, 1u);
  EXPECT_EQ(buffer_->counts(ring_).dropped, 1u);
  EXPECT_EQ(read_all(buffer_.get()), range(0, written));
  buffer_->clear();  // makes room
  EXPECT_EQ(buffer_->counts(ring_).dropped, 0u);
  EXPECT_EQ(write_record(&rings_, 1, 7), kRingPublished);
  while (write_record(&rings_, 1, 7) == kRingPublished) continue;
  buffer_->set_overwrite(true);
  EXPECT_EQ(write_record(&rings_, 1, 7), kRingPublished);
  auto file = BufferFile::open(buffer_->path(), false);
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE((*file)->header().flags & abi::kBufferOverwrite);
}

TEST_F(RingBufferTest, ResizeKeepsTheNewestThatFit) {
  enable();
  write(3000);
  buffer_->consume(ring_, {0, 0, 0, 0, 0});  // backwards: nothing
  for (uint64_t pages : {40, 16, 5, 2, 30}) {
    SCOPED_TRACE(pages);
    RingReader reader(buffer_.get(), false);
    PageImage page;
    ASSERT_TRUE(reader.next_page(ring_, true, &page));
    uint32_t continues = numbers_of(page).back() + 1;
    std::vector<uint32_t> before = read_all(buffer_.get());
    const RingSet* old = rings_;
    uint64_t old_overrun = buffer_->counts(ring_).overrun;
    ASSERT_TRUE(buffer_->resize({}, pages * 4080).ok());
    EXPECT_EQ(write_record(&rings_, 1, 0), kRingDropped);  // the old rings are closed
    EXPECT_NE(buffer_->rings(), old);
    rings_ = buffer_->rings();
    EXPECT_EQ(buffer_->counts(ring_).dropped, 1u);
    std::vector<uint32_t> after = read_all(buffer_.get());
    ASSERT_FALSE(after.empty());
    EXPECT_EQ(after.back(), next_ - 1);
    EXPECT_EQ(after, range(after.front(), next_));
    EXPECT_EQ(read_file(buffer_->path()), after);
    if (pages >= 16) {
      EXPECT_EQ(before, after);
    }
    RingCounts counts = buffer_->counts(ring_);
    EXPECT_EQ(counts.entries, after.size());
    EXPECT_EQ(counts.overrun - old_overrun, before.size() - after.size());
    // Whoever was in the middle goes on behind what he has had.
    bool more = reader.next_page(ring_, true, &page);
    ASSERT_EQ(more, continues < next_);
    if (more) {
      EXPECT_EQ(numbers_of(page).front(), std::max(continues, after.front()));
    }
    write(100);
    EXPECT_EQ(read_all(buffer_.get()).back(), next_ - 1);
    buffer_->clear();
    write(50);
    EXPECT_EQ(read_all(buffer_.get()), range(next_ - 50, next_));
  }
}

TEST_F(RingBufferTest, SubbufSizeTakesLargerRecordsAndClears) {
  enable();
  write(100);
  EXPECT_EQ(write_record(&rings_, 1, 0, 4064), kRingPublished);
  EXPECT_EQ(write_record(&rings_, 1, 0, 4072), kRingPublished);
  ASSERT_TRUE(buffer_->set_subbuf_size(65536).ok());
  rings_ = buffer_->rings();
  EXPECT_TRUE(read_all(buffer_.get()).empty());
  EXPECT_EQ(buffer_->counts(ring_).entries + buffer_->counts(ring_).overrun, 0u);
  alignas(8) static uint8_t large[65536] = {7};
  EXPECT_EQ(ring_publish(&rings_, large, 65512), kRingPublished);
  EXPECT_EQ(ring_publish(&rings_, large, 65516), kRingDropped);  // does not fit: no harm done
  EXPECT_EQ(buffer_->header()->missed, 1u);
  EXPECT_EQ(buffer_->counts(ring_).entries, 1u);
  ASSERT_TRUE(buffer_->set_subbuf_size(4096).ok());
  rings_ = buffer_->rings();
  EXPECT_EQ(ring_publish(&rings_, large, 65512), kRingDropped);
  pb_thread.no_rseq = 1;
  EXPECT_EQ(ring_publish(&rings_, large, 65512), kRingDropped);
  pb_thread.no_rseq = 0;
  EXPECT_EQ(buffer_->header()->missed, 3u);
  next_ = 0;
  write(10);
  EXPECT_EQ(read_all(buffer_.get()), range(0, 10));
}

TEST_F(RingBufferTest, SnapshotMovesWhatReadersWouldFind) {
  enable();
  ASSERT_TRUE(buffer_->append_meta(abi::kMetaExe, std::string_view("exe\0cmd\0", 8)).ok());
  buffer_->add_comm(5, 5, "five");
  write(1000);
  std::unique_ptr<RingBuffer> spare;
  ASSERT_TRUE(buffer_->take_snapshot(&spare, {}).ok());
  EXPECT_EQ(read_all(spare.get()), range(0, 1000));
  EXPECT_TRUE(read_all(buffer_.get()).empty());
  EXPECT_EQ(spare->counts(ring_).entries, 1000u);
  EXPECT_EQ(buffer_->counts(ring_).entries + buffer_->counts(ring_).overrun, 0u);
  EXPECT_EQ(rings_, buffer_->rings()) << "writers go on as they were";
  write(40000);
  RingCounts counts = buffer_->counts(ring_);
  RingReader open_reader(spare.get(), false);  // of the old content
  PageImage page;
  ASSERT_TRUE(open_reader.next_page(ring_, true, &page));
  ASSERT_TRUE(buffer_->take_snapshot(&spare, {}).ok());
  RingCounts moved = spare->counts(ring_);
  EXPECT_EQ(moved.entries, counts.entries);
  EXPECT_EQ(moved.overrun, counts.overrun);
  EXPECT_EQ(read_all(spare.get()), range(41000 - uint32_t(counts.entries), 41000));
  ASSERT_TRUE(open_reader.next_page(ring_, true, &page));
  EXPECT_EQ(numbers_of(page).front(), 41000 - counts.entries);
  auto file = BufferFile::open(directory_ + "/snapshot", false);
  ASSERT_TRUE(file.ok()) << file.error().message();
  EXPECT_EQ((*file)->meta()->size(), 1u);
  ASSERT_EQ((*file)->comms().size(), 1u);
  EXPECT_STREQ((*file)->comms()[0].comm, "five");
  EXPECT_EQ(read_file(directory_ + "/snapshot"), read_all(spare.get()));
  ASSERT_TRUE(buffer_->take_snapshot(&spare, {}).ok());  // of nothing
  EXPECT_TRUE(read_all(spare.get()).empty());
  EXPECT_TRUE(read_file(directory_ + "/snapshot").empty());
  write(10);
  ASSERT_TRUE(buffer_->resize({}, 4 * 4080).ok());  // another form: another file
  rings_ = buffer_->rings();
  ASSERT_TRUE(buffer_->take_snapshot(&spare, ring_).ok());
  EXPECT_EQ(read_all(spare.get()), range(41000, 41010));
  ASSERT_TRUE(buffer_->take_snapshot(&spare, ring_ + 1).ok());  // another CPU: nothing changes
  EXPECT_EQ(read_all(spare.get()), range(41000, 41010));
  spare->clear();
  EXPECT_TRUE(read_all(spare.get()).empty());
}

TEST_F(RingBufferTest, CpusThatAreMaskedOutTakeNothing) {
  enable();
  buffer_->set_cpus({false, true});
  EXPECT_EQ(write_record(&rings_, 1, 0), kRingOff);
  buffer_->set_cpus({true});
  EXPECT_EQ(write_record(&rings_, 1, 1), kRingPublished);
  pb_thread.no_rseq = 1;
  EXPECT_EQ(write_record(&rings_, 1, 2), kRingPublished);
  buffer_->set_cpus({});
  EXPECT_EQ(write_record(&rings_, 1, 3), kRingOff);
  pb_thread.no_rseq = 0;
  EXPECT_EQ(read_all(buffer_.get()), range(1, 3));
  const RingSet* dead = RingBuffer::dead_rings();
  EXPECT_EQ(write_record(&dead, 1, 4), kRingOff);
  pb_thread.no_rseq = 1;
  EXPECT_EQ(write_record(&dead, 1, 4), kRingOff);
  pb_thread.no_rseq = 0;
}

// libc registers a thread a little after its start. Until then the area of a thread reads as if it
// were on CPU 0.
TEST_F(RingBufferTest, AThreadThatIsNotRegisteredYetDisturbsNobody) {
  if (!pb_rseq_size) GTEST_SKIP() << "no rseq";
  enable();
  const uint32_t shared = rings_->nr_cpus;
  std::thread([&] {
    auto* area = reinterpret_cast<uint32_t*>(thread_pointer() + uint64_t(pb_rseq_offset));
    const long size = pb_rseq_size;
    ASSERT_EQ(::syscall(SYS_rseq, area, size, RSEQ_FLAG_UNREGISTER, RSEQ_SIG), 0);
    area[0] = area[1] = 0;  // cpu_id_start, cpu_id
    pb_thread = {};
    pb_thread.no_rseq = kRseqUnsettled;
    EXPECT_EQ(write_record(&rings_, 1, 0), kRingPublished);
    EXPECT_EQ(buffer_->counts(shared).entries, 0u) << "the CPU's";
    EXPECT_EQ(area[0] | area[1], 0u);
    EXPECT_EQ(pb_thread.no_rseq, kRseqUnsettled);
    const int64_t tid = std::exchange(pb_libc_tid_offset, 0);
    EXPECT_EQ(write_record(&rings_, 1, 0), kRingPublished);
    pb_libc_tid_offset = tid;
    EXPECT_EQ(buffer_->counts(shared).entries, 1u) << "not a thread of libc's, as far as is known";
    ASSERT_EQ(::syscall(SYS_rseq, area, size, 0, RSEQ_SIG), 0);
    EXPECT_EQ(write_record(&rings_, 1, 1), kRingPublished);
    EXPECT_EQ(buffer_->counts(shared).entries, 1u);
    EXPECT_EQ(pb_thread.no_rseq, 0u);
    pb_thread.no_rseq = kRseqUnsettled + 1;  // a vfork child on this storage
    EXPECT_EQ(write_record(&rings_, 1, 2), kRingPublished);
    EXPECT_EQ(buffer_->counts(shared).entries, 2u);
    pb_thread.no_rseq = 0;
  }).join();
}

// The holder of the lock was stopped in the middle of its event, and the rings were replaced
// meanwhile: the event is nowhere, and that is said.
TEST_F(RingBufferTest, AnEventOfAStoppedHolderOfTheLockCountsAsDropped) {
  enable();
  write(10);
  const RingSet* late = rings_;
  const uint32_t shared = late->nr_cpus;
  abi::RingControl* control = late->control(shared);
  const uint64_t mask = control->space_mask;
  control->lock = 1;  // somebody else
  ASSERT_TRUE(buffer_->resize({}, 64 * 1024).ok());
  rings_ = buffer_->rings();
  write(5);
  EXPECT_EQ(buffer_->counts(shared).dropped, 0u);
  // It goes on: it has looked at the mask before.
  control->lock = 0;
  control->space_mask = mask;
  pb_thread.no_rseq = 1;
  EXPECT_EQ(write_record(&late, 1, 4711), kRingPublished);
  pb_thread.no_rseq = 0;
  EXPECT_EQ(buffer_->counts(shared).dropped, 1u);
  buffer_->settle();
  EXPECT_EQ(buffer_->counts(shared).dropped, 1u);
  EXPECT_EQ(read_all(buffer_.get()), range(0, 15));
}

// tracing_on as a hit switches it: one word, which no writer passes and which outlives a new size.
TEST_F(RingBufferTest, AThreadSwitchesRecordingByOneWord) {
  ASSERT_TRUE(buffer_->enable().ok());
  const RingSet* set = buffer_->rings();
  const uint8_t record[8] = {};
  const int64_t rseq = pb_rseq_offset;
  for (int64_t offset : {rseq, int64_t{0}}) {
    pb_rseq_offset = offset;
    EXPECT_EQ(buffer_->publish(record, sizeof record), kRingPublished);
    EXPECT_TRUE(ring_switch(set, false));
    EXPECT_FALSE(ring_switch(set, false)) << "it was off already";
    EXPECT_FALSE(buffer_->is_recording());
    EXPECT_EQ(buffer_->publish(record, sizeof record), kRingOff);
    EXPECT_TRUE(buffer_->enabled()) << "the rings stay as they are";
    EXPECT_TRUE(ring_switch(set, true));
    EXPECT_EQ(buffer_->publish(record, sizeof record), kRingPublished);
  }
  pb_rseq_offset = rseq;
  ring_switch(set, false);
  ASSERT_TRUE(buffer_->resize({}, 64 * 1024).ok());
  EXPECT_NE(buffer_->rings(), set);
  EXPECT_FALSE(buffer_->is_recording());
  EXPECT_TRUE(ring_switch(set, true)) << "a thread that is late";
  buffer_->settle();
  EXPECT_TRUE(buffer_->is_recording());
  EXPECT_EQ(buffer_->publish(record, sizeof record), kRingPublished);
  EXPECT_FALSE(ring_switch(RingBuffer::dead_rings(), true)) << "never";
  EXPECT_FALSE(ring_is_on(RingBuffer::dead_rings()));
}

TEST_F(RingBufferTest, ForkedChildrenSwitchTheSameWord) {
  const int status = test::status_of_child([&] {
    ring_switch(buffer_->rings(), false);
    return 0;
  });
  ASSERT_EQ(status, 0);
  EXPECT_FALSE(buffer_->is_recording());
}

// Another process reads nothing but what the parent has written, and the file is as it was.
TEST_F(RingBufferTest, AForkedChildLeavesForRingsOfItsOwn) {
  enable();
  buffer_->add_comm(5, 4, "five");
  write(10);
  const int status = test::status_of_child([&] {
    set_forked_child();
    if (!buffer_->leave_parent().ok()) return 1;
    leave_family();
    if (!buffer_->in_memory() || !read_all(buffer_.get()).empty()) return 2;
    if (std::string_view(buffer_->rings()->comms->entry[0].comm) != "five") return 3;
    rings_ = buffer_->rings();
    next_ = 100;
    write(5);
    if (read_all(buffer_.get()) != range(100, 105)) return 4;
    const std::string path = directory_ + "/own";
    if (!buffer_->move_to(path, 4 * 4080).ok()) return 5;
    rings_ = buffer_->rings();
    if (!buffer_->enable().ok()) return 6;
    write(3);
    const bool is_read = read_file(path) == range(105, 108);
    ::unlink(path.c_str());
    return is_read && std::string_view(buffer_->rings()->comms->entry[0].comm) == "five" ? 0 : 7;
  });
  EXPECT_EQ(WEXITSTATUS(status), 0);
  write(1);
  EXPECT_EQ(read_file(buffer_->path()), range(0, 11));
}

TEST_F(RingBufferTest, CommsStayWhereTheyAreWhenTheFileIsReplaced) {
  enable();
  abi::CommTable* comms = buffer_->rings()->comms;
  buffer_->add_comm(5, 4, "five");
  buffer_->add_comm(5, 4, "five");
  buffer_->add_comm(6, 4, "a name that is too long");
  ASSERT_TRUE(buffer_->append_meta(abi::kMetaExe, std::string_view("x\0y\0", 4)).ok());
  ASSERT_TRUE(buffer_->resize({}, 4 * 4080).ok());
  EXPECT_EQ(buffer_->rings()->comms, comms);
  buffer_->add_comm(5, 4, "new");
  buffer_->set_record_comms(false);
  buffer_->add_comm(7, 4, "seven");
  ASSERT_TRUE(buffer_->append_meta(abi::kMetaExe, std::string_view("x\0z\0", 4)).ok());
  auto file = BufferFile::open(buffer_->path(), false);
  ASSERT_TRUE(file.ok());
  auto read = (*file)->comms();
  ASSERT_EQ(read.size(), 3u);
  EXPECT_STREQ(read[1].comm, "a name that is ");
  EXPECT_STREQ(read[2].comm, "new");
  EXPECT_EQ((*file)->meta()->size(), 2u);
  EXPECT_GE((*file)->clock_pairs().size(), 1u);
}

TEST_F(RingBufferTest, AReaderOfTheFileFollowsEachSizeAndReadsNothingTwice) {
  enable();
  write(10);
  auto file = BufferFile::open(buffer_->path(), false);
  ASSERT_TRUE(file.ok());
  PageImage page;
  ASSERT_TRUE((*file)->next_page(ring_, true, &page));
  EXPECT_EQ(page.entries, 10u);
  for (uint64_t pages : {4, 8, 5}) {
    ASSERT_TRUE(buffer_->resize({}, pages * 4080).ok());
    ASSERT_TRUE((*file)->replaced());
    auto next = BufferFile::open(buffer_->path(), false);
    ASSERT_TRUE(next.ok());
    (*next)->skip_to(ring_, (*file)->position(ring_).entries);
    EXPECT_FALSE((*next)->next_page(ring_, true, &page));
    file = std::move(next);
  }
  rings_ = buffer_->rings();
  write(3);
  ASSERT_TRUE((*file)->next_page(ring_, true, &page));
  EXPECT_EQ(page.entries, 3u);
  EXPECT_EQ(page.first, 10u);
  EXPECT_EQ(page.lost_before, 0u);
}

TEST_F(RingBufferTest, ForkedChildrenStopAtAResizeAndDoNoHarm) {
  enable();
  auto old = BufferFile::open(buffer_->path(), false);
  int to_child[2], to_parent[2];
  ASSERT_EQ(::pipe(to_child), 0);
  ASSERT_EQ(::pipe(to_parent), 0);
  pid_t child = ::fork();
  if (child == 0) {
    char byte;
    bool good = write_record(&rings_, 2, 1) == kRingPublished;
    good &= ::write(to_parent[1], "x", 1) == 1 && ::read(to_child[0], &byte, 1) == 1;
    good &= write_record(&rings_, 2, 2) == kRingDropped;
    ::_exit(good ? 0 : 1);
  }
  char byte;
  ASSERT_EQ(::read(to_parent[0], &byte, 1), 1);
  EXPECT_EQ(read_all(buffer_.get()), range(1, 2));
  ASSERT_TRUE(buffer_->resize({}, 4 * 4080).ok());
  EXPECT_TRUE((*old)->replaced());
  ASSERT_EQ(::write(to_child[1], "x", 1), 1);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(read_all(buffer_.get()), range(1, 2));
  EXPECT_EQ(buffer_->counts(ring_).dropped, 1u);
  for (int fd : {to_child[0], to_child[1], to_parent[0], to_parent[1]}) ::close(fd);
}

// G5. The child publishes and counts, until it is killed in the middle of it: its file has every
// event that it has counted and at most the one more that it was at, and all that decodes them.
TEST_F(RingBufferTest, AKilledProcessLeavesWhatItHasPublished) {
  constexpr uint32_t kEnough = 5000;  // several times round
  auto* counted = static_cast<std::atomic<uint32_t>*>(
      ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(counted, MAP_FAILED);
  const std::string path = directory_ + "/snapshot";  // a file of its own, which TearDown() removes
  const pid_t child = ::fork();
  if (child == 0) {
    RingBufferOptions options;
    options.path = path;
    options.nr_cpus = uint32_t(::sysconf(_SC_NPROCESSORS_CONF));
    options.bytes_per_cpu = 16 * 4080;
    auto made = RingBuffer::create(options);
    if (!made.ok() || !(*made)->enable().ok()) ::_exit(1);
    (*made)->add_comm(5, 4, "five");
    if (!(*made)->append_meta(abi::kMetaExe, std::string_view("x\0y\0", 4)).ok()) ::_exit(2);
    const RingSet* rings = (*made)->rings();
    for (uint32_t i = 0;; i++) {
      if (write_record(&rings, 1, i) != kRingPublished) ::_exit(3);
      counted->store(i + 1, std::memory_order_relaxed);
    }
  }
  while (counted->load(std::memory_order_relaxed) < kEnough) {
    ASSERT_EQ(::waitpid(child, nullptr, WNOHANG), 0) << "it ended by itself";
    ::usleep(1000);
  }
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  const std::vector<uint32_t> read = read_file(path);
  ASSERT_FALSE(read.empty());
  EXPECT_EQ(read, range(read.front(), read.back() + 1));
  EXPECT_GE(read.back() + 1, counted->load());
  EXPECT_LE(read.back(), counted->load());
  auto file = BufferFile::open(path, false);
  ASSERT_TRUE(file.ok());
  ASSERT_EQ((*file)->comms().size(), 1u);
  EXPECT_STREQ((*file)->comms()[0].comm, "five");
  EXPECT_EQ((*file)->meta()->size(), 1u);
  EXPECT_GE((*file)->clock_pairs().size(), 1u);
  ::munmap(counted, 4096);
}

// G7. The memory is there before the first record, and no record makes the file longer. Until then
// the rings take none.
TEST_F(RingBufferTest, MemoryIsReservedBeforeTheFirstRecordAndFixed) {
  const auto look = [this] {
    struct stat status = {};
    EXPECT_EQ(::stat(buffer_->path().c_str(), &status), 0);
    return status;
  };
  const uint64_t rings = uint64_t{buffer_->header()->nr_rings - 1} * 16 * 4096;  // of the CPUs
  const struct stat made = look();
  enable();
  const struct stat reserved = look();
  EXPECT_EQ(reserved.st_size, made.st_size);
  EXPECT_GE(uint64_t(reserved.st_blocks - made.st_blocks) * 512, rings);
  write(20000);  // several times round
  EXPECT_EQ(look().st_size, reserved.st_size);
}

// G4. What a reader wrote is a claim: whatever it is, nothing is read outside and writers go on.
TEST_F(RingBufferTest, LyingReadersDoNoHarm) {
  enable();
  write(500);
  std::mt19937_64 random(11);
  auto value = [&random] { return random() >> (random() % 64); };
  for (int i = 0; i < 300; i++) {
    abi::ReaderState* state = &buffer_->rings()->readers[ring_];
    auto* words = reinterpret_cast<uint64_t*>(state);
    for (size_t word = 0; word < sizeof *state / 8; word++) words[word] = value();
    buffer_->counts(ring_);
    buffer_->unread_percent(ring_);
    read_all(buffer_.get());
    read_file(buffer_->path());
    if (i % 20 == 0) {
      std::unique_ptr<RingBuffer> spare;
      ASSERT_TRUE(buffer_->take_snapshot(&spare, {}).ok());
      ASSERT_TRUE(buffer_->resize({}, 4080 * (4 + i % 50)).ok());
      rings_ = buffer_->rings();
    }
    write(20);
    EXPECT_EQ(next_, 500u + 20 * (i + 1));
  }
  std::memset(&buffer_->rings()->readers[ring_], 0, sizeof(abi::ReaderState));
  EXPECT_EQ(read_all(buffer_.get()).back(), next_ - 1);
}

// --- under load

struct Writers {
  std::atomic<bool> stop{false};
  const RingSet* rings = nullptr;  // the word of EventProgram
  std::atomic<uint64_t> published{0}, dropped{0}, off{0};
  std::vector<std::thread> threads;

  void start(int count, uint32_t seed) {
    for (int t = 0; t < count; t++) {
      threads.emplace_back([this, t, seed] {
        pb_thread.tid = uint32_t(raw_syscall(SYS_gettid));
        std::mt19937 random(seed + uint32_t(t));
        uint64_t status[4] = {};
        for (uint32_t i = 0; !stop.load(std::memory_order_relaxed); i++) {
          uint32_t size = 16 + 4 * (random() % 8 ? random() % 20 : random() % 1000);
          status[write_record(&rings, uint32_t(t), i, size)]++;
        }
        published += status[kRingPublished];
        dropped += status[kRingDropped];
        off += status[kRingOff];
      });
    }
  }
  void join() {
    stop = true;
    for (std::thread& thread : threads) thread.join();
    threads.clear();
  }
  void point_to(const RingSet* set) { __atomic_store_n(&rings, set, __ATOMIC_SEQ_CST); }
};

uint32_t choose_seed() {
  const char* text = std::getenv("PATCHBAY_SEED");
  return text ? uint32_t(std::strtoul(text, nullptr, 10)) : std::random_device{}();
}

class RingBufferLoad : public RingBufferTest, public ::testing::WithParamInterface<bool> {
 protected:
  void SetUp() override {
    RingBufferTest::SetUp();
    if (IsSkipped()) return;
    one_cpu_.reset();
    if (!GetParam()) pb_rseq_offset = 0;
    seed_ = choose_seed();
    enable();
    writers_.rings = rings_;
    writers_.start(4, seed_);
  }
  void TearDown() override {
    writers_.join();
    RingBufferTest::TearDown();
  }
  uint64_t published_in_rings() {
    uint64_t sum = 0;
    for (uint32_t ring = 0; ring <= buffer_->rings()->nr_cpus; ring++)
      sum += ring_now(*buffer_->rings(), ring).entries;
    return sum;
  }
  Writers writers_;
  uint32_t seed_ = 0;
};

TEST_P(RingBufferLoad, NothingComesAfterAnEventWasSwitchedOff) {
  SCOPED_TRACE("PATCHBAY_SEED=" + std::to_string(seed_));
  uint64_t last = 0;
  for (int i = 0; i < 300; i++) {
    ::usleep(200);
    if (i % 2) {
      writers_.point_to(RingBuffer::dead_rings());  // the event goes off
    } else {
      buffer_->disable();  // tracing_on 0
    }
    ASSERT_TRUE(buffer_->quiesce());
    uint64_t at_once = published_in_rings();
    ::usleep(500);
    ASSERT_EQ(published_in_rings(), at_once) << i;
    last = at_once;
    if (i % 2) {
      writers_.point_to(buffer_->rings());
    } else {
      ASSERT_TRUE(buffer_->enable().ok());
    }
  }
  writers_.join();
  EXPECT_GT(last, 0u);
  EXPECT_EQ(published_in_rings(), writers_.published);
}

// What became of the events, beside what is still there at the end.
struct Account {
  uint64_t read = 0, lost = 0, cleared = 0, moved = 0;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> last;  // (ring, thread) -> number

  void check(uint32_t ring, const PageImage& page) {
    EventIterator events(page.bytes, page.used);
    EventView event;
    uint64_t count = 0;
    for (; events.next(&event); count++) {
      Payload payload;
      std::memcpy(&payload, event.record.data(), sizeof payload);
      auto [seen, first] = last.try_emplace({ring, payload.thread}, payload.number);
      if (!first) {
        ASSERT_LT(seen->second, payload.number);
      }
      seen->second = payload.number;
    }
    ASSERT_FALSE(events.malformed());
    ASSERT_EQ(count, page.entries);
  }
};

class RingBufferAccount : public RingBufferLoad {
 protected:
  void TearDown() override {
    writers_.join();
    spare_.reset();
    reader_.reset();
    RingBufferLoad::TearDown();
  }
  uint32_t nr_rings() { return buffer_->rings()->nr_cpus + 1; }
  uint64_t positions() {
    uint64_t sum = 0;
    for (uint32_t ring = 0; ring < nr_rings(); ring++) sum += buffer_->position(ring).entries;
    return sum;
  }
  void read_some(uint32_t pages) {
    if (!reader_) reader_ = std::make_unique<RingReader>(buffer_.get(), true);
    PageImage page;
    for (uint32_t ring = 0; ring < nr_rings(); ring++)
      for (uint32_t i = 0; i < pages && reader_->next_page(ring, random_() % 2, &page); i++) {
        account_.check(ring, page);
        account_.read += page.entries;
        account_.lost += page.lost_before;
      }
  }
  void clear() {
    uint64_t before = positions();
    buffer_->clear();
    account_.cleared += positions() - before;
  }
  void take_snapshot() {
    uint64_t before = positions();
    ASSERT_TRUE(buffer_->take_snapshot(&spare_, {}).ok());
    uint64_t in_spare = 0;
    RingReader snapshot(spare_.get(), false);
    PageImage page;
    for (uint32_t ring = 0; ring < nr_rings(); ring++)
      while (snapshot.next_page(ring, true, &page)) {
        account_.check(ring, page);
        in_spare += page.entries + page.lost_before;
      }
    ASSERT_EQ(in_spare, positions() - before);
    account_.moved += in_spare;
  }
  void resize() {
    std::optional<uint32_t> cpu;
    if (random_() % 2) cpu = random_() % (nr_rings() - 1);
    ASSERT_TRUE(buffer_->resize(cpu, 4080 * (2 + random_() % 40)).ok());
    resizes_++;
    writers_.point_to(buffer_->rings());
  }
  void expect_all_accounted() {
    uint64_t there = 0, dropped = buffer_->header()->missed;
    for (uint32_t ring = 0; ring < nr_rings(); ring++) {
      RingCounts counts = buffer_->counts(ring);
      const abi::ReaderState& state = buffer_->rings()->readers[ring];
      there += counts.entries;
      dropped += counts.dropped + state.base_dropped;
      EXPECT_EQ(counts.entries + counts.overrun + counts.read + state.base_entries,
                ring_now(*buffer_->rings(), ring).entries);
    }
    // An event that was published into rings that had been replaced is a loss for the buffer: the
    // machine may have taken the processor from the holder of the lock for a long time.
    ASSERT_GE(dropped, writers_.dropped);
    const uint64_t late = dropped - writers_.dropped;
    EXPECT_LE(late, GetParam() ? 0 : resizes_);  // of each at most that of the holder
    EXPECT_EQ(published_in_rings() + late, writers_.published);
    EXPECT_EQ(account_.read + account_.lost + account_.cleared + account_.moved + there + late,
              writers_.published);
    EXPECT_EQ(writers_.off, 0u);
  }

  std::mt19937 random_;
  uint64_t resizes_ = 0;
  Account account_;
  std::unique_ptr<RingReader> reader_;
  std::unique_ptr<RingBuffer> spare_;
};

TEST_P(RingBufferAccount, EveryEventIsReadLostClearedMovedOrThere) {
  SCOPED_TRACE("PATCHBAY_SEED=" + std::to_string(seed_));
  random_.seed(seed_);
  for (int i = 0; i < 400 && !HasFatalFailure(); i++) {
    switch (random_() % 7) {
      case 0:
        clear();
        break;
      case 1:
        take_snapshot();
        break;
      case 2:
        resize();
        break;
      case 3:
        buffer_->set_overwrite(random_() % 2);
        break;
      default:
        read_some(1 + random_() % 20);
    }
    if (random_() % 2) ::usleep(random_() % 500);
  }
  writers_.join();
  for (int i = 0; i < 3; i++) read_some(1000);  // some of them leave out the current pages
  expect_all_accounted();
}

INSTANTIATE_TEST_SUITE_P(Rings, RingBufferAccount, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Rseq" : "Locked"; });
INSTANTIATE_TEST_SUITE_P(Rings, RingBufferLoad, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Rseq" : "Locked"; });

}  // namespace
}  // namespace patchbay
