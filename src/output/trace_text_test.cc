// SPDX-License-Identifier: MIT
// The text of trace, trace_pipe and snapshot: each option against what a 6.12 kernel printed for
// the same events (tests/golden/trace_options.txt), then what a table cannot say.
#include "output/trace_text.h"

#include <gtest/gtest.h>
#include <sys/utsname.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "output/page_feed.h"

namespace patchbay {
namespace {

using test::make_page;
using test::PageFeed;

std::string bytes_of(const auto& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}
std::string padded(std::string text, size_t size) {
  text.resize(size, '\0');
  return text;
}
std::string record(uint16_t id, uint8_t flags, uint8_t preempt, int32_t pid, std::string fields) {
  return bytes_of(id) + char(flags) + char(preempt) + bytes_of(pid) + std::move(fields);
}

EventCall call(std::string system, std::string name, uint16_t id, std::vector<EventField> fields,
               std::string print_fmt) {
  return {std::move(system), std::move(name),   id,
          common_fields(),   std::move(fields), std::move(print_fmt)};
}

constexpr uint64_t kMarkWrite = 0xffffffff8d0377ff;
constexpr char kKallsyms[] =
    "ffffffff8d037720 t tracing_mark_write\nffffffff8d0379a0 t tracing_mark_raw_write\n";

std::vector<EventCall> kernel_events() {
  return {
      call("ftrace", "print", 5,
           {{"unsigned long", "ip", 8, 8}, {"char", "buf", 16, 0, false, 0, "[]"}},
           "\"%ps: %s\", (void *)REC->ip, REC->buf"),
      call("ftrace", "raw_data", 18,
           {{"unsigned int", "id", 8, 4}, {"char", "buf", 12, 0, false, 0, "[]"}},
           "\"id:%04x %08x\", REC->id, (int)REC->buf[0]"),
      call("task", "task_rename", 136,
           {{"pid_t", "pid", 8, 4, true},
            {"char", "oldcomm", 12, 16, false, 16},
            {"char", "newcomm", 28, 16, false, 16},
            {"short", "oom_score_adj", 44, 2, true}},
           "\"pid=%d oldcomm=%s newcomm=%s oom_score_adj=%hd\", REC->pid, REC->oldcomm, "
           "REC->newcomm, REC->oom_score_adj"),
      call("signal", "signal_generate", 193,
           {{"int", "sig", 8, 4, true},
            {"int", "errno", 12, 4, true},
            {"int", "code", 16, 4, true},
            {"char", "comm", 20, 16, false, 16},
            {"pid_t", "pid", 36, 4, true},
            {"int", "group", 40, 4, true},
            {"int", "result", 44, 4, true}},
           "\"sig=%d errno=%d code=%d comm=%s pid=%d grp=%d res=%d\", REC->sig, REC->errno, "
           "REC->code, REC->comm, REC->pid, REC->group, REC->result"),
      call("syscalls", "sys_exit_umask", 200, {}, "\"\""),
      call("syscalls", "sys_enter_umask", 201, {}, "\"\""),
      call("sched", "sched_process_fork", 304,
           {{"char", "parent_comm", 8, 16, false, 16},
            {"pid_t", "parent_pid", 24, 4, true},
            {"char", "child_comm", 28, 16, false, 16},
            {"pid_t", "child_pid", 44, 4, true}},
           "\"comm=%s pid=%d child_comm=%s child_pid=%d\", REC->parent_comm, REC->parent_pid, "
           "REC->child_comm, REC->child_pid"),
      call("sched", "sched_process_exit", 307,
           {{"char", "comm", 8, 16, false, 16},
            {"pid_t", "pid", 24, 4, true},
            {"int", "prio", 28, 4, true}},
           "\"comm=%s pid=%d prio=%d\", REC->comm, REC->pid, REC->prio"),
  };
}

struct Happened {
  uint64_t ns;
  uint32_t cpu;
  std::string record;
};

std::string marker(int32_t pid, std::string_view text) {
  return record(5, 0, 0, pid, bytes_of(kMarkWrite) + std::string(text) + "\n" + '\0');
}
std::string raw_marker(std::string_view text) {
  return record(18, 0, 0, 139, bytes_of(uint32_t{0x64636261}) + padded(std::string(text), 16));
}
std::string rename(int32_t pid, std::string from, std::string to) {
  return record(136, 0, 1, pid,
                bytes_of(pid) + padded(from, 16) + padded(to, 16) + bytes_of(int16_t{0}));
}
std::string signal(uint8_t flags, uint8_t preempt, int32_t by, std::vector<int32_t> numbers) {
  std::string fields;
  for (size_t i = 0; i < 3; i++) fields += bytes_of(numbers[i]);
  fields += padded("sh", 16);
  for (size_t i = 3; i < 6; i++) fields += bytes_of(numbers[i]);
  return record(193, flags, preempt, by, fields);
}
std::string forked(int32_t child) {
  return record(304, 0, 0, 139,
                padded("sh", 16) + bytes_of(int32_t{139}) + padded("sh", 16) + bytes_of(child));
}
std::string exited(int32_t pid) {
  return record(307, 0, 0, pid, padded("sh", 16) + bytes_of(pid) + bytes_of(int32_t{120}));
}
std::string umask(uint16_t id, int32_t pid) { return record(id, 0, 1, pid, ""); }

// The events that the kernel had recorded.
std::vector<Happened> what_happened() {
  return {{2086996329, 0, marker(139, "hello")},
          {2088121061, 0, raw_marker("efg")},
          {2088337562, 0, raw_marker("efghijkl")},
          {2088460403, 0, umask(201, 139)},
          {2088634681, 0, umask(200, 139)},
          {2088659457, 0, umask(201, 139)},
          {2088661000, 0, umask(200, 139)},
          {2088740878, 0, umask(201, 139)},
          {2088742020, 0, umask(200, 139)},
          {2089438249, 0, forked(142)},
          {2091022937, 1, rename(142, "sh", "taskset")},
          {2092868556, 1, rename(142, "taskset", "exe")},
          {2094465206, 1, rename(142, "exe", "sh")},
          {2095064593, 1, umask(201, 142)},
          {2095070201, 1, umask(200, 142)},
          {2095072735, 1, umask(201, 142)},
          {2095073806, 1, umask(200, 142)},
          {2095079825, 1, umask(201, 142)},
          {2095080787, 1, umask(200, 142)},
          {2095240753, 1, marker(142, "from1")},
          {2095840500, 1, exited(142)},
          {2096072753, 1, signal(0x25, 2, 142, {17, 0, 1, 139, 1, 0})},
          {2097004736, 0, forked(143)},
          {2097565170, 1, rename(143, "sh", "taskset")},
          {2098793510, 0, rename(143, "taskset", "exe")},
          {2100097959, 0, rename(143, "exe", "sh")},
          {2100556367, 0, marker(143, "from0")},
          {2102322368, 0, signal(0x01, 1, 143, {10, 0, 0, 143, 1, 0})},
          {2102747847, 0, exited(143)},
          {2102874614, 0, signal(0x25, 2, 143, {17, 0, 2, 139, 1, 0})}};
}

std::unique_ptr<PageFeed> feed_of(const std::vector<Happened>& events, uint32_t rings = 2) {
  auto feed = std::make_unique<PageFeed>(rings);
  std::vector<std::vector<std::pair<uint64_t, std::string>>> of_ring(rings);
  for (const Happened& event : events) of_ring[event.cpu].push_back({event.ns, event.record});
  for (uint32_t i = 0; i < rings; i++) {
    feed->counts_of(i).entries = of_ring[i].size();
    if (!of_ring[i].empty()) feed->add(i, make_page(of_ring[i], 0, 16384));
  }
  return feed;
}

struct TraceTextTest : ::testing::Test {
  TraceTextTest() : names(AddressNames::from_kallsyms(kKallsyms)) {
    calls = kernel_events();
    sources.names = &names;
    sources.events = [this] {
      std::vector<const EventCall*> all;
      for (const EventCall& event : calls) all.push_back(&event);
      return all;
    };
    sources.comms = [this] { return comms; };
    sources.clock = [](TraceClock clock) {
      return TraceClockConvert(clock, abi::kClockMonotonic, {});
    };
    for (uint32_t pid : {139, 142, 143}) comms.push_back({pid, 0, "sh"});
  }
  std::string all(TraceText* text, size_t size = 65536) {
    std::string out;
    for (std::string part; !(part = text->next(size)).empty();) out += part;
    return out;
  }
  std::string trace(std::unique_ptr<TraceFeed> feed, std::optional<uint32_t> cpu = {},
                    size_t size = 65536) {
    TraceText text(sources, array, std::move(feed), TraceText::Mode::kTrace, cpu);
    return all(&text, size);
  }

