// SPDX-License-Identifier: MIT
// The letters of states as kernels print them, and records of sched_switch, whole and cut.
#include "event/sched_switch.h"

#include <gtest/gtest.h>

#include <cstring>

namespace patchbay {
namespace {

// As Linux 6.12 and 6.18 have it, with MASK and PLUS in place of their long sums.
constexpr char kNow[] =
    "\"prev_state=%s%s\", (REC->prev_state & MASK) ? __print_flags(REC->prev_state & MASK, \"|\", "
    "{ 0x00000001, \"S\" }, { 0x00000002, \"D\" }, { 0x00000004, \"T\" }, { 0x00000008, \"t\" }, "
    "{ 0x00000010, \"X\" }, { 0x00000020, \"Z\" }, { 0x00000040, \"P\" }, { 0x00000080, \"I\" }) "
    ": \"R\", REC->prev_state & PLUS ? \"+\" : \"\"";
// As Linux 4.9 has it.
constexpr char kOld[] =
    "\"%s%s\", REC->prev_state & (2048-1) ? __print_flags(REC->prev_state & (2048-1), \"|\", "
    "{ 1, \"S\"} , { 2, \"D\" }, { 4, \"T\" }, { 8, \"t\" }, { 16, \"Z\" }, { 32, \"X\" }, "
    "{ 64, \"x\" }, { 128, \"K\" }, { 256, \"W\" }, { 512, \"P\" }, { 1024, \"N\" }) : \"R\", "
    "REC->prev_state & 2048 ? \"+\" : \"\"";

EventCall event_of(const std::string& print_fmt) {
  EventCall event{.system = "sched", .name = "sched_switch", .id = 65534};
  event.fields = {{"char", "prev_comm", 8, 16, false, 16},  {"pid_t", "prev_pid", 24, 4, true},
                  {"int", "prev_prio", 28, 4, true},        {"long", "prev_state", 32, 8, true},
                  {"char", "next_comm", 40, 16, false, 16}, {"pid_t", "next_pid", 56, 4, true}};
  event.print_fmt = print_fmt;
  return event;
}

TEST(SchedSwitch, LettersAreTheKernels) {
  const struct {
    const char* print_fmt;
    uint64_t state;
    const char *text, *what;
  } table[] = {
      {kNow, 0, "R", "it yielded, or was preempted on its way to user space"},
      {kNow, 0x100, "R+", "preempted"},
      {kNow, 1, "S", ""},
      {kNow, 2, "D", ""},
      {kNow, 4, "T", "stopped"},
      {kNow, 8, "t", "by a debugger"},
      {kNow, 0x10, "X", ""},
      {kNow, 0x20, "Z", ""},
      {kNow, 0x80, "I", "an idle kernel thread"},
      {kNow, 3, "S|D", "several"},
      {kNow, 0x101, "S+", "preempted on its way to sleep"},
      {kNow, 0x400, "R", "above all that it shows"},
      {kOld, 2048, "R+", "its bit has moved"},
      {kOld, 32, "X", "so have others"},
      {kOld, 1024 | 2048, "N+", ""},
      {"\"no letters\"", 0x102, "D+", "the usual ones"},
      {"\"%s\", { 0x2, \"D\" }", 1, "0x1", "a bit without a letter"},
      {"\"%s\", { , { 99999999999999999999, \"a\" }, { 0x", 1, "S", "damaged: the usual ones"},
  };
  for (const auto& row : table) {
    const auto reader = SchedSwitchReader::of(event_of(row.print_fmt));
    ASSERT_TRUE(reader);
    EXPECT_EQ(reader->state_text(row.state), row.text) << row.print_fmt << "\n" << row.what;
  }
}

TEST(SchedSwitch, Records) {
  const auto reader = SchedSwitchReader::among({EventCall{}, event_of(kNow)});
  ASSERT_TRUE(reader);
  std::vector<uint8_t> record(60);
  const auto put = [&record](size_t at, auto value) {
    std::memcpy(record.data() + at, &value, sizeof value);
  };
  put(0, uint16_t{65534});
  put(24, int32_t{7});
  put(32, int64_t{0x20});
  put(56, int32_t{9});
  SchedSwitch one;
  ASSERT_TRUE(reader->read(record, &one));
  EXPECT_EQ(one.prev_tid, 7);
  EXPECT_EQ(one.next_tid, 9);
  EXPECT_EQ(one.prev_state, 0x20u);
  EXPECT_TRUE(one.prev_ended);
  for (size_t size = 0; size < record.size(); size++)
    EXPECT_FALSE(reader->read(std::span(record).first(size), &one)) << size;
  put(0, uint16_t{600});
  EXPECT_FALSE(reader->read(record, &one)) << "another event's";
}

TEST(SchedSwitch, OtherEventsAreNone) {
  EXPECT_FALSE(SchedSwitchReader::among({}));
  for (const char* missing : {"prev_pid", "prev_state", "next_pid"}) {
    EventCall event = event_of(kNow);
    std::erase_if(event.fields, [&](const EventField& field) { return field.name == missing; });
    EXPECT_FALSE(SchedSwitchReader::of(event)) << missing;
  }
  EventCall event = event_of(kNow);
  event.fields[3].size = 64;
  EXPECT_FALSE(SchedSwitchReader::of(event)) << "no number";
  event = event_of(kNow);
  event.system = "own";
  EXPECT_FALSE(SchedSwitchReader::of(event));
}

}  // namespace
}  // namespace patchbay
