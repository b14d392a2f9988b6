// SPDX-License-Identifier: MIT
//
// Records that are written where they stay (synthetic_place.S) against those that are built
// first: the same values twice, over many sub-buffers; texts of every length and at the ends of
// pages, texts that cannot be read, and signals that break off what was begun, with every record
// read or counted as lost.
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>

#include <cstring>
#include <map>
#include <random>

#include "base/raw_syscall.h"
#include "hot/fault.h"
#include "hot/rseq_testing.h"
#include "probe/triggers/synthetic_hot.h"
#include "registry/event_filters.h"
#include "registry/events/synthetic_events.h"
#include "registry/registry_testing.h"
#define PATCHBAY_NO_KERNEL_NAMES
#define PATCHBAY_OWN_SOURCE
#include <patchbay/trace_events.h>

namespace patchbay {
namespace {

constexpr size_t kPage = 4096;

int g_faults;
void on_fault(int, siginfo_t*, void* context) {
  auto& ip = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP];
  const uint64_t target = fault_fixup(uint64_t(ip));
  if (!target) std::abort();
  ip = greg_t(target);
  g_faults++;
}

class SyntheticPlaceTest : public test::RegistryTest {
 protected:
  void SetUp() override {
    RegistryTest::SetUp();
    synthetic_ = std::make_unique<SyntheticEvents>(*registry_);
    reader_ = std::make_unique<RingReader>(top().buffer.get(), false);
    pb_rseq_offset = test::rseq_offset();
    if (!pb_rseq_offset) GTEST_SKIP() << "this libc or kernel has no rseq";
    pb_thread.fast_tid = pb_thread.tid = uint32_t(raw_syscall(SYS_gettid));
    struct sigaction action = {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    ::sigaction(SIGSEGV, &action, &before_);
    void* pages =
        ::mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(pages, MAP_FAILED);
    page_ = static_cast<char*>(pages);
    ASSERT_EQ(::mprotect(page_ + kPage, kPage, PROT_NONE), 0);
  }
  void TearDown() override {
    if (page_) {
      ::munmap(page_, 2 * kPage);
      ::sigaction(SIGSEGV, &before_, nullptr);
    }
    pb_rseq_offset = 0;
    pb_thread.fast_tid = 0;
    reader_.reset();
    synthetic_.reset();
    RegistryTest::TearDown();
  }

  // The event `line` defines, enabled.
  void define(const std::string& line) {
    ASSERT_TRUE(synthetic_->write_line(line).ok()) << line;
    LiveEvent* event = registry_->find_event("synthetic", line.substr(0, line.find(' ')));
    ASSERT_TRUE(enable(top(), event).ok());
    file_ = {nullptr, 1, 0, {nullptr}, nullptr};
    synthetic_->follow(&file_, top(), event);
    ASSERT_NE(file_.target.program, nullptr);
  }
  void remove(const std::string& line) {
    LiveEvent* event = registry_->find_event("synthetic", line.substr(0, line.find(' ')));
    synthetic_->unfollow(&file_, event);
    ASSERT_TRUE(enable(top(), event, false).ok());
  }
  int place(const std::vector<uint64_t>& values) {
    return synthetic_place(&file_, uint32_t(values.size()), values.data());
  }
  int build(const std::vector<uint64_t>& values) {
    return synthetic_trace(&file_, uint32_t(values.size()), values.data(), 0, 0, 0);
  }
  int in_pieces(const std::vector<uint64_t>& values, bool by_name) {
    synth_event_trace_state state;
    int error = synthetic_start(&file_, &state);
    for (size_t i = 0; i < values.size(); i++)
      error |= by_name ? synthetic_add_named(&state, file_.plan->field[i].name, values[i])
                       : synthetic_add_next(&state, values[i]);
    return error | synthetic_end(&state, 0, 0, 0);
  }
  // What came since the last time; with zeros behind a text's NUL, where nobody writes.
  std::vector<std::string> all_records() {
    std::vector<std::string> found;
    PageImage page;
    for (uint32_t ring = 0; ring < reader_->nr_rings(); ring++)
      while (reader_->next_page(ring, true, &page)) {
        EventIterator events(page.bytes, page.used);
        for (EventView event; events.next(&event);)
          found.emplace_back(event.record.begin(), event.record.end());
      }
    for (std::string& record : found)
      for (uint32_t i = 0; i < file_.plan->nr_texts; i++) {
        char* text = record.data() + file_.plan->text[i];
        const size_t length = ::strnlen(text, kSyntheticTextBytes);
        std::memset(text + length, 0, kSyntheticTextBytes - length);
      }
    return found;
  }
  std::string expected(const std::vector<uint64_t>& values) {
    const SyntheticPlan* plan = file_.plan;
    std::string record(plan->fixed_size, '\0');
    const uint32_t id = file_.target.program->event[0].event->id;
    std::memcpy(record.data(), &id, 4);
    std::memcpy(record.data() + 4, &pb_thread.fast_tid, 4);
    for (uint32_t i = 0; i < plan->nr_fields; i++) {
      const SyntheticPlan::Field& field = plan->field[i];
      const uint64_t number = values[i] & field.mask;
      if (field.kind == SyntheticKind::kNumber)
        std::memcpy(record.data() + field.offset, &number, 8);
      else
        std::strncpy(record.data() + field.offset, reinterpret_cast<const char*>(values[i]),
                     kSyntheticTextBytes - 1);
    }
    return record;
  }

  std::unique_ptr<SyntheticEvents> synthetic_;
  std::unique_ptr<RingReader> reader_;
  EventFileHandle file_ = {};
  char* page_ = nullptr;
  struct sigaction before_ = {};
};

// A record that the page's end or the scheduler sends the general way is none of these: seldom.
TEST_F(SyntheticPlaceTest, AllWaysMakeTheSameRecord) {
  const char* const lines[] = {
      "two u64 a; u8 b",
      "seven pid_t a; char b[16]; u64 c; u64 d; unsigned int e; char f[64]; int g",
      "texts char a[8]; char b[8]; u16 c; char d[256]",
      "large s8 a; u64 b; u64 c; u64 d; u64 e; u64 f; char i[9]; u64 j; s32 a_name_of_two_words",
      "numbers u64 a; u8 b; u8 c; u8 d; u8 e; u8 f; u8 g; u8 h; u8 i; u8 j; u8 k; u8 l; u64 m",
      "bytes u64 a; u8 b; u8 c; u8 d; u8 e; u8 f; u8 g; u8 h; u8 i; u8 j; u8 k; u8 l; u8 m; s16 n",
  };
  std::mt19937_64 random(7);
  for (const std::string line : lines) {
    SCOPED_TRACE(line);
    define(line);
    uint32_t placed = 0;
    for (int round = 0; round < 200; round++) {
      std::map<std::string, int> wanted;
      for (int way = 0; way < 4; way++) {
        std::vector<uint64_t> values;
        std::vector<std::string> texts(file_.plan->nr_fields);
        for (uint32_t i = 0; i < file_.plan->nr_fields; i++) {
          values.push_back(random());
          if (file_.plan->field[i].kind != SyntheticKind::kText) continue;
          for (uint64_t length = random() % (round % 2 ? 20 : 300); length > 0; length--)
            texts[i] += char(1 + random() % 255);
          values[i] = reinterpret_cast<uint64_t>(texts[i].c_str());
        }
        wanted[expected(values)]++;
        if (way == 0) {
          const bool done = place(values) == 0;
          placed += done;
          EXPECT_TRUE(done || build(values) == 0);
        } else {
          EXPECT_EQ(way == 1 ? build(values) : in_pieces(values, way == 3), 0);
        }
      }
      std::map<std::string, int> found;
      for (const std::string& record : all_records()) found[record]++;
      ASSERT_EQ(found, wanted) << "round " << round;
    }
    EXPECT_GT(placed, 20u);  // the others were preempted
    remove(line);
  }
}

TEST_F(SyntheticPlaceTest, TextsThatEndWithThePageOrCannotBeRead) {
  define("ev char a[16]; u64 b");
  std::memset(page_, 'x', kPage);
  for (uint32_t length = 0; length < 20; length++) {
    page_[kPage - 1] = 0;
    const std::vector<uint64_t> values = {uint64_t(page_ + kPage - 1 - length), length};
    ASSERT_TRUE(place(values) == 0 || build(values) == 0);
    const auto found = all_records();
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0], expected(values)) << length;
    page_[kPage - 1] = 'x';
  }
  EXPECT_EQ(g_faults, 0);
  const uint64_t bad[] = {0,
                          16,
                          uint64_t(page_ + kPage),
                          uint64_t(page_ + kPage - 3),
                          0x8000000000000000,
                          uint64_t(page_ + kPage + 100)};
  for (uint64_t address : bad) {
    g_faults = 0;
    EXPECT_NE(place({address, 5}), 0) << std::hex << address;
    EXPECT_EQ(g_faults, address == uint64_t(page_ + kPage - 3) ? 0 : 1);
    EXPECT_EQ(all_records().size(), 0u);
    EXPECT_EQ(build({address, 5}), 0);
    const auto found = all_records();
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0], expected({uint64_t("(fault)"), 5}));
  }
  g_faults = 0;
}

