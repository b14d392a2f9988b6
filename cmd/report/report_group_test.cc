// SPDX-License-Identifier: MIT
#include "cmd/report/report_group.h"

#include <gtest/gtest.h>

#include <cstring>

namespace patchbay::cmd {
namespace {

struct Row {
  uint16_t id;
  int32_t tid;
  uint32_t cpu;
};

std::vector<EventCall> events() {
  std::vector<EventCall> all(3);
  all[0].system = "app", all[0].name = "work", all[0].id = 17;
  all[1].system = "app\033", all[1].name = "end", all[1].id = 18;
  all[2].system = "ftrace", all[2].name = "kernel_stack", all[2].id = 4;
  all[2].fields = {{"int", "size", 8, 4}, {"unsigned long", "caller", 16, 0}};
  return all;
}

// The heads of the groups, and the lines of each: the numbers of the rows.
std::string groups_of(GroupBy by, const std::vector<Row>& rows) {
  const std::vector<EventCall> formats = events();
  AddressNames names;
  TraceLineWriter lines(formats, &names);
  lines.set_comm(7, "sh");
  const TraceInput input;
  GroupNames group_names(by, input, formats, &lines);
  ReportGroups groups(&group_names);
  for (size_t i = 0; i < rows.size(); i++) {
    uint8_t record[16] = {};
    std::memcpy(record, &rows[i].id, 2);
    std::memcpy(record + 4, &rows[i].tid, 4);
    MergedEvent event;
    event.cpu = rows[i].cpu;
    event.record = record;
    ReportGroups::Group* group = groups.of(event);
    group->events++;
    EXPECT_TRUE(groups.append(*group, std::to_string(i)).ok());
  }
  std::string text;
  for (const ReportGroups::Group& group : groups.all()) {
    text += groups.head_of(group);
    EXPECT_TRUE(
        groups.read(group, [&](std::string* piece) { return !(text += *piece).empty(); }).ok());
    text += '\n';
  }
  return text;
}

const std::vector<Row> kRows = {{18, 9, 1}, {17, 7, 0}, {4, 7, 0}, {4, 8, 1},
                                {18, 7, 1}, {4, 9, 0},  {99, 0, 0}};

TEST(ReportGroups, InTheOrderOfTheirFirstEvents) {
  EXPECT_EQ(groups_of(GroupBy::kCpu, kRows),
            "# == cpu 1: 3 events ==\n034\n# == cpu 0: 4 events ==\n1256\n");
  EXPECT_EQ(groups_of(GroupBy::kTid, kRows),
            "# == thread 9 (<...>): 2 events ==\n05\n# == thread 7 (sh): 3 events ==\n124\n"
            "# == thread 8 (<...>): 1 event ==\n3\n# == thread 0 (<idle>): 1 event ==\n6\n");
}

TEST(ReportGroups, StacksStayWithTheirEvents) {
  EXPECT_EQ(groups_of(GroupBy::kEvent, kRows),
            "# == app\\x1b:end: 3 events ==\n045\n# == app:work: 2 events ==\n12\n"
            "# == ftrace:kernel_stack: 1 event ==\n3\n# == unknown event 99: 1 event ==\n6\n");
}

TEST(ReportGroups, Names) {
  EXPECT_EQ(group_by_of("tid"), GroupBy::kTid);
  EXPECT_EQ(group_by_of("pid"), GroupBy::kPid);
  EXPECT_EQ(group_by_of("cpu"), GroupBy::kCpu);
  EXPECT_EQ(group_by_of("event"), GroupBy::kEvent);
  EXPECT_EQ(group_by_of("comm"), GroupBy::kComm);
  EXPECT_EQ(group_by_of("exe"), GroupBy::kExe);
  for (const char* other : {"", "t", "tids", "exes", "CPU"})
    EXPECT_EQ(group_by_of(other), GroupBy::kNone);
}

}  // namespace
}  // namespace patchbay::cmd
