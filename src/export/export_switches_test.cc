// SPDX-License-Identifier: MIT
// Which switch of a recording brings which thread back, and since when it was off the CPU.
#include "export/export_switches.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <string>

namespace patchbay {
namespace {

EventCall sched_switch() {
  EventCall event{.system = "sched", .name = "sched_switch", .id = 372};
  event.fields = {{"pid_t", "prev_pid", 8, 4, true},
                  {"int", "prev_state", 12, 4, true},
                  {"pid_t", "next_pid", 16, 4, true}};
  return event;
}

// "10 7>0 1": at 10, 7 goes with the state 1; "lost" loses. "7 10-30 S" a span that came out.
std::string spans(std::string_view text) {
  ExportSwitches switches;
  switches.define(0, {sched_switch()});
  ExportThread thread;
  std::string out;
  while (!text.empty()) {
    const std::string line(text.substr(0, text.find(';')));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    unsigned long long ns = 0;
    int32_t words[3] = {0, 0, 0};  // prev, state, next
    if (line == "lost") {
      switches.lose(0);
      continue;
    }
    if (std::sscanf(line.c_str(), "%llu %d>%d %i", &ns, &words[0], &words[2], &words[1]) < 3)
      return "bad line: " + line;
    std::vector<uint8_t> record(20);
    const uint16_t id = 372;
    std::memcpy(record.data(), &id, sizeof id);
    std::memcpy(record.data() + 8, words, sizeof words);
    const ExportOffCpu* back = switches.see(0, ns, record, [&](int32_t tid) {
      thread.tid = tid;
      return &thread;
    });
    if (back)
      out += std::to_string(back->thread->tid) + " " + std::to_string(back->begin_ns) + "-" +
             std::to_string(ns) + " " + back->state + "; ";
  }
  return out;
}

TEST(ExportSwitches, SpansOfThreads) {
  EXPECT_EQ(spans("10 7>0 1;30 0>7"), "7 10-30 S; ");
  EXPECT_EQ(spans("10 7>8 0x100;20 8>7 2;30 7>8 0"), "7 10-20 R+; 8 20-30 D; ");
  EXPECT_EQ(spans("10 0>7;30 0>8"), "") << "they were never seen to go";
  EXPECT_EQ(spans("10 7>0 0x20;30 0>7"), "") << "another thread of that number";
  EXPECT_EQ(spans("10 7>0 1;20 7>0 2;30 0>7"), "7 20-30 D; ");
  EXPECT_EQ(spans("10 7>0 1;lost;30 0>7;40 7>0 1;50 0>7"), "7 40-50 S; ");
  EXPECT_EQ(spans("10 7>7 1;20 0>7"), "7 10-20 S; ") << "to itself";
}

TEST(ExportSwitches, WithoutTheEvent) {
  ExportSwitches switches;
  switches.define(0, {});
  const std::vector<uint8_t> record(64);
  EXPECT_EQ(switches.see(0, 10, record, [](int32_t) { return nullptr; }), nullptr);
}

}  // namespace
}  // namespace patchbay
