// SPDX-License-Identifier: MIT
// Sums of tables: what one process would show that had all the hits.
#include "cmd/measure/hist_sum.h"

#include <gtest/gtest.h>

#include <string>

#include "hist/quantile_buckets.h"
#include "hist/text/hist_values.h"

namespace patchbay::cmd {
namespace {

std::string table(const std::string& definition, const std::string& entries, int hits,
                  int nr_entries, int dropped = 0, const std::string& notes = "") {
  return "# event histogram\n#\n# trigger info: " + definition + " [active]\n#\n" + notes + "\n" +
         entries + "\nTotals:\n    Hits: " + std::to_string(hits) +
         "\n    Entries: " + std::to_string(nr_entries) +
         "\n    Dropped: " + std::to_string(dropped) + "\n";
}

std::string entries_of(const std::string& text) {
  const size_t start = text.find("\n#\n\n") + 4;
  return text.substr(start, text.rfind("\nTotals:") - start);
}

std::string number(uint64_t value) {
  std::string text = std::to_string(value);
  return std::string(text.size() < 10 ? 10 - text.size() : 0, ' ') + text;
}
std::string padded(std::string text, size_t width = 50) {
  text.resize(std::max(text.size(), width), ' ');
  return text;
}
std::string hits(const std::string& key, uint64_t count) {
  return "{ " + key + " } hitcount: " + number(count) + "\n";
}

// The sum of tables with such entries.
std::string sum_of(const std::string& definition, const std::vector<std::string>& entries,
                   const std::set<std::string>& signed_fields = {}) {
  std::vector<std::string> texts;
  texts.reserve(entries.size());
  for (const std::string& one : entries) texts.push_back(table(definition, one, 1, 1));
  return entries_of(hist_sum(texts, {definition, signed_fields}));
}

// --- definitions

TEST(HistSum, DefinitionsBecomeSummable) {
  const struct {
    const char *asked, *written;
  } table[] = {
      {"hist:keys=n", "hist:keys=n"},
      {"hist:keys=n.log2:vals=a,b.hex:sort=n", "hist:keys=n.log2:vals=a,b.hex:sort=n"},
      {"hist:keys=n:vals=lat.quantiles", "hist:keys=n:vals=lat.counters"},
      {"hist:keys=n:values=lat.quantiles,a.percent if a > 3 && b == \"vals=x.percent\"",
       "hist:keys=n:vals=lat.counters,a if a > 3 && b == \"vals=x.percent\""},
      {"hist:keys=n:vals=hitcount.percent,a.graph", "hist:keys=n:vals=hitcount,a"},
      {"hist:keys=n:vals=a:nohitcount", "hist:keys=n:vals=a"},
      {"hist:keys=n:nohitcount", "hist:keys=n:nohitcount"},
      {"hist:keys=n:vals=hitcount.percent:nohitcount", "hist:keys=n:vals=hitcount"},
  };
  for (const auto& row : table) {
    Result<std::string> made = summable_definition(row.asked);
    ASSERT_TRUE(made.ok()) << row.asked;
    EXPECT_EQ(*made, row.written);
  }
}

TEST(HistSum, ActionsAreOfOneProcess) {
  for (const char* action :
       {"onmax($a).save(b)", "onchange($a).snapshot()", "onmatch(s.e).trace(x,$a)"}) {
    Result<std::string> made =
        summable_definition("hist:keys=n:a=b:" + std::string(action) + " if b > 1");
    ASSERT_FALSE(made.ok()) << action;
    EXPECT_NE(made.error().message().find(action), std::string::npos);
  }
}

// --- sums

TEST(HistSum, NothingOfNothing) {
  EXPECT_EQ(hist_sum({}, {"hist:keys=n", {}}), "");
  EXPECT_EQ(hist_sum({"", ""}, {"hist:keys=n", {}}), "");
}

TEST(HistSum, OfOneIsItself) {
  const std::string definition =
      "hist:keys=n,name:vals=hitcount,size.hex:sort=n,name.descending:size=2048 if n > 1";
  const std::string entries =
      "{ n:          3, name: " + padded("b") + " } hitcount:          2  size:         1f\n" +
      "{ n:          3, name: " + padded("a") + " } hitcount:          1  size:          0\n" +
      "{ n:         20, name: " + padded("a") + " } hitcount:          1  size:       ffff\n";
  const std::string text = table(definition, entries, 4, 3, 7);
  EXPECT_EQ(
      hist_sum({text}, {"hist:keys=n,name:vals=size.hex:sort=n,name.descending if n > 1", {}}),
      text);
  const std::string paused =
      "hist:keys=n:vals=hitcount:sort=hitcount:size=2048 [paused]\n#\n\n"
      "\nTotals:\n    Hits: 0\n    Entries: 0\n    Dropped: 0\n";
  const std::string head = "# event histogram\n#\n# trigger info: ";
  EXPECT_EQ(hist_sum({head + paused}, {"hist:keys=n", {}}), head + paused);
}

TEST(HistSum, EqualKeysAreAddedUpAndSortedAnew) {
  const std::string definition = "hist:keys=n:vals=hitcount,size:sort=hitcount:size=2048";
  const auto entry = [](int n, uint64_t count, uint64_t size) {
    return "{ n: " + number(uint64_t(n)) + " } hitcount: " + number(count) +
           "  size: " + number(size) + "\n";
  };
  const std::string sum =
      hist_sum({table(definition, entry(1, 1, 10) + entry(2, 5, 50), 6, 2, 1), "",
                table(definition, entry(3, 2, 7) + entry(1, 8, 1), 10, 2, 2)},
               {"hist:keys=n:vals=size", {}});
  EXPECT_EQ(sum, table(definition, entry(3, 2, 7) + entry(2, 5, 50) + entry(1, 9, 11), 16, 3, 3));
}

TEST(HistSum, AValueThatIsThereTwice) {
  const std::string listed = "hist:keys=n:vals=hitcount,size,size.hex:sort=hitcount:size=2048";
  const auto entry = [](const char* size, const char* hex) {
    return std::string("{ n:          1 } hitcount:          1  size:         ") + size +
           "  size:         " + hex + "\n";
  };
  const std::string text = table(listed, entry("10", " a"), 1, 1);
  std::string sum = table(listed, entry("20", "14"), 2, 1);
  sum.replace(sum.find("hitcount:          1"), 20, "hitcount:          2");
  EXPECT_EQ(hist_sum({text, text}, {"hist:keys=n:vals=size,size.hex", {}}), sum);
}

TEST(HistSum, PartsAreAddedUpToTheSameSum) {
  const HistSumShape shape{
      "hist:keys=n:vals=size.percent,size.hex,lat.quantiles:sort=size.descending:nohitcount", {}};
  const std::string listed =
      "hist:keys=n:vals=hitcount,size,size.hex,lat.counters:sort=size.descending:size=2048";
  const auto text = [&](int n, int size) {
    char entry[200];
    std::snprintf(entry, sizeof entry,
                  "{ n: %10d } hitcount:          2  size: %10d  size: %10x  lat.counters: "
                  "sum=%d,%d=1,99=1\n",
                  n, size, size, size, n);
    return table(listed, entry, 2, 1, 1);
  };
  const std::vector<std::string> all = {text(1, 300), text(2, 20), text(1, 5), text(3, 7)};
  const std::string whole = hist_sum(all, shape);
  EXPECT_NE(whole.find("lat.p50"), std::string::npos) << whole;
  std::string parts;
  for (const std::string& one : all) parts = hist_part_sum({parts, one}, shape);
  EXPECT_EQ(hist_sum({parts}, shape), whole);
  EXPECT_EQ(hist_sum({hist_part_sum({all[3], all[1]}, shape), all[2], all[0]}, shape), whole);
  const std::string symbols =
      table("hist:keys=n,f.sym:vals=hitcount:sort=hitcount:size=9", "", 0, 0);
  EXPECT_EQ(hist_part_sum({"", symbols}, {"hist:key=n,f.sym", {}}), "");
}

TEST(HistSum, SharesAreThoseOfTheSum) {
  const std::string listed = "hist:keys=n:vals=hitcount,size:sort=size.descending:size=2048";
  const auto text = [&](const std::string& entries) { return table(listed, entries, 2, 2); };
  const std::string a = text(
      "{ n:          2 } hitcount:          1  size:         30\n"
      "{ n:          1 } hitcount:          1  size:         10\n");
  const std::string b = text("{ n:          1 } hitcount:          2  size:         60\n");
  EXPECT_EQ(
      hist_sum({a, b}, {"hist:keys=n:vals=size.percent,hitcount.graph:sort=size.descending", {}}),
      table("hist:keys=n:vals=hitcount,size.percent,hitcount.graph:"
            "sort=size.percent.descending:size=2048",
            "{ n:          1 } hitcount:          3  size (%):  70.00  hitcount: "
            "####################\n"
            "{ n:          2 } hitcount:          1  size (%):  30.00  hitcount: "
            "######              \n",
            4, 2));
}

TEST(HistSum, QuantilesAreThoseOfAllHits) {
  std::vector<uint64_t> all(kQuantileBuckets);
  std::vector<std::string> texts;
  const std::string listed = "hist:keys=n:vals=hitcount,lat,lat.counters:sort=lat:size=2048";
  uint64_t total = 0;
  for (uint64_t process = 1; process <= 3; process++) {
    std::vector<uint64_t> own(kQuantileBuckets);
    uint64_t sum = 0;
    for (uint64_t i = 0; i < 400; i++) {
      const uint64_t value = i * i * process;
      own[quantile_bucket(value)]++;
      all[quantile_bucket(value)]++;
      sum += value;
    }
    std::string counters;
    put_hist_counters(&counters, "lat", sum, own);
    texts.push_back(
        table(listed,
              "{ n:          1 } hitcount:        400  lat: " + number(sum) + " " + counters + "\n",
              400, 1));
    total += sum;
  }
  std::string quantiles;
  put_hist_quantiles(&quantiles, "lat", all);
  EXPECT_EQ(hist_sum(texts, {"hist:keys=n:vals=lat,lat.quantiles:sort=lat", {}}),
            table("hist:keys=n:vals=hitcount,lat,lat.quantiles:sort=lat:size=2048",
                  "{ n:          1 } hitcount:       1200  lat: " + number(total) + " " +
                      quantiles + "\n",
                  1200, 1, 0, hist_quantile_note("lat")));
  // Who asks for counters gets them.
  std::string counters;
  put_hist_counters(&counters, "lat", total, all);
  EXPECT_EQ(
      entries_of(hist_sum(texts, {"hist:keys=n:vals=lat,lat.counters:sort=lat", {}})),
      "{ n:          1 } hitcount:       1200  lat: " + number(total) + " " + counters + "\n");
}

TEST(HistSum, SortedByASumThatIsNotShown) {
  const std::string listed = "hist:keys=n:vals=hitcount,lat.counters:sort=lat.counters:size=2048";
  const std::string text =
      table(listed,
            "{ n:          1 } hitcount:          1  lat.counters: sum=5,5=1\n"
            "{ n:          2 } hitcount:          3  lat.counters: sum=6,2=3\n",
            4, 2);
  const std::string other =
      table(listed, "{ n:          1 } hitcount:          1  lat.counters: sum=2,2=1\n", 1, 1);
  const std::string sum = hist_sum({text, other}, {"hist:keys=n:vals=lat.quantiles:sort=lat", {}});
  EXPECT_NE(sum.find("vals=hitcount,lat.quantiles:sort=lat.quantiles:size"), std::string::npos)
      << sum;
  EXPECT_LT(sum.find("{ n:          2 }"), sum.find("{ n:          1 }")) << sum;
  EXPECT_NE(sum.find("{ n:          1 } hitcount:          2  lat.p50:          2  lat.p90:"),
            std::string::npos)
      << sum;
}

TEST(HistSum, WithoutHitcount) {
  const std::string listed = "hist:keys=n:vals=hitcount,size:sort=hitcount:size=2048";
  const std::string text =
      table(listed, "{ n:          1 } hitcount:          4  size:          7\n", 4, 1);
  EXPECT_EQ(hist_sum({text, text}, {"hist:keys=n:vals=size:nohitcount", {}}),
            table("hist:keys=n:vals=size:sort=hitcount:size=2048:nohitcount",
                  "{ n:          1 }  size:         14\n", 8, 1));
}

// --- keys

TEST(HistSum, KeysAreSortedAsWhatTheyAre) {
  const struct {
    std::string key;
    std::vector<std::string> sorted;
  } table[] = {
      {"n", {"n: " + number(9), "n: " + number(10), "n: " + number(~uint64_t{0})}},
      {"n.hex", {"n: 9", "n: 1f", "n: 100"}},
      {"n.log2", {"n: ~ 2^3 ", "n: ~ 2^20"}},
      {"n.buckets=5", {"n: ~ 5-9", "n: ~ 10-14", "n: ~ 100-104"}},
      {"common_pid.execname",
       {"common_pid: b               [" + number(9) + "]",
        "common_pid: a               [" + number(12) + "]"}},
      {"id.syscall",
       {"id: sys_write                     [  1]", "id: sys_brk                       [ 12]"}},
      {"t", {"t: " + padded("a"), "t: " + padded("a\tb"), "t: " + padded("b")}},
      {"p.sym", {"p: [401000] " + padded("main", 45), "p: [7f0000001000] " + padded("a", 45)}},
  };
  for (const auto& row : table) {
    const std::string definition = "hist:keys=" + row.key + ":vals=hitcount:sort=" + row.key;
    std::vector<std::string> mixed;
    std::string up, down;
    for (const std::string& key : row.sorted) {
      mixed.insert(mixed.begin(), hits(key, 1));
      up += hits(key, 1);
      down = hits(key, 1) + down;
    }
    EXPECT_EQ(sum_of(definition, mixed), up) << row.key;
    EXPECT_EQ(sum_of(definition + ".descending", mixed), down) << row.key;
  }
}

TEST(HistSum, SignedKeysHaveTheirSign) {
  const std::string minus = "n: " + number(~uint64_t{0}), plus = "n: " + number(1);
  EXPECT_EQ(sum_of("hist:keys=n:vals=hitcount:sort=n", {hits(plus, 1), hits(minus, 1)}, {"n"}),
            hits(minus, 1) + hits(plus, 1));
  EXPECT_EQ(sum_of("hist:keys=n:vals=hitcount:sort=n", {hits(minus, 1), hits(plus, 1)}),
            hits(plus, 1) + hits(minus, 1));
}

TEST(HistSum, LineEndsAndBracesInKeys) {
  const std::string text = "sql: " + padded("select 1,\n{ a: 2 }\n  x, n: 3");
  const std::string key = text + ", n: " + number(4);
  EXPECT_EQ(sum_of("hist:keys=sql,n:vals=hitcount:sort=n", {hits(key, 2), hits(key, 3)}),
            hits(key, 5));
}

TEST(HistSum, Stacks) {
  const std::string a =
      "{ common_stacktrace:\n         f+0x1/0x2 [app]\n         main+0x2/0x3\n} "
      "hitcount: ";
  EXPECT_EQ(sum_of("hist:keys=common_stacktrace:vals=hitcount:sort=hitcount",
                   {a + number(1) + "\n", a + number(2) + "\n"}),
            a + number(3) + "\n");
}

// A symbol stands elsewhere in each process; two places of one function stay two.
TEST(HistSum, SymbolsByTheirName) {
  const auto symbol = [](const char* address, const char* name) {
    return "p: [" + std::string(address) + "] " + padded(name, 45);
  };
  const std::string definition = "hist:keys=p.sym:vals=hitcount:sort=hitcount";
  EXPECT_EQ(sum_of(definition, {hits(symbol("55aa00001123", "work"), 1) +
                                    hits(symbol("55aa00001200", "work"), 9),
                                hits(symbol("55bb00001123", "work"), 2)}),
            hits(symbol("*", "work"), 3) + hits(symbol("55aa00001200", "work"), 9));
  EXPECT_EQ(
      sum_of(definition, {hits(symbol("401123", "work"), 1), hits(symbol("401123", "work"), 1),
                          hits(symbol("401123", "more"), 1)}),
      hits(symbol("401123", "more"), 1) + hits(symbol("401123", "work"), 2));
  EXPECT_EQ(sum_of("hist:keys=p.sym,p.sym:vals=hitcount:sort=hitcount",
                   {hits(symbol("a123", "f") + ", " + symbol("a200", "g"), 1),
                    hits(symbol("b123", "f") + ", " + symbol("b200", "g"), 1),
                    hits(symbol("a123", "f") + ", " + symbol("a200", "g"), 1)}),
            hits(symbol("*", "f") + ", " + symbol("*", "g"), 3));
}

}  // namespace
}  // namespace patchbay::cmd
