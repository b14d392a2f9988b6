// SPDX-License-Identifier: MIT
#include "cmd/target/follow_request.h"

#include <gtest/gtest.h>

namespace patchbay::cmd {
namespace {

struct Row {
  int id;
  const char* value;
  const char* text;  // of the wishes, without the lines about buffers
};

std::string text_for(const std::vector<std::pair<int, const char*>>& options) {
  TraceRequest request;
  for (const auto& [id, value] : options) EXPECT_EQ(request.take(id, value), nullptr) << value;
  const std::string text = text_of(wishes_of(request));
  const std::string_view before = "pid_namespace 0\n";  // the last line about anything else
  return text.substr(text.find(before) + before.size());
}

TEST(FollowRequest, WhatAProgramHasToKnowOfAnEvent) {
  const Row rows[] = {
      {'e', "malloc(size_t n)", "function malloc\n"},
      {'e', "int open(const char *path, int flags)", "function open\n"},
      {'e', "libplug:f(int a)", "function f\nlibrary libplug\n"},
      {'e', "ns::Class::f(int a)", "function ns::Class::f\n"},
      {'e', "malloc", "function malloc\nevent malloc\n"},
      {'e', "libfoo:parse*", "function parse*\nevent libfoo:parse*\nlibrary libfoo\n"},
      {'e', "sched:tick", "function tick\nevent sched:tick\n"},
      {'e', "all", "event *\n"},
      {'e', "p:mine malloc n=$arg1", "all\n"},
  };
  for (const Row& row : rows) EXPECT_EQ(text_for({{row.id, row.value}}), row.text) << row.value;
}

TEST(FollowRequest, WhatItHasToKnowOfATracer) {
  EXPECT_EQ(text_for({{'t', "function_graph"}}), "all\n");
  EXPECT_EQ(text_for({{'t', "function"}, {'l', "db_*"}}), "function db_*\n");
  EXPECT_EQ(text_for({{'t', "function"}, {'l', "f*:mod:libfoo"}}), "function f*\nlibrary libfoo\n");
  EXPECT_EQ(text_for({{'t', "function"}, {'l', ":mod:!*"}}), "function *\n");
}

}  // namespace
}  // namespace patchbay::cmd
