// SPDX-License-Identifier: MIT
//
// The code generated for the hits of a static event does what static_event_hit() does: with filters
// of its own, of its triggers, of a callback, in soft mode, in new threads and in agent code.
#include "codegen/static_event_code.h"

#include <patchbay/trace_event.h>

#include <cstring>
#include <thread>

#include "filter/filter.h"
#include "hot/rseq_testing.h"
#include "probe/callbacks/callbacks.h"
#include "probe/triggers/trigger_hot.h"
#include "registry/event_filters.h"
#include "registry/events/static_events.h"
#include "registry/registry_testing.h"

PB_TRACE_EVENT(own, numbers, PB_FIELDS(PB_FIELD(int, a), PB_FIELD(long, b), PB_ARRAY(char, c, 4)));

namespace patchbay {
namespace {

__attribute__((noinline)) void pass(int a, long b) { PB_TRACE(numbers, a, b, "abc"); }

struct Numbers {
  abi::RecordHeader header;
  int a;
  long b;
};

struct Case {
  const char* filter;
  bool (*matches)(int a, long b);
  bool has_code;
};
const Case kCases[] = {
    {"a == 1", [](int a, long) { return a == 1; }, true},
    {"a < 0", [](int a, long) { return a < 0; }, true},
    {"a & 2 || b < -1", [](int a, long b) { return (a & 2) || b < -1; }, true},
    {"a > 0 && !(b == 7 || b == 3)", [](int a, long b) { return a > 0 && b != 7 && b != 3; }, true},
    {"b >= 0x1000000000", [](int, long b) { return b >= 0x1000000000; }, true},
    {"common_pid != 0 && a == 2", [](int a, long) { return a == 2; }, true},
    {"common_pid == 0", [](int, long) { return false; }, true},
    {"common_type > 0", [](int, long) { return true; }, true},
    {"c == \"abc\" && a == 1", [](int a, long) { return a == 1; }, false},
};

int g_calls;
Numbers g_seen;
bool g_passes;  // in the callback too
void note(const CallbackRecord* record, uint64_t) {
  g_calls++;
  EXPECT_GE(record->size, sizeof g_seen);
  std::memcpy(&g_seen, record->record, sizeof g_seen);
  EXPECT_EQ(record->tid, uint32_t(g_seen.header.common_pid));
  if (g_passes) pass(1, 1);
}

class StaticEventCode : public test::RegistryTest {
 protected:
  void SetUp() override {
    pb_rseq_offset = test::rseq_offset();
    pb_thread = {};
    RegistryTest::SetUp();
    patcher_ = make_patcher();
    events_ = std::make_unique<StaticEvents>(*registry_, *patcher_);
    const auto nr_events = uint64_t(__stop_patchbay_events - __start_patchbay_events);
    const auto nr_sites = uint64_t(__stop_patchbay_sites - __start_patchbay_sites);
    events_->register_events(PATCHBAY_EVENT_ABI, __start_patchbay_events, nr_events,
                             __start_patchbay_sites, nr_sites);
    event_ = registry_->find_event("own", "numbers");
    ASSERT_NE(event_, nullptr);
    g_calls = 0;
  }
  void TearDown() override {
    set_triggers({});
    EXPECT_TRUE(enable(top(), event_, false).ok());
    EXPECT_EQ(pb_i_event_numbers.hit, nullptr);
    events_.reset();
    RegistryTest::TearDown();
    pb_thread = {};
    pb_rseq_offset = 0;
  }

  // A callback for each of these filters; "": every record. None: no triggers.
  void set_triggers(const std::vector<std::string>& filters) {
    if (!callback_)
      callback_ = make_callback(reinterpret_cast<uint64_t>(&note), 0, LiveVectors::kNone);
    const size_t words = (sizeof(TriggerProgram) + filters.size() * sizeof(Trigger)) / 8;
    programs_.push_back(std::make_unique<uint64_t[]>(words));
    auto* program = reinterpret_cast<TriggerProgram*>(programs_.back().get());
    std::vector<const FilterProgram*> gate;
    for (const std::string& text : filters) {
      Trigger& trigger = program->trigger[program->nr_triggers++];
      trigger.kind = TriggerKind::kCallback;
      trigger.after = trigger.needs_record = 1;
      trigger.callback = callback_;
      if (text.empty()) continue;
      auto made = registry_->filters().make(top(), event_, text);
      ASSERT_TRUE(made.ok()) << text;
      filters_.push_back(std::move(*made));
      gate.push_back(trigger.filter = filters_.back().get());
    }
    if (!filters.empty() && gate.size() == filters.size()) {
      filters_.push_back(any_filter(gate));
      program->gate = filters_.back().get();
    }
    if (!filters.empty() && !holds_) {
      ASSERT_TRUE(registry_->hold_soft(top(), event_).ok());
    }
    ASSERT_TRUE(registry_->set_triggers(top(), event_, filters.empty() ? nullptr : program).ok());
    if (filters.empty() && holds_) registry_->release_soft(top(), event_);
    holds_ = !filters.empty();
  }
  bool has_code() const {
    return pb_i_event_numbers.hit && pb_i_event_numbers.hit != static_event_hit;
  }
  // Of what stands in the buffer since the last time.
  std::vector<Numbers> take() {
    std::vector<std::string> all = records(top().buffer.get());
    std::vector<Numbers> fresh;
    for (size_t i = taken_; i < all.size(); i++) {
      EXPECT_GE(all[i].size(), sizeof(Numbers));
      std::memcpy(&fresh.emplace_back(), all[i].data(), sizeof(Numbers));
      EXPECT_EQ(fresh.back().header.common_type, event_->call.id);
    }
    taken_ = all.size();
    return fresh;
  }
  // All numbers against what should have come of each.
  template <typename Expect>
  void pass_all(Expect expect) {
    for (int a : {-5, -1, 0, 1, 2, 3, 100}) {
      for (long b : {-7L, -1L, 0L, 3L, 7L, 0xfffffffffL, 0x1000000000L}) {
        g_calls = 0;
        pass(a, b);
        SCOPED_TRACE("a " + std::to_string(a) + " b " + std::to_string(b));
        expect(a, b);
      }
    }
  }

