// SPDX-License-Identifier: MIT
// Merged files against a reference that sorts.
#include "trace_dat/merge.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <random>

#include "output/printk_text.h"
#include "trace_dat/record_pages.h"
#include "trace_dat/recorded_names.h"
#include "trace_dat/trace_dat_read.h"

namespace patchbay {
namespace {

constexpr char kCommon[] =
    "format:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
    "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
    "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n";

TraceDatMetadata::Format format(const std::string& system, const std::string& name, int id,
                                const std::string& type = "u64", const std::string& field = "n") {
  return {system, name,
          "name: " + name + "\nID: " + std::to_string(id) + "\n" + kCommon + "\tfield:" + type +
              " " + field + ";\toffset:8;\tsize:8;\tsigned:0;\n\nprint fmt: \"%llu\", REC->" +
              field + "\n"};
}

struct Event {
  uint32_t cpu = 0;
  uint64_t time = 0;
  uint16_t id = 600;
  int32_t tid = 1;
  uint64_t value = 0;
  uint64_t lost_before = 0;
  uint32_t more = 0;  // bytes behind the value
  bool operator==(const Event&) const = default;
};

std::string record_of(const Event& event) {
  std::string record(16 + event.more, 'm');
  std::memset(&record[0], 0, 16);
  std::memcpy(&record[0], &event.id, 2);
  std::memcpy(&record[4], &event.tid, 4);
  std::memcpy(&record[8], &event.value, 8);
  return record;
}

struct File {
  std::vector<Event> events;
  TraceDatMetadata metadata;
  uint32_t cpus = 2, page_size = 4096;
  std::vector<TraceDatOptions::Instance> instances;

  explicit File(int32_t pid = 100, const std::string& comm = "prog") {
    metadata.tsc = true;
    metadata.clock_line = {0, 1'000'000, 1u << 20, 20};
    metadata.formats = {format("functions", "f", 600)};
    char line[64];
    std::snprintf(line, sizeof line, "%x 0 /bin/%s\t%x\n", unsigned(pid), comm.c_str(),
                  unsigned(pid));
    metadata.process_maps = line;
    metadata.cmdlines = std::to_string(pid) + " " + comm + "\n";
    metadata.uname = "Linux here 6.1 x86_64";
  }
};

class MergeTest : public ::testing::Test {
 protected:
  MergeTest() { EXPECT_NE(::mkdtemp(directory_), nullptr); }
  ~MergeTest() override { std::filesystem::remove_all(directory_); }

  std::string path(const std::string& name) const { return std::string(directory_) + "/" + name; }

  // Events are written to all buffers.
  std::string write(const std::string& name, const File& file, int version = 7) {
    TraceDatOptions options{version, file.page_size, file.cpus, file.instances, true};
    auto writer = TraceDatWriter::open(path(name), options);
    EXPECT_TRUE(writer.ok());
    for (uint32_t buffer = 0; buffer <= file.instances.size(); buffer++)
      for (uint32_t cpu = 0; cpu < file.cpus; cpu++) {
        const uint32_t size = buffer ? file.instances[buffer - 1].page_size : file.page_size;
        RecordPages pages(size, [&](const PageImage& page) {
          EXPECT_TRUE((*writer)->append_page(buffer, cpu, page).ok());
        });
        for (const Event& event : file.events) {
          if (event.cpu != cpu) continue;
          if (event.lost_before) pages.lose(event.lost_before);
          const std::string record = record_of(event);
          EXPECT_TRUE(pages.add(event.time,
                                {reinterpret_cast<const uint8_t*>(record.data()), record.size()}));
        }
        pages.flush();
      }
    EXPECT_TRUE((*writer)->finish(file.metadata).ok());
    return path(name);
  }

  Result<MergeResult> merge(const std::vector<std::string>& inputs, int version = 7,
                            const std::string& output = "out") {
    std::vector<MergedPart> parts;
    for (const std::string& input : inputs) parts.emplace_back().path = input;
    return merge_trace_dats(parts, {}, path(output), version);
  }
  std::unique_ptr<TraceDatReader> merged(const std::vector<std::string>& inputs, int version = 7) {
    auto result = merge(inputs, version);
    EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message());
    if (!result.ok()) return nullptr;
    notes_ = result->notes;
    auto reader = TraceDatReader::open(path("out"));
    EXPECT_TRUE(reader.ok()) << (reader.ok() ? "" : reader.error().message());
    return reader.ok() ? std::move(*reader) : nullptr;
  }

