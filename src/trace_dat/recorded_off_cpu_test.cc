// SPDX-License-Identifier: MIT
// Switches out of pages of several CPUs: in order of time, and in doubt where events were lost.
#include "trace_dat/recorded_off_cpu.h"

#include <gtest/gtest.h>

#include <cstring>

#include "trace_dat/record_pages.h"

namespace patchbay {
namespace {

constexpr uint16_t kId = 65534;

EventCall sched_switch() {
  EventCall event{.system = "sched", .name = "sched_switch", .id = kId};
  event.fields = {{"pid_t", "prev_pid", 8, 4, true},
                  {"int", "prev_state", 12, 4, true},
                  {"pid_t", "next_pid", 16, 4, true}};
  return event;
}

class TwoCpus : public PageSource {
 public:
  void add(uint32_t cpu, uint64_t ns, int32_t prev, int32_t next, uint16_t id = kId) {
    std::vector<uint8_t> record(20);
    const int32_t words[] = {prev, 1, next};
    std::memcpy(record.data(), &id, sizeof id);
    std::memcpy(record.data() + 8, words, sizeof words);
    ASSERT_TRUE(rings_[cpu].add(ns, record));
  }
  void lose(uint32_t cpu, uint64_t count) { rings_[cpu].lose(count); }
  void end() {
    for (RecordPages& ring : rings_) ring.flush();
  }
  size_t nr_cpus() const override { return 2; }
  bool next_page(size_t cpu, PageImage* out) override {
    if (next_[cpu] == pages_[cpu].size()) return false;
    *out = pages_[cpu][next_[cpu]++];
    return true;
  }
  uint64_t to_ns(uint64_t time) const override { return time; }

 private:
  std::vector<PageImage> pages_[2];
  size_t next_[2] = {0, 0};
  RecordPages rings_[2] = {
      RecordPages(4096, [this](const PageImage& page) { pages_[0].push_back(page); }),
      RecordPages(4096, [this](const PageImage& page) { pages_[1].push_back(page); })};
};

OffCpuTimes read(TwoCpus* pages) {
  pages->end();
  OffCpuTimes times;
  take_switches(pages, *SchedSwitchReader::of(sched_switch()), &times);
  return times;
}

TEST(RecordedOffCpu, ComesBackOnAnotherCpu) {
  TwoCpus pages;
  pages.add(0, 1000, 7, 0);
  pages.add(0, 5000, 9, 9, 600);  // another event
  pages.add(1, 3000, 0, 7);
  const OffCpuTimes times = read(&pages);
  EXPECT_EQ(times.within(7, 500, 9000).off_ns, 2000u);
  EXPECT_TRUE(times.within(7, 500, 9000).is_sure);
  EXPECT_FALSE(times.has_losses());
}

TEST(RecordedOffCpu, LossesAreDoubtsSinceTheCpusLastEvent) {
  TwoCpus pages;
  pages.add(0, 1000, 7, 0);
  pages.add(1, 3000, 0, 7);
  pages.lose(1, 5);
  pages.add(1, 6000, 7, 0);
  pages.add(0, 7000, 0, 7);
  const OffCpuTimes times = read(&pages);
  EXPECT_TRUE(times.has_losses());
  EXPECT_TRUE(times.within(7, 500, 3000).is_sure);
  EXPECT_FALSE(times.within(7, 3500, 5000).is_sure);
  EXPECT_TRUE(times.within(7, 6000, 9000).is_sure);
}

TEST(RecordedOffCpu, NoPages) {
  TwoCpus pages;
  EXPECT_TRUE(read(&pages).empty());
}

}  // namespace
}  // namespace patchbay
