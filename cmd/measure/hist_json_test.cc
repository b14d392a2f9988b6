// SPDX-License-Identifier: MIT
#include "cmd/measure/hist_json.h"

#include <gtest/gtest.h>

#include <string>

namespace patchbay::cmd {
namespace {

// A table with one entry.
std::string table(const std::string& definition, const std::string& entry) {
  return "# event histogram\n#\n# trigger info: " + definition + " [active]\n#\n\n" + entry +
         "\n\nTotals:\n    Hits: 4\n    Entries: 1\n    Dropped: 2\n";
}

// The entry as JSON.
std::string entry_of(const std::string& definition, const std::string& entry) {
  const std::string json = hist_json(table(definition, entry));
  const std::string start = "\"entries\": [";
  const size_t from = json.find(start) + start.size();
  return json.substr(from, json.rfind("], \"hits\"") - from);
}

std::string padded(std::string text, size_t width = 50) {
  text.resize(std::max(text.size(), width), ' ');
  return text;
}

TEST(HistJson, HeadAndTotals) {
  EXPECT_EQ(hist_json(table("hist:keys=n:vals=hitcount", "{ n:          3 } hitcount:          4")),
            "{\"definition\": \"hist:keys=n:vals=hitcount\", \"entries\": "
            "[{\"keys\": {\"n\": 3}, \"values\": {\"hitcount\": 4}}], "
            "\"hits\": 4, \"nr_entries\": 1, \"dropped\": 2}\n");
  EXPECT_EQ(hist_json(""),
            "{\"definition\": \"\", \"entries\": [], \"hits\": 0, \"nr_entries\": 0, "
            "\"dropped\": 0}\n");
}

TEST(HistJson, Keys) {
  const struct {
    std::string keys, text, expected;
  } table[] = {
      {"n", "n:          3 ", "{\"n\": 3}"},
      {"n", "n: 18446744073709551615 ", "{\"n\": 18446744073709551615}"},
      {"n", "n:        -11 ", "{\"n\": -11}"},
      {"n", "n: -9223372036854775808 ", "{\"n\": -9223372036854775808}"},
      {"n,n.log2", "n:          5, n: ~ 2^3  ", "{\"n\": 5, \"n.log2\": {\"from\": 5, \"to\": 8}}"},
      {"n.hex", "n: ffff ", "{\"n\": 65535}"},
      {"n.log2", "n: ~ 2^5  ", "{\"n\": {\"from\": 17, \"to\": 32}}"},
      {"n.log2", "n: ~ 2^0  ", "{\"n\": {\"from\": 0, \"to\": 1}}"},
      {"n.buckets=5", "n: ~ 5-9 ", "{\"n\": {\"from\": 5, \"to\": 9}}"},
      {"f.sym", "f: [1f] main                                          ",
       "{\"f\": {\"symbol\": \"main\", \"address\": 31}}"},
      {"common_pid.execname", "common_pid: a [b]           [        12] ",
       "{\"common_pid\": {\"comm\": \"a [b]\", \"pid\": 12}}"},
      {"s", "s: " + padded("12") + " ", "{\"s\": \"12\"}"},
      {"s", "s: " + padded("a\x1b[\"\xff") + " ", "{\"s\": \"a\\u001b[\\\"\xef\xbf\xbd\"}"},
      {"s,n", "s: " + padded("x, n: 7") + ", n:          1 ", "{\"s\": \"x, n: 7\", \"n\": 1}"},
      {"n,s", "n:          1, s: " + padded("y }") + " ", "{\"n\": 1, \"s\": \"y }\"}"},
      {"f.sym,s", "f: [1f] operator new(unsigned long)                       , s: " + padded("y"),
       "{\"f\": {\"symbol\": \"operator new(unsigned long)\", \"address\": 31}, \"s\": \"y\"}"},
      {"common_stacktrace", "common_stacktrace:\n         a+0x1/0x2\n         b\n",
       "{\"common_stacktrace\": [\"a+0x1/0x2\", \"b\"]}"},
  };
  for (const auto& row : table)
    EXPECT_EQ(entry_of("hist:keys=" + row.keys + ":vals=hitcount",
                       "{ " + row.text + "} hitcount:          4"),
              "{\"keys\": " + row.expected + ", \"values\": {\"hitcount\": 4}}")
        << row.text;
}

TEST(HistJson, Values) {
  const struct {
    std::string values, text, expected;
  } table[] = {
      {"n", "  n:         12", "\"n\": 12"},
      {"n.hex", "  n:         1f", "\"n\": 31"},
      {"n,n.hex", "  n:         31  n:         1f", "\"n\": 31, \"n.hex\": 31"},
      {"n.hex,n.graph", "  n:         10  n: ####                ",
       "\"n\": 16, \"n.graph\": \"####\""},
      {"$x.hex,m", "  x:         1f  m:         10", "\"x\": 31, \"m\": 10"},
      {"n.percent", "  n (%):  12.05", "\"n (%)\": 12.05"},
      {"n.percent,m.hex", "  n (%): 100.00  m:         1f", "\"n (%)\": 100.00, \"m\": 31"},
      {"n.percent", "  n (%): 100.00", "\"n (%)\": 100.00"},
      {"n.percent,m.hex", "  n (%): 100.00  m:         1f", "\"n (%)\": 100.00, \"m\": 31"},
      {"n.graph,m", "  n: ####                  m:          1", "\"n\": \"####\", \"m\": 1"},
      {"n.graph,m", "  n:                       m:          1", "\"n\": \"\", \"m\": 1"},
      {"n", "  n: -1234567890", "\"n\": -1234567890"},
      {"n,n.quantiles", "  n:       -110  n.p50:        -11  n.p99.9:          2",
       "\"n\": -110, \"n.p50\": -11, \"n.p99.9\": 2"},
      {"n.counters", "  n.counters: sum=-65,-64=1,1=2",
       "\"n.counters\": {\"sum\": -65, \"ranges\": [{\"from\": -65, \"to\": -64, \"hits\": 1}, "
       "{\"from\": 1, \"to\": 1, \"hits\": 2}]}"},
      {"n.quantiles", "  n.p50:          1  n.p99.9:          2", "\"n.p50\": 1, \"n.p99.9\": 2"},
      {"n.counters,m", "  n.counters: sum=70,3=2,64=1  m:          1",
       "\"n.counters\": {\"sum\": 70, \"ranges\": [{\"from\": 3, \"to\": 3, \"hits\": 2}, "
       "{\"from\": 64, \"to\": 65, \"hits\": 1}]}, \"m\": 1"},
  };
  for (const auto& row : table)
    EXPECT_EQ(entry_of("hist:keys=k:vals=hitcount," + row.values,
                       "{ k:          3 } hitcount:          4" + row.text),
              "{\"keys\": {\"k\": 3}, \"values\": {\"hitcount\": 4, " + row.expected + "}}")
        << row.text;
}

TEST(HistJson, WhatActionsHaveKept) {
  EXPECT_EQ(
      entry_of("hist:keys=k:vals=hitcount:onmax($m).save(n,s)",
               "{ k:          3 } hitcount:          4\n\tmax:          9  n:          1  s: " +
                   padded("5.", 32) + "\n\tchanged:          8"),
      "{\"keys\": {\"k\": 3}, \"values\": {\"hitcount\": 4}, \"actions\": "
      "[{\"max\": 9, \"n\": 1, \"s\": \"5.\"}, {\"changed\": 8}]}");
}

}  // namespace
}  // namespace patchbay::cmd