  static std::vector<Event> read(const TraceDatReader& reader, size_t buffer, uint32_t cpu) {
    std::vector<Event> events;
    const auto& from = reader.buffers().at(buffer);
    PageImage page;
    for (uint64_t i = 0; reader.read_page(from, from.cpus.at(cpu), i, &page); i++) {
      EventIterator iterator(page.bytes, page.used);
      uint64_t lost = page.lost_before;
      for (EventView view; iterator.next(&view); lost = 0) {
        Event event{cpu, view.time, 0, 0, 0, lost, uint32_t(view.record.size()) - 16};
        std::memcpy(&event.id, view.record.data(), 2);
        std::memcpy(&event.tid, view.record.data() + 4, 4);
        std::memcpy(&event.value, view.record.data() + 8, 8);
        events.push_back(event);
      }
      EXPECT_FALSE(iterator.malformed());
    }
    return events;
  }

  bool has_note(const std::string& part) const {
    return std::any_of(notes_.begin(), notes_.end(),
                       [&](const std::string& note) { return note.find(part) != note.npos; });
  }

  char directory_[40] = "/tmp/patchbay-merge-XXXXXX";
  std::vector<std::string> notes_;
};

TEST_F(MergeTest, OrderIsThatOfASort) {
  for (int version : {6, 7}) {
    std::mt19937_64 random(uint64_t(version) * 7);
    std::vector<std::string> paths;
    std::vector<Event> all;
    for (int32_t part = 0; part < 7; part++) {
      File file(100 + part);
      file.cpus = 3;
      uint64_t time = (uint64_t{1} << 40) + random() % 100000;
      for (uint64_t i = 0; i < 3000; i++) {
        // Ties, bursts, and gaps that need a time extend.
        time += i % 500 == 499 ? random() % (uint64_t{1} << 30) : random() % 40;
        Event event{uint32_t(random() % 3), time, 600, 100 + part, i};
        if (random() % 200 == 0) event.lost_before = 1 + random() % 1000;
        if (random() % 50 == 0) event.more = uint32_t(random() % 500) * 4;
        file.events.push_back(event);
      }
      all.insert(all.end(), file.events.begin(), file.events.end());
      paths.push_back(write("part" + std::to_string(part), file, version));
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const Event& a, const Event& b) { return a.time < b.time; });
    auto reader = merged(paths, version);
    ASSERT_TRUE(reader);
    for (uint32_t cpu = 0; cpu < 3; cpu++) {
      std::vector<Event> wanted;
      for (const Event& event : all)
        if (event.cpu == cpu) wanted.push_back(event);
      const std::vector<Event> got = read(*reader, 0, cpu);
      ASSERT_EQ(got.size(), wanted.size());
      for (size_t i = 0; i < got.size(); i++)
        ASSERT_TRUE(got[i] == wanted[i])
            << "CPU " << cpu << ", event " << i << ": " << got[i].time << " lost "
            << got[i].lost_before << " of " << wanted[i].lost_before;
    }
  }
}

TEST_F(MergeTest, EqualFormatsShareAnIdAndOthersStayApart) {
  File a(100), b(200);
  a.metadata.formats = {format("functions", "f", 600), format("functions", "g", 601)};
  b.metadata.formats = {format("functions", "g", 600), format("functions", "f", 601, "x64"),
                        format("functions", "h", 602)};
  a.events = {{0, 10, 600, 100, 1}, {0, 30, 601, 100, 2}};
  b.events = {{0, 20, 600, 200, 3}, {0, 40, 601, 200, 4}, {0, 50, 602, 200, 5}, {0, 60, 7, 200, 6}};
  auto reader = merged({write("a", a), write("b", b)});
  ASSERT_TRUE(reader);
  std::vector<std::string> names;
  for (const Event& event : read(*reader, 0, 0)) {
    std::string name = "?";
    for (const EventCall& call : reader->events())
      if (call.id == event.id) name = call.name + " " + call.fields[0].type;
    names.push_back(name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"f u64", "g u64", "g u64", "f x64", "h u64", "?"}));
  EXPECT_EQ(reader->events().size(), 4u);
  EXPECT_TRUE(has_note("functions:f has several definitions")) << notes_.size();
}

