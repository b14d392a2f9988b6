// SPDX-License-Identifier: MIT
// What `patchbay latency` writes, and the distributions that it makes of what it reads.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>

#include "cmd/measure/hist_sum.h"
#include "cmd/measure/latency_plan.h"
#include "hist/image/hist_image_testing.h"

namespace patchbay::cmd {
namespace {

using patchbay::testing::add_row;
using patchbay::testing::hist_column;
using patchbay::testing::hist_image;
using patchbay::testing::hostile_texts;
using patchbay::testing::name_key;
using patchbay::testing::number_key;
using patchbay::testing::ranges_of;
using patchbay::testing::text_key;

EventFormats known_events(std::vector<std::string> more = {}) {
  std::vector<std::string> names = {"db:start", "db:done", "db:lat"};
  names.insert(names.end(), more.begin(), more.end());
  return EventFormats(names, [](const std::string& path) -> Result<std::string> {
    std::string fields;
    if (path == "events/db/start/format")
      fields =
          "\tfield:u64 id;\toffset:8;\tsize:8;\tsigned:0;\n"
          "\tfield:__data_loc char[] sql;\toffset:16;\tsize:4;\tsigned:0;\n";
    if (path == "events/db/done/format")
      fields =
          "\tfield:u64 query;\toffset:8;\tsize:8;\tsigned:0;\n"
          "\tfield:int status;\toffset:16;\tsize:4;\tsigned:1;\n";
    if (path == "events/db/lat/format")
      fields = "\tfield:int lat;\toffset:8;\tsize:4;\tsigned:1;\n";
    const size_t slash = path.rfind('/');
    const std::string name = path.substr(path.rfind('/', slash - 1) + 1);
    return "name: " + name.substr(0, name.find('/')) +
           "\nID: 1\nformat:\n\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n" + fields +
           "\nprint fmt: \"\"\n";
  });
}

std::string commands_of(const LatencyRequest& request, std::vector<std::string> more = {}) {
  EventFormats events = known_events(std::move(more));
  Result<LatencyPlan> made = plan_latency(request, events);
  return made.ok() ? made->plan.commands() : made.error().message();
}

TEST(LatencyPlan, OfAThread) {
  EXPECT_EQ(commands_of({"db:start", "db:done", "", ""}),
            "echo 's:latency u64 lat' >> dynamic_events\n"
            "echo 'hist:keys=common_pid:__latency_1=common_timestamp' >> events/db/start/trigger\n"
            "echo 'hist:keys=common_pid:__latency_3=common_timestamp-$__latency_1:"
            "onmatch(db.start).latency($__latency_3)' >> events/db/done/trigger\n"
            "echo 'hist:keys=lat*0:vals=lat,lat.counters' >> events/synthetic/latency/trigger\n");
}

TEST(LatencyPlan, OfAFieldByAnother) {
  EXPECT_EQ(commands_of({"db:start", "db:done", "id=query", "sql"}, {"synthetic:latency"}),
            "echo 's:latency2 u64 lat; char sql[]' >> dynamic_events\n"
            "echo 'hist:keys=id:__latency2_1=common_timestamp,__latency2_2=sql' >> "
            "events/db/start/trigger\n"
            "echo 'hist:keys=query:__latency2_3=common_timestamp-$__latency2_1:"
            "onmatch(db.start).latency2($__latency2_3,$__latency2_2)' >> events/db/done/trigger\n"
            "echo 'hist:keys=sql:vals=lat,lat.counters' >> events/synthetic/latency2/trigger\n");
}

TEST(LatencyPlan, ByAFieldOfTheEnd) {
  const std::string text = commands_of({"db:start", "db:done", "", "end.status"});
  EXPECT_NE(text.find("s:latency u64 lat; s32 status'"), std::string::npos) << text;
  EXPECT_NE(
      text.find(
          "__latency_1,__latency_2=status:onmatch(db.start).latency($__latency_3,$__latency_2)'"),
      std::string::npos)
      << text;
  const std::string same = commands_of({"db:lat", "db:done", "", "lat"});
  EXPECT_NE(same.find("s:latency u64 lat; s32 lat_of'"), std::string::npos) << same;
}

TEST(LatencyPlan, Errors) {
  EXPECT_EQ(commands_of({"db:start", "db:dome", "", ""}),
            "There is no event 'db:dome'; near: db:done.");
  EXPECT_EQ(commands_of({"db:start", "db:done", "id", ""}),
            "db:done has no field 'id'; db:done has query status and the common_ fields.");
  EXPECT_EQ(commands_of({"db:start", "db:done", "sql=query", ""}),
            "'sql' and 'query' are a text and a number.");
  EXPECT_EQ(commands_of({"db:start", "db:done", "", "nothing"}),
            "db:start has no field 'nothing'; db:start has id sql; db:done has query status; both "
            "have the common_ fields.");
  EXPECT_EQ(commands_of({"db:start", "db:done", "", "end.id"}),
            "db:done has no field 'id'; db:done has query status and the common_ fields.");
}

LatencyPlan plan_of(const std::string& by, const std::string& modifier = "") {
  LatencyPlan plan;
  plan.value = "lat";
  plan.by = by;
  plan.modifier = modifier;
  return plan;
}

// Keys of this form, and the times and their ranges.
HistImage table_of(HistForm form) {
  return hist_image({hist_column("k", form)},
                    {hist_column("lat"), hist_column("lat", HistForm::kCounters)});
}
void add_times(HistImage* image, const std::string& key, const std::vector<uint64_t>& times) {
  const uint64_t sum = std::accumulate(times.begin(), times.end(), uint64_t{0});
  add_row(image, key, {times.size(), sum, sum}, ranges_of(times));
}
void add_variable(HistImage* image, uint64_t address, uint64_t place, const char* name,
                  const std::vector<uint64_t>& times = {8}, uint64_t offset = 0) {
  const bool is_known = *name;
  add_times(
      image,
      name_key(image, {address, offset, 40, place, name, is_known ? "db" : "", is_known, false}),
      times);
}

uint64_t middle_of(uint64_t value) { return quantile_range(quantile_bucket(value)).middle(); }

HistImage statements() {
  HistImage image = table_of(HistForm::kText);
  add_times(&image, text_key("SELECT 1, lat: ~ 2^3"), {200, 800, 900, 1023});
  add_times(&image, text_key("INSERT"), {1000000, 1000000});
  return image;
}

TEST(LatencyText, DistributionsByATextWithAnythingInIt) {
  std::vector<Distribution> all = read_latency(statements(), plan_of("sql"));
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].by, "INSERT") << "most time first";
  EXPECT_EQ(all[1].by, "SELECT 1, lat: ~ 2^3");
  EXPECT_EQ(all[1].hits, 4u);
  EXPECT_EQ(all[1].sum, 2923u);
  EXPECT_EQ(all[1].p50, middle_of(800));
  EXPECT_EQ(all[1].p999, middle_of(1023));
  EXPECT_EQ(all[1].max, middle_of(1023));
  ASSERT_EQ(all[1].bars.size(), 2u);
  EXPECT_EQ(all[1].bars[0].power, 8u);
}

