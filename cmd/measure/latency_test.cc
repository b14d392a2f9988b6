// SPDX-License-Identifier: MIT
// What `patchbay latency` writes, and the distributions that it makes of what it reads.
#include <gtest/gtest.h>

#include "cmd/measure/latency_plan.h"

namespace patchbay::cmd {
namespace {

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
            "echo 'hist:keys=lat.log2:sort=lat:size=8192' >> events/synthetic/latency/trigger\n"
            "echo 'hist:keys=lat*0:vals=lat,lat.quantiles' >> events/synthetic/latency/trigger\n");
}

TEST(LatencyPlan, OfAFieldByAnother) {
  EXPECT_EQ(commands_of({"db:start", "db:done", "id=query", "sql"}, {"synthetic:latency"}),
            "echo 's:latency2 u64 lat; char sql[]' >> dynamic_events\n"
            "echo 'hist:keys=id:__latency2_1=common_timestamp,__latency2_2=sql' >> "
            "events/db/start/trigger\n"
            "echo 'hist:keys=query:__latency2_3=common_timestamp-$__latency2_1:"
            "onmatch(db.start).latency2($__latency2_3,$__latency2_2)' >> events/db/done/trigger\n"
            "echo 'hist:keys=sql,lat.log2:sort=sql,lat:size=8192' >> "
            "events/synthetic/latency2/trigger\n"
            "echo 'hist:keys=sql:vals=lat,lat.quantiles' >> events/synthetic/latency2/trigger\n");
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
  EXPECT_EQ(commands_of({"db:start", "db:done", "id", ""}), "db:done has no field 'id'.");
  EXPECT_EQ(commands_of({"db:start", "db:done", "sql=query", ""}),
            "'sql' and 'query' are a text and a number.");
  EXPECT_EQ(commands_of({"db:start", "db:done", "", "nothing"}), "db:done has no field 'nothing'.");
}

constexpr char kBars[] =
    "# event histogram\n#\n# trigger info: hist:keys=sql,lat.log2 [active]\n#\n\n"
    "{ sql: SELECT 1, lat: ~ 2^3                              , lat: ~ 2^10 } hitcount:          "
    "3\n"
    "{ sql: SELECT 1, lat: ~ 2^3                              , lat: ~ 2^8  } hitcount:          "
    "1\n"
    "{ sql: INSERT                                            , lat: ~ 2^20 } hitcount:          "
    "2\n"
    "\nTotals:\n    Hits: 6\n    Entries: 3\n    Dropped: 0\n";
constexpr char kQuantiles[] =
    "{ sql: SELECT 1, lat: ~ 2^3                               } hitcount:          4  lat:       "
    "3000  lat.p50:        800  lat.p90:        900  lat.p99:       1000  lat.p99.9:       1001  "
    "lat.max:       1002\n"
    "{ sql: INSERT                                             } hitcount:          2  lat:    "
    "2000000  lat.p50:    1000000  lat.p90:    1000000  lat.p99:    1000000  lat.p99.9:    "
    "1000000  lat.max:    1000000\n";

TEST(LatencyText, ReadsTextsWithAnythingInThem) {
  std::vector<Distribution> all = read_latency(kBars, kQuantiles, "sql");
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].by, "INSERT") << "most time first";
  EXPECT_EQ(all[1].by, "SELECT 1, lat: ~ 2^3");
  EXPECT_EQ(all[1].hits, 4u);
  EXPECT_EQ(all[1].sum, 3000u);
  EXPECT_EQ(all[1].p999, 1001u);
  EXPECT_EQ(all[1].max, 1002u);
  ASSERT_EQ(all[1].bars.size(), 2u);
  EXPECT_EQ(all[1].bars[0].power, 8u);
}

TEST(LatencyText, Bars) {
  EXPECT_EQ(latency_text(read_latency(kBars, kQuantiles, "sql")),
            "INSERT: 2 times, 2.00 ms, average 1.00 ms\n"
            "      524 us .. 1.05 ms             2 |########################################\n"
            "  p50 1.00 ms  p90 1.00 ms  p99 1.00 ms  p99.9 1.00 ms  max 1.00 ms  (within 1.6 %)\n"
            "\n"
            "SELECT 1, lat: ~ 2^3: 4 times, 3.00 us, average 750 ns\n"
            "      128 ns .. 256 ns              1 |##############\n"
            "      256 ns .. 512 ns              0 |\n"
            "      512 ns .. 1.02 us             3 |########################################\n"
            "  p50 800 ns  p90 900 ns  p99 1.00 us  p99.9 1.00 us  max 1.00 us  (within 1.6 %)\n");
}

TEST(LatencyText, WithoutAField) {
  std::vector<Distribution> all =
      read_latency("{ lat: ~ 2^1  } hitcount:          7\n",
                   "{ lat*0:          0 } hitcount:          7  lat:         14  lat.p50:          "
                   "2  lat.p90:          2  lat.p99:          2  lat.p99.9:          2  lat.max:   "
                   "       2\n",
                   "");
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].hits, 7u);
  EXPECT_EQ(all[0].p50, 2u);
  EXPECT_EQ(all[0].bars[0].hits, 7u);
  EXPECT_EQ(latency_text({}), "There was no pair of the two events.\n");
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
  EXPECT_EQ(keys("p"), "hist:keys=p.hex:vals=lat,lat.quantiles");
  EXPECT_EQ(keys("q"), "hist:keys=q.sym:vals=lat,lat.quantiles");
  EXPECT_EQ(keys("__ip"), "hist:keys=__ip.sym:vals=lat,lat.quantiles");
  EXPECT_EQ(keys("n"), "hist:keys=n:vals=lat,lat.quantiles");
}

TEST(LatencyText, ShowsAddressesAndEscapesTexts) {
  auto by_of = [](const std::string& key, const char* modifier) {
    const std::string bars = "{ p: " + key + " , lat: ~ 2^3 } hitcount:          1\n";
    const std::string sums = "{ p: " + key + "   } hitcount:          1  lat:          8\n";
    std::vector<Distribution> all = read_latency(bars, sums, "p", modifier);
    return all.size() == 1 && all[0].bars.size() == 1 ? all[0].by : "not one";
  };
  EXPECT_EQ(by_of("7ffe12", ".hex"), "0x7ffe12");
  EXPECT_EQ(by_of("[0000558f00001139] main", ".sym"), "main");
  EXPECT_EQ(by_of("select 1,\n\x1b[31m2", ""), "select 1,\\n\\x1b[31m2");
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