TEST_F(MergeTest, ThreadsOfANamespaceHaveTheirNumbersOfHere) {
  File inside(1, "init"), here(1, "systemd");
  inside.metadata.formats = here.metadata.formats = {format("functions", "f", 600)};
  inside.events = {{0, 10, 600, 1, 1}, {0, 20, 600, 7, 2}, {0, 30, 600, 9, 3}};
  here.events = {{0, 15, 600, 1, 4}};
  MergedPart container{.path = write("inside", inside), .pid = 3001, .inside = 1};
  container.outside = {{1, 3001}, {7, 3007}};
  MergedPart plain{.path = write("here", here), .pid = 1};
  auto result = merge_trace_dats({container, plain}, {}, path("out"), 7);
  ASSERT_TRUE(result.ok()) << result.error().message();
  notes_ = result->notes;
  EXPECT_TRUE(has_note("1 thread of a pid namespace ended unseen")) << notes_.size();
  auto reader = TraceDatReader::open(path("out"));
  ASSERT_TRUE(reader.ok());
  std::vector<int32_t> tids;
  for (const Event& event : read(**reader, 0, 0)) tids.push_back(event.tid);
  EXPECT_EQ(tids, (std::vector<int32_t>{3001, 1, 3007, 9}));
  const std::vector<ProcessImage>& images = (*reader)->images().images;
  ASSERT_EQ(images.size(), 2u);
  EXPECT_EQ(images[0].pid, 3001);
  EXPECT_EQ(images[0].inside, 1);
  EXPECT_EQ(images[0].events(), 3u);
  EXPECT_EQ(images[1].inside, 0);
  EXPECT_EQ(images[1].events(), 1u);
  ImageFinder finder(images);
  EXPECT_EQ(finder.find(3007, 20), 0u);
  EXPECT_EQ(finder.find(1, 15), 1u);
}

TEST_F(MergeTest, AddressesAndThreadsAreNamedByTime) {
  File a(100, "make"), b(100, "cc1"), c(300, "cc1");
  a.metadata.kallsyms = "1000 t first\n1080 t 0x1080\n2000 t same\n2010 t 0x2010\n";
  b.metadata.kallsyms = "1000 t second\n1040 t third\n1090 t 0x1090\n2000 t same\n2010 t 0x2010\n";
  c.metadata.kallsyms = "1004 t 0x1004\n1005 t 0x1005\n5000 t far\t[lib]\n5010 t 0x5010\n";
  a.events = {{0, 1000, 600, 100, 1}, {1, 1500, 600, 101, 1}};
  b.events = {{0, 2000, 600, 100, 1}};
  c.events = {{0, 1200, 600, 300, 1}};
  auto reader = merged({write("a", a), write("b", b), write("c", c)});
  ASSERT_TRUE(reader);
  EXPECT_TRUE(has_note("different functions in different processes"));
  EXPECT_EQ(
      reader->kallsyms(),
      "0000000000001000 t first\n0000000000001080 t 0x1080\n0000000000001090 t "
      "0x1090\n0000000000002000 t same\n"
      "0000000000002010 t 0x2010\n0000000000005000 t far\t[lib]\n0000000000005010 t 0x5010\n");
  AddressNames names = recorded_names(*reader);
  const struct {
    int32_t tid;
    uint64_t time, address;
    const char* name;  // "": none
    const char* comm;
  } cases[] = {{100, 1000, 0x1000, "first", "make"}, {100, 1999, 0x1044, "first", "make"},
               {101, 1500, 0x1000, "first", ""},     {100, 2000, 0x1000, "second", "cc1"},
               {100, 9000, 0x1044, "third", "cc1"},  {100, 9000, 0x2004, "same", "cc1"},
               {300, 1200, 0x1004, "", "cc1"},       {300, 1200, 0x5004, "far", "cc1"},
               {999, 1200, 0x1004, "first", nullptr}};
  for (const auto& one : cases) {
    names.stand_at(one.tid, reader->to_ns(one.time));
    AddressNames::Name found;
    const bool is_known = names.lookup(one.address, &found);
    EXPECT_EQ(is_known ? found.name : "", one.name) << one.tid << " at " << one.time;
    const std::string* comm = names.comm(one.tid);
    EXPECT_EQ(comm ? *comm : "-", one.comm ? one.comm : "-");
  }
  EXPECT_EQ(reader->cmdlines(), "100 cc1\n300 cc1\n");
}