// Each has what the program counted, and is one line.
TEST(LatencyText, HostileTexts) {
  HistImage image = table_of(HistForm::kText);
  uint64_t count = 1;
  for (const std::string& text : hostile_texts())
    add_times(&image, text_key(text), std::vector<uint64_t>(count++, 1 << 20));
  const std::vector<Distribution> all = read_latency(image, plan_of("s"));
  ASSERT_EQ(all.size(), hostile_texts().size());
  const std::vector<std::string> texts = hostile_texts();
  for (const Distribution& one : all) {
    EXPECT_EQ(one.hits, --count);
    EXPECT_EQ(one.by, texts[count - 1]);
  }
  const std::string text = latency_text(all);
  EXPECT_EQ(size_t(std::count(text.begin(), text.end(), '\n')), 4 * texts.size() - 1);
}

TEST(LatencyText, Bars) {
  EXPECT_EQ(latency_text(read_latency(statements(), plan_of("sql"))),
            "INSERT: 2 times, 2.00 ms, average 1.00 ms\n"
            "      524 us .. 1.05 ms             2 |########################################\n"
            "  p50 1.01 ms  p90 1.01 ms  p99 1.01 ms  p99.9 1.01 ms  max 1.01 ms  (within 1.6 %)\n"
            "\n"
            "SELECT 1, lat: ~ 2^3: 4 times, 2.92 us, average 730 ns\n"
            "      128 ns .. 256 ns              1 |##############\n"
            "      256 ns .. 512 ns              0 |\n"
            "      512 ns .. 1.02 us             3 |########################################\n"
            "  p50 807 ns  p90 1.01 us  p99 1.01 us  p99.9 1.01 us  max 1.01 us  (within 1.6 %)\n");
}