  AddressNames names;
  std::vector<EventCall> calls;
  std::vector<abi::CommEntry> comms;
  TraceTextSources sources;
  TraceArray array;
};

using Sections = std::map<std::string, std::string>;

Sections read_golden() {
  // __FILE__ may be relative to the build folder; tests run in a folder inside it.
  std::string source = __FILE__, path;
  path = source.substr(0, source.rfind("src/")) + "tests/golden/trace_options.txt";
  std::ifstream file(path);
  if (!file) file.open("../" + path);
  Sections sections;
  std::string line, section;
  while (std::getline(file, line)) {
    if (line.starts_with("=== ")) {
      section = line.substr(4);
    } else if (!section.empty()) {
      sections[section] += line + "\n";
    }
  }
  return sections;
}

// What differs for a reason goes: system calls have a text of their own in the kernel, the number
// of CPUs and the release are the machine's, and with `fields` the kernel does not know its own
// records (a defect that is not imitated).
std::string comparable(const std::string& text) {
  utsname system{};
  uname(&system);
  std::istringstream lines(text);
  std::string out;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("sys_") != std::string::npos || line.find("UNKNOWN TYPE") != std::string::npos)
      continue;
    if (line.find(": print: ip=") != std::string::npos) continue;
    if (line.find(": raw_data: id=") != std::string::npos) continue;
    size_t at = line.find("#P:");
    if (at != std::string::npos) {
      size_t end = line.find_first_not_of("0123456789", at + 3);
      line.replace(at + 3, end == std::string::npos ? end : end - at - 3, "N");
    }
    for (std::string_view release :
         {std::string_view(system.release), std::string_view("6.12.117+deb12-amd64")})
      if ((at = line.find(release)) != std::string::npos) line.replace(at, release.size(), "R");
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";  // the golden file has none
  }
  return out;
}

