// SPDX-License-Identifier: MIT
// hist and hist_debug of an event that is hit: markers, several histograms, the texts, poll.
#include <gtest/gtest.h>

#include <cerrno>

#include "tracefs/control_tree_fixture.h"

namespace patchbay::tracefs {
namespace {

constexpr char kTrigger[] = "events/ftrace/print/trigger", kHist[] = "events/ftrace/print/hist";

class HistFiles : public testing::Test {
 protected:
  void add(const std::string& command) {
    EXPECT_EQ(tree.write(kTrigger, command, O_WRONLY | O_APPEND), long(command.size())) << command;
  }
  void mark(const std::string& text) {
    EXPECT_EQ(tree.write("trace_marker", text), long(text.size()));
  }
  // The table without its head.
  std::string table(const std::string& path = kHist) {
    const std::string text = tree.read(path);
    const size_t start = text.find("\n#\n\n");
    return start == text.npos ? text : text.substr(start + 4);
  }
  ControlTree tree;
};

TEST_F(HistFiles, AreEmptyAndOnlyReadable) {
  EXPECT_EQ(tree.read(kHist), "");
  EXPECT_EQ(tree.read("events/ftrace/print/hist_debug"), "");
  Result<Node> node = lookup(*tree.root, kHist);
  ASSERT_TRUE(node.ok() && node->file);
  EXPECT_EQ(node->file->mode(), 0440u);
}

TEST_F(HistFiles, CountMarkers) {
  add("hist:keys=common_type if buf ~ \"a*\"");
  mark("a");
  mark("b");
  mark("ab");
  EXPECT_EQ(tree.read(kHist),
            "# event histogram\n#\n# trigger info: "
            "hist:keys=common_type:vals=hitcount:sort=hitcount:size=2048 if buf ~ \"a*\" [active]\n"
            "#\n\n{ common_type:          5 } hitcount:          2\n"
            "\nTotals:\n    Hits: 2\n    Entries: 1\n    Dropped: 0\n");
  mark("a");
  EXPECT_EQ(table(),
            "{ common_type:          5 } hitcount:          3\n"
            "\nTotals:\n    Hits: 3\n    Entries: 1\n    Dropped: 0\n");
}

TEST_F(HistFiles, SeveralStandOneBehindTheOther) {
  add("hist:keys=common_type.hex");
  add("hist:keys=common_type:vals=common_type.quantiles:pause");
  mark("x");
  EXPECT_EQ(tree.read(kHist),
            "# event histogram\n#\n# trigger info: "
            "hist:keys=common_type.hex:vals=hitcount:sort=hitcount:size=2048 [active]\n"
            "#\n\n{ common_type: 5 } hitcount:          1\n"
            "\nTotals:\n    Hits: 1\n    Entries: 1\n    Dropped: 0\n"
            "\n\n# event histogram\n#\n# trigger info: hist:keys=common_type:vals=hitcount,"
            "common_type.quantiles:sort=hitcount:size=2048 [paused]\n#\n"
            "# quantiles of common_type: nearest rank, not more than 1.6 % off\n#\n\n"
            "\nTotals:\n    Hits: 0\n    Entries: 0\n    Dropped: 0\n");
}

TEST_F(HistFiles, QuantilesOfHits) {
  add("hist:keys=common_type:vals=common_type.quantiles");
  mark("x");
  mark("y");
  EXPECT_NE(table().find("hitcount:          2  common_type.p50:          5  common_type.p90:"
                         "          5  common_type.p99:          5  common_type.p99.9:          5  "
                         "common_type.max:          5\n"),
            std::string::npos)
      << table();
}

TEST_F(HistFiles, CountersOfHits) {
  add("hist:keys=common_type:vals=common_type.counters");
  mark("x");
  mark("y");
  EXPECT_NE(table().find("hitcount:          2  common_type.counters: sum=10,5=2\n"),
            std::string::npos)
      << table();
}

TEST_F(HistFiles, PollSaysThatThereIsMore) {
  add("hist:keys=common_type");
  std::unique_ptr<File> file = tree.open(kHist, O_RDONLY);
  ASSERT_TRUE(file);
  EXPECT_FALSE(file->readable()) << "there were no hits";
  mark("a");
  EXPECT_TRUE(file->readable());
  (void)ControlTree::read_all(*file);
  EXPECT_FALSE(file->readable()) << "it has read them";
  mark("b");
  EXPECT_TRUE(file->readable());
}

TEST_F(HistFiles, DebugShowsTheDefinition) {
  add("hist:keys=common_type:x=common_flags:onmax($x).save(common_pid)");
  const std::string text = tree.read("events/ftrace/print/hist_debug");
  for (const char* line :
       {"\n  n_vals: 2\n  n_keys: 1\n  n_fields: 3\n", "      var.name: x\n",
        "      ftrace_event_field name: common_type\n      type: unsigned short\n      size: 8\n",
        "      var.name: __max\n", "    hist_data->save_vars[0]:\n", "      name: x\n",
        "\n  variable reference fields:\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << "in\n" << text;
}

TEST_F(HistFiles, OfAnInstanceAndAfterItsRemoval) {
  ASSERT_EQ(tree.mkdir("instances/i"), 0);
  const std::string directory = "instances/i/";
  const std::string command = "hist:keys=common_type";
  EXPECT_EQ(tree.write(directory + kTrigger, command, O_WRONLY | O_APPEND), long(command.size()));
  EXPECT_EQ(tree.write(directory + "trace_marker", "a"), 1);
  mark("b");
  EXPECT_EQ(tree.read(kHist), "");
  EXPECT_NE(table(directory + kHist).find("Hits: 1\n"), std::string::npos);
  std::unique_ptr<File> file = tree.open(directory + kHist, O_RDONLY);
  ASSERT_TRUE(file);
  ASSERT_EQ(tree.rmdir("instances/i"), 0);
  EXPECT_EQ(ControlTree::read_all(*file), std::to_string(-ENODEV));
  EXPECT_TRUE(file->readable());
}

}  // namespace
}  // namespace patchbay::tracefs