TEST(LatencyText, WithoutAField) {
  HistImage image = table_of(HistForm::kNumber);
  add_times(&image, number_key(0), std::vector<uint64_t>(7, 2));
  const std::vector<Distribution> all = read_latency(image, plan_of(""));
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].hits, 7u);
  EXPECT_EQ(all[0].p50, 2u);
  EXPECT_EQ(all[0].bars[0].hits, 7u);
  EXPECT_EQ(latency_text({}), "There was no call, or no pair of the two events.\n");
}

// Bars begin at powers of two: the counters' ranges do.
TEST(LatencyText, BarsAreOfTheCounters) {
  const std::vector<uint64_t> values = {
      0, 1, 2, 3, 4, 63, 64, 65, 127, 128, 1023, 1024, 1025, uint64_t{1} << 63, ~uint64_t{0} >> 1};
  std::map<unsigned, uint64_t> expected;
  for (const uint64_t value : values) expected[unsigned(std::bit_width(value))]++;
  std::map<unsigned, uint64_t> found;
  HistImage image = table_of(HistForm::kNumber);
  add_times(&image, number_key(0), values);
  for (const Distribution& one : read_latency(image, plan_of("")))
    for (const LatencyBar& bar : one.bars) found[bar.power] += bar.hits;
  EXPECT_EQ(found, expected);
}

TEST(LatencyPlan, OfWholeCalls) {
  auto read = [](const std::string&) -> Result<std::string> {
    return std::string(
        "name: work\nID: 1\nformat:\n\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
        "\tfield:unsigned long __ip;\toffset:8;\tsize:8;\tsigned:0;\n"
        "\tfield:int n;\toffset:8;\tsize:4;\tsigned:1;\n"
        "\tfield:u64 duration;\toffset:16;\tsize:8;\tsigned:0;\n\nprint fmt: \"\", 0\n");
  };
  for (const auto& [by, expected] : std::map<std::string, std::string>{
           {"", "hist:keys=__ip.sym-offset:vals=duration,duration.counters"},
           {"n", "hist:keys=n:vals=duration,duration.counters"},
           {"end.n", "hist:keys=n:vals=duration,duration.counters"}}) {
    EventFormats events({"functions:work"}, read);
    const LatencyRequest request{"functions:work", "functions:work", "", by};
    Result<LatencyPlan> made = plan_latency(request, events);
    ASSERT_TRUE(made.ok()) << made.error().message();
    EXPECT_EQ(made->plan.commands(), "echo '" + expected + "' >> events/functions/work/trigger\n");
    EXPECT_EQ(made->value, "duration");
    EXPECT_NE(latency_json(request, {}).find("\"end\": \"return\""), std::string::npos);
  }
}

// Two functions of one name have a distribution each; of one its name is not shown.
TEST(LatencyText, OfFunctionsOfOneName) {
  LatencyPlan plan = plan_of("__ip", ".sym-offset");
  plan.value = "duration";
  plan.is_by_function = true;
  const auto names = [&](const HistImage& image) {
    std::string all;
    for (const Distribution& one : read_latency(image, plan))
      all += (all.empty() ? "" : ",") + one.by + ":" + std::to_string(one.hits);
    return all;
  };
  HistImage image = table_of(HistForm::kSymbolOffset);
  add_variable(&image, 0x5581000011f0, 0x11f0, "helper", {7, 7});
  EXPECT_EQ(names(image), ":2");
  HistImage other = image;
  add_variable(&image, 0x558100001230, 0x1230, "helper", {9, 9});
  EXPECT_EQ(names(image), "helper (0x558100001230):2,helper (0x5581000011f0):2");
  plan.namesakes = {{0x5581000011f0, "helper@a.c"}, {0x558100001230, "helper@b.c"}};
  EXPECT_EQ(names(image), "helper@b.c:2,helper@a.c:2");
  add_variable(&other, 0x558100003000, 0x3000, "else", {9, 9});
  EXPECT_EQ(names(other), "else:2,helper:2");
}