TEST_F(SyntheticPlaceTest, OnlyWhatIsSimple) {
  define("ev u64 a; char b[16]");
  const std::vector<uint64_t> values = {1, uint64_t("text")};
  EXPECT_NE(synthetic_place(&file_, 1, values.data()), 0);
  EXPECT_NE(synthetic_place(&file_, 3, values.data()), 0);
  const uint32_t tid = std::exchange(pb_thread.fast_tid, 0);
  EXPECT_NE(place(values), 0);
  pb_thread.fast_tid = tid;
  LiveEvent* event = registry_->find_event("synthetic", "ev");
  ASSERT_TRUE(registry_->filters().set(top(), event, "a > 1").ok());
  EXPECT_NE(place(values), 0);
  EXPECT_EQ(all_records().size(), 0u);
  EXPECT_EQ(build({1, uint64_t("text")}), 0);
  EXPECT_EQ(build({2, uint64_t("text")}), 0);
  EXPECT_EQ(all_records().size(), 1u);
  ASSERT_TRUE(registry_->filters().set(top(), event, "0").ok());
  EXPECT_TRUE(place(values) == 0 || build(values) == 0);
  EXPECT_EQ(all_records().size(), 1u);
  ring_switch(top().buffer->rings(), false);
  EXPECT_NE(place(values), 0);
  EXPECT_NE(build(values), 0);
  EXPECT_EQ(all_records().size(), 0u);
}

