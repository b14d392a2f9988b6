// SPDX-License-Identifier: MIT
// The files that show and take records: markers, trace, trace_pipe, trace_pipe_raw, snapshot,
// stats.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <regex>

#include "base/testing.h"
#include "ring_buffer/buffer_file.h"
#include "tracefs/control_tree_fixture.h"

namespace patchbay::tracefs {
namespace {

class Recording : public testing::Test {
 protected:
  std::string of_cpu(const char* name) const {
    return "per_cpu/cpu" + std::to_string(one_cpu_.cpu) + "/" + name;
  }
  void mark(const std::string& text) {
    EXPECT_EQ(tree.write("trace_marker", text), long(text.size()));
  }
  // The markers in a text, joined by blanks.
  static std::string marks(const std::string& text) {
    static constexpr std::string_view kBefore = "tracing_mark_write: ";
    std::string found;
    for (size_t at = text.find(kBefore); at != text.npos; at = text.find(kBefore, at + 1)) {
      size_t begin = at + kBefore.size();
      found += text.substr(begin, text.find('\n', begin) - begin) + " ";
    }
    return found;
  }
  std::string stat(const char* key) {
    std::string text = "\n" + tree.read(of_cpu("stats"));
    size_t at = text.find("\n" + std::string(key) + ": ");
    if (at == text.npos) return "absent";
    at += std::strlen(key) + 3;
    return text.substr(at, text.find('\n', at) - at);
  }
  // Records in a page as trace_pipe_raw gives it.
  static size_t records(const std::string& page) {
    PageImage image;
    image.bytes.assign(page.begin(), page.end());
    read_commit(&image);
    return image.entries;
  }

  ControlTree tree{true};

