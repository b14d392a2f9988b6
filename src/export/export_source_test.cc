// SPDX-License-Identifier: MIT
#include "export/export_source.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <set>

#include "export/export_formats.h"
#include "export/export_testing.h"
#include "export/export_text.h"

namespace patchbay {
namespace {

using Kind = ExportEvent::Kind;

std::unique_ptr<ExportSource> open_source(const std::vector<std::string>& files,
                                          const ExportChoice& choice = {}) {
  std::vector<ExportInput> inputs(files.size());
  for (size_t i = 0; i < files.size(); i++)
    EXPECT_TRUE(test::export_input_of(files[i], &inputs[i]));
  auto source = ExportSource::open(std::move(inputs), choice);
  EXPECT_TRUE(source.ok()) << source.error().message();
  return std::move(*source);
}

// One word an event: "sold", "(f<g>", "f<g>)", "!5" for a loss; with its thread and time.
std::string words_of(ExportSource* source) {
  constexpr const char* kHow[] = {")", "?)", "<)", "…)"};
  std::string words;
  ExportEvent event;
  while (source->next(&event)) {
    const auto name = [&] { return source->addresses(event).of(event.call.function).plain; };
    if (event.kind == Kind::kLoss) words += "!" + std::to_string(event.lost);
    if (event.kind == Kind::kCallBegin) words += "(" + name();
    if (event.kind == Kind::kCallEnd) words += name() + kHow[size_t(event.call.how)];
    if (event.kind == Kind::kEvent) words += event.schema ? event.schema->name : "?";
    if (event.thread) words += ":" + std::to_string(event.tid());
    if (event.pair) words += "=" + std::to_string(event.ns - event.pair->begin_ns);
    for (size_t i = 0; i < event.stack.size(); i++) words += "/" + source->frame_name(event, i);
    words += "@" + std::to_string(event.ns) + " ";
  }
  return words;
}

TEST(ExportSource, GivesEventsWithStacksCallsAndPairs) {
  for (int version : {6, 7}) {
    auto source = open_source({test::make_trace_dat(version, {test::some_of_each()}, 5)});
    EXPECT_EQ(words_of(source.get()),
              "!5@1000 sold:7/f<g>/main@1000 (main:7@1010 (f<g>:7@1020 f<g>):7@1030 (f<g>:7@1040 "
              "(leaf:7@1050 leaf?):7@1060 f<g>?):7@1060 main):7@1060 leaf<):8@1070 (leaf:8@1080 "
              "in:9@1090 out:9=10@1100 f:8@1110 f:8@1120 ?:8@1130 sold:8@1140 leaf…):8@1140 ");
    const ExportStats& stats = source->stats();
    EXPECT_EQ(stats.events, 16u);
    EXPECT_EQ(stats.calls, 6u);
    EXPECT_EQ(stats.without_exit, 2u);
    EXPECT_EQ(stats.without_entry, 1u);
    EXPECT_EQ(stats.open_at_end, 1u);
    EXPECT_EQ(stats.unknown_events, 1u);
    EXPECT_EQ(stats.lost_by_cpu.at(0), 5u);
  }
}

TEST(ExportSource, MergesInputsAndBuffersByTime) {
  const test::Events a{{10, test::Record(test::kProbe, 7)}, {30, test::Record(test::kProbe, 7)}};
  const test::Events b{{20, test::Record(test::kReturn, 8)}};
  const test::Events c{{5, test::Record(test::kTexts, 9)}, {30, test::Record(test::kTexts, 9)}};
  auto source = open_source({test::make_trace_dat(7, {a, b}), test::make_trace_dat(7, {c})});
  EXPECT_EQ(words_of(source.get()), "f:9@5 in:7@10 out:8@20 in:7@30 f:9@30 ");
  EXPECT_EQ(source->meta().hosts, std::vector<std::string>{"host"});
}

// Threads with one id are the same thread where the machine is the same, and only there.
TEST(ExportSource, KeepsHostsApart) {
  struct Input {
    const char *uname, *path;
  };
  struct Case {
    std::vector<Input> inputs;
    std::vector<std::string> hosts;
    size_t processes;
  };
  const Case cases[] = {
      {{{"Linux a 6 x", "1.dat"}, {"Linux b 6 x", "2.dat"}}, {"a", "b"}, 2},
      {{{"Linux a 6 x", "1.dat"}, {"Linux a 6 x", "2.dat"}}, {"a"}, 1},
      {{{"Linux a 6 x", "1.dat"}, {"", "d/2.dat"}}, {"a", "2.dat"}, 2},
      {{{"", "1.dat"}, {"", "2.dat"}}, {"1.dat", "2.dat"}, 2},
      {{{"", "x/1.dat"}, {"", "y/1.dat"}}, {"x/1.dat", "y/1.dat"}, 2},
      {{{"", "1.dat"}, {"", "1.dat"}}, {""}, 1},
      {{{"", "1.dat"}, {"Linux 1.dat 6 x", "2.dat"}}, {"1.dat", "1.dat"}, 2},
      {{{"", "1.dat"}}, {""}, 1},
  };
  const test::Events events{{10, test::Record(test::kProbe, 7)}};
  for (const Case& one : cases) {
    std::vector<ExportInput> inputs(one.inputs.size());
    for (size_t i = 0; i < inputs.size(); i++) {
      const std::string file = test::make_trace_dat(7, {events}, 0, one.inputs[i].uname);
      ASSERT_TRUE(test::export_input_of(file, &inputs[i]));
      inputs[i].path = one.inputs[i].path;
    }
    auto source = ExportSource::open(std::move(inputs));
    ASSERT_TRUE(source.ok());
    EXPECT_EQ((*source)->meta().hosts, one.hosts);
    std::set<const ExportProcess*> processes;
    size_t count = 0;
    ExportEvent event;
    for (; (*source)->next(&event); count++) processes.insert(event.thread->process);
    EXPECT_EQ(count, one.inputs.size());
    EXPECT_EQ(processes.size(), one.processes) << one.inputs[0].path;
  }
}

TEST(ExportSource, KnowsProcessesOfThreads) {
  auto source = open_source({test::make_trace_dat(7, {test::some_of_each()})});
  ExportEvent event;
  while (source->next(&event)) {
    if (event.kind != Kind::kEvent) continue;
    EXPECT_EQ(event.thread->process->pid, event.tid() == 9 ? 9 : 7);
    EXPECT_EQ(event.thread->process->exe, "/bin/shop");
  }
}

// Pages in memory, whatever their size.
class MemoryPages : public PageSource {
 public:
  explicit MemoryPages(std::vector<PageImage> pages) : pages_(std::move(pages)) {}
  size_t nr_cpus() const override { return 1; }
  bool next_page(size_t, PageImage* out) override {
    if (next_ == pages_.size()) return false;
    *out = pages_[next_++];
    return true;
  }
  uint64_t to_ns(uint64_t time) const override { return time; }

