// SPDX-License-Identifier: MIT
//
// Writers against a reader. Each record carries its thread and a number that the thread counts up,
// in sizes from 8 bytes to most of a sub-buffer; a timer signal publishes from its handler in
// between. Checked: G1/G2 whole events, in order, time never back within a ring; G3 every event is
// read or counted as lost, exactly; G8 the same without rseq. A failing run prints its seed.
#include "hot/rseq_testing.h"
#include "ring_buffer/ring_write_hot.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include "base/raw_syscall.h"
#include "ring_buffer/buffer_file.h"
#include "ring_buffer/ring_buffer.h"

namespace patchbay {
namespace {

struct Payload {
  abi::RecordHeader header;
  uint32_t number;
  uint32_t check;  // number ^ thread ^ size
};

// Every second large record goes in pieces, which lie side by side here.
int publish(const RingSet* const* rings, const uint8_t* record, uint32_t size, uint32_t number) {
  if (size <= abi::kMaxSmallData || size % 8 || number % 2)
    return ring_publish(rings, record, size);
  const uint32_t first = size / 3 & ~7u, second = first + 8;
  const RingPiece pieces[] = {{0, first}, {first, second}, {second, size}, {0, 0}};
  const int status = ring_publish_pieces(rings, record, size, pieces);
  return status == kRingNoRseq ? ring_publish(rings, record, size) : status;
}

const RingSet* g_signal_rings = nullptr;
std::atomic<uint64_t> g_signal_published{0}, g_signal_refused{0};

uint32_t write_one(const RingSet* const& rings, uint32_t thread, uint32_t number, uint32_t size,
                   uint32_t* statuses) {
  alignas(8) uint8_t record[4072] = {};
  auto* payload = reinterpret_cast<Payload*>(record);
  payload->header = {7, 0, 0, int32_t(thread)};
  payload->number = number;
  payload->check = number ^ thread ^ size;
  std::memset(record + sizeof(Payload), int(number & 0xff), size - sizeof(Payload));
  int status = publish(&rings, record, size, number);
  statuses[status]++;
  return uint32_t(status);
}

void on_timer(int) {
  static thread_local uint32_t number = 0;
  uint32_t statuses[4] = {};
  if (!g_signal_rings) return;
  if (!pb_thread.tid) pb_thread.tid = uint32_t(raw_syscall(SYS_gettid));
  write_one(g_signal_rings, 1000000 + uint32_t(raw_syscall(SYS_gettid)), number++, 16, statuses);
  g_signal_published += statuses[kRingPublished];
  g_signal_refused += statuses[kRingDropped];
}

void start_timer(const RingSet* rings) {
  g_signal_published = g_signal_refused = 0;
  g_signal_rings = rings;
  struct sigaction action = {};
  action.sa_handler = on_timer;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGALRM, &action, nullptr);
  itimerval timer = {{0, 300}, {0, 300}};
  ::setitimer(ITIMER_REAL, &timer, nullptr);
}

void stop_timer() {
  itimerval off = {};
  ::setitimer(ITIMER_REAL, &off, nullptr);
  g_signal_rings = nullptr;
}

struct Scenario {
  const char* name;
  bool rseq;
  bool overwrite;
  uint32_t subbufs;
  uint32_t max_size;
};

class RingStress : public ::testing::TestWithParam<Scenario> {};

// What the reader saw: order per thread and ring, time per ring, totals.
struct Reader {
  std::unique_ptr<BufferFile> file;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> last_number;
  std::vector<uint64_t> last_time;
  uint64_t events = 0, lost = 0;

