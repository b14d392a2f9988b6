// SPDX-License-Identifier: MIT
// The reader against RingModel: what was published arrives once, in order, and what did not is
// counted.
#include "ring_buffer/buffer_file.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <functional>
#include <random>

#include "ring_buffer/ring_model.h"

namespace patchbay {
namespace {

using test::RingModel;

class TempFile {
 public:
  TempFile() { ::close(::mkstemp(path_)); }
  ~TempFile() { ::unlink(path_); }
  std::string path() const { return path_; }

 private:
  char path_[32] = "/tmp/pb-buffer-XXXXXX";
};

// A record of `size` bytes that holds its number.
std::string record(uint32_t number, uint32_t size = 16) {
  std::string bytes(size, '\0');
  uint16_t type = 300;
  std::memcpy(bytes.data(), &type, 2);
  std::memcpy(bytes.data() + 8, &number, 4);
  return bytes;
}

struct Got {
  std::vector<uint32_t> numbers;
  std::vector<uint64_t> times;
  uint64_t lost = 0, pages = 0;
};

// Everything there is now; checks each image as trace-cmd would read it.
void drain(BufferFile* file, uint32_t ring, bool include_current, Got* got) {
  PageImage image;
  while (file->next_page(ring, include_current, &image)) {
    PageImage again;
    again.bytes = image.bytes;
    read_commit(&again);
    EXPECT_EQ(again.used, image.used);
    EXPECT_EQ(again.entries, image.entries);
    if (again.lost_before != kLostUnknown) {
      EXPECT_EQ(again.lost_before, image.lost_before);
    }
    got->lost += image.lost_before;
    got->pages++;
    EventIterator events(image.bytes, image.used);
    EventView event;
    while (events.next(&event)) {
      uint32_t number;
      std::memcpy(&number, event.record.data() + 8, 4);
      got->numbers.push_back(number);
      got->times.push_back(event.time);
    }
    EXPECT_FALSE(events.malformed());
    ASSERT_LT(got->pages, 100000u);
  }
}

std::unique_ptr<BufferFile> open_model(const RingModel& model, const TempFile& temp,
                                       bool consume = false) {
  EXPECT_TRUE(model.save(temp.path()));
  auto file = BufferFile::open(temp.path(), consume);
  EXPECT_TRUE(file.ok()) << (file.ok() ? "" : file.error().message());
  return file.ok() ? std::move(*file) : nullptr;
}

TEST(BufferFile, DeliversAnEmptyRingAsNothing) {
  TempFile temp;
  RingModel model;
  auto file = open_model(model, temp);
  PageImage image;
  EXPECT_FALSE(file->next_page(0, true, &image));
  EXPECT_FALSE(file->next_page(99, true, &image));
}

TEST(BufferFile, DeliversTheCurrentPageOnceAndThenOnlyWhatCameAfter) {
  TempFile temp;
  RingModel model;
  for (uint32_t i = 0; i < 3; i++) model.write(0, 1000 + i * 10, record(i));
  auto file = open_model(model, temp);
  Got got;
  drain(file.get(), 0, false, &got);
  EXPECT_TRUE(got.numbers.empty());  // not complete, not asked for
  drain(file.get(), 0, true, &got);
  EXPECT_EQ(got.numbers, (std::vector<uint32_t>{0, 1, 2}));
  drain(file.get(), 0, true, &got);
  EXPECT_EQ(got.pages, 1u);
  model.write(0, uint64_t{1} << 40, record(3));  // with a time extend
  model.write(0, (uint64_t{1} << 40) + 5, record(4));
  model.save(temp.path());
  drain(file.get(), 0, true, &got);
  EXPECT_EQ(got.numbers, (std::vector<uint32_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(got.times,
            (std::vector<uint64_t>{1000, 1010, 1020, uint64_t{1} << 40, (uint64_t{1} << 40) + 5}));
  EXPECT_EQ(got.lost, 0u);
}

TEST(BufferFile, CountsWhatWasOverwrittenExactly) {
  TempFile temp;
  RingModel model(1, 4, true);
  for (uint32_t i = 0; i < 5000; i++) model.write(0, 10 * i, record(i, 16 + 4 * (i % 40)));
  auto file = open_model(model, temp);
  Got got;
  drain(file.get(), 0, true, &got);
  EXPECT_EQ(got.numbers.size() + got.lost, 5000u);
  EXPECT_EQ(got.numbers.back(), 4999u);
  EXPECT_GE(got.pages, 3u);
}

TEST(BufferFile, DropModeKeepsTheOldestAndContinuesWhereTheReaderStopped) {
  TempFile temp;
  RingModel model(1, 4, false);
  uint32_t written = 0;
  while (model.write(0, written, record(written))) written++;
  auto file = open_model(model, temp, true);
  Got got;
  drain(file.get(), 0, false, &got);
  EXPECT_EQ(got.numbers.front(), 0u);
  EXPECT_EQ(got.lost, 0u);
  EXPECT_EQ(file->stats(0).dropped, 1u);
  // The reader told the writer; a second reader continues behind the first.
  RingModel after = model;
  after.take_readers(temp.path());
  EXPECT_EQ(after.reader(0).read_seq, got.pages);
  EXPECT_EQ(after.reader(0).entries, got.numbers.size());
  EXPECT_EQ(after.reader(0).version % 2, 0u);
  auto second = BufferFile::open(temp.path(), true);
  ASSERT_TRUE(second.ok());
  Got rest;
  drain(second->get(), 0, true, &rest);
  EXPECT_EQ(rest.lost, 0u);
  EXPECT_EQ(got.numbers.size() + rest.numbers.size(), written);
  EXPECT_EQ(rest.numbers.front(), got.numbers.back() + 1);
}

// G2, G3: any mix of writing and reading gives every event once, in order, or counts it as lost.
TEST(BufferFile, AnyMixOfWritingAndReadingAccountsForEveryEvent) {
  for (uint32_t seed = 1; seed <= 20; seed++) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    TempFile temp;
    RingModel model(1, 4 + seed % 5, seed % 3 != 0);
    model.save(temp.path());
    auto opened = BufferFile::open(temp.path(), true);
    ASSERT_TRUE(opened.ok());
    Got got;
    uint64_t time = 1, written = 0, refused = 0;
    for (int round = 0; round < 60; round++) {
      for (uint32_t i = random() % 300; i > 0; i--) {
        time += random() % 20 == 0 ? uint64_t{1} << (20 + random() % 30) : random() % 1000;
        if (model.write(0, time, record(uint32_t(written + refused), 12 + 4 * (random() % 60))))
          written++;
        else
          refused++;
      }
      model.take_readers(temp.path());  // save() must not undo the reader's words
      model.save(temp.path());
      drain(opened->get(), 0, random() % 2, &got);
      model.take_readers(temp.path());
    }
    drain(opened->get(), 0, true, &got);
    EXPECT_EQ(got.numbers.size() + got.lost, written);
    EXPECT_TRUE(std::is_sorted(got.numbers.begin(), got.numbers.end()));
    EXPECT_TRUE(std::is_sorted(got.times.begin(), got.times.end()));
    EXPECT_EQ(std::adjacent_find(got.numbers.begin(), got.numbers.end()), got.numbers.end());
    EXPECT_EQ((*opened)->stats(0).dropped, refused);
  }
}

// The position in the file: consumed or cleared by somebody, before we came or while we read.
TEST(BufferFile, WhatLiesBeforeTheStoredPositionIsNeitherDeliveredNorLost) {
  TempFile temp;
  RingModel model(1, 8);
  uint64_t time = 1000;
  for (uint32_t i = 0; i < 300; i++) model.write(0, time += 10, record(i));
  model.reader(0) = {};
  model.reader(0).seq = 0;
  model.reader(0).offset = 5 * 20;
  model.reader(0).entries = 5;
  auto file = open_model(model, temp);
  PageImage image;
  ASSERT_TRUE(file->next_page(0, true, &image));
  EXPECT_EQ(image.first, 5u);
  EXPECT_EQ(image.offset, 100u);
  EXPECT_EQ(image.lost_before, 0u);
  EventIterator events(image.bytes, image.used);
  EventView event;
  ASSERT_TRUE(events.next(&event));
  EXPECT_EQ(event.time, 1060u);
  for (uint32_t i = 300; i < 900; i++) model.write(0, time += 10, record(i));
  model.reader(0).seq = 3;  // three sub-buffers of 204 events
  model.reader(0).offset = 0;
  model.reader(0).entries = 612;
  model.save(temp.path());
  Got got;
  drain(file.get(), 0, true, &got);
  EXPECT_EQ(got.numbers.front(), 612u);
  EXPECT_EQ(got.numbers.size(), 288u);
  EXPECT_EQ(got.lost, 0u);
}

// Complete sub-buffers are copied many at a time (204 events in each).
TEST(BufferFile, OfWhatWasCopiedTogetherOnlyWhatNobodyHasConsumedSinceIsDelivered) {
  TempFile temp;
  RingModel model(1, 16);
  uint64_t time = 1000;
  for (uint32_t i = 0; i < 2000; i++) model.write(0, time += 10, record(i));
  auto file = open_model(model, temp);
  PageImage image;
  ASSERT_TRUE(file->next_page(0, true, &image));
  model.reader(0).seq = 5;
  model.reader(0).entries = 5 * 204;
  model.reader(0).version += 2;
  model.save(temp.path());
  Got got;
  drain(file.get(), 0, true, &got);
  EXPECT_EQ(got.numbers.front(), 5u * 204);
  EXPECT_EQ(got.numbers.size(), 2000u - 5 * 204);
  EXPECT_EQ(got.lost, 0u);
}

TEST(BufferFile, WhatWasCopiedTogetherIsDeliveredAlsoWhenItIsOverwrittenMeanwhile) {
  TempFile temp;
  RingModel model(1, 16);
  uint64_t time = 1000;
  for (uint32_t i = 0; i < 2000; i++) model.write(0, time += 10, record(i));
  auto file = open_model(model, temp);
  PageImage image;
  ASSERT_TRUE(file->next_page(0, true, &image));
  for (uint32_t i = 2000; i < 9000; i++) model.write(0, time += 10, record(i));
  model.save(temp.path());
  Got got;
  drain(file.get(), 0, true, &got);
  EXPECT_EQ(got.numbers.front(), 204u);
  EXPECT_EQ(got.numbers[8 * 204 - 1], 9u * 204 - 1);
  EXPECT_EQ(204 + got.numbers.size() + got.lost, 9000u);
  EXPECT_TRUE(std::is_sorted(got.numbers.begin(), got.numbers.end()));
}

TEST(BufferFile, AConsumerThatEndsInBetweenLeavesWhatItHasNotDelivered) {
  TempFile temp;
  RingModel model(1, 16);
  uint64_t time = 1000;
  for (uint32_t i = 0; i < 2000; i++) model.write(0, time += 10, record(i));
  PageImage image;
  auto first = open_model(model, temp, true);
  ASSERT_TRUE(first->next_page(0, true, &image) && first->next_page(0, true, &image));
  first.reset();
  auto second = BufferFile::open(temp.path(), true);
  ASSERT_TRUE(second.ok());
  Got got;
  drain(second->get(), 0, true, &got);
  EXPECT_EQ(got.numbers.front(), 2u * 204);
  EXPECT_EQ(got.numbers.size(), 2000u - 2 * 204);
  EXPECT_EQ(got.lost, 0u);
}

TEST(BufferFile, IgnoresAPositionThatCannotBe) {
  for (uint64_t seq : {uint64_t{1}, uint64_t{2}, ~uint64_t{0}}) {
    TempFile temp;
    RingModel model(1, 8);
    for (uint32_t i = 0; i < 300; i++) model.write(0, 10 * i, record(i));
    model.reader(0).seq = seq;
    model.reader(0).offset = 4080;
    model.reader(0).entries = 7;
    auto file = open_model(model, temp);
    Got got;
    drain(file.get(), 0, true, &got);
    EXPECT_EQ(got.numbers.size(), 300u) << seq;
  }
}

// G6, of what is there when the file is opened.
TEST(BufferFile, RefusesWhatIsNoBufferFileWithASentence) {
  TempFile temp;
  RingModel model;
  struct Case {
    const char* why;
    std::function<void(RingModel*)> damage;
  };
  const Case cases[] = {
      {"not a buffer file", [](RingModel* m) { m->header().magic = 0x464c457f; }},
      {"version 9", [](RingModel* m) { m->header().version = 9; }},
      {"power of two", [](RingModel* m) { m->header().subbuf_size = 5000; }},
      {"numbers of CPUs", [](RingModel* m) { m->header().nr_rings = 7; }},
      {"number of sub-buffers", [](RingModel* m) { m->header().nr_subbufs = 0x100000; }},
      {"cut short", [](RingModel* m) { m->header().data_offset = ~uint64_t{7}; }},
      {"cut short", [](RingModel* m) { m->bytes.resize(m->bytes.size() / 2); }},
      {"shorter than its header", [](RingModel* m) { m->bytes.resize(20); }},
      {"misplaced", [](RingModel* m) { m->header().ring_offset += 4; }},
      {"ring's number", [](RingModel* m) { m->ring(1).nr_subbufs = 5; }},
      {"ring's number", [](RingModel* m) { m->ring(1).nr_subbufs = 2; }},
      {"cut short", [](RingModel* m) { m->ring(0).data_delta = uint64_t{1} << 62; }},
      {"cut short", [](RingModel* m) { m->ring(0).page_meta_delta = uint64_t{1} << 40; }},
  };
  for (const Case& c : cases) {
    RingModel damaged = model;
    c.damage(&damaged);
    ASSERT_EQ(::truncate(temp.path().c_str(), 0), 0);
    damaged.save(temp.path());
    auto file = BufferFile::open(temp.path(), false);
    ASSERT_FALSE(file.ok()) << c.why;
    EXPECT_NE(file.error().message().find(c.why), std::string::npos) << file.error().message();
  }
  EXPECT_FALSE(BufferFile::open("/dev/null", false).ok());
  EXPECT_FALSE(BufferFile::open("/", false).ok());
}

// G6, of what becomes of it while it is open.
TEST(BufferFile, SurvivesBeingCutShortWhileOpen) {
  TempFile temp;
  RingModel model;
  for (uint32_t i = 0; i < 2000; i++) model.write(0, i, record(i));
  auto file = open_model(model, temp);
  ASSERT_EQ(::truncate(temp.path().c_str(), 5000), 0);
  PageImage image;
  EXPECT_FALSE(file->next_page(0, true, &image));
  EXPECT_TRUE(file->comms().empty());
  EXPECT_EQ(file->stats(0).entries, 0u);
}

// A sub-buffer whose number is another one than its place says is not delivered; what it held
// counts as lost.
TEST(BufferFile, LeavesOutASubBufferWithAnotherNumber) {
  TempFile temp;
  RingModel model;
  for (uint32_t i = 0; i < 5; i++) model.write(0, 1000 + i, record(i, 2000));  // two a sub-buffer
  model.meta(0, 1).seq = 77;
  auto file = open_model(model, temp);
  Got got;
  drain(file.get(), 0, true, &got);
  EXPECT_EQ(got.numbers, (std::vector<uint32_t>{0, 1, 4}));
  EXPECT_EQ(got.lost, 2u);
}

// The oldest of a full ring may be being replaced.
TEST(BufferFile, GivesTheFirstClockPairAndTheNewestOnes) {
  constexpr uint64_t kRing = abi::kClockPairs - 1;
  for (const uint64_t others : {uint64_t{2}, kRing - 1, kRing, kRing + 1, 3 * kRing + 5}) {
    TempFile temp;
    RingModel model;
    auto* table =
        reinterpret_cast<abi::ClockTable*>(model.bytes.data() + model.header().clock_offset);
    table->pair[0] = {1000000, 7, 7};
    for (uint64_t n = 0; n < others; n++) table->pair[1 + n % kRing] = {n, n, n};
    table->count = others + 1;
    const std::vector<abi::ClockPair> pairs = open_model(model, temp)->clock_pairs();
    const uint64_t first = others > kRing ? others - kRing + 1 : 0;
    ASSERT_EQ(pairs.size(), 1 + others - first) << others;
    EXPECT_EQ(pairs[0].tsc, 1000000u);
    for (uint64_t i = 1; i < pairs.size(); i++) EXPECT_EQ(pairs[i].tsc, first + i - 1) << others;
  }
}

TEST(BufferFile, MetaAndCommsComeBack) {
  TempFile temp;
  RingModel model;
  model.add_format(300, "functions", "text");
  model.add_meta(abi::kMetaExe, std::string_view("/bin/x\0x\0-v\0", 12));
  model.add_comm(7, "worker");
  auto file = open_model(model, temp);
  auto meta = file->meta();
  ASSERT_TRUE(meta.ok());
  ASSERT_EQ(meta->size(), 2u);
  EXPECT_EQ((*meta)[1].payload, std::string("/bin/x\0x\0-v\0", 12));
  ASSERT_EQ(file->comms().size(), 1u);
  EXPECT_STREQ(file->comms()[0].comm, "worker");
}

// Pages by hand, as in the kernel's documentation: header, then events.
TEST(EventIterator, WalksEveryKindOfEvent) {
  std::vector<uint8_t> page(256, 0);
  const uint32_t words[] = {
      1000,        0,          0,
      0,                                    // time 1000, commit set below
      2 | 5 << 5,  0x11111111, 0x22222222,  // small, 8 bytes, delta 5
      30 | 3 << 5, 1,                       // extend: (1 << 27) + 3
      0 | 1 << 5,  12,         0x33333333,
      0x44444444,                  // big: length word 12 = 8 bytes + itself, delta 1
      29 | 7 << 5, 8,          0,  // discarded: 4 + 8 bytes, its delta 7 counts
      31 | 9 << 5, 2,              // absolute: (2 << 27) + 9
      1 | 2 << 5,  0x55555555,     // small, 4 bytes, delta 2
      29,          0,              // padding to the end
  };
  std::memcpy(page.data(), words, sizeof words);
  EventIterator events(page, sizeof words - 16);
  EventView event;
  ASSERT_TRUE(events.next(&event));
  EXPECT_EQ(event.time, 1005u);
  EXPECT_EQ(event.record.size(), 8u);
  ASSERT_TRUE(events.next(&event));
  EXPECT_EQ(event.time, 1005u + (1u << 27) + 3 + 1);
  EXPECT_EQ(event.record.size(), 8u);
  EXPECT_EQ(event.record[0], 0x33);
  ASSERT_TRUE(events.next(&event));
  EXPECT_EQ(event.time, (2u << 27) + 9 + 2);
  EXPECT_EQ(event.record.size(), 4u);
  EXPECT_FALSE(events.next(&event));
  EXPECT_FALSE(events.malformed());
}

TEST(EventIterator, StopsAtALengthThatDoesNotFit) {
  for (uint32_t word : {0u, 3u, 5u, 48u, 64u, 0xffffffffu}) {
    std::vector<uint8_t> page(64, 0);
    uint32_t header = 0;  // big
    std::memcpy(page.data() + 16, &header, 4);
    std::memcpy(page.data() + 20, &word, 4);
    EventIterator events(page, 48);
    EventView event;
    EXPECT_FALSE(events.next(&event)) << word;
    EXPECT_TRUE(events.malformed()) << word;
  }
  std::vector<uint8_t> small(64, 0);
  for (uint32_t type_len : {11u, 12u}) {  // 44 bytes fit behind the header, 48 do not
    std::memcpy(small.data() + 16, &type_len, 4);
    EventIterator events(small, 48);
    EventView event;
    EXPECT_EQ(events.next(&event), type_len == 11);
    EXPECT_EQ(events.malformed(), type_len == 12);
  }
  EventIterator tiny(std::span<const uint8_t>(), 100);
  EventView event;
  EXPECT_FALSE(tiny.next(&event));
}

TEST(FitClock, FindsTheLineThroughThePairs) {
  const double ghz = 2.1;
  std::vector<abi::ClockPair> pairs;
  uint64_t tsc0 = uint64_t{7} << 50;
  for (uint64_t s = 0; s <= 3600; s += 10)
    pairs.push_back({tsc0 + uint64_t(double(s) * 1e9 * ghz), 5000 + s * 1000000000, 0});
  ClockLine line = fit_clock(abi::kClockTsc, pairs);
  for (const abi::ClockPair& pair : pairs) {
    int64_t off = int64_t(line.to_ns(pair.tsc) - pair.mono_ns);
    EXPECT_LT(std::abs(off), 1000) << pair.mono_ns;  // 1 us in an hour
  }
  EXPECT_EQ(line.tsc0, 0u);
  EXPECT_LE(line.shift, 31u);
}

TEST(FitClock, IsTheIdentityForNanosecondsAndForNonsense) {
  EXPECT_EQ(fit_clock(abi::kClockMonotonic, {{5, 9, 9}}).to_ns(123), 123u);
  EXPECT_EQ(fit_clock(abi::kClockTsc, {}).to_ns(123), 123u);
  ClockLine one =
      fit_clock(abi::kClockTsc, {{uint64_t{1} << 63, 4000, 0}});  // one pair, another boot
  EXPECT_EQ(one.to_ns((uint64_t{1} << 63) + 50), 4050u);
  ClockLine mad = fit_clock(abi::kClockTsc, {{100, 1, 0}, {101, ~uint64_t{0}, 0}});
  EXPECT_EQ(mad.to_ns(100), 1u);
}

}  // namespace
}  // namespace patchbay
