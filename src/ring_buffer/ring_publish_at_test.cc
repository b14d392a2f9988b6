// SPDX-License-Identifier: MIT
// Records with a time that was read before, among others: all are there, as they were given, and
// time never goes back.
#include "ring_buffer/ring_publish_at.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "base/testing.h"
#include "hot/rseq_testing.h"
#include "ring_buffer/ring_buffer.h"
#include "ring_buffer/ring_reader.h"

namespace patchbay {
namespace {

constexpr uint64_t kRecords = 20000;
uint64_t g_values = 0;  // that went their own way

bool is_value(uint64_t number) { return number % 7 == 4; }  // two words
uint32_t size_of(uint64_t number) {
  return is_value(number) ? 16 : 16 + uint32_t(number * 7 % 40) * 4;
}

// Small ones and such as only the general way takes; now, a moment ago, and too long ago.
int write(const RingSet* const* rings, uint64_t number) {
  alignas(8) uint8_t record[256] = {};
  std::memcpy(record + 8, &number, sizeof number);
  const uint32_t size = size_of(number);
  std::memset(record + 16, int(number & 0xff), size - 16);
  const uint64_t ticks = __builtin_ia32_rdtsc() - (number % 5 == 3 ? 1 << 24 : 0);
  if (is_value(number) && ring_publish_value_at(rings, 0, number, ticks) == kRingPublished) {
    g_values++;
    return kRingPublished;
  }
  return number % 3 ? ring_publish_at(rings, record, size, ticks)
                    : ring_publish(rings, record, size);
}

struct Seen {
  std::vector<bool> numbers = std::vector<bool>(kRecords);
  uint64_t records = 0;

  void look(const EventView& event) {
    uint64_t number = 0;
    std::memcpy(&number, event.record.data() + 8, sizeof number);
    ASSERT_LT(number, kRecords);
    EXPECT_FALSE(numbers[number]) << number;
    numbers[number] = true;
    records++;
    ASSERT_EQ(event.record.size(), size_of(number));
    for (size_t i = 16; i < event.record.size(); i++)
      ASSERT_EQ(event.record[i], uint8_t(number)) << number << " at " << i;
  }
};

TEST(RingPublishAt, AmongOthers) {
  char directory[] = "/dev/shm/patchbay_at_XXXXXX";
  ASSERT_NE(::mkdtemp(directory), nullptr);
  RingBufferOptions options;
  options.path = std::string(directory) + "/buffer";
  options.nr_cpus = uint32_t(::sysconf(_SC_NPROCESSORS_CONF));
  options.bytes_per_cpu = 8 << 20;
  auto made = RingBuffer::create(options);
  ASSERT_TRUE(made.ok()) << made.error().message();
  std::unique_ptr<RingBuffer> buffer = std::move(*made);
  ASSERT_TRUE(buffer->enable().ok());
  buffer->remove_file();
  ::rmdir(directory);
  pb_rseq_offset = test::rseq_offset();
  const RingSet* rings = buffer->rings();
  for (uint64_t i = 0; i < kRecords; i++) ASSERT_EQ(write(&rings, i), kRingPublished) << i;
  pb_rseq_offset = 0;
  Seen seen;
  RingReader reader(buffer.get(), true);
  PageImage page;
  for (uint32_t ring = 0; ring < reader.nr_rings(); ring++) {
    uint64_t before = 0;
    while (reader.next_page(ring, true, &page)) {
      EventIterator events(page.bytes, page.used);
      for (EventView event; events.next(&event); before = event.time) {
        ASSERT_GE(event.time, before);
        seen.look(event);
      }
    }
  }
  EXPECT_EQ(seen.records, kRecords);
  EXPECT_EQ(g_values > kRecords / 10, test::rseq_offset() != 0);
}

}  // namespace
}  // namespace patchbay