TEST(LatencyPlan, ByAnAddress) {
  auto read = [](const std::string& path) -> Result<std::string> {
    return "name: " + path.substr(10, path.find('/', 10) - 10) +
           "\nID: 1\nformat:\n\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
           "\tfield:unsigned long __ip;\toffset:8;\tsize:8;\tsigned:0;\n"
           "\tfield:x64 p;\toffset:16;\tsize:8;\tsigned:0;\n"
           "\tfield:u64 n;\toffset:24;\tsize:8;\tsigned:0;\n"
           "\tfield:symbol q;\toffset:32;\tsize:8;\tsigned:0;\n"
           "\nprint fmt: \"%pS(100%% p=%llx, n=%llu, q=%pS)\", REC->__ip, REC->p, REC->n, "
           "REC->q\n";
  };
  auto keys = [&](const char* by) {
    EventFormats events({"db:start", "db:done"}, read);
    Result<LatencyPlan> made = plan_latency({"db:start", "db:done", "", by}, events);
    return made.ok() ? made->plan.writes.back().text : made.error().message();
  };
  EXPECT_EQ(keys("p"), "hist:keys=p.sym-offset:vals=lat,lat.counters");
  EXPECT_EQ(keys("q"), "hist:keys=q.sym:vals=lat,lat.counters");
  EXPECT_EQ(keys("__ip"), "hist:keys=__ip.sym:vals=lat,lat.counters");
  EXPECT_EQ(keys("n"), "hist:keys=n:vals=lat,lat.counters");
}

// Calls are told apart by what another event calls their handle.
TEST(LatencyPlan, NamedByAnotherEvent) {
  auto read = [](const std::string& path) -> Result<std::string> {
    const std::string name = path.substr(10, path.find('/', 10) - 10);
    const bool is_open = name == "open";
    return "name: " + name +
           "\nID: 1\nformat:\n\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n" +
           (is_open ? "\tfield:__data_loc char[] path;\toffset:8;\tsize:4;\tsigned:1;\n"
                      "\tfield:int fd;\toffset:12;\tsize:4;\tsigned:1;\n"
                    : "\tfield:int file;\toffset:8;\tsize:4;\tsigned:1;\n"
                      "\tfield:u64 duration;\toffset:16;\tsize:8;\tsigned:0;\n") +
           "\nprint fmt: \"\", 0\n";
  };
  EventFormats events({"fs:open", "fs:read"}, read);
  LatencyRequest request{"fs:read", "fs:read", "fd=file", "path", "fs:open"};
  Result<LatencyPlan> made = plan_latency(request, events);
  ASSERT_TRUE(made.ok()) << made.error().message();
  std::vector<std::string> texts;
  for (const HistPlan::Write& write : made->plan.writes) texts.push_back(write.text);
  ASSERT_EQ(texts.size(), 4u);
  EXPECT_EQ(texts[0], "s:latency u64 lat; char path[]");
  EXPECT_EQ(texts[1], "hist:keys=fd:__latency_2=path");
  EXPECT_EQ(texts[2],
            "hist:keys=file:__latency_3=duration:onmatch(fs.open).latency($__latency_3,"
            "$__latency_2)");
  for (const char* by : {"none", "duration", "end.duration"}) {
    request.by = by;
    EventFormats again({"fs:open", "fs:read"}, read);
    const Result<LatencyPlan> wrong = plan_latency(request, again);
    ASSERT_FALSE(wrong.ok()) << by;
    EXPECT_EQ(
        wrong.error().message(),
        "--by is a field of --named's event; fs:open has path fd, not '" + std::string(by) + "'.");
  }
}