struct OptionRow {
  const char* section;
  std::vector<std::pair<TraceOption, bool>> options;
  std::optional<uint32_t> cpu = {};
};
using enum TraceOption;

TEST_F(TraceTextTest, EachOptionPrintsWhatTheKernelPrints) {
  const OptionRow rows[] = {
      {"default", {}},
      {"noannotate", {{kAnnotate, false}}},
      {"nocontext-info", {{kContextInfo, false}}},
      {"noirq-info", {{kIrqInfo, false}}},
      {"record-tgid", {{kRecordTgid, true}}},
      {"latency-format", {{kLatencyFormat, true}}},
      {"latency+verbose", {{kLatencyFormat, true}, {kVerbose, true}}},
      {"verbose", {{kVerbose, true}}},
      {"raw", {{kRaw, true}}},
      {"hex", {{kHex, true}}},
      {"fields", {{kFields, true}}},
      {"fields+latency", {{kFields, true}, {kLatencyFormat, true}}},
      {"sym-offset", {{kSymOffset, true}}},
      {"sym-addr", {{kSymAddr, true}}},
      {"noprint-parent", {{kPrintParent, false}}},
      {"hash-ptr", {}},
      {"raw nocontext", {{kRaw, true}, {kContextInfo, false}}},
      {"hex nocontext", {{kHex, true}, {kContextInfo, false}}},
      {"irq-info off + tgid", {{kRecordTgid, true}, {kIrqInfo, false}}},
      {"lat + nocontext", {{kLatencyFormat, true}, {kContextInfo, false}}},
  };
  Sections golden = read_golden();
  ASSERT_GT(golden.size(), 15u);
  for (const OptionRow& row : rows) {
    array.options = TraceOptions();
    for (const auto& [option, on] : row.options) array.options.set(option, on);
    ASSERT_TRUE(golden.contains(row.section)) << row.section;
    EXPECT_EQ(comparable(trace(feed_of(what_happened()))), comparable(golden[row.section]))
        << row.section;
  }
}

