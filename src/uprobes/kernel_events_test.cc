// SPDX-License-Identifier: MIT
#include "uprobes/kernel_events.h"

#include <gtest/gtest.h>

#include "event/event_call.h"

namespace patchbay {
namespace {

TEST(KernelEvents, Names) {
  const std::vector<std::string> all{"sched:sched_switch", "sched:sched_wakeup",
                                     "block:block_rq_issue", "irq:irq_handler_entry",
                                     "irq_vectors:local_timer_entry"};
  struct Case {
    const char* request;
    std::vector<std::string> found;
  };
  const Case kCases[] = {
      {"sched:sched_switch", {all[0]}},
      {"sched_switch", {all[0]}},
      {"sched", {all[0], all[1]}},
      {"sched:", {all[0], all[1]}},
      {"sched:*", {all[0], all[1]}},
      {"*:*_entry", {all[3], all[4]}},
      {":local_timer_entry", {all[4]}},
      {"irq", {all[3]}},
      {"irq*:*", {all[3], all[4]}},
      {"*wake*", {all[1]}},
      {"*", all},
      {"sched:sched", {}},
      {"block:sched_switch", {}},
      {"switch", {}},
      {"", {}},
  };
  for (const Case& one : kCases)
    EXPECT_EQ(kernel_events_of(one.request, all), one.found) << one.request;
}

TEST(KernelEvents, Format) {
  const std::string text =
      "name: tick\nID: 372\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;"
      "\tsigned:0;\n\n\tfield:int n;\toffset:8;\tsize:4;\tsigned:1;\n\nprint fmt: \"ID: %d\", "
      "REC->n\n";
  Result<EventCall> call = parse_format("sched", format_with_id(text, 65535));
  ASSERT_TRUE(call.ok());
  EXPECT_EQ(call->id, 65535);
  EXPECT_EQ(call->print_fmt, "\"ID: %d\", REC->n");
  EXPECT_EQ(format_with_id("name: tick\n", 7), "");
  EXPECT_EQ(format_with_id("name: tick\nID: 3", 7), "");
}

TEST(KernelEvents, Functions) {
  const std::string kallsyms =
      "ffffffff81000000 T first\nffffffff81000000 T alias\nffffffff81000040 t second\n"
      "ffffffff81000080 D data\nffffffff81000100 W third\t[mod]\nnonsense\n\n"
      "ffffffff81000200 t last\n";
  EXPECT_EQ(kernel_functions(kallsyms, {}), "");
  EXPECT_EQ(kernel_functions(kallsyms, {0xffffffff80ffffff, 0xffffffff81000200}), "");
  EXPECT_EQ(kernel_functions(kallsyms, {0xffffffff81000010, 0xffffffff81000040}),
            "ffffffff81000000 t first\nffffffff81000040 t second\n"
            "ffffffff81000100 t 0xffffffff81000100\n");
  EXPECT_EQ(kernel_functions(kallsyms, {0xffffffff81000123}),
            "ffffffff81000100 t third\t[mod]\nffffffff81000200 t 0xffffffff81000200\n");
  EXPECT_EQ(
      kernel_functions("0000000000000000 T hidden\n0000000000000000 t too\n", {0xffffffff81000123}),
      "");
}

}  // namespace
}  // namespace patchbay