TEST_F(MergeTest, PrintkTextsOfOneAddressStayApart) {
  const auto bprint = [](int id) {
    auto made = format("ftrace", "bputs", id, "const char *", "str");
    return made;
  };
  File a(100), b(200), c(300);
  a.metadata.formats = {bprint(14)};
  b.metadata.formats = c.metadata.formats = {bprint(14)};
  a.metadata.printk_formats = "0x4010 : \"one\"\n0x4020 : \"both\"\n";
  b.metadata.printk_formats = "0x4010 : \"two\"\n0x4020 : \"both\"\n0x1000 : \"low\"\n";
  c.metadata.printk_formats = "0x4010 : \"two\"\n";
  a.events = {{0, 10, 14, 100, 0x4010}, {0, 40, 14, 100, 0x4020}};
  b.events = {{0, 20, 14, 200, 0x4010}, {0, 50, 14, 200, 0x4020}, {0, 60, 14, 200, 0x1000}};
  c.events = {{0, 30, 14, 300, 0x4010}};
  auto reader = merged({write("a", a), write("b", b), write("c", c)});
  ASSERT_TRUE(reader);
  PrintkTexts texts = PrintkTexts::from_formats(reader->printk_formats());
  std::vector<std::string> found;
  for (const Event& event : read(*reader, 0, 0)) {
    const PrintkTexts::Text* text = texts.find(event.value);
    found.push_back(text ? text->text : "?");
  }
  EXPECT_EQ(found, (std::vector<std::string>{"one", "two", "two", "both", "both", "low"}));
}

TEST_F(MergeTest, StatisticsAreSummedAndKeptByImage) {
  File a(100), b(200);
  a.metadata.cpu_stats = {"entries: 5\noverrun: 7\ndropped events: 1\n",
                          "entries: 1\noverrun: 0\n"};
  b.metadata.cpu_stats = {"entries: 2\noverrun: 10\ndropped events: 0\n"};
  a.events = {{0, 10, 600, 100, 0}, {1, 20, 600, 101, 0}, {0, 30, 600, 100, 0}};
  b.events = {{0, 15, 600, 200, 0}};
  std::vector<MergedPart> parts(2);
  parts[0] = {write("a", a), 0, 1, 5, 1'000'100, "/usr/bin/x\ty", {"x", "-o", "a\\b\nc"}, "note"};
  parts[1].path = write("b", b);
  auto result = merge_trace_dats(parts, {{7, 99, "/bin/s\tu", "set-id\n"}}, path("out"), 7);
  ASSERT_TRUE(result.ok()) << result.error().message();
  EXPECT_EQ(result->events, 4u);
  auto reader = TraceDatReader::open(path("out"));
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ((*reader)->cpu_stats().at(0), "CPU: 0\nentries: 7\noverrun: 17\ndropped events: 1\n");
  const ProcessImages& who = (*reader)->images();
  ASSERT_EQ(who.images.size(), 2u);
  EXPECT_EQ(who.images[0].words, parts[0].words);
  EXPECT_EQ(who.images[0].exe, parts[0].exe);
  EXPECT_EQ(who.images[0].note, "note");
  EXPECT_EQ(who.images[0].pid, 100);
  EXPECT_EQ(who.images[0].counts().overrun, 7u);
  EXPECT_EQ(who.images[0].events(), 3u);
  EXPECT_EQ(who.images[1].counts().overrun, 10u);
  EXPECT_EQ(who.images[1].exe, "/bin/prog");
  EXPECT_EQ(who.images[1].events(), 1u);
  ASSERT_EQ(who.not_followed.size(), 1u);
  EXPECT_EQ(who.not_followed[0].path, "/bin/s\tu");
  EXPECT_EQ(who.not_followed[0].reason, "set-id\n");
  EXPECT_EQ(ProcessImages::parse(who.text()).text(), who.text());
}