TEST_F(TraceTextTest, LatencyHeaderHasTheKernelsBlanks) {
  array.options.set(kLatencyFormat, true);
  std::string text = trace(feed_of(what_happened()));
  EXPECT_NE(text.find("#                    _------=> CPU#            \n"
                      "#                   / _-----=> irqs-off/BH-disabled\n"
                      "#                  | / _----=> need-resched    \n"),
            std::string::npos);
  EXPECT_NE(text.find("#     \\   /        ||||||  \\    |    /       \n"), std::string::npos);
}

TEST_F(TraceTextTest, BinaryIsPidCpuTimeAndType) {
  array.options.set(kBin, true);
  auto feed = feed_of({{0x7c650969, 0, marker(139, "hello")}});
  std::string text = trace(std::move(feed));
  const char expected[] = "\x8b\0\0\0\0\0\0\0\x69\x09\x65\x7c\0\0\0\0type: 5\n";
  std::string tail(expected, sizeof expected - 1);
  ASSERT_GT(text.size(), tail.size());
  EXPECT_EQ(text.substr(text.size() - tail.size()), tail);
}

TEST_F(TraceTextTest, OneCpuOnly) {
  std::string text = trace(feed_of(what_happened()), 1);
  EXPECT_EQ(text.find("[000]"), std::string::npos);
  EXPECT_NE(text.find("entries-in-buffer/entries-written: 30/30 "), std::string::npos);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 12 + 13);
}

TEST_F(TraceTextTest, PiecesOfAnySizeMakeTheSameText) {
  std::string whole = trace(feed_of(what_happened()));
  for (size_t size : {1, 80, 200, 1000})
    EXPECT_EQ(trace(feed_of(what_happened()), {}, size), whole);
}

// The lines of a pipe without their columns.
std::string texts(const std::string& lines) {
  std::istringstream in(lines);
  std::string out;
  for (std::string line; std::getline(in, line);) {
    size_t at = line.find("write: ");
    out += (at == std::string::npos ? line : line.substr(at + 7)) + " ";
  }
  return out;
}

TEST_F(TraceTextTest, PipeConsumesWhatItShowsAndNoMore) {
  auto feed = std::make_unique<PageFeed>(2);
  PageFeed* pages = feed.get();
  pages->add(0, make_page({{10, marker(1, "a")}, {30, marker(1, "c")}, {50, marker(1, "e")}}));
  pages->add(1, make_page({{20, marker(1, "b")}, {40, marker(1, "d")}}));
  TraceText pipe(sources, array, std::move(feed), TraceText::Mode::kPipe, {});
  EXPECT_EQ(texts(pipe.next(230)), "a b c ");  // 71 bytes a line
  EXPECT_EQ(pages->log(), "0:2 1:1 ");
  EXPECT_EQ(texts(pipe.next(1)), "d ");
  EXPECT_EQ(texts(pipe.next(4096)), "e ");
  EXPECT_EQ(pages->position(0).seq, 1u);
  EXPECT_EQ(pages->position(1).seq, 1u);
  EXPECT_EQ(pipe.next(4096), "");
  pages->add(0, make_page({{60, marker(1, "f")}}));
  pages->add(1, make_page({{70, marker(1, "g")}}, 3));
  EXPECT_EQ(texts(pipe.next(4096)), "f CPU:1 [LOST 3 EVENTS] g ");
  EXPECT_EQ(pipe.next(4096), "");
}