  void read(bool include_current) {
    PageImage page;
    for (uint32_t ring = 0; ring < file->nr_rings(); ring++)
      while (file->next_page(ring, include_current, &page)) check(ring, page);
  }
  void check(uint32_t ring, const PageImage& page) {
    lost += page.lost_before;
    EventIterator it(page.bytes, page.used);
    EventView view;
    uint64_t count = 0;
    while (it.next(&view)) {
      count++;
      ASSERT_GE(view.record.size(), sizeof(Payload));
      ASSERT_GE(view.time, last_time[ring]) << "ring " << ring;
      last_time[ring] = view.time;
      Payload payload;
      std::memcpy(&payload, view.record.data(), sizeof payload);
      uint32_t thread = uint32_t(payload.header.common_pid);
      ASSERT_EQ(payload.check, payload.number ^ thread ^ uint32_t(view.record.size()));
      for (size_t i = sizeof payload; i < view.record.size(); i++)
        ASSERT_EQ(view.record[i], uint8_t(payload.number));
      auto [last, first] = last_number.try_emplace({ring, thread}, payload.number);
      if (!first) {
        ASSERT_GT(payload.number, last->second);
      }
      last->second = payload.number;
    }
    ASSERT_FALSE(it.malformed());
    ASSERT_EQ(count, page.entries);
    events += count;
  }
};

std::unique_ptr<RingBuffer> make_buffer(const Scenario& scenario, std::string* path) {
  char directory[] = "/tmp/ring_write_test.XXXXXX";
  EXPECT_NE(::mkdtemp(directory), nullptr);
  *path = std::string(directory) + "/buffer";
  RingBufferOptions options;
  options.path = *path;
  options.nr_cpus = uint32_t(::sysconf(_SC_NPROCESSORS_CONF));
  options.bytes_per_cpu = scenario.subbufs * 4096;
  options.overwrite = scenario.overwrite;
  auto buffer = RingBuffer::create(options);
  EXPECT_TRUE(buffer.ok()) << buffer.error().message();
  EXPECT_TRUE((*buffer)->enable().ok());
  return std::move(*buffer);
}

void remove_buffer(const std::string& path) {
  ::unlink(path.c_str());
  ::rmdir(path.substr(0, path.rfind('/')).c_str());
}

TEST_P(RingStress, EveryEventIsReadOrCounted) {
  const Scenario& scenario = GetParam();
  pb_rseq_offset = scenario.rseq ? test::rseq_offset() : 0;
  if (scenario.rseq && !pb_rseq_offset) GTEST_SKIP() << "this libc or kernel has no rseq";
  const char* seed_text = std::getenv("PATCHBAY_SEED");
  uint32_t seed =
      seed_text ? uint32_t(std::strtoul(seed_text, nullptr, 10)) : std::random_device{}();
  SCOPED_TRACE("PATCHBAY_SEED=" + std::to_string(seed));
  std::string path;
  auto buffer = make_buffer(scenario, &path);
  auto opened = BufferFile::open(path, true);
  ASSERT_TRUE(opened.ok()) << opened.error().message();
  Reader reader{std::move(*opened), {}, std::vector<uint64_t>(buffer->header()->nr_rings), 0, 0};

  start_timer(buffer->rings());

  constexpr int kThreads = 8;
  constexpr uint32_t kEach = 40000;
  std::atomic<int> running{kThreads};
  std::atomic<uint64_t> published{0}, refused{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; t++) {
    threads.emplace_back([&, t] {
      pb_thread.tid = uint32_t(raw_syscall(SYS_gettid));
      std::mt19937 random(seed + uint32_t(t));
      uint32_t statuses[4] = {};
      for (uint32_t i = 0; i < kEach; i++) {
        uint32_t size = 16 + 4 * (random() % (scenario.max_size / 4 - 4));
        if (random() % 8) size = 16 + 4 * (random() % 30);
        write_one(buffer->rings(), uint32_t(t), i, size, statuses);
        if (random() % 4096 == 0) ::usleep(60000);  // > 2^27 ticks: a time extend
      }
      published += statuses[kRingPublished];
      refused += statuses[kRingDropped];
      running--;
    });
  }
  while (running.load()) {
    reader.read(false);
    if (random() % 2) ::usleep(200);
    if (HasFatalFailure()) break;
  }
  for (std::thread& thread : threads) thread.join();
  stop_timer();
  reader.read(true);

  uint64_t recorded = published + g_signal_published;
  EXPECT_EQ(published + refused, uint64_t(kThreads) * kEach);
  EXPECT_EQ(reader.events + reader.lost, recorded);
  uint64_t entries = 0, dropped = 0;
  for (uint32_t ring = 0; ring < reader.file->nr_rings(); ring++) {
    entries += reader.file->stats(ring).entries;
    dropped += reader.file->stats(ring).dropped;
  }
  EXPECT_EQ(entries, recorded);
  EXPECT_EQ(dropped + reader.file->missed(), refused + g_signal_refused);
  if (!scenario.overwrite) {
    EXPECT_EQ(reader.lost, 0u);
  }
  remove_buffer(path);
  pb_rseq_offset = 0;
}

INSTANTIATE_TEST_SUITE_P(Rings, RingStress,
                         ::testing::Values(Scenario{"RseqOverwrite", true, true, 8, 4072},
                                           Scenario{"RseqDrop", true, false, 8, 4072},
                                           Scenario{"RseqLarge", true, true, 512, 200},
                                           Scenario{"LockedOverwrite", false, true, 8, 4072},
                                           Scenario{"LockedDrop", false, false, 8, 4072}),
                         [](const auto& info) { return info.param.name; });

TEST(RingWrite, PiecesLeaveTheRestAlone) {
  pb_rseq_offset = test::rseq_offset();
  if (!pb_rseq_offset) GTEST_SKIP() << "this libc or kernel has no rseq";
  std::string path;
  auto buffer = make_buffer({"", true, true, 4, 100}, &path);
  alignas(8) uint8_t record[264];
  std::memset(record, 0xaa, sizeof record);
  const RingPiece pieces[] = {{0, 16}, {128, 136}, {256, 264}, {0, 0}};
  const RingSet* rings = buffer->rings();
  constexpr int kRecords = 40;  // over several sub-buffers
  for (int i = 0; i < kRecords; i++)
    ASSERT_EQ(ring_publish_pieces(&rings, record, sizeof record, pieces), kRingPublished);
  auto file = BufferFile::open(path, true);
  ASSERT_TRUE(file.ok());
  int found = 0;
  PageImage page;
  for (uint32_t ring = 0; ring < (*file)->nr_rings(); ring++)
    while ((*file)->next_page(ring, true, &page)) {
      EventIterator it(page.bytes, page.used);
      for (EventView view; it.next(&view); found++) {
        ASSERT_EQ(view.record.size(), sizeof record);
        for (size_t at = 0; at < sizeof record; at++)
          EXPECT_EQ(view.record[at], at < 16 || at / 8 == 16 || at >= 256 ? 0xaa : 0) << at;
      }
      found += int(page.lost_before);
    }
  EXPECT_EQ(found, kRecords);
  remove_buffer(path);
  pb_rseq_offset = 0;
}

TEST(RingWrite, OffIsNotALoss) {
  pb_rseq_offset = test::rseq_offset();
  std::string path;
  auto buffer = make_buffer({"", true, true, 4, 100}, &path);
  buffer->disable();
  pb_thread.tid = 1;
  uint32_t statuses[4] = {};
  EXPECT_EQ(write_one(buffer->rings(), 1, 1, 16, statuses), uint32_t(kRingOff));
  ASSERT_TRUE(buffer->enable().ok());
  EXPECT_EQ(write_one(buffer->rings(), 1, 1, 16, statuses), uint32_t(kRingPublished));
  remove_buffer(path);
  pb_rseq_offset = 0;
}

}  // namespace
}  // namespace patchbay