// On the CPU and at the time of the exec, among the events of the programs, and of the right one.
TEST_F(MergeTest, AnExecThatWasNotFollowedIsAnEvent) {
  for (const int version : {6, 7}) {
    File a(100, "make"), b(200, "cc");
    a.events = {{0, 10, 600, 100, 1}, {1, 20, 600, 100, 2}, {1, 40, 600, 100, 3}};
    b.events = {{1, 30, 600, 200, 4}};
    std::vector<MergedPart> parts(2);
    parts[0].path = write("a", a, version);
    parts[1].path = write("b", b, version);
    std::vector<NotFollowed> skipped = {{200, 1'000'035, "/bin/su", "set-id", 1, "x"},
                                        {201, 1'000'005, "/bin/busy box", "static", 0, "cc"},
                                        {100, 1'000'050, "/bin/late", "static", 3, ""},
                                        {7, 1'000'020, "/bin/refused", "no exec"}};
    skipped[0].part = skipped[1].part = 1;
    auto result = merge_trace_dats(parts, skipped, path("first"), version);
    ASSERT_TRUE(result.ok()) << result.error().message();
    EXPECT_EQ(result->events, 4u);
    auto opened = TraceDatReader::open(path("first"));
    ASSERT_TRUE(opened.ok());
    const TraceDatReader& reader = **opened;
    EXPECT_EQ(reader.images().not_followed.size(), 4u);
    const EventCall* made = nullptr;
    for (const EventCall& event : reader.events())
      if (event.system == "patchbay" && event.name == "exec_not_followed") made = &event;
    ASSERT_TRUE(made);
    EXPECT_NE(made->id, 600);
    ImageFinder finder(reader.images().images);
    std::vector<std::string> found;
    for (uint32_t cpu = 0; cpu < 4; cpu++)
      for (const Event& event : read(reader, 0, cpu))
        found.push_back(std::to_string(cpu) + " " + std::to_string(event.time) + " " +
                        std::to_string(event.tid) + (event.id == made->id ? " exec" : "") + " of " +
                        std::to_string(finder.find(event.tid, reader.to_ns(event.time))));
    EXPECT_EQ(found, (std::vector<std::string>{
                         "0 5 201 exec of 1", "0 10 100 of 0", "1 20 100 of 0", "1 30 200 of 1",
                         "1 35 200 exec of 1", "1 40 100 of 0", "3 50 100 exec of 0"}));
    EXPECT_NE(("\n" + reader.cmdlines()).find("\n201 cc\n"), std::string::npos);
    // Merged again they are there once.
    auto again = merged({path("first")}, version);
    ASSERT_TRUE(again);
    EXPECT_EQ(read(*again, 0, 1).size(), 4u);
    EXPECT_EQ(again->images().not_followed.size(), 4u);
  }
}

TEST_F(MergeTest, AMergedFileCanBeMergedAgain) {
  File a(100), b(200), c(300);
  a.metadata.kallsyms = "1000 t a\n1010 t 0x1010\n";
  b.metadata.kallsyms = "1000 t b\n1010 t 0x1010\n";
  c.metadata.kallsyms = "1000 t c\n1010 t 0x1010\n";
  a.events = {{0, 10, 600, 100, 1}};
  b.events = {{0, 20, 600, 200, 1}};
  c.events = {{0, 15, 600, 300, 1}};
  ASSERT_TRUE(merge({write("a", a), write("b", b)}, 7, "ab").ok());
  auto reader = merged({write("c", c), path("ab")});
  ASSERT_TRUE(reader);
  ASSERT_EQ(reader->images().images.size(), 3u);
  AddressNames names = recorded_names(*reader);
  for (const auto& [tid, name] : {std::pair{100, "a"}, {200, "b"}, {300, "c"}}) {
    names.stand_at(tid, reader->to_ns(15));
    AddressNames::Name found;
    ASSERT_TRUE(names.lookup(0x1000, &found));
    EXPECT_EQ(found.name, name);
  }
  EXPECT_EQ(reader->images().images[1].events(), 1u);
}