TEST_F(TraceTextTest, PipeForgetsWhatSomeoneElseCleared) {
  auto feed = std::make_unique<PageFeed>(1);
  PageFeed* pages = feed.get();
  pages->add(0, make_page({{10, marker(1, "a")}, {20, marker(1, "b")}, {30, marker(1, "c")}}));
  TraceText pipe(sources, array, std::move(feed), TraceText::Mode::kPipe, {});
  EXPECT_EQ(texts(pipe.next(70)), "a ");
  pages->clear(0);
  pages->add(0, make_page({{40, marker(1, "d")}}));
  EXPECT_EQ(texts(pipe.next(4096)), "d ");
}

TEST_F(TraceTextTest, AReadOfThePipeHasWholeLinesUpToItsLimit) {
  auto feed = std::make_unique<PageFeed>(1);
  std::vector<std::pair<uint64_t, std::string>> events;
  for (uint64_t i = 0; i < 4000; i++) events.push_back({i, marker(1, "text")});
  feed->add(0, make_page(events, 0, 1 << 18));
  TraceText pipe(sources, array, std::move(feed), TraceText::Mode::kPipe, {});
  size_t lines = 0;
  for (size_t asked : {4096, 8155, 1 << 20}) {
    const std::string text = pipe.next(asked);
    EXPECT_LE(text.size(), std::min<size_t>(asked, 124 << 10));
    EXPECT_GT(text.size(), std::min<size_t>(asked, 124 << 10) - 200);
    EXPECT_TRUE(text.ends_with(": text\n"));
    lines += size_t(std::count(text.begin(), text.end(), '\n'));
  }
  for (std::string text; !(text = pipe.next(1 << 20)).empty();)
    lines += size_t(std::count(text.begin(), text.end(), '\n'));
  EXPECT_EQ(lines, 4000u);
}

// 6.12: `trace` does not speak of what was overwritten before its first line, trace_pipe does.
TEST_F(TraceTextTest, LostEventsAtTheStartAreThePipes) {
  for (auto mode : {TraceText::Mode::kTrace, TraceText::Mode::kPipe}) {
    auto feed = std::make_unique<PageFeed>(1);
    feed->counts_of(0) = {.entries = 2, .overrun = 254};
    feed->add(0, make_page({{10, marker(1, "a")}}, 254));
    feed->add(0, make_page({{20, marker(1, "b")}}, 7));
    TraceText text(sources, array, std::move(feed), mode, {});
    std::string out = all(&text);
    bool pipe = mode == TraceText::Mode::kPipe;
    EXPECT_EQ(out.find("CPU:0 [LOST 254 EVENTS]\n") != std::string::npos, pipe);
    EXPECT_NE(out.find("CPU:0 [LOST 7 EVENTS]\n"), std::string::npos);
    EXPECT_EQ(out.find("entries-written: 2/256 ") == std::string::npos, pipe);
  }
}

TEST_F(TraceTextTest, AnnotateAfterAnOverrun) {
  for (bool overrun : {true, false}) {
    for (bool annotate : {true, false}) {
      array.options.set(kAnnotate, annotate);
      auto feed = feed_of({{1, 0, marker(1, "a")},
                           {2, 0, marker(1, "b")},
                           {3, 0, marker(1, "c")},
                           {4, 1, marker(1, "d")},
                           {5, 0, marker(1, "e")}});
      feed->counts_of(0).overrun = overrun;
      std::string text = trace(std::move(feed));
      EXPECT_EQ(text.find("c\n##### CPU 1 buffer started ####\n") != std::string::npos,
                overrun && annotate);
      EXPECT_EQ(text.find("CPU 0 buffer"), std::string::npos);
    }
  }
}

TEST_F(TraceTextTest, ALineThatIsTooLong) {
  calls.push_back(
      call("app", "big", 400, {{"__data_loc char[]", "s", 8, 4}}, "\"s=%s\", __get_str(s)"));
  std::string big = record(400, 0, 0, 1, "");
  big += bytes_of(uint32_t{12 | 9000 << 16}) + std::string(8999, 'x') + '\0';
  auto feed = std::make_unique<PageFeed>(1);
  feed->add(0, make_page({{1000, big}, {2000, marker(1, "next")}}, 0, 16384));
  std::string text = trace(std::move(feed));
  EXPECT_NE(text.find(": big: [LINE TOO BIG]\n"), std::string::npos);
  EXPECT_NE(text.find("tracing_mark_write: next\n"), std::string::npos);
}

