// SPDX-License-Identifier: MIT
#include "cmd/target/trace_request.h"

#include <gtest/gtest.h>

#include "cmd/target/request_options.h"
#include "symbol/symbol.h"

namespace patchbay::cmd {
namespace {

EventRequest::Kind kind_of(const std::string& text) { return EventRequest{text, ""}.kind(); }

TEST(EventRequest, KindOfAText) {
  using Kind = EventRequest::Kind;
  EXPECT_EQ(kind_of("sched:tick"), Kind::kEvent);
  EXPECT_EQ(kind_of("open(string path)"), Kind::kFunction);
  EXPECT_EQ(kind_of("open(string path) ret"), Kind::kFunction);
  EXPECT_EQ(kind_of("p:mine open path=+0(%di):string"), Kind::kProbe);
  EXPECT_EQ(kind_of("work:3 n"), Kind::kSource);
  // A header's declaration with something behind it: its error names the function.
  EXPECT_EQ(kind_of("int open(string path) ret"), Kind::kSource);
  // Names that have parentheses.
  EXPECT_EQ(kind_of("(anonymous namespace)::f"), Kind::kEvent);
  EXPECT_EQ(kind_of("ns::(anonymous namespace)::f*"), Kind::kEvent);
  EXPECT_EQ(kind_of("S::operator()"), Kind::kEvent);
  EXPECT_EQ(kind_of("(anonymous namespace)::f(int n)"), Kind::kFunction);
  EXPECT_EQ(kind_of("S::operator()(int n)"), Kind::kFunction);
}

// As lists and records have it, and as `list functions` prints it, with its blanks.
TEST(EventRequest, ANameThatIsShownIsAName) {
  auto table = make_self_symbol_table();
  size_t nr_names = 0;
  for (Module* module : table->modules()) {
    if (!module->name().starts_with("libstdc++")) continue;
    for (const FunctionSymbol& function : module->functions()) {
      if (function.name.empty() || function.is_cold_part) continue;
      const std::string printed = display_name(*module, function);
      for (const std::string& name : {printed, without_blanks(printed)}) {
        const std::string text = "libstdc++:" + name;
        EXPECT_EQ(kind_of(text), EventRequest::Kind::kEvent) << text;
        EXPECT_EQ(split_library(text).second, name);
        nr_names++;
      }
    }
  }
  EXPECT_GT(nr_names, 1000u);
}

TEST(TraceRequest, TheNameInADefinition) {
  EXPECT_EQ(function_name_in("int ns::f(int a)"), "ns::f");
  EXPECT_EQ(function_name_in("char *getenv (string name) ret"), "getenv");
  EXPECT_EQ(function_name_in("f"), "f");
}

TEST(TraceRequest, ATracersNameBehindPIsTheOldSpelling) {
  TraceRequest request;
  int pid = 0;
  EXPECT_EQ(request.take_pid("function", &pid), nullptr);
  EXPECT_EQ(request.instances()[0].tracer, "function");
  EXPECT_EQ(pid, 0);
  EXPECT_EQ(request.take_pid("1234", &pid), nullptr);
  EXPECT_EQ(pid, 1234);
  EXPECT_NE(request.take_pid("0", &pid), nullptr);
  EXPECT_NE(request.take_pid("", &pid), nullptr);
  EXPECT_NE(request.take_pid("4194305", &pid), nullptr);
  EXPECT_NE(request.take_pid("nobody-has-it", &pid), nullptr);
  EXPECT_EQ(pid, 1234);
  EXPECT_EQ(request.take(kTracerId, "function_graph"), nullptr);
  EXPECT_EQ(request.instances()[0].tracer, "function_graph");
}

TEST(TraceRequest, FunctionsNeedATracer) {
  TraceRequest request;
  EXPECT_EQ(request.take('N', "f"), nullptr);
  EXPECT_NE(request.check(), nullptr);
  EXPECT_EQ(request.take(kTracerId, "function"), nullptr);
  EXPECT_EQ(request.check(), nullptr);
}

}  // namespace
}  // namespace patchbay::cmd