 private:
  // Everything is recorded on one CPU, whose number the per-CPU files are asked by.
  const test::OneCpu one_cpu_;
};

TEST_F(Recording, TraceShowsAndDoesNotConsume) {
  mark("one");
  mark("two\n");
  std::string text = tree.read("trace");
  EXPECT_EQ(text.substr(0, 14), "# tracer: nop\n");
  EXPECT_EQ(marks(text), "one two ");
  EXPECT_EQ(marks(tree.read("trace")), "one two ");
  EXPECT_EQ(marks(tree.read(of_cpu("trace"))), "one two ");
  EXPECT_EQ(tree.write("trace", "ignored\n"), 8);
  EXPECT_EQ(marks(tree.read("trace")), "one two ");
  EXPECT_EQ(tree.write("trace", "", O_WRONLY | O_TRUNC), 0);
  EXPECT_EQ(marks(tree.read("trace")), "");
}

TEST_F(Recording, ReadsOfAnySizeGiveTheSameText) {
  for (int i = 0; i < 50; i++) mark("line " + std::to_string(i));
  std::string whole = tree.read("trace");
  for (size_t piece : {size_t(1), size_t(7), size_t(100), size_t(1 << 20)}) {
    auto file = tree.open("trace", O_RDONLY);
    EXPECT_EQ(ControlTree::read_all(*file, piece), whole) << piece;
  }
}

// The conversion of the clock grows more precise while a process is young, with each pair of both
// clocks: a time that was shown stays.
TEST_F(Recording, TimesDoNotChangeFromReadToRead) {
  for (const char* clock : {"local", "boot", "tai"}) {
    tree.write("trace_clock", clock);
    for (int i = 0; i < 100; i++) mark("line " + std::to_string(i));
    const std::string whole = tree.read("trace");
    for (int read = 0; read < 100; read++) {
      tree.registry->top().buffer->add_clock_pair();
      ASSERT_EQ(tree.read("trace"), whole) << clock << " " << read;
    }
  }
}

TEST_F(Recording, TracePipeConsumesAndEnds) {
  auto pipe = tree.open("trace_pipe", O_RDONLY);
  EXPECT_FALSE(pipe->readable());
  EXPECT_EQ(ControlTree::read_all(*pipe), "-11");
  tree.write("tracing_on", "0");
  EXPECT_EQ(ControlTree::read_all(*pipe), "-11");  // nothing was read yet: it waits
  tree.write("tracing_on", "1");
  mark("one");
  EXPECT_TRUE(pipe->readable());
  std::string text = ControlTree::read_all(*pipe);
  EXPECT_EQ(marks(text), "one ");
  EXPECT_EQ(text.substr(text.size() - 3), "-11");
  mark("two");
  tree.write("tracing_on", "0");
  text = ControlTree::read_all(*pipe);
  EXPECT_EQ(marks(text), "two ");
  EXPECT_EQ(text.back(), '\n');  // the end, not EAGAIN
  EXPECT_EQ(marks(tree.read("trace")), "");
}

TEST_F(Recording, APipeReadIsNoLongerThanItsReaderAsks) {
  for (int i = 0; i < 200; i++) mark("a line that takes some room");
  auto pipe = tree.open("trace_pipe", O_RDONLY);
  Result<std::string> first = pipe->read_next(8155, ReadMode::kAny);
  ASSERT_TRUE(first.ok());
  EXPECT_LE(first->size(), 8155u);
  EXPECT_GT(first->size(), 8000u);
  pipe.reset();  // what it has not given is still there
  std::string rest = tree.read("trace_pipe");
  size_t lines = size_t(std::count(first->begin(), first->end(), '\n')) +
                 size_t(std::count(rest.begin(), rest.end(), '\n'));
  EXPECT_EQ(lines, 200u);
}

TEST_F(Recording, OneReaderOfAPipe) {
  int error = 0;
  auto all = tree.open("trace_pipe", O_RDONLY);
  EXPECT_FALSE(tree.open("trace_pipe", O_RDONLY, &error));
  EXPECT_EQ(error, EBUSY);
  EXPECT_FALSE(tree.open("per_cpu/cpu0/trace_pipe", O_RDONLY, &error));
  EXPECT_EQ(error, EBUSY);
  all.reset();
  auto one = tree.open("per_cpu/cpu0/trace_pipe", O_RDONLY);
  ASSERT_TRUE(one);
  EXPECT_FALSE(tree.open("per_cpu/cpu0/trace_pipe", O_RDONLY, &error));
  EXPECT_FALSE(tree.open("trace_pipe", O_RDONLY, &error));
  EXPECT_EQ(error, EBUSY);
  EXPECT_TRUE(tree.open("per_cpu/cpu0/trace_pipe_raw", O_RDONLY));
  one.reset();
  EXPECT_TRUE(tree.open("trace_pipe", O_RDONLY));
}

TEST_F(Recording, MarkersAndTheirRefusals) {
  EXPECT_EQ(tree.write("trace_marker", std::string(10000, 'x')),
            4054);  // what one sub-buffer holds
  EXPECT_EQ(tree.write("trace_marker", ""), 0);
  EXPECT_EQ(tree.write("trace_marker_raw", "abc"), -EINVAL);
  EXPECT_EQ(tree.write("trace_marker_raw", "abcd"), 4);
  EXPECT_EQ(tree.write("trace_marker_raw", std::string(4095, 'x')), -EINVAL);
  tree.write("options/markers", "0");
  EXPECT_EQ(tree.write("trace_marker", "x"), -EINVAL);
  tree.write("options/markers", "1");
  tree.write("tracing_on", "0");
  EXPECT_EQ(tree.write("trace_marker", "x"), -EBADF);
  EXPECT_EQ(tree.write("trace_marker_raw", "abcd"), -EBADF);
}

TEST_F(Recording, AMarkerCarriesItsWritersName) {
  mark("x");
  std::string pid = std::to_string(::getpid());
  char comm[16] = {};
  FILE* file = std::fopen("/proc/self/comm", "r");
  ASSERT_TRUE(file && std::fgets(comm, sizeof comm, file));
  std::fclose(file);
  comm[std::strcspn(comm, "\n")] = '\0';
  EXPECT_NE(tree.read("saved_cmdlines").find(pid + " " + comm + "\n"), std::string::npos);
  EXPECT_NE(tree.read("trace").find(std::string(comm) + "-" + pid), std::string::npos);
  tree.write("options/record-tgid", "1");
  EXPECT_NE(tree.read("saved_tgids").find(pid + " " + pid + "\n"), std::string::npos);
}

TEST_F(Recording, AnInstanceHasItsOwnMarkers) {
  tree.mkdir("instances/a");
  EXPECT_EQ(tree.write("instances/a/trace_marker", "there"), 5);
  mark("here");
  EXPECT_EQ(marks(tree.read("instances/a/trace")), "there ");
  EXPECT_EQ(marks(tree.read("trace")), "here ");
}

TEST_F(Recording, PauseOnTrace) {
  tree.write("options/pause-on-trace", "1");
  auto first = tree.open("trace", O_RDONLY);
  auto second = tree.open("trace", O_RDONLY);
  EXPECT_EQ(tree.write("trace_marker", "x"), -EBADF);
  EXPECT_EQ(tree.read("tracing_on"), "1\n");
  EXPECT_EQ(tree.write("tracing_on", "1"), 1);
  EXPECT_EQ(tree.write("trace_marker", "x"), -EBADF);
  first.reset();
  EXPECT_EQ(tree.write("trace_marker", "x"), -EBADF);
  tree.write("options/pause-on-trace", "0");
  EXPECT_EQ(tree.write("trace_marker", "x"), -EBADF);
  second.reset();
  EXPECT_EQ(tree.write("trace_marker", "x"), 1);
}

TEST_F(Recording, WhatAnOpenTraceForbids) {
  mark("x");
  auto file = tree.open("trace", O_RDONLY);
  EXPECT_EQ(tree.write("buffer_size_kb", "100"), -EBUSY);
  EXPECT_EQ(tree.write("buffer_subbuf_size_kb", "8"), -EBUSY);
  EXPECT_EQ(tree.write("snapshot", "1"), 1);  // the main buffer keeps its size
  auto spare = tree.open("snapshot", O_RDONLY);
  EXPECT_EQ(tree.write("snapshot", "1"), 1);  // the memory is there
  EXPECT_EQ(tree.write("trace_clock", "global"), 6);
  spare.reset();
  file.reset();
  EXPECT_EQ(tree.write("buffer_size_kb", "100"), 3);
}

TEST_F(Recording, Snapshot) {
  std::string freed = tree.read("snapshot");
  EXPECT_EQ(freed.size(), 451u);
  EXPECT_NE(freed.find("# * Snapshot is freed *\n"), std::string::npos);
  EXPECT_EQ(tree.write("snapshot", "2"), 1);
  EXPECT_EQ(tree.read("snapshot"), freed);
  EXPECT_EQ(tree.write("snapshot", "1"), 1);
  EXPECT_EQ(tree.read("snapshot").size(), 455u);
  EXPECT_EQ(tree.read(of_cpu("snapshot")).substr(0, 42), tree.read("snapshot").substr(0, 42));
  mark("one");
  EXPECT_EQ(tree.write("snapshot", "1"), 1);
  EXPECT_EQ(marks(tree.read("snapshot")), "one ");
  EXPECT_EQ(marks(tree.read(of_cpu("snapshot"))), "one ");
  EXPECT_EQ(marks(tree.read("trace")), "");
  mark("two");
  EXPECT_EQ(marks(tree.read("snapshot")), "one ");
  EXPECT_EQ(tree.write(of_cpu("snapshot"), "0"), -EINVAL);
  EXPECT_EQ(tree.write(of_cpu("snapshot"), "2"), 1);
  EXPECT_EQ(marks(tree.read("snapshot")), "");
  EXPECT_EQ(tree.write("snapshot", "0"), 1);
  EXPECT_EQ(tree.read("snapshot"), freed);
}

TEST_F(Recording, ASnapshotThatIsFreedWhileItIsRead) {
  mark("one");
  tree.write("snapshot", "1");
  auto file = tree.open("snapshot", O_RDONLY);
  ASSERT_TRUE(file->read_next(10, ReadMode::kAny).ok());
  EXPECT_EQ(tree.write("snapshot", "0"), 1);
  ControlTree::read_all(*file);
  file.reset();
  EXPECT_EQ(tree.write("snapshot", "1"), 1);
}

TEST_F(Recording, SnapshotRaw) {
  EXPECT_EQ(tree.read(of_cpu("snapshot_raw")), "-11");
  mark("one");
  tree.write("snapshot", "1");
  auto file = tree.open(of_cpu("snapshot_raw"), O_RDONLY);
  Result<std::string> page = file->read_next(4096, ReadMode::kAny);
  ASSERT_TRUE(page.ok());
  EXPECT_EQ(records(*page), 1u);
  EXPECT_EQ(file->read_next(4096, ReadMode::kAny).error().errno_value, EAGAIN);
}

TEST_F(Recording, RawPagesByRead) {
  auto file = tree.open(of_cpu("trace_pipe_raw"), O_RDONLY);
  EXPECT_EQ(file->size(), 1000000000000u);
  EXPECT_EQ(file->read_next(4096, ReadMode::kAny).error().errno_value, EAGAIN);
  mark("one");
  mark("two");
  Result<std::string> half = file->read_next(2048, ReadMode::kAny);
  Result<std::string> rest = file->read_next(1 << 20, ReadMode::kAny);
  ASSERT_TRUE(half.ok() && rest.ok());
  EXPECT_EQ(half->size() + rest->size(), 4096u);
  EXPECT_EQ(records(*half + *rest), 2u);
  EXPECT_NE((*half + *rest).find("two\n"), std::string::npos);
  mark("three");
  Result<std::string> page = file->read_next(4096, ReadMode::kAny);
  ASSERT_TRUE(page.ok());
  EXPECT_EQ(records(*page), 1u);  // what was delivered is consumed
  tree.write("tracing_on", "0");
  EXPECT_EQ(*file->read_next(4096, ReadMode::kAny), "");
}

TEST_F(Recording, RawPagesBySplice) {
  auto file = tree.open(of_cpu("trace_pipe_raw"), O_RDONLY);
  for (int i = 0; i < 300; i++) mark("a line that takes some room");
  size_t delivered = 0;
  for (;;) {
    Result<std::string> page = file->read_next(4096, ReadMode::kWholePage);
    if (!page.ok()) break;
    ASSERT_EQ(page->size(), 4096u);
    delivered += records(*page);
  }
  EXPECT_GT(delivered, 150u);
  EXPECT_LT(delivered, 300u);  // not the page that is being written …
  tree.write("tracing_on", "0");
  Result<std::string> last = file->read_next(4096, ReadMode::kWholePage);
  ASSERT_TRUE(last.ok());
  EXPECT_EQ(last->size(), 4096u);
  EXPECT_EQ(delivered + records(*last), 300u);  // … until recording ends
  EXPECT_EQ(*file->read_next(4096, ReadMode::kWholePage), "");
  EXPECT_EQ(file->read_next(4096, ReadMode::kWholePage).error().errno_value, EAGAIN);
}

TEST_F(Recording, BufferPercentAndIoctlWakeRawReaders) {
  auto file = tree.open(of_cpu("trace_pipe_raw"), O_RDONLY);
  mark("one");
  EXPECT_FALSE(file->readable());  // far from 50 %
  EXPECT_EQ(file->read_next(4096, ReadMode::kWholePage).error().errno_value, EAGAIN);
  EXPECT_EQ(file->ioctl(1).error().errno_value, ENOTTY);
  EXPECT_TRUE(file->ioctl(0).ok());
  EXPECT_EQ(*file->read_next(4096, ReadMode::kWholePage), "");
  EXPECT_EQ(file->read_next(4096, ReadMode::kWholePage).error().errno_value, EAGAIN);
  tree.write("buffer_percent", "0");
  EXPECT_TRUE(file->readable());
  Result<std::string> page = file->read_next(4096, ReadMode::kWholePage);
  ASSERT_TRUE(page.ok());
  EXPECT_EQ(records(*page), 1u);
}

TEST_F(Recording, PagesAreInTheClockOfTheInstance) {
  mark("x");
  tree.write("trace_clock", "mono");
  timespec before, after;
  clock_gettime(CLOCK_MONOTONIC, &before);
  mark("one");
  mark("two");
  clock_gettime(CLOCK_MONOTONIC, &after);
  std::string page =
      tree.open(of_cpu("trace_pipe_raw"), O_RDONLY)->read_next(4096, ReadMode::kAny).value();
  PageImage image;
  image.bytes.assign(page.begin(), page.end());
  read_commit(&image);
  EventIterator events(image.bytes, image.used);
  EventView event;
  uint64_t from = uint64_t(before.tv_sec) * 1000000000 + uint64_t(before.tv_nsec);
  uint64_t to = uint64_t(after.tv_sec) * 1000000000 + uint64_t(after.tv_nsec);
  constexpr uint64_t kSlack = 1000000;  // a line through two pairs that are close together
  uint64_t last = 0;
  for (int i = 0; i < 2; i++) {
    ASSERT_TRUE(events.next(&event));
    EXPECT_GE(event.time + kSlack, from);
    EXPECT_LE(event.time, to + kSlack);
    EXPECT_GE(event.time, last);
    last = event.time;
  }
}

TEST_F(Recording, Stats) {
  mark("one");
  EXPECT_EQ(stat("entries"), "1");
  EXPECT_EQ(stat("overrun"), "0");
  EXPECT_EQ(stat("commit overrun"), "0");
  EXPECT_EQ(stat("read events"), "0");
  EXPECT_NE(stat("bytes"), "0");
  EXPECT_NE(stat("oldest event ts").find('.'), std::string::npos);
  tree.read("trace_pipe");
  EXPECT_EQ(stat("entries"), "0");
  EXPECT_EQ(stat("read events"), "1");
  tree.write("trace_clock", "x86-tsc");
  mark("two");
  EXPECT_EQ(stat("now ts").find('.'), std::string::npos);
  EXPECT_NE(stat("oldest event ts"), "0");
}

TEST_F(Recording, OverrunAndDropsAreCounted) {
  tree.write("buffer_size_kb", "8");
  constexpr uint64_t kEvents = 1000;
  for (uint64_t i = 0; i < kEvents; i++) mark("a line that takes some room");
  EXPECT_EQ(std::stoull(stat("entries")) + std::stoull(stat("overrun")), kEvents);
  EXPECT_NE(stat("overrun"), "0");
  tree.write("options/overwrite", "0");
  tree.write("trace", "", O_WRONLY | O_TRUNC);
  long answer = 0;
  for (uint64_t i = 0; i < kEvents && answer >= 0; i++)
    answer = tree.write("trace_marker", "a line that takes some room");
  EXPECT_EQ(answer, -EBADF);
  EXPECT_EQ(stat("dropped events"), "1");
  EXPECT_EQ(stat("overrun"), "0");
}

TEST_F(Recording, InjectMakesOneRecord) {
  tree.add_event("sched", "wake");
  EXPECT_EQ(tree.write("events/sched/wake/inject", "comm='abc' pid=7\n"), 17);
  EXPECT_NE(tree.read("trace").find("wake: comm=abc pid=7\n"), std::string::npos);
  EXPECT_EQ(tree.write("events/sched/wake/inject", "nosuch=7"), -ENOENT);
  EXPECT_EQ(tree.write("events/sched/wake/inject", "pid 7"), -EINVAL);
}

}  // namespace
}  // namespace patchbay::tracefs