TEST(LatencyText, ShowsAddressesAndEscapesTexts) {
  const auto by_of = [](const HistImage& image) {
    const std::vector<Distribution> all = read_latency(image, plan_of("k"));
    return all.size() == 1 && all[0].bars.size() == 1 ? all[0].by : "not one";
  };
  const auto variable = [&](HistForm form, uint64_t address, const char* name, uint64_t offset) {
    HistImage image = table_of(form);
    add_variable(&image, address, address, name, {8}, offset);
    return by_of(image);
  };
  HistImage hex = table_of(HistForm::kHex), text = table_of(HistForm::kText),
            number = hist_image({hist_column("k", HistForm::kNumber, true)},
                                {hist_column("lat"), hist_column("lat", HistForm::kCounters)});
  add_times(&hex, number_key(0x7ffe12), {8});
  add_times(&text, text_key("select 1,\n\x1b[31m2"), {8});
  add_times(&number, number_key(uint64_t(-3)), {8});
  EXPECT_EQ(by_of(hex), "0x7ffe12");
  EXPECT_EQ(by_of(text), "select 1,\n\x1b[31m2");
  EXPECT_TRUE(
      latency_text(read_latency(text, plan_of("k"))).starts_with("select 1,\\n\\x1b[31m2: "));
  EXPECT_EQ(by_of(number), "-3");
  EXPECT_EQ(variable(HistForm::kSymbol, 0x1139, "main", 0), "main");
  EXPECT_EQ(variable(HistForm::kSymbolOffset, 0x404060, "orders_mutex", 0), "orders_mutex");
  EXPECT_EQ(variable(HistForm::kSymbolOffset, 0x404070, "shop", 16), "shop+0x10");
  EXPECT_EQ(variable(HistForm::kSymbolOffset, 0x7f0010, "", 0), "0x7f0010");
}

// Functions of one name, or one function of several processes, have an address each.
TEST(LatencyText, WhatHasOneNameIsAddedUp) {
  HistImage image = table_of(HistForm::kSymbol);
  add_variable(&image, 0x1000, 0x1000, "init", {8});
  add_variable(&image, 0x2000, 0x2000, "init", {9, 9, 1000, 1000, 1000});
  const std::vector<Distribution> all = read_latency(image, plan_of("p", ".sym"));
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].by, "init");
  EXPECT_EQ(all[0].hits, 6u);
  EXPECT_EQ(all[0].sum, 3026u);
  EXPECT_EQ(all[0].p50, 9u);
  EXPECT_EQ(all[0].max, middle_of(1000));
  ASSERT_EQ(all[0].bars.size(), 2u);
  EXPECT_EQ(all[0].bars[0].hits, 3u);
  EXPECT_EQ(all[0].bars[0].power, 4u);
  EXPECT_EQ(all[0].bars[1].power, 10u);
}

// `static pthread_mutex_t lock` of two files; another process has its object pages away.
TEST(LatencyText, VariablesOfOneNameAreTwo) {
  HistImage a = table_of(HistForm::kSymbolOffset), b = a;
  add_variable(&a, 0x4040, 0x40, "lock");
  add_variable(&a, 0x4080, 0x80, "lock");
  add_variable(&a, 0x40c0, 0xc0, "other");
  add_variable(&b, 0x9080, 0x80, "lock");
  add_variable(&b, 0x90c0, 0xc0, "other");
  const auto shared = [](const HistImage& image) { return std::make_shared<HistImage>(image); };
  std::map<std::string, uint64_t> hits;
  for (const Distribution& one :
       read_latency(*hist_sum({shared(a), shared(b)}), plan_of("p", ".sym-offset"))) {
    hits[one.by] = one.hits;
    ASSERT_EQ(one.bars.size(), 1u);
    EXPECT_EQ(one.bars[0].hits, one.hits);
  }
  using Hits = std::map<std::string, uint64_t>;
  EXPECT_EQ(hits, (Hits{{"lock (0x4040)", 1}, {"lock (0x4080)", 2}, {"other", 2}}));
}

TEST(LatencyText, Durations) {
  EXPECT_EQ(duration_text(0), "0 ns");
  EXPECT_EQ(duration_text(999), "999 ns");
  EXPECT_EQ(duration_text(1500), "1.50 us");
  EXPECT_EQ(duration_text(12345678), "12.3 ms");
  EXPECT_EQ(duration_text(123456789012), "123 s");
}

}  // namespace
}  // namespace patchbay::cmd