TEST_F(MergeTest, BuffersOfOneNameAreOneAndTheKernelsIsTheLast) {
  File a(100), b(200);
  a.instances = {{"i", 8192}, {"kernel", 4096}};
  b.instances = {{"j", 4096}, {"i", 4096}};
  a.metadata.formats.push_back(format("ftrace", "print", 65535));
  a.metadata.formats.push_back(format("sched", "sched_switch", 65534));
  a.events = {{0, 10, 600, 100, 1}};
  b.events = {{0, 5, 600, 200, 2}};
  auto reader = merged({write("a", a), write("b", b)});
  ASSERT_TRUE(reader);
  std::vector<std::string> found;
  for (size_t i = 0; i < reader->buffers().size(); i++)
    found.push_back(reader->buffers()[i].name + " " +
                    std::to_string(reader->buffers()[i].page_size) + " " +
                    std::to_string(read(*reader, i, 0).size()));
  EXPECT_EQ(found, (std::vector<std::string>{" 4096 2", "i 8192 2", "j 4096 1", "kernel 4096 1"}));
}

TEST_F(MergeTest, WhatDoesNotBelongTogetherIsRefused) {
  File a(100), b(200);
  a.events = b.events = {{0, 1'000'000, 600, 100, 1}};
  const std::string first = write("a", a);
  const auto refused = [&](const File& file, const std::string& why) {
    auto result = merge({first, write("b", file)});
    ASSERT_FALSE(result.ok()) << why;
    EXPECT_NE(result.error().message().find(why), std::string::npos) << result.error().message();
  };
  File other = b;
  other.metadata.uname = "Linux there 6.1 x86_64";
  refused(other, "of two machines");
  other = b;
  other.metadata.tsc = false;
  refused(other, "there is no order between their events");
  other = b;
  other.metadata.clock_line.ns0 += 5'000'000'000;
  refused(other, "one boot");
  other = b;
  other.metadata.clock_line.ns0 += 1'000'000;  // two lines of one clock
  EXPECT_TRUE(merge({first, write("b", other)}).ok());
  EXPECT_FALSE(merge({}).ok());
  EXPECT_FALSE(merge({first, first}).ok());
  EXPECT_FALSE(merge({first, path("missing")}).ok());
  EXPECT_FALSE(merge({first, write("b", b)}, 7, "b").ok());
  EXPECT_FALSE(merge({first}, 5).ok());
  auto whole = TraceDatReader::open(path("b"));
  EXPECT_TRUE(whole.ok()) << "an input was spoiled";
}

TEST_F(MergeTest, ACutFileGivesWhatIsThere) {
  File a(100), b(200);
  for (uint64_t i = 0; i < 1000; i++) {
    a.events.push_back({0, 10 * i, 600, 100, i});
    b.events.push_back({0, 10 * i + 5, 600, 200, i});
  }
  const std::string first = write("a", a), second = write("b", b);
  std::filesystem::resize_file(second, std::filesystem::file_size(second) - 4096);
  auto reader = merged({first, second});
  ASSERT_TRUE(reader);
  const size_t got = read(*reader, 0, 0).size();
  EXPECT_GT(got, 1000u);
  EXPECT_LT(got, 2000u);
}

TEST_F(MergeTest, FewDescriptorsAreEnough) {
  std::vector<std::string> paths;
  for (int32_t i = 0; i < 300; i++) {
    File file(1000 + i);
    file.cpus = 1;
    for (uint64_t n = 0; n < 400; n++)
      file.events.push_back({0, n * 300 + uint64_t(i), 600, 1000 + i, n * 300 + uint64_t(i)});
    paths.push_back(write("part" + std::to_string(i), file));
  }
  rlimit old{}, limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &old), 0);
  limit = old;
  limit.rlim_cur = 32;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  auto reader = merged(paths);
  ::setrlimit(RLIMIT_NOFILE, &old);
  ASSERT_TRUE(reader);
  const std::vector<Event> events = read(*reader, 0, 0);
  ASSERT_EQ(events.size(), 120000u);
  for (uint64_t i = 0; i < events.size(); i++) ASSERT_EQ(events[i].value, i);
}

