// SPDX-License-Identifier: MIT
#include "cmd/mount/kept_writes.h"

#include <gtest/gtest.h>

namespace patchbay::cmd {
namespace {

struct Shell {
  KeptWrites kept;
  uint64_t write(const char* path, bool truncates, const char* text) {
    bool full = false;
    const uint64_t id =
        kept.add({0, KeptWrites::Does::kWrite, path, truncates, text, false}, &full);
    EXPECT_FALSE(full);
    kept.taken(id, true);
    return id;
  }
  std::string all() const {
    std::string text;
    for (const KeptWrites::Entry& entry : kept.entries()) {
      if (entry.does == KeptWrites::Does::kMakeDirectory) text += "mkdir ";
      text += entry.path;
      if (entry.does == KeptWrites::Does::kWrite)
        text += (entry.truncates ? ">" : ">>") + entry.text;
      text += ' ';
    }
    return text;
  }
};

TEST(KeptWrites, LastValueCounts) {
  Shell shell;
  shell.write("kprobe_events", false, "p:a work");
  shell.write("events/kprobes/a/enable", true, "1");
  shell.write("tracing_on", true, "0");
  shell.write("events/kprobes/a/enable", true, "0");
  EXPECT_EQ(shell.all(), "kprobe_events>>p:a work tracing_on>0 events/kprobes/a/enable>0 ");
}

TEST(KeptWrites, TruncationBeginsAgain) {
  Shell shell;
  shell.write("set_event", false, "a");
  shell.write("set_event", false, "b");
  shell.write("events/x/trigger", false, "traceon");
  EXPECT_EQ(shell.all(), "set_event>>a set_event>>b events/x/trigger>>traceon ");
  shell.write("set_event", true, "c");
  shell.write("events/x/trigger", true, "stacktrace");  // the shell's > leaves other triggers
  EXPECT_EQ(shell.all(), "events/x/trigger>>traceon set_event>c events/x/trigger>stacktrace ");
}

TEST(KeptWrites, SameWordsOnce) {
  Shell shell;
  for (int i = 0; i < 3; i++) {
    shell.write("set_event", false, "a");
    shell.write("set_event", false, "!a");
    shell.write("kprobe_events", false, "p:a work");
  }
  EXPECT_EQ(shell.all(),
            "kprobe_events>>p:a work kprobe_events>>p:a work set_event>>a set_event>>!a "
            "kprobe_events>>p:a work ");
}

TEST(KeptWrites, AllDefinitionsGoTogether) {
  Shell shell;
  shell.write("kprobe_events", false, "p:a work");
  shell.write("function_events", false, "work(int n)");
  shell.write("set_event", false, "a");
  shell.write("dynamic_events", true, "");
  EXPECT_EQ(shell.all(), "set_event>>a dynamic_events> ");
}

TEST(KeptWrites, NotKept) {
  for (const char* path : {"trace", "trace_marker", "snapshot", "error_log", "per_cpu/cpu0/trace",
                           "instances/a/trace", "instances/a/per_cpu/cpu1/snapshot",
                           "events/a/b/inject", "debug/counters", "free_buffer"}) {
    Shell shell;
    EXPECT_EQ(shell.write(path, true, "1"), 0u) << path;
    EXPECT_EQ(shell.all(), "") << path;
  }
}

TEST(KeptWrites, WhatNobodyHasTakenGoes) {
  Shell shell;
  shell.write("set_event", false, "a");
  bool full = false;
  uint64_t id = shell.kept.add({0, {}, "set_event", true, "", false}, &full);
  EXPECT_EQ(shell.all(), "set_event>>a set_event> ");  // who comes now has it
  shell.kept.refused(id);
  EXPECT_EQ(shell.all(), "set_event>>a ");
  id = shell.kept.add({0, {}, "set_event", false, "x y ", false}, &full);
  EXPECT_TRUE(shell.kept.append(id, "z"));
  shell.kept.refused(id, 1);
  EXPECT_EQ(shell.all(), "set_event>>a set_event>>x y  ");
  shell.kept.refused(id, 4);
  EXPECT_EQ(shell.all(), "set_event>>a ");
  shell.kept.refused(id);
  EXPECT_FALSE(shell.kept.append(id, "z"));
}

TEST(KeptWrites, Instances) {
  Shell shell;
  bool full = false;
  shell.kept.add({0, KeptWrites::Does::kMakeDirectory, "instances/a", false, "", false}, &full);
  shell.write("instances/a/tracing_on", true, "0");
  shell.write("instances/ab/tracing_on", true, "0");
  EXPECT_EQ(shell.all(), "mkdir instances/a instances/a/tracing_on>0 instances/ab/tracing_on>0 ");
  shell.kept.removed("instances/a");
  EXPECT_EQ(shell.all(), "instances/ab/tracing_on>0 ");
}

TEST(KeptWrites, Bounds) {
  Shell shell;
  bool full = false;
  const std::string big(KeptWrites::kMostBytes - 100, 'x');
  const uint64_t id = shell.kept.add({0, {}, "set_event", false, big, false}, &full);
  EXPECT_FALSE(full);
  EXPECT_EQ(shell.kept.add({0, {}, "set_event", false, std::string(200, 'y'), false}, &full), 0u);
  EXPECT_TRUE(full);
  EXPECT_FALSE(shell.kept.append(id, std::string(200, 'y')));
  shell.write("set_event", true, "");  // makes room
  for (size_t i = shell.kept.entries().size(); i < KeptWrites::kMostEntries; i++)
    shell.write("kprobe_events", false, "x");
  EXPECT_EQ(shell.kept.add({0, {}, "kprobe_events", false, "x", false}, &full), 0u);
  EXPECT_TRUE(full);
}

}  // namespace
}  // namespace patchbay::cmd