TEST_F(TraceTextTest, ClocksThatDoNotCountNanosecondsArePlainNumbers) {
  array.clock = TraceClock::kTsc;
  std::string text = trace(feed_of({{8068245180, 0, marker(146, "m")}}));
  EXPECT_NE(text.find("-146     [000] .....   8068245180: tracing_mark_write: m\n"),
            std::string::npos);
  array.clock = TraceClock::kUptime;
  text = trace(feed_of({{1985000000, 0, marker(146, "m")}}));
  EXPECT_NE(text.find("-146     [000] .....          198: tracing_mark_write: m\n"),
            std::string::npos);
}

TEST_F(TraceTextTest, TheCounterNumbersAllCpusTogether) {
  array.clock = TraceClock::kCounter;
  auto events = std::vector<Happened>{{10, 0, marker(1, "a")},
                                      {20, 1, marker(1, "b")},
                                      {30, 0, marker(1, "c")},
                                      {40, 1, marker(1, "d")}};
  auto feed = feed_of(events);
  feed->counts_of(0).read = 2;
  std::string text = trace(std::move(feed), 1);
  EXPECT_NE(text.find(".            4: tracing_mark_write: b\n"), std::string::npos) << text;
  EXPECT_NE(text.find(".            6: tracing_mark_write: d\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("write: a"), std::string::npos);
}

TEST_F(TraceTextTest, TraceEndsWithTheMomentOfItsFirstRead) {
  auto feed = feed_of({{10, 0, marker(1, "a")}, {20, 1, marker(1, "b")}, {30, 0, marker(1, "c")}});
  feed->set_now(25);
  std::string text = trace(std::move(feed));
  EXPECT_NE(text.find("write: b\n"), std::string::npos);
  EXPECT_EQ(text.find("write: c\n"), std::string::npos);
}

TEST_F(TraceTextTest, KnownThreadGroups) {
  array.options.set(kRecordTgid, true);
  comms = {{139, 1139, "sh"}};
  std::string text = trace(feed_of({{10, 0, marker(139, "a")}, {20, 0, marker(7, "b")}}));
  EXPECT_NE(text.find("              sh-139     (   1139) [000] "), std::string::npos) << text;
  EXPECT_NE(text.find("           <...>-7       (-------) [000] "), std::string::npos) << text;
}

TEST_F(TraceTextTest, PrintkMsgOnly) {
  array.options.set(kPrintkMsgOnly, true);
  EXPECT_TRUE(trace(feed_of({{10, 0, marker(1, "msg")}})).ends_with("\nmsg\n"));
}

TEST_F(TraceTextTest, EventsComeAndTheirRecordsOutliveThem) {
  auto feed = std::make_unique<PageFeed>(1);
  PageFeed* pages = feed.get();
  TraceText pipe(sources, array, std::move(feed), TraceText::Mode::kPipe, {});
  pages->add(0, make_page({{10, record(500, 0, 0, 1, bytes_of(int32_t{7}))}}));
  EXPECT_NE(pipe.next(4096).find("Unknown type 500\n"), std::string::npos);
  calls.push_back(call("app", "late", 500, {{"int", "n", 8, 4, true}}, "\"n=%d\", REC->n"));
  sources.generation++;
  pages->add(0, make_page({{20, record(500, 0, 0, 1, bytes_of(int32_t{8}))}}));
  EXPECT_NE(pipe.next(4096).find(": late: n=8\n"), std::string::npos);
  calls.pop_back();
  sources.generation++;
  pages->add(0, make_page({{30, record(500, 0, 0, 1, bytes_of(int32_t{9}))}}));
  EXPECT_NE(pipe.next(4096).find(": late: n=9\n"), std::string::npos);
}

}  // namespace
}  // namespace patchbay
