// SPDX-License-Identifier: MIT
#include "cmd/report/report_color.h"

#include <gtest/gtest.h>

namespace patchbay::cmd {
namespace {

// C, Y, R, D: colours; the dot ends one.
std::string letters(std::string text) {
  const std::pair<std::string_view, std::string_view> kLetters[] = {
      {kCyan, "<C>"}, {kYellow, "<Y>"}, {kRed, "<R>"}, {kDim, "<D>"}, {kPlain, "<.>"}};
  for (const auto& [escape, letter] : kLetters)
    for (size_t at; (at = text.find(escape)) != text.npos;) text.replace(at, escape.size(), letter);
  return text;
}

std::vector<EventCall> events() {
  std::vector<EventCall> all(5);
  all[0].system = "app", all[0].name = "work", all[0].id = 1;
  all[1].system = "functions", all[1].name = "strcmp", all[1].id = 2;
  all[2].system = "ftrace", all[2].name = "print", all[2].id = 3;
  all[3].system = "ftrace", all[3].name = "funcgraph_entry", all[3].id = 4;
  all[3].fields = {{"unsigned long", "func", 8, 8}, {"int", "depth", 16, 4}};
  all[4].system = "bad", all[4].name = "\033[31m", all[4].id = 5;
  return all;
}

TEST(ReportColors, TextsByEvent) {
  struct Row {
    uint16_t id;
    const char *text, *colored;
  };
  const Row kRows[] = {
      {1, "work: n=1 work:\n", "<C>work<.>: n=1 work:\n"},
      {1, "worker: n=1\n", "worker: n=1\n"},
      {2, "main->strcmp(a=x->strcmp(: )\n", "main-><C>strcmp<.>(a=x->strcmp(: )\n"},
      {3, "tracing_mark_write: a: b\n", "<C>tracing_mark_write<.>: a: b\n"},
      {3, "ns::f: b\n", "<C>ns::f<.>: b\n"},
      {3, "no place\n", "no place\n"},
      {4, "funcgraph_entry:                   |  f() {\n",
       "<C>funcgraph_entry<.>:                   |  f() {\n"},
      {4, "funcgraph_entry:   9.999 us    |  f();\n",
       "<C>funcgraph_entry<.>:   9.999 us    |  f();\n"},
      {4, "funcgraph_entry: + 10.001 us   |  f();\n",
       "<C>funcgraph_entry<.>: <Y>+ 10.001 us<.>   |  f();\n"},
      {4, "funcgraph_entry: ! 100.25 us   |  f();\n",
       "<C>funcgraph_entry<.>: <Y>! 100.25 us<.>   |  f();\n"},
      {4, "funcgraph_entry: # 1059.386 us |  f();\n",
       "<C>funcgraph_entry<.>: <R># 1059.386 us<.> |  f();\n"},
      {4, "funcgraph_entry: $ 1059386 us  |  f();\n",
       "<C>funcgraph_entry<.>: <R>$ 1059386 us<.>  |  f();\n"},
      {4, "funcgraph_entry: \n", "<C>funcgraph_entry<.>: \n"},
      {4, "funcgraph_entry:", "<C>funcgraph_entry<.>:"},
      {5, "\\x1b[31m: x\n", "<C>\\x1b[31m<.>: x\n"},
      {6, "unknown event 6\n", "unknown event 6\n"},
      {1, "", ""},
  };
  const ReportColors colors(events());
  for (const Row& row : kRows) {
    std::string out;
    const uint8_t record[] = {uint8_t(row.id), 0};
    colors.append_text(&out, row.text, record);
    EXPECT_EQ(letters(out), row.colored);
  }
  std::string out;
  colors.append_text(&out, "work: cut\n", {});
  EXPECT_EQ(out, "work: cut\n");
}

TEST(ReportColors, Lines) {
  const ReportColors colors(events());
  const uint8_t record[] = {1, 0};
  std::string out;
  colors.append_line(&out, "  sh-7   [000] 1.5: work: n=1\n", 7, 20, record);
  EXPECT_EQ(letters(out), "<D>  sh-7 <.>  [000] 1.5: <C>work<.>: n=1\n");
  EXPECT_EQ(letters(in_color(kRed, "CPU:1 [LOST 7 EVENTS]\n")), "<R>CPU:1 [LOST 7 EVENTS]<.>\n");
}

}  // namespace
}  // namespace patchbay::cmd
