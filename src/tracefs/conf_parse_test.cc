// SPDX-License-Identifier: MIT
#include "tracefs/conf_parse.h"

#include <gtest/gtest.h>

namespace patchbay::tracefs {
namespace {

// "LINE KIND [INSTANCE] NAME=TEXT", one line an item.
std::string shown(const Conf& conf) {
  std::string text;
  for (const ConfItem& item : conf.items) {
    text += std::to_string(item.line) + std::string(1, "iwv"[int(item.kind)]) + " ";
    if (!item.instance.empty()) text += "[" + item.instance + "] ";
    if (item.kind != ConfKind::kInstance)
      text += item.name + (item.append ? "+=" : "=") + "<" + item.text + ">";
    text += "\n";
  }
  return text;
}

// The sentence and the line with its caret.
std::string mistakes(std::string_view text) {
  std::string all;
  for (const ConfMistake& mistake : parse_conf(text).mistakes)
    all += std::to_string(mistake.line) + ": " + mistake.sentence + "\n" + mistake.text + "\n" +
           std::string(mistake.column, ' ') + "^\n";
  return all;
}

TEST(ConfParse, WhatIsUnderstood) {
  const struct {
    const char* text;
    const char* items;
  } cases[] = {
      {"", ""},
      {"\n\n  \t\n", ""},
      {"# a comment\n  # trace_clock = mono\n", ""},
      {"trace_clock = mono", "1w trace_clock=<mono>\n"},
      {"trace_clock=mono\n", "1w trace_clock=<mono>\n"},
      {"  trace_clock \t=  mono  \r\n", "1w trace_clock=<mono>\n"},
      {"set_event =\n", "1w set_event=<>\n"},
      {"set_event +=a\n", "1w set_event+=<a>\n"},
      {"\n\nset_event+= a:b !c\n", "3w set_event+=<a:b !c>\n"},
      {"filter = a == 1 # text", "1w filter=<a == 1 # text>\n"},
      {"events/a/b/filter = x+=1", "1w events/a/b/filter=<x+=1>\n"},
      {"a = 1 \\\n  2 \\\n3\nb = 4", "1w a=<1   2 3>\n4w b=<4>\n"},
      {"a = 1\\\n", "1w a=<1>\n"},
      {"a = 1\\", "1w a=<1>\n"},
      {"# not continued \\\na = 1", "2w a=<1>\n"},
      {"a \\\n= 1", "1w a=<1>\n"},
      {"a = 1\\\r\n2\r\n", "1w a=<12>\n"},
      {"PATCHBAY_TRACE_EVENT = x,y", "1v PATCHBAY_TRACE_EVENT=<x,y>\n"},
      {"PATCHBAY_TRACE_EVENT += z", "1v PATCHBAY_TRACE_EVENT+=<z>\n"},
      {"[instance net]\nset_event = x\n [ top ] \na = 1",
       "1i [net] \n2w [net] set_event=<x>\n4w a=<1>\n"},
      {"[instance a]\n[ instance  b ]\nc=1", "1i [a] \n2i [b] \n3w [b] c=<1>\n"},
  };
  for (const auto& one : cases) {
    const Conf conf = parse_conf(one.text);
    EXPECT_EQ(shown(conf), one.items) << one.text;
    EXPECT_TRUE(conf.mistakes.empty()) << one.text;
  }
}

TEST(ConfParse, Mistakes) {
  EXPECT_EQ(mistakes("trace_clock mono"),
            "1: A line is FILE = TEXT or FILE += TEXT.\ntrace_clock mono\n                ^\n");
  EXPECT_EQ(mistakes("\n = 1"), "2: Before = stands the name of a file or variable.\n = 1\n ^\n");
  EXPECT_EQ(mistakes("+= 1"), "1: Before = stands the name of a file or variable.\n+= 1\n^\n");
  EXPECT_EQ(mistakes("p:x f a=1"),
            "1: The name of a file or variable is one word.\np:x f a=1\n   ^\n");
  EXPECT_EQ(mistakes("[instance a"), "1: A section ends with ].\n[instance a\n           ^\n");
  EXPECT_EQ(mistakes("[instance ]"),
            "1: An instance has a name: [instance NAME].\n[instance ]\n          ^\n");
  EXPECT_EQ(mistakes("[instance a/b]"),
            "1: The name of an instance is one word without /.\n[instance a/b]\n          ^\n");
  EXPECT_EQ(mistakes("[instance ..]"),
            "1: The name of an instance is one word without /.\n[instance ..]\n          ^\n");
  const std::string section =
      "1: A section is [instance NAME] or [top]; of the tool [serve], [ship] or [attach].\n";
  EXPECT_EQ(mistakes("  [net]"), section + "  [net]\n   ^\n");
  EXPECT_EQ(mistakes("[]"), section + "[]\n ^\n");
  EXPECT_EQ(mistakes("[instance a]\nPATCHBAY_X = 1"),
            "2: Variables stand in no section but [top].\nPATCHBAY_X = 1\n^\n");
  EXPECT_EQ(mistakes(std::string_view("a = \0b\n", 7)),
            "1: A line cannot contain a NUL.\na = \n    ^\n");
}

TEST(ConfParse, SectionsOfTheTool) {
  const Conf conf =
      parse_conf("a = 1\n[serve]\n listen = x y\n[attach]\nevent =\n[attach]\n[top]\nb = 2\n");
  EXPECT_TRUE(conf.mistakes.empty());
  EXPECT_EQ(shown(conf), "1w a=<1>\n8w b=<2>\n");
  ASSERT_EQ(conf.sections.size(), 3u);
  EXPECT_EQ(conf.sections[0].name, "serve");
  ASSERT_EQ(conf.sections[0].settings.size(), 1u);
  EXPECT_EQ(conf.sections[0].settings[0].text, "x y");
  EXPECT_EQ(conf.sections[0].settings[0].line, 3u);
  EXPECT_EQ(conf.sections[0].settings[0].column, 10u);
  EXPECT_EQ(conf.sections[1].settings[0].text, "");
  EXPECT_TRUE(conf.sections[2].settings.empty());
  EXPECT_EQ(mistakes("[ship]\nto += x\n"),
            "2: A setting of the tool is NAME = TEXT, without +.\nto += x\n^\n");
}

// The rest of the file holds; what stands in a section that is not understood is in no other one.
TEST(ConfParse, TheRestHolds) {
  const Conf conf = parse_conf("a = 1\nwhat\n[inst x]\nb = 2\nc = 3\n[top]\nd = 4\n");
  EXPECT_EQ(shown(conf), "1w a=<1>\n7w d=<4>\n");
  EXPECT_EQ(conf.mistakes.size(), 2u);
}

}  // namespace
}  // namespace patchbay::tracefs