  std::unique_ptr<Patcher> patcher_;
  std::unique_ptr<StaticEvents> events_;
  LiveEvent* event_ = nullptr;
  HitCallback* callback_ = nullptr;
  bool holds_ = false;
  std::vector<std::unique_ptr<uint64_t[]>> programs_;
  std::vector<FilterProgramPtr> filters_;
  size_t taken_ = 0;
};

TEST_F(StaticEventCode, OwnFilter) {
  ASSERT_TRUE(enable(top(), event_).ok());
  EXPECT_FALSE(has_code()) << "nothing is to be decided";
  for (const Case& one : kCases) {
    SCOPED_TRACE(one.filter);
    ASSERT_TRUE(registry_->filters().set(top(), event_, one.filter).ok());
    EXPECT_EQ(has_code(), one.has_code);
    pass_all([&](int a, long b) { EXPECT_EQ(take().size(), one.matches(a, b) ? 1u : 0u); });
  }
}

TEST_F(StaticEventCode, OneCallback) {
  for (const Case& one : kCases) {
    SCOPED_TRACE(one.filter);
    set_triggers({one.filter});
    EXPECT_EQ(has_code(), one.has_code);
    pass_all([&](int a, long b) { EXPECT_EQ(g_calls, one.matches(a, b) ? 1 : 0); });
    ASSERT_TRUE(enable(top(), event_).ok());
    pass_all([&](int a, long b) {
      EXPECT_EQ(g_calls, one.matches(a, b) ? 1 : 0);
      EXPECT_EQ(take().size(), 1u) << "and is recorded";
    });
    ASSERT_TRUE(enable(top(), event_, false).ok());
    EXPECT_TRUE(take().empty());
  }
}

TEST_F(StaticEventCode, OneCallbackOfAllRecords) {
  set_triggers({""});
  EXPECT_TRUE(has_code());
  const auto expect = [&](int a, long b) {
    EXPECT_EQ(g_calls, 1);
    EXPECT_EQ(g_seen.a, a);
    EXPECT_EQ(g_seen.b, b);
    EXPECT_EQ(g_seen.header.common_type, event_->call.id);
  };
  pass_all(expect);
  std::thread([&] { pass_all(expect); }).join();
  EXPECT_TRUE(take().empty()) << "the event itself is off";
}

TEST_F(StaticEventCode, ACallbackIsNotCalledInsideOfItself) {
  set_triggers({""});
  const uint64_t before = callback_->missed;
  g_passes = true;
  pass(5, 5);
  g_passes = false;
  EXPECT_EQ(g_calls, 1);
  EXPECT_EQ(callback_->missed, before + 1);
  switch_off(callback_);
  pass(5, 5);
  EXPECT_EQ(g_calls, 1) << "it is off";
  EXPECT_EQ(callback_->missed, before + 1);
}

TEST_F(StaticEventCode, Gate) {
  for (const Case& one : kCases) {
    SCOPED_TRACE(one.filter);
    set_triggers({one.filter, "a == 100"});
    EXPECT_EQ(has_code(), one.has_code);
    const auto calls = [&](int a, long b) { return (one.matches(a, b) ? 1 : 0) + (a == 100); };
    pass_all([&](int a, long b) { EXPECT_EQ(g_calls, calls(a, b)); });
    ASSERT_TRUE(registry_->filters().set(top(), event_, "b == 7").ok());
    pass_all([&](int a, long b) { EXPECT_EQ(g_calls, calls(a, b)); });
    EXPECT_TRUE(take().empty()) << "it is off";
    ASSERT_TRUE(enable(top(), event_).ok());
    pass_all([&](int a, long b) {
      EXPECT_EQ(g_calls, calls(a, b));
      EXPECT_EQ(take().size(), b == 7 ? 1u : 0u);
    });
    ASSERT_TRUE(registry_->filters().set(top(), event_, "0").ok());
    pass_all([&](int, long) { EXPECT_EQ(take().size(), 1u); });
    ASSERT_TRUE(enable(top(), event_, false).ok());
  }
}

TEST_F(StaticEventCode, WhoPassesItFirstAndAgentCode) {
  ASSERT_TRUE(registry_->filters().set(top(), event_, "a == 1").ok());
  ASSERT_TRUE(enable(top(), event_).ok());
  ASSERT_TRUE(has_code());
  pb_thread = {};
  pass(2, 0);
  EXPECT_EQ(pb_thread.fast_tid != 0, pb_rseq_offset != 0) << "is known, though it did not match";
  pass(1, 0);
  const std::vector<Numbers> found = take();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(uint32_t(found[0].header.common_pid), pb_thread.tid);
  pb_thread.in_agent = 1;
  const uint32_t known_as = std::exchange(pb_thread.fast_tid, 0);
  pass(1, 0);
  pass(2, 0);
  pb_thread.in_agent = 0;
  pb_thread.fast_tid = known_as;
  EXPECT_TRUE(take().empty());
  EXPECT_EQ(top().buffer->header()->recursion, 2u) << "match or not";
}

}  // namespace
}  // namespace patchbay