// --- what a signal breaks off

const EventFileHandle* g_file;
uint64_t g_from_handler, g_broken_off;
// Not near the end of a page, wherever the linker puts it: a text there is refused each time.
alignas(256) constexpr char kText[] = "a text of some words";

int place_or_build(uint64_t number) {
  const uint64_t values[] = {number, uint64_t(kText), ~number};
  if (synthetic_place(g_file, 3, values) == 0) return 0;
  g_broken_off++;
  return synthetic_trace(g_file, 3, values, 0, 0, 0);
}
void on_timer(int) { g_from_handler += place_or_build(1) == 0; }

TEST_F(SyntheticPlaceTest, EverythingIsReadOrLostWhateverInterrupts) {
  define("ev u64 a; char b[16]; u64 c");
  g_file = &file_;
  g_from_handler = g_broken_off = 0;
  struct sigaction action = {}, before;
  action.sa_handler = on_timer;
  ::sigaction(SIGALRM, &action, &before);
  const itimerval timer = {{0, 300}, {0, 300}}, none = {};
  ::setitimer(ITIMER_REAL, &timer, nullptr);
  uint64_t recorded = 0, read = 0, lost = 0, number = 100;
  PageImage page;
  for (int round = 0; round < 400; round++) {
    for (int i = 0; i < 300; i++) recorded += place_or_build(number++) == 0;
    if (round % 3 == 0 || round == 399) {
      if (round == 399) ::setitimer(ITIMER_REAL, &none, nullptr);
      for (uint32_t ring = 0; ring < reader_->nr_rings(); ring++)
        while (reader_->next_page(ring, true, &page)) {
          lost += page.lost_before;
          EventIterator events(page.bytes, page.used);
          for (EventView event; events.next(&event); read++) {
            ASSERT_EQ(event.record.size(), file_.plan->fixed_size);
            const auto* words = reinterpret_cast<const uint64_t*>(event.record.data());
            EXPECT_TRUE(words[1] == 1 || words[1] >= 100);
            EXPECT_EQ(words[1], ~words[file_.plan->field[2].offset / 8]);
            EXPECT_STREQ(reinterpret_cast<const char*>(words + 2), kText);
          }
        }
    }
  }
  ::sigaction(SIGALRM, &before, nullptr);
  EXPECT_GT(g_from_handler, 0u);
  EXPECT_LT(g_broken_off, recorded / 10);
  EXPECT_EQ(read + lost, recorded + g_from_handler);
}

}  // namespace
}  // namespace patchbay
