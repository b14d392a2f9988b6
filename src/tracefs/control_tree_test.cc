// SPDX-License-Identifier: MIT
// The control tree as a shell sees it. Where a table gives answers of files that the kernel has,
// they are those of Linux 6.12 with two CPUs, unless the line says why not.
#include <gtest/gtest.h>

#include <cerrno>
#include <set>

#include "tracefs/control_tree_fixture.h"

namespace patchbay::tracefs {
namespace {

class Tree : public testing::Test {
 protected:
  Tree() {
    sched_switch = tree.add_event("sched", "sched_switch");
    sched_waking = tree.add_event("sched", "sched_waking");
    irq_entry = tree.add_event("irq", "irq_handler_entry");
  }
  // Joined by blanks.
  std::string list(std::string_view path) {
    Result<Node> node = lookup(*tree.root, path);
    if (!node.ok() || !node->directory) return "no directory";
    std::string text;
    for (const std::string& name : node->directory->list()) text += name + " ";
    return text;
  }
  ControlTree tree;
  LiveEvent *sched_switch, *sched_waking, *irq_entry;
};

// --- what is there

// libtracefs takes a tree without a system that has an `enable` for no tree.
TEST(TreeWithoutEvents, HasTheSystemOfFunctionEvents) {
  ControlTree tree;
  auto list = [&tree] {
    std::string text;
    for (const std::string& name : lookup(*tree.root, "events")->directory->list())
      text += name + " ";
    return text;
  };
  EXPECT_EQ(list(), "enable header_event header_page ftrace/ functions/ ");
  EXPECT_EQ(tree.read("events/functions/enable"), "?\n");
  EXPECT_EQ(tree.write("events/functions/enable", "0"), 1);
  tree.add_event("sched", "sched_switch");
  EXPECT_EQ(list(), "enable header_event header_page ftrace/ sched/ ");
}

TEST_F(Tree, AnInstanceHasWhatTheRootHasButForTheRootsOwn) {
  ASSERT_EQ(tree.mkdir("instances/a"), 0);
  EXPECT_EQ(list("instances/a"),
            "available_tracers buffer_percent buffer_size_kb buffer_subbuf_size_kb "
            "buffer_total_size_kb current_tracer error_log events/ free_buffer function_tracers "
            "options/ per_cpu/ set_event set_event_notrace_pid set_event_pid set_ftrace_filter "
            "set_ftrace_notrace set_ftrace_notrace_pid set_ftrace_pid show_event_filters "
            "show_event_triggers snapshot "
            "timestamp_mode trace trace_clock trace_marker trace_marker_raw trace_options "
            "trace_pipe tracing_cpumask tracing_max_latency tracing_on ");
  EXPECT_EQ(list("instances/a/per_cpu"), "cpu0/ cpu1/ ");
  EXPECT_EQ(list("instances/a/per_cpu/cpu1"),
            "buffer_size_kb snapshot snapshot_raw stats trace trace_pipe trace_pipe_raw ");
  EXPECT_EQ(list("instances/a/events"), "enable header_event header_page ftrace/ irq/ sched/ ");
  EXPECT_EQ(list("events/sched"), "enable filter sched_switch/ sched_waking/ ");
  EXPECT_EQ(list("events/sched/sched_switch"),
            "enable filter format hist hist_debug id inject mirror trigger ");
  EXPECT_EQ(list("events/ftrace"),
            "function/ funcgraph_entry/ funcgraph_retaddr_entry/ funcgraph_exit/ kernel_stack/ "
            "user_stack/ func_repeats/ print/ bprint/ bputs/ raw_data/ ");
  EXPECT_EQ(list("events/ftrace/function"), "format id ");
  EXPECT_EQ(list("events/ftrace/funcgraph_exit"), "format ");
  EXPECT_EQ(list("events/ftrace/print"), "format id trigger hist hist_debug ");
  EXPECT_EQ(list("events/ftrace/raw_data"), "format ");
  EXPECT_EQ(tree.read("instances/a/README"), "-2");
  EXPECT_EQ(tree.read("instances/a/options/record-cmd"), "-2");
  EXPECT_EQ(tree.read("options/record-cmd"), "1\n");
}

bool mode_is_right(const std::string& name, uint32_t mode) {
  if (name == "free_buffer" || name == "inject") return mode == 0200;
  if (name == "trace_marker" || name == "trace_marker_raw") return mode == 0220;
  if (name == "function_events") return mode == 0644;
  return mode == 0440 || mode == 0640;
}

TEST_F(Tree, EveryNameListedIsThereAndHasItsMode) {
  std::vector<std::string> rest{""};
  size_t files = 0;
  while (!rest.empty()) {
    std::string path = rest.back();
    rest.pop_back();
    Result<Node> node = lookup(*tree.root, path);
    ASSERT_TRUE(node.ok() && node->directory) << path;
    bool in_events = path.starts_with("events");
    EXPECT_EQ(node->directory->mode(), path.empty() ? 0700u : in_events ? 0755u : 0750u) << path;
    std::set<std::string> seen;
    for (const std::string& name : node->directory->list()) {
      EXPECT_TRUE(seen.insert(name).second) << path << " lists " << name << " twice";
      std::string below = path.empty() ? name : path + "/" + name;
      if (name.ends_with("/")) {
        rest.push_back(below.substr(0, below.size() - 1));
        continue;
      }
      Result<Node> file = lookup(*tree.root, below);
      ASSERT_TRUE(file.ok() && file->file) << below;
      files++;
      EXPECT_TRUE(mode_is_right(name, file->file->mode())) << below;
    }
  }
  EXPECT_GT(files, 90u);
}

// --- answers to writes

struct Junk {
  const char* name;
  std::string bytes;
};
std::vector<Junk> junk() {
  std::string binary;
  for (int i = 0; i < 100; i++) binary += char(i * 7 + 1);
  return {{"empty", ""},
          {"63", std::string(63, 'x')},
          {"64", std::string(64, 'x')},
          {"4095", std::string(4095, 'x')},
          {"4096", std::string(4096, 'x')},
          {"1 MiB", std::string(1 << 20, 'x')},
          {"binary", binary},
          {"NULs", std::string(3, '\0')},
          {"blanks", "     "}};
}

TEST_F(Tree, FilesThatRefuseAllJunk) {
  for (const char* path :
       {"trace_clock", "trace_options", "current_tracer", "tracing_on", "buffer_size_kb",
        "per_cpu/cpu0/buffer_size_kb", "buffer_subbuf_size_kb", "buffer_percent",
        "options/overwrite", "events/enable", "events/sched/enable",
        "events/sched/sched_switch/enable", "snapshot", "per_cpu/cpu0/snapshot",
        "saved_cmdlines_size", "trace_pipe", "README", "events/sched/sched_switch/id"}) {
    for (const Junk& row : junk())
      EXPECT_EQ(tree.write(path, row.bytes), -EINVAL) << path << ": " << row.name;
  }
}

TEST_F(Tree, FilesThatTakeAllJunk) {
  for (const char* path : {"free_buffer", "error_log", "trace", "per_cpu/cpu0/trace"}) {
    for (const Junk& row : junk())
      EXPECT_EQ(tree.write(path, row.bytes), long(row.bytes.size())) << path << ": " << row.name;
  }
}

TEST_F(Tree, FilesThatTakeSomeJunk) {
  const struct {
    const char* path;
    long answers[9];  // of junk()
  } table[] = {
      {"tracing_cpumask", {-EINVAL, -EINVAL, -EINVAL, -EINVAL, -EINVAL, -EINVAL, -EINVAL, 3, 5}},
      {"set_event", {0, -EINVAL, -EINVAL, -EINVAL, -EINVAL, -EINVAL, -EINVAL, 1, 5}},
      {"set_event_pid", {0, -EINVAL, -EINVAL, -EINVAL, -EINVAL, -EINVAL, -EINVAL, 1, 5}},
      {"set_event_notrace_pid", {0, -EINVAL, -EINVAL, -EINVAL, -EINVAL, -EINVAL, -EINVAL, 1, 5}},
      {"events/sched/filter", {0, 63, 64, 4095, -EINVAL, -EINVAL, 100, 3, 5}},
      // The kernel says ESRCH to the binary one; here every filter error is EINVAL.
      {"events/sched/sched_switch/filter",
       {-EINVAL, -EINVAL, -EINVAL, -EINVAL, -EINVAL, -EINVAL, -EINVAL, -EINVAL, -EINVAL}},
  };
  std::vector<Junk> rows = junk();
  for (const auto& row : table) {
    for (size_t i = 0; i < rows.size(); i++)
      EXPECT_EQ(tree.write(row.path, rows[i].bytes), row.answers[i])
          << row.path << ": " << rows[i].name;
  }
}

// One after the other; `shown`: what the file reads then.
struct Step {
  const char* path;
  const char* bytes;
  long answer;
  const char* shown = nullptr;
  uint32_t flags = O_WRONLY;
};
void walk(ControlTree& tree, std::initializer_list<Step> steps) {
  for (const Step& step : steps) {
    if (step.bytes) {
      EXPECT_EQ(tree.write(step.path, step.bytes, step.flags), step.answer)
          << step.path << " '" << step.bytes << "'";
    }
    if (step.shown) {
      EXPECT_EQ(tree.read(step.path), step.shown)
          << step.path << " after '" << (step.bytes ? step.bytes : "") << "'";
    }
  }
}

TEST_F(Tree, ClockOptionsTracer) {
  walk(tree, {
                 {"trace_clock", nullptr, 0,
                  "[local] global counter uptime perf mono mono_raw boot tai x86-tsc\n"},
                 {"trace_clock", " global \n", 9,
                  "local [global] counter uptime perf mono mono_raw boot tai x86-tsc\n"},
                 {"trace_clock", "global\n\n", 8},
                 {"trace_clock", "local x", -EINVAL},
                 {"trace_clock", "local", 5},
                 {"trace_options", " raw \n", 6},
                 {"options/raw", nullptr, 0, "1\n"},
                 {"trace_options", "noraw", 5},
                 {"options/raw", nullptr, 0, "0\n"},
                 {"trace_options", "noraw\n", 6},
                 {"trace_options", "no raw", -EINVAL},
                 {"trace_options", "RAW", -EINVAL},
                 {"trace_options", "raw noraw", -EINVAL},
                 {"options/overwrite", "2", -EINVAL, "1\n"},
                 {"options/overwrite", "0", 1, "0\n"},
                 {"options/overwrite", "01\n", 3, "1\n"},
                 {"current_tracer", "nop\n", 4, "nop\n"},
                 {"current_tracer", " nop", 4},
                 {"current_tracer", "nop\n\n", 5},
                 {"current_tracer", "func", -EINVAL},
                 {"available_tracers", nullptr, 0, "function_graph function nop\n"},
                 {"timestamp_mode", nullptr, 0, "[delta] absolute\n"},
                 {"printk_formats", nullptr, 0, ""},
                 {"saved_tgids", nullptr, 0, ""},
             });
}

TEST_F(Tree, Cpumask) {
  walk(tree, {
                 {"tracing_cpumask", nullptr, 0, "3\n"},
                 {"tracing_cpumask", "0\n", 2, "0\n"},
                 {"tracing_cpumask", "1", 1, "1\n"},
                 {"tracing_cpumask", "4", -EOVERFLOW, "1\n"},
                 {"tracing_cpumask", "0x3", -EINVAL},
                 {"tracing_cpumask", "00000003", 8, "3\n"},
                 {"tracing_cpumask", "0,00000003", -EOVERFLOW},
                 {"tracing_cpumask", " 3", 2},
                 {"tracing_cpumask", "1,", 2, "1\n"},
                 {"tracing_cpumask", ",1", 2},
                 {"tracing_cpumask", "ff", -EOVERFLOW},
                 {"tracing_cpumask", "100000000", -EOVERFLOW},
                 {"tracing_cpumask", "1,00000000", -EOVERFLOW},
                 {"tracing_cpumask", "g", -EINVAL},
                 {"tracing_cpumask", "3\n\n", 3, "3\n"},
                 {"tracing_cpumask", "3 ", 2},
             });
}

TEST_F(Tree, Numbers) {
  walk(tree, {
                 {"tracing_on", "2", 1, "1\n"},
                 {"tracing_on", "0", 1, "0\n"},
                 {"tracing_on", "-1", -EINVAL},
                 {"tracing_on", "+1\n", 3, "1\n"},
                 {"buffer_percent", nullptr, 0, "50\n"},
                 {"buffer_percent", "101", -EINVAL},
                 {"buffer_percent", "100", 3, "100\n"},
                 {"buffer_percent", "0", 1, "0\n"},
                 {"saved_cmdlines_size", "0", -EINVAL},
                 {"saved_cmdlines_size", "32769", -EINVAL},
                 // The kernel rounds up to what its pages hold.
                 {"saved_cmdlines_size", "1000", 4, "1000\n"},
             });
}

TEST_F(Tree, BufferSizes) {
  walk(tree, {
                 {"buffer_size_kb", nullptr, 0, "7 (expanded: 1408)\n"},
                 {"buffer_total_size_kb", nullptr, 0, "14 (expanded: 2816)\n"},
                 {"buffer_size_kb", "0", -EINVAL},
                 {"buffer_size_kb", "100", 3, "103\n"},
                 {"buffer_size_kb", "1", 1, "7\n"},
                 {"buffer_size_kb", "99999999999", -ENOMEM},
                 {"per_cpu/cpu0/buffer_size_kb", "200", 3, "203\n"},
                 {"buffer_size_kb", nullptr, 0, "X\n"},
                 {"per_cpu/cpu1/buffer_size_kb", nullptr, 0, "7\n"},
                 {"buffer_total_size_kb", nullptr, 0, "210\n"},
                 {"buffer_size_kb", "1408", 4, "1410\n"},
                 {"free_buffer", "x", 1},
                 {"buffer_size_kb", nullptr, 0, "7\n"},
                 {"buffer_total_size_kb", nullptr, 0, "14\n"},
                 {"buffer_subbuf_size_kb", nullptr, 0, "4\n"},
                 {"buffer_subbuf_size_kb", "0", -EINVAL},
                 {"buffer_subbuf_size_kb", "513", -EINVAL},
                 {"buffer_subbuf_size_kb", "3", 1, "4\n"},
                 {"buffer_subbuf_size_kb", "5", 1, "8\n"},
             });
  EXPECT_NE(tree.read("events/header_page").find("size:8176;"), std::string::npos);
}

TEST_F(Tree, FreeBufferStopsWithItsOption) {
  walk(tree, {{"options/disable_on_free", "1", 1},
              {"free_buffer", "x", 1},
              {"tracing_on", nullptr, 0, "0\n"}});
}

TEST_F(Tree, Enabling) {
  walk(tree, {
                 {"events/enable", nullptr, 0, "0\n"},
                 {"events/enable", "2", -EINVAL},
                 {"events/sched/sched_switch/enable", "1", 1, "1\n"},
                 {"set_event", nullptr, 0, "sched:sched_switch\n"},
                 {"events/sched/enable", nullptr, 0, "X\n"},
                 {"events/enable", nullptr, 0, "X\n"},
                 {"events/sched/enable", "1", 1, "1\n"},
                 {"events/enable", nullptr, 0, "X\n"},
                 {"events/enable", "1", 1, "1\n"},
                 {"events/enable", "0", 1, "0\n"},
                 {"set_event", "!sched:nosuch", -EINVAL},
                 {"set_event", "!sched:sched_switch", 19},
                 {"set_event", "", 0},
                 {"set_event", "foo", -EINVAL},
                 {"set_event", "*:*:*", -EINVAL},
                 {"set_event", "sched:sched_waking irq:\n", 19, "sched:sched_waking\n"},
                 {"set_event", "irq:\n", 5, "sched:sched_waking\nirq:irq_handler_entry\n"},
                 {"set_event", "sched_switch\n", 13, "sched:sched_switch\n", O_WRONLY | O_TRUNC},
                 {"available_events", nullptr, 0,
                  "sched:sched_switch\nsched:sched_waking\nirq:irq_handler_entry\n"},
             });
}

TEST_F(Tree, APatchThatIsRefusedIsTheAnswerOfTheWrite) {
  tree.source.refuse = true;
  walk(tree, {{"events/sched/enable", "1", -EPERM, "0\n"}, {"set_event", "sched:*", -EPERM, ""}});
}

TEST_F(Tree, EnablingASystemIsOneTransaction) {
  EXPECT_EQ(tree.write("events/sched/enable", "1"), 1);
  EXPECT_EQ(tree.source.updates, 1u);
  EXPECT_EQ(tree.source.events, 2u);
}

TEST_F(Tree, Pids) {
  walk(tree, {
                 {"set_event_pid", "1", 1, "1\n"},
                 {"set_event_pid", "x", -EINVAL, "1\n"},
                 {"set_event_pid", "5 6\n", 4, "1\n5\n6\n"},
                 {"set_event_pid", "1 x", -EINVAL, "1\n5\n6\n"},
                 {"set_event_pid", "0x10", 4, "1\n5\n6\n16\n"},
                 {"set_event_pid", "-1", -EINVAL},
                 {"set_event_pid", "4000000000", -EPERM},
                 {"set_event_pid", "99999999999999999999", -EINVAL},
                 {"set_event_pid", "7\n", 2, "7\n", O_WRONLY | O_TRUNC},
                 {"set_event_pid", " ", 1, "", O_WRONLY | O_TRUNC},
                 {"set_event_notrace_pid", "3\n2", 3, "2\n3\n"},
             });
}

TEST_F(Tree, Filters) {
  const std::string help = tree.read("events/sched/filter");
  EXPECT_EQ(help.substr(0, 23), "### global filter ###\n#");
  walk(tree, {
                 {"events/sched/sched_switch/filter", nullptr, 0, "none\n"},
                 {"events/sched/sched_switch/filter", "pid == 1\n", 9, "pid == 1\n"},
                 {"show_event_filters", nullptr, 0, "sched:sched_switch              pid == 1\n"},
                 {"events/sched/sched_switch/filter", "foo", -EINVAL,
                  "foo\n   ^\nparse_error: Field not found\n\n"},
                 {"show_event_filters", nullptr, 0, ""},
                 {"show_event_triggers", nullptr, 0, ""},
                 {"events/sched/sched_waking/trigger", "traceoff:3 if pid == 1", 22,
                  "traceoff:count=3 if pid == 1\n"},
                 {"events/sched/sched_waking/trigger", "stacktrace", 10},
                 {"show_event_triggers", nullptr, 0,
                  "sched:sched_waking              stacktrace:unlimited\n"
                  "sched:sched_waking              traceoff:count=3 if pid == 1\n"},
                 {"events/sched/sched_waking/trigger", "!traceoff", 9, "stacktrace:unlimited\n"},
                 {"events/sched/sched_waking/trigger", "!stacktrace", 11},
                 {"show_event_triggers", nullptr, 0, ""},
                 {"events/sched/sched_switch/filter", "0", 1, "none\n"},
                 {"events/sched/filter", "pid > 0", 7, help.c_str()},
                 {"events/sched/sched_waking/filter", nullptr, 0, "pid > 0\n"},
                 {"events/sched/filter", "0\n", 2},
                 {"events/sched/sched_waking/filter", nullptr, 0, "none\n"},
             });
  std::string log = tree.read("error_log");
  EXPECT_NE(log.find("event filter parse error: error: Field not found\n  Command: foo\n"),
            std::string::npos);
  EXPECT_EQ(tree.write("error_log", "", O_WRONLY | O_TRUNC), 0);
  EXPECT_EQ(tree.read("error_log"), "");
}

TEST_F(Tree, FormatAndId) {
  std::string format = tree.read("events/sched/sched_switch/format");
  EXPECT_EQ(format, sched_switch->call.format_text());
  std::string id = tree.read("events/sched/sched_switch/id");
  EXPECT_EQ(id, std::to_string(sched_switch->call.id) + "\n");
  EXPECT_NE(format.find("ID: " + id), std::string::npos);
  EXPECT_EQ(tree.read("events/ftrace/print/id"), "5\n");
}

// --- instances

TEST_F(Tree, MakingAndRemovingInstances) {
  EXPECT_EQ(tree.mkdir("instances/a"), 0);
  EXPECT_EQ(tree.mkdir("instances/a"), EEXIST);
  EXPECT_EQ(tree.mkdir("instances/.x"), 0);
  EXPECT_EQ(tree.mkdir("instances/a/b"), EPERM);
  EXPECT_EQ(tree.mkdir("foo"), EPERM);
  EXPECT_EQ(tree.rmdir("events"), EPERM);
  EXPECT_EQ(tree.rmdir("instances/a/events"), EPERM);
  EXPECT_EQ(tree.rmdir("instances/zz"), ENOENT);
  EXPECT_EQ(list("instances"), ".x/ a/ ");
  EXPECT_EQ(tree.rmdir("instances/a"), 0);
  EXPECT_EQ(list("instances"), ".x/ ");
  EXPECT_EQ(tree.read("instances/a/tracing_on"), "-2");
}

TEST_F(Tree, WhichOpenFilesKeepAnInstance) {
  const char* const busy[] = {"trace",
                              "trace_pipe",
                              "set_event",
                              "set_event_pid",
                              "set_event_notrace_pid",
                              "tracing_on",
                              "buffer_size_kb",
                              "buffer_total_size_kb",
                              "buffer_percent",
                              "buffer_subbuf_size_kb",
                              "current_tracer",
                              "available_tracers",
                              "trace_options",
                              "trace_clock",
                              "tracing_cpumask",
                              "snapshot",
                              "error_log",
                              "timestamp_mode",
                              "options/overwrite",
                              "per_cpu/cpu0/stats",
                              "per_cpu/cpu0/trace_pipe_raw",
                              "per_cpu/cpu0/snapshot_raw",
                              "per_cpu/cpu0/buffer_size_kb",
                              "events/enable",
                              "events/sched/enable",
                              "events/sched/filter",
                              "events/sched/sched_switch/enable",
                              "events/sched/sched_switch/filter",
                              "events/header_page",
                              "events/header_event"};
  for (const char* name : busy) {
    tree.mkdir("instances/a");
    std::unique_ptr<File> file = tree.open(std::string("instances/a/") + name, O_RDONLY);
    ASSERT_TRUE(file) << name;
    EXPECT_EQ(tree.rmdir("instances/a"), EBUSY) << name;
  }
  for (const char* name : {"trace_marker", "trace_marker_raw", "free_buffer", "trace"}) {
    std::unique_ptr<File> file = tree.open(std::string("instances/a/") + name, O_WRONLY);
    ASSERT_TRUE(file) << name;
    EXPECT_EQ(tree.rmdir("instances/a"), EBUSY) << name;
  }
  for (const char* name : {"events/sched/sched_switch/format", "events/sched/sched_switch/id"}) {
    tree.mkdir("instances/a");
    std::unique_ptr<File> file = tree.open(std::string("instances/a/") + name, O_RDONLY);
    ASSERT_TRUE(file) << name;
    EXPECT_EQ(tree.rmdir("instances/a"), 0) << name;
    EXPECT_EQ(ControlTree::read_all(*file), "-19") << name;  // ENODEV
  }
}

TEST_F(Tree, InstancesAreApart) {
  ASSERT_EQ(tree.mkdir("instances/a"), 0);
  walk(tree, {
                 {"instances/a/events/sched/sched_switch/enable", "1", 1, "1\n"},
                 {"events/sched/sched_switch/enable", nullptr, 0, "0\n"},
                 {"instances/a/events/sched/sched_switch/filter", "pid == 1", 8, "pid == 1\n"},
                 {"events/sched/sched_switch/filter", nullptr, 0, "none\n"},
                 {"instances/a/trace_clock", "mono", 4},
                 {"instances/a/set_event_pid", "5", 1, "5\n"},
                 {"set_event_pid", nullptr, 0, ""},
                 {"instances/a/options/raw", "1", 1, "1\n"},
                 {"options/raw", nullptr, 0, "0\n"},
                 {"instances/a/buffer_size_kb", nullptr, 0, "1410\n"},
             });
  EXPECT_EQ(tree.read("trace_clock").substr(0, 7), "[local]");
}

TEST_F(Tree, AnInstanceOfChosenSystemsShowsOnlyThose) {
  ASSERT_TRUE(tree.registry->create_array("a", {"irq"}).ok());
  EXPECT_EQ(list("instances/a/events"), "enable header_event header_page irq/ ");
  EXPECT_EQ(tree.read("instances/a/events/sched/enable"), "-2");
  EXPECT_EQ(tree.read("instances/a/events/irq/enable"), "0\n");
}

// --- files of events that go away

TEST_F(Tree, OpenFilesOfARemovedEvent) {
  const char* const names[] = {"enable", "filter", "format", "id"};
  std::vector<std::unique_ptr<File>> files;
  for (const char* name : names)
    files.push_back(tree.open(std::string("events/sched/sched_switch/") + name, O_RDONLY));
  auto inject = tree.open("events/sched/sched_switch/inject", O_WRONLY);
  ASSERT_TRUE(tree.registry->remove_event(sched_switch, false).ok());
  EXPECT_EQ(list("events/sched"), "enable filter sched_waking/ ");
  LiveEvent* again = tree.add_event("sched", "sched_switch");
  for (size_t i = 0; i < files.size(); i++)
    EXPECT_EQ(ControlTree::read_all(*files[i]), "-19") << names[i];
  EXPECT_EQ(files[0]->write("1").error().errno_value, ENODEV);
  EXPECT_EQ(inject->write("pid=1").error().errno_value, ENODEV);
  EXPECT_EQ(tree.read("events/sched/sched_switch/id"), std::to_string(again->call.id) + "\n");
}

TEST_F(Tree, ASystemIsThereWhileItHasEvents) {
  auto filter = tree.open("events/irq/filter", O_WRONLY);
  ASSERT_TRUE(tree.registry->remove_event(irq_entry, true).ok());
  EXPECT_EQ(list("events"), "enable header_event header_page ftrace/ sched/ ");
  EXPECT_EQ(tree.read("events/irq/enable"), "-2");
  EXPECT_EQ(filter->write("pid == 1").error().errno_value, ENODEV);
}

}  // namespace
}  // namespace patchbay::tracefs