TEST_F(MergeTest, AFullDiskCostsEventsAndIsSaid) {
  File a(100), b(200);
  for (uint64_t i = 0; i < 20000; i++) {
    a.events.push_back({0, 10 * i, 600, 100, i});
    b.events.push_back({0, 10 * i + 5, 600, 200, i});
  }
  const std::vector<std::string> paths{write("a", a), write("b", b)};
  rlimit old{}, limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  auto* handler = ::signal(SIGXFSZ, SIG_IGN);
  limit = old;
  limit.rlim_cur = 300 << 10;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  auto result = merge(paths);
  ::setrlimit(RLIMIT_FSIZE, &old);
  ::signal(SIGXFSZ, handler);
  ASSERT_TRUE(result.ok()) << result.error().message();
  EXPECT_NE(result->file.error, 0);
  auto reader = TraceDatReader::open(path("out"));
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ(read(**reader, 0, 0).size(), result->events);
  EXPECT_EQ(result->events + result->file.events_lost, 40000u);
  EXPECT_GT(result->events, 1000u);
}

// The room in front of the pages is taken before all threads are known.
TEST_F(MergeTest, MoreThreadsThanThereWasRoomForMoveThePages) {
  for (int version : {6, 7}) {
    File a(100), b(200);
    a.instances = {{"i", 4096}};
    for (uint64_t i = 0; i < 9000; i++) {
      a.events.push_back({uint32_t(i % 2), 10 * i, 600, int32_t(1000 + i), i});
      b.events.push_back({0, 10 * i + 5, 600, 200, i});
    }
    const std::vector<std::string> paths{write("a", a, version), write("b", b, version)};
    auto reader = merged(paths, version);
    ASSERT_TRUE(reader);
    EXPECT_EQ(read(*reader, 0, 0).size(), 13500u);
    EXPECT_EQ(read(*reader, 0, 1).size(), 4500u);
    EXPECT_EQ(read(*reader, 1, 0).size(), 4500u);
    EXPECT_EQ(reader->images().images.at(0).events(), 18000u);
    EXPECT_EQ(reader->images().images.at(0).threads.size(), 9001u);
    // The same on a disk that has room for the pages, and for them alone.
    rlimit old{}, limit{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
    auto* handler = ::signal(SIGXFSZ, SIG_IGN);
    limit = old;
    limit.rlim_cur = std::filesystem::file_size(path("out")) - 100'000;
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
    auto result = merge(paths, version, "small");
    ::setrlimit(RLIMIT_FSIZE, &old);
    ::signal(SIGXFSZ, handler);
    ASSERT_TRUE(result.ok()) << result.error().message();
    EXPECT_NE(result->file.error, 0);
    auto small = TraceDatReader::open(path("small"));
    ASSERT_TRUE(small.ok());
    uint64_t there = 0;
    for (size_t buffer = 0; buffer < 2; buffer++)
      for (uint32_t cpu = 0; cpu < 2; cpu++) there += read(**small, buffer, cpu).size();
    EXPECT_EQ(there, result->events);
    EXPECT_EQ(there + result->file.events_lost, 27000u);
    EXPECT_GT(there, 10000u);
    EXPECT_LT(there, 27000u);
  }
}

TEST(ImageFinder, FindsTheImageOfATime) {
  std::vector<ProcessImage> images(3);
  images[0].pid = images[1].pid = images[2].pid = 5;
  images[0].begin_ns = 100;
  images[1].begin_ns = 200;
  images[0].threads = {{5, 5, 110, 150, 1, "a"}, {6, 5, 120, 130, 1, "t"}};
  images[1].threads = {{5, 5, 0, 0, 0, "b"}};
  images[2].threads = {{5, 5, 300, 400, 1, "c"}};
  ImageFinder finder(images);
  const struct {
    int32_t tid;
    uint64_t ns;
    uint32_t image;
  } cases[] = {{5, 0, 0},   {5, 100, 0}, {5, 199, 0}, {5, 200, 1}, {5, 299, 1},
               {5, 300, 2}, {5, 999, 2}, {6, 0, 0},   {6, 500, 0}, {7, 100, ImageFinder::kNone}};
  for (const auto& one : cases)
    EXPECT_EQ(finder.find(one.tid, one.ns), one.image) << one.tid << " at " << one.ns;
  EXPECT_EQ(finder.thread(6, 125)->comm, "t");
}

}  // namespace
}  // namespace patchbay