 private:
  std::vector<PageImage> pages_;
  size_t next_ = 0;
};

std::unique_ptr<ExportSource> open_pages(std::vector<PageImage> pages) {
  std::vector<ExportInput> inputs(1);
  EXPECT_TRUE(test::export_input_of(test::make_trace_dat(7, {{}}), &inputs[0]));
  inputs[0].pages[0] = std::make_unique<MemoryPages>(std::move(pages));
  auto source = ExportSource::open(std::move(inputs));
  EXPECT_TRUE(source.ok());
  return std::move(*source);
}

// The stack of the last event of a page is the first of the next one; time never goes back.
TEST(ExportSource, ReadsOverTheEndsOfPages) {
  const std::string plain = test::Record(test::kProbe, 7);
  const std::string stack = test::Record(test::kStack, 7).put(1).put(0).put(uint64_t{0x3000});
  const std::string other = test::Record(test::kStack, 8).put(1).put(0).put(uint64_t{0x3000});
  auto source = open_pages({test::make_page({{10, plain}}), test::make_page({{11, stack}}),
                            test::make_page({{12, plain}}), test::make_page({{13, other}}),
                            test::make_page({{14, plain}}, 1), test::make_page({{15, stack}}, 2),
                            test::make_page({{5, plain}})});
  EXPECT_EQ(
      words_of(source.get()),
      "in:7/leaf@10 in:7@12 kernel_stack:8/leaf@13 !1@14 in:7@14 !2@15 kernel_stack:7/leaf@15 "
      "in:7@15 ");
}

TEST(ExportFormats, TakeAHundredThousandThreadsAndALongEvent) {
  for (const ExportFormatRow& format : export_formats()) {
    std::vector<PageImage> pages;
    for (int32_t tid = 1; tid < 100'000; tid += 100) {
      test::Events events;
      for (int32_t i = 0; i < 100; i++)
        events.emplace_back(
            tid * 10 + i,
            test::Record(test::kEntry, tid + i).put(uint64_t{0x1000}).put(uint32_t(i % 3)));
      pages.push_back(test::make_page(events, 0, 8192));
    }
    const std::string text(65'000, '<');
    const std::string record = test::Record(test::kTexts, 5)
                                   .put(uint64_t{1})
                                   .put(uint64_t{2})
                                   .put(32u | 65'000u << 16)
                                   .put(0)
                                   .text(text);
    pages.push_back(test::make_page({{2'000'000, record}}, 0, 128 << 10));
    auto source = open_pages(std::move(pages));
    const std::string path =
        testing::TempDir() + "export_long." + std::to_string(::getpid()) + "." + format.name;
    auto sink = format.make({.path = path});
    ASSERT_TRUE(sink.ok()) << format.name;
    EXPECT_TRUE(export_all(source.get(), sink->get()).ok()) << format.name;
    sink->reset();
    std::filesystem::remove_all(path);
    EXPECT_EQ(source->stats().events, 100'001u) << format.name;
    EXPECT_EQ(source->stats().open_at_end, 100'000u) << format.name;
  }
}

struct ChoiceCase {
  const char* what;
  ExportChoice choice;
  const char* words;
};

TEST(ExportSource, ChoosesEvents) {
  const ChoiceCase cases[] = {
      {"a glob", {.events = {"kp:*"}}, "in:9@1090 out:9=10@1100 "},
      {"a name", {.events = {"in", "out"}}, "in:9@1090 out:9=10@1100 "},
      {"a filter", {.filter = "n == 11"}, "in:9@1090 "},
      {"a filter of a short record", {.filter = "price < 0"}, "sold:7/f<g>/main@1000 "},
      {"a filter of texts", {.filter = "s ~ \"<s>*\""}, "f:8@1110 "},
      {"from and until",
       {.from_ns = 90, .until_ns = 1100, .from_is_relative = true},
       "in:9@1090 out:9=10@1100 "},
  };
  for (const ChoiceCase& one : cases) {
    auto source = open_source({test::make_trace_dat(7, {test::some_of_each()})}, one.choice);
    EXPECT_EQ(words_of(source.get()), one.words) << one.what;
  }
}

TEST(ExportSource, RefusesWrongChoices) {
  const std::pair<ExportChoice, const char*> cases[] = {
      {{.events = {"solt"}}, "No event of the recording is called 'solt'; near: sold"},
      {{.filter = "nothing == 1"}, "Field not found"},
      {{.filter = "n = "}, "No event can be filtered"},
      {{.filter = "COMM == \"a\""}, "No event can be filtered"},
  };
  for (const auto& [choice, sentence] : cases) {
    std::vector<ExportInput> inputs(1);
    ASSERT_TRUE(test::export_input_of(test::make_trace_dat(7, {test::some_of_each()}), &inputs[0]));
    auto source = ExportSource::open(std::move(inputs), choice);
    ASSERT_FALSE(source.ok()) << sentence;
    EXPECT_NE(source.error().message().find(sentence), std::string::npos)
        << source.error().message();
  }
}

TEST(ExportText, ShowsValuesOfAllTypes) {
  auto source = open_source({test::make_trace_dat(7, {test::some_of_each()})});
  std::vector<std::string> lines;
  ExportEvent event;
  while (source->next(&event)) {
    if (event.kind != Kind::kEvent || !event.schema) continue;
    lines.emplace_back();
    append_json_fields(&lines.back(), *event.schema, event.record, &source->addresses(event));
  }
  ASSERT_EQ(lines.size(), 6u);
  EXPECT_EQ(lines[0], R"({"price":-3,"kind":2,"rate":1.5,"list":[1,2,3]})");
  EXPECT_EQ(lines[1], R"({"__probe_ip":8192,"n":11})");
  EXPECT_EQ(lines[3],
            "{\"__parent_ip\":4112,\"__ip\":8192,\"s\":\"\\u003cs>\xef\xbf\xbd\\u0001"
            "\\\"\\\\\\u000a\",\"name\":\"ab\"}");
  EXPECT_EQ(lines[4], "{\"__parent_ip\":4112,\"__ip\":8192,\"s\":\"(fault)\",\"name\":\"abcd\"}");
  EXPECT_EQ(lines[5], R"({"price":null,"kind":null,"rate":null,"list":null})");
}

TEST(ExportFormats, EachTakesEverything) {
  for (const ExportFormatRow& format : export_formats()) {
    auto source = open_source({test::make_trace_dat(7, {test::some_of_each()}, 5)});
    // Some formats are directories, some want a regular file: these refuse devices.
    const std::string path = testing::TempDir() + "export_all." + format.name;
    auto sink = format.make({.path = path, .instants = true});
    ASSERT_TRUE(sink.ok()) << format.name;
    EXPECT_TRUE(export_all(source.get(), sink->get()).ok()) << format.name;
    sink->reset();
    std::filesystem::remove_all(path);
    auto full = format.make({.path = "/dev/full"});
    if (!full.ok()) continue;
    source = open_source({test::make_trace_dat(7, {test::some_of_each()}, 5)});
    EXPECT_FALSE(export_all(source.get(), full->get()).ok()) << format.name;
  }
}

}  // namespace
}  // namespace patchbay
