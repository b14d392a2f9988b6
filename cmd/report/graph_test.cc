// SPDX-License-Identifier: MIT
// From records of function_graph to trees, folded stacks, flame graphs and replayed lines.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstring>

#include "cmd/report/call_tree.h"
#include "cmd/report/flame.h"
#include "cmd/common/run_time.h"
#include "cmd/report/folded.h"
#include "cmd/report/graph_source.h"
#include "cmd/report/graph_text.h"
#include "cmd/report/replay_lines.h"
#include "ring_buffer/ring_model.h"
#include "trace_dat/metadata.h"
#include "trace_dat/trace_dat_write.h"

namespace patchbay::cmd {
namespace {

constexpr uint64_t kMain = 0x401000, kAdd = 0x401100, kParse = 0x401200, kEvil = 0x401300;
constexpr uint16_t kEntryId = 11, kExitId = 10, kStackId = 4, kFunctionId = 1;

std::string name_of(uint64_t func) {
  switch (func) {
    case kMain:
      return "main";
    case kAdd:
      return "shop::add";
    case kParse:
      return "parse";
    default:
      return "<ev>il";
  }
}

// "12 main" a line: an entry of depth 12. "-12 main 300": its exit after 300 ns. All of one thread,
// 1 us apart.
std::vector<GraphRecord> records(std::string_view text, int32_t tid = 7) {
  std::vector<GraphRecord> out;
  uint64_t ns = 1000000;
  for (size_t at = 0; at < text.size();) {
    std::string line(text.substr(at, text.find(';', at) - at));
    at += line.size() + 1;
    GraphRecord& record = out.emplace_back();
    char name[32] = "";
    int depth = 0;
    unsigned long long duration = 0;
    std::sscanf(line.c_str(), " %d %31s %llu", &depth, name, &duration);
    bool is_exit = line.find('-') != line.npos;
    record.kind = is_exit ? GraphRecord::Kind::kExit : GraphRecord::Kind::kEntry;
    record.tid = tid;
    record.ns = ns += 1000;
    record.depth = uint32_t(std::abs(depth));
    record.duration_ns = duration;
    record.func = *name == 'm' ? kMain : *name == 'a' ? kAdd : *name == 'p' ? kParse : kEvil;
  }
  return out;
}

struct Built {
  CallTree tree;
  PairingTotals totals;
};
Built build(std::string_view text) {
  CallTreeBuilder builder(false);
  CallPairing pairing(&builder);
  for (const GraphRecord& record : records(text)) pairing.take(record);
  pairing.finish();
  return {builder.trees()[0], pairing.totals()};
}

// "main 1 9000/4000" a node: calls, total and own nanoseconds; children in parentheses.
std::string show(const CallTree& tree, uint32_t node = CallTree::kRoot) {
  std::string text;
  for (uint32_t child : tree.node(node).children) {
    const CallCounts& counts = tree.node(child).counts;
    std::string below = show(tree, child);
    text += (text.empty() ? "" : ", ") + name_of(tree.node(child).func) + " " +
            std::to_string(counts.calls) + " " + std::to_string(counts.total_ns) + "/" +
            std::to_string(counts.self_ns) + (below.empty() ? "" : " (" + below + ")");
  }
  return text;
}

std::string show(const PairingTotals& totals) {
  return std::to_string(totals.calls) + " calls, open " + std::to_string(totals.open_at_end) +
         ", no return " + std::to_string(totals.without_exit) + ", no entry " +
         std::to_string(totals.without_entry);
}

TEST(CallPairing, EntriesAndExits) {
  const struct {
    const char *what, *text, *tree, *totals;
  } table[] = {
      {"nothing", "", "", "0 calls, open 0, no return 0, no entry 0"},
      {"nested", "0 m;1 a;2 p;-2 p 300;-1 a 700;1 a;-1 a 200;-0 m 5000",
       "main 1 5000/4100 (shop::add 2 900/600 (parse 1 300/300))",
       "4 calls, open 0, no return 0, no entry 0"},
      {"recursion", "0 a;1 a;-1 a 100;-0 a 300", "shop::add 1 300/200 (shop::add 1 100/100)",
       "2 calls, open 0, no return 0, no entry 0"},
      {"an exception: two calls end without a return", "0 m;1 a;2 p;1 x;-1 x 10;-0 m 9000",
       "main 1 9000/7990 (shop::add 1 1000/1000 (parse 1 0/0), <ev>il 1 10/10)",
       "4 calls, open 0, no return 2, no entry 0"},
      {"longjmp into the caller, which returns", "0 m;1 a;2 p;-0 m 9000",
       "main 1 9000/8000 (shop::add 1 1000/1000 (parse 1 0/0))",
       "3 calls, open 0, no return 2, no entry 0"},
      {"exit(): all are open", "0 m;1 a;2 p;-2 p 500",
       "main 1 3000/1000 (shop::add 1 2000/1500 (parse 1 500/500))",
       "3 calls, open 2, no return 0, no entry 0"},
      {"an entry is lost", "0 m;-1 p 400;-0 m 9000", "main 1 9000/8600 (parse 1 400/400)",
       "2 calls, open 0, no return 0, no entry 1"},
      {"the first records are lost", "-2 p 400;-1 a 900", "parse 1 400/400, shop::add 1 900/900",
       "2 calls, open 0, no return 0, no entry 2"},
      {"an exit is lost, and the next call is the same", "0 m;1 a;1 a;-1 a 5;-0 m 9000",
       "main 1 9000/8995 (shop::add 2 5/5)", "3 calls, open 0, no return 1, no entry 0"},
      {"another function at the depth of the exit", "0 m;1 a;-1 p 5;-0 m 9000",
       "main 1 9000/8995 (shop::add 1 0/0, parse 1 5/5)",
       "3 calls, open 0, no return 1, no entry 1"},
      {"levels that are not traced", "0 m;4 a;-4 a 5;-0 m 9000",
       "main 1 9000/8995 (shop::add 1 5/5)", "2 calls, open 0, no return 0, no entry 0"},
      {"a thread id that is used again", "0 m;1 a;0 m;-0 m 100",
       "main 2 1100/1100 (shop::add 1 0/0)", "3 calls, open 0, no return 2, no entry 0"},
      {"a duration that is longer than its caller's", "0 m;1 a;-1 a 9000;-0 m 10",
       "main 1 10/0 (shop::add 1 9000/9000)", "2 calls, open 0, no return 0, no entry 0"},
  };
  for (const auto& row : table) {
    Built built = build(row.text);
    EXPECT_EQ(show(built.tree), row.tree) << row.what;
    EXPECT_EQ(show(built.totals), row.totals) << row.what;
  }
}

TEST(CallPairing, ThreadsAreApart) {
  CallTreeBuilder merged(false), apart(true);
  for (CallTreeBuilder* builder : {&merged, &apart}) {
    CallPairing pairing(builder);
    std::vector<GraphRecord> one = records("0 m;1 a;-1 a 10;-0 m 50", 1);
    std::vector<GraphRecord> two = records("0 m;1 p;-1 p 20;-0 m 90", 2);
    for (size_t i = 0; i < one.size(); i++) {
      pairing.take(one[i]);
      pairing.take(two[i]);
    }
    pairing.finish();
    EXPECT_EQ(pairing.threads(), 2u);
  }
  EXPECT_EQ(show(merged.trees()[0]), "main 2 140/110 (shop::add 1 10/10, parse 1 20/20)");
  EXPECT_EQ(show(apart.trees()[1]), "main 1 50/40 (shop::add 1 10/10)");
  EXPECT_EQ(show(apart.trees()[2]), "main 1 90/70 (parse 1 20/20)");
}

constexpr char kRecursive[] =
    "0 m;1 a;2 p;3 a;4 p;-4 p 10;-3 a 20;-2 p 40;-1 a 100;1 p;-1 p 5;-0 m 200";

TEST(CallTree, BelowCallersWaysFlat) {
  CallTree tree = build(kRecursive).tree;
  auto is_parse = [](uint64_t func) { return func == kParse; };
  EXPECT_EQ(show(tree.below(is_parse)), "parse 2 45/25 (shop::add 1 20/10 (parse 1 10/10))");
  EXPECT_EQ(show(tree.callers(is_parse)),
            "parse 3 45/35 (shop::add 2 40/30 (main 1 40/20, "
            "parse 1 0/10 (shop::add 1 0/10 (main 1 0/10))), main 1 5/5)");
  std::vector<CallTree::Way> ways = tree.ways(is_parse);
  ASSERT_EQ(ways.size(), 2u);
  EXPECT_EQ(ways[0].functions, (std::vector<uint64_t>{kMain, kAdd, kParse}));
  EXPECT_EQ(ways[0].counts.total_ns, 40u);
  EXPECT_EQ(ways[1].functions, (std::vector<uint64_t>{kMain, kParse}));
  std::map<uint64_t, CallCounts> flat = tree.flat();
  EXPECT_EQ(flat[kParse].calls, 3u);
  EXPECT_EQ(flat[kParse].total_ns, 45u);  // the inner one is in the outer one's time
  EXPECT_EQ(flat[kParse].self_ns, 35u);
  EXPECT_EQ(flat[kAdd].total_ns, 100u);
  EXPECT_EQ(flat[kMain].min_ns, 200u);
}

TEST(CallTree, DeepRecursionEnds) {
  CallTree tree;
  uint32_t at = CallTree::kRoot;
  for (int i = 0; i < 200000; i++) tree.node(at = tree.child(at, kAdd)).counts.add(1, 1);
  EXPECT_EQ(tree.flat()[kAdd].calls, 200000u);
  EXPECT_EQ(tree.below([](uint64_t) { return true; }).size(), 200001u);
  EXPECT_EQ(tree.ways([](uint64_t) { return true; }).size(), 1u);
}

TEST(GraphText, TreeWithItsLines) {
  GraphTextOptions options;
  options.name_of = name_of;
  EXPECT_EQ(graph_text(build("0 m;1 a;2 p;-2 p 1000;-1 a 3000;1 x;-1 x 2;-0 m 9000").tree, options),
            "  9.000 us    5.998 us          1    9.000 us    9.000 us    9.000 us  main\n"
            "  3.000 us    2.000 us          1    3.000 us    3.000 us    3.000 us  +- shop::add\n"
            "  1.000 us    1.000 us          1    1.000 us    1.000 us    1.000 us  |  +- parse\n"
            "  0.002 us    0.002 us          1    0.002 us    0.002 us    0.002 us  +- <ev>il\n");
  options.depth = 1;
  EXPECT_EQ(graph_text(build("0 m;1 a;-1 a 3000;-0 m 9000").tree, options),
            "  9.000 us    6.000 us          1    9.000 us    9.000 us    9.000 us  main\n");
}

TEST(TimeText, UnitThatFits) {
  const struct {
    uint64_t ns;
    const char* expected;
  } table[] = {{0, "  0.000 us"},           {1, "  0.001 us"},
               {999999, "999.999 us"},      {1000000, "  1.000 ms"},
               {999999999, "  1.000 s "},   {1500000000, "  1.500 s "},
               {90000000000, "  1.500 m "}, {7200000000000, "  2.000 h "}};
  for (const auto& row : table) EXPECT_EQ(time_text(row.ns), row.expected);
  const struct {
    const char* text;
    uint64_t ns;  // ~0: refused
  } parsed[] = {{"20us", 20000}, {"1.5ms", 1500000}, {"3s", 3000000000}, {"250", 250},
                {"", ~0ull},     {"us", ~0ull},      {"-1us", ~0ull},    {"1h", ~0ull}};
  for (const auto& row : parsed) {
    uint64_t ns = 0;
    bool ok = parse_time(row.text, &ns, "ns");
    EXPECT_EQ(ok ? ns : ~0ull, row.ns) << row.text;
  }
}

TEST(FunctionFits, GlobsAndPartsOfNames) {
  const struct {
    const char *glob, *name;
    bool fits;
  } table[] = {{"parse", "parse", true},        {"par*", "parse", true},
               {"pars", "parse", false},        {"add", "shop::add", true},
               {"add", "shop::add(int)", true}, {"shop::add", "shop::add(int)", true},
               {"shop::*", "shop::add", true},  {"add", "shop::add::x", false},
               {"add", "add(a::b)", true}};
  for (const auto& row : table) EXPECT_EQ(function_fits(row.glob, row.name), row.fits) << row.glob;
}

std::string replay(std::string_view text, ReplayOptions options = {}) {
  std::string out;
  options.name_of = name_of;
  ReplayLines lines(options,
                    [&](const std::string& line) { out += line.substr(0, 10) + line.substr(21); });
  CallPairing pairing(&lines);
  for (const GraphRecord& record : records(text)) pairing.take(record);
  pairing.finish();
  lines.finish();
  return out;
}

TEST(ReplayLines, LeavesAndBlocks) {
  EXPECT_EQ(replay("0 m;1 a;2 p;-2 p 300;-1 a 700;1 p;-1 p 200;-0 m 5000"),
            "           main() {\n"
            "             shop::add() {\n"
            "  0.300 us     parse();\n"
            "  0.700 us   } /* shop::add */\n"
            "  0.200 us   parse();\n"
            "  5.000 us } /* main */\n");
  EXPECT_EQ(replay("0 m;1 a;2 p;1 x;-1 x 10"),
            "           main() {\n"
            "             shop::add() {\n"
            "               parse(); /* no return */\n"
            "             } /* shop::add, no return */\n"
            "  0.010 us   <ev>il();\n"
            "           } /* main, open at the end */\n");
  EXPECT_EQ(replay("-1 p 10"), "  0.010 us } /* parse, entry lost */\n");
}

// "0 m" is at 1001000, and each record 1 us later.
TEST(ReplayLines, OffTheCpu) {
  OffCpuTimes times;
  times.take(1001300, {7, 0, 1});
  times.take(1001700, {0, 7, 0});
  times.lose(1003100, 1003200);
  times.finish();
  ReplayOptions options;
  options.name_of = name_of;
  std::string text, json;
  for (std::string* out : {&text, &json}) {
    options.off_cpu = true;
    options.json = out == &json;
    ReplayLines lines(options, [out](const std::string& line) { *out += line; });
    CallPairing pairing(&lines, &times);
    for (const GraphRecord& record : records("0 m;1 a;-1 a 700;1 p;-1 p 900;-0 m 5000")) {
      if (record.ns == 1002000) lines.off_cpu(7, 1001300, {400, true}, "S");
      if (record.ns == 1004000) lines.off_cpu(7, 1003500, {500, false}, "R");
      pairing.take(record);
    }
    pairing.finish();
    lines.finish();
  }
  EXPECT_EQ(text,
            "                         [     7] | main() {\n"
            "                         [     7] |   /* off the CPU for 0.400 us: S */\n"
            "  0.700 us    0.700 us   [     7] |   shop::add();\n"
            "                         [     7] |   /* off the CPU for 0.500 us?: R */\n"
            "  0.900 us    0.900 us   [     7] |   parse();\n"
            "  5.000 us    4.600 us?  [     7] | } /* main */\n");
  EXPECT_NE(json.find("\"kind\": \"off_cpu\", \"instance\": \"\", \"ts\": 0.001001300, \"tid\": 7, "
                      "\"depth\": 1, \"duration_ns\": 400, \"state\": \"S\"}\n"),
            json.npos)
      << json;
  EXPECT_NE(json.find("\"duration_ns\": 700, \"on_cpu_ns\": 700, \"off_cpu_ns\": 0}"), json.npos);
  EXPECT_NE(json.find("\"on_cpu_ns\": 4600, \"off_cpu_ns\": 400, \"off_cpu_unsure\": true}"),
            json.npos);
}

TEST(CallTree, OffTheCpu) {
  OffCpuTimes times;
  times.take(1002300, {7, 0, 1});
  times.take(1002700, {0, 7, 0});
  times.take(1003300, {7, 0, 1});
  times.take(1003400, {0, 7, 0});
  times.finish();
  CallTreeBuilder builder(false);
  CallPairing pairing(&builder, &times);
  for (const GraphRecord& record : records("0 m;1 a;-1 a 700;-0 m 5000")) pairing.take(record);
  pairing.finish();
  const CallTree& tree = builder.trees()[0];
  ASSERT_EQ(tree.size(), 3u);
  EXPECT_EQ(tree.node(1).counts.off_ns, 500u);
  EXPECT_EQ(tree.node(1).counts.self_off_ns, 100u);
  EXPECT_EQ(tree.node(2).counts.off_ns, 400u);
  EXPECT_EQ(tree.node(2).counts.unsure, 0u);
  GraphTextOptions options;
  options.name_of = name_of;
  EXPECT_EQ(graph_text(tree, options).find("4.500"), std::string::npos);
  options.off_cpu = true;
  EXPECT_NE(graph_text(tree, options).find("  5.000 us    4.300 us    4.500 us          1 "),
            std::string::npos)
      << graph_text(tree, options);
  EXPECT_NE(graph_json(tree, options, "")
                .find("\"on_cpu_ns\": 300, \"self_on_cpu_ns\": 300, "
                      "\"off_cpu_ns\": 400, \"off_cpu_unsure\": 0}"),
            std::string::npos);
}

TEST(ReplayLines, Filters) {
  ReplayOptions only, without, depth, time;
  only.only = [](uint64_t func) { return func == kAdd; };
  EXPECT_EQ(replay(kRecursive, only),
            "           shop::add() {\n"
            "             parse() {\n"
            "               shop::add() {\n"
            "  0.010 us       parse();\n"
            "  0.020 us     } /* shop::add */\n"
            "  0.040 us   } /* parse */\n"
            "  0.100 us } /* shop::add */\n");
  without.without = [](uint64_t func) { return func == kAdd; };
  EXPECT_EQ(replay(kRecursive, without),
            "           main() {\n"
            "  0.005 us   parse();\n"
            "  0.200 us } /* main */\n");
  depth.depth = 2;
  EXPECT_EQ(replay(kRecursive, depth),
            "           main() {\n"
            "  0.100 us   shop::add();\n"
            "  0.005 us   parse();\n"
            "  0.200 us } /* main */\n");
  time.least_ns = 40;
  EXPECT_EQ(replay(kRecursive, time),
            "           main() {\n"
            "             shop::add() {\n"
            "  0.040 us     parse();\n"
            "  0.100 us   } /* shop::add */\n"
            "  0.200 us } /* main */\n");
}

// More lines than may wait: the oldest are taken for blocks, and nothing is lost.
TEST(ReplayLines, QueueIsBounded) {
  ReplayOptions options;
  options.least_ns = 1000000;
  options.name_of = name_of;
  size_t out = 0;
  ReplayLines lines(options, [&](const std::string&) { out++; });
  CallPairing pairing(&lines);
  GraphRecord record;
  record.kind = GraphRecord::Kind::kEntry;
  for (record.depth = 0; record.depth < 200000; record.depth++) pairing.take(record);
  EXPECT_EQ(out, 200000u - (1u << 17));
  pairing.finish();
  lines.finish();
  EXPECT_GE(out, 2 * (200000u - (1u << 17)));
}

// --- files

std::string field(const char* type, const char* name, int offset, int size) {
  return std::string("\tfield:") + type + " " + name + ";\toffset:" + std::to_string(offset) +
         ";\tsize:" + std::to_string(size) + ";\tsigned:0;\n";
}
std::string format(const char* name, int id, const std::string& fields) {
  return std::string("name: ") + name + "\nID: " + std::to_string(id) + "\nformat:\n" +
         field("unsigned short", "common_type", 0, 2) +
         field("unsigned char", "common_flags", 2, 1) +
         field("unsigned char", "common_preempt_count", 3, 1) + field("int", "common_pid", 4, 4) +
         "\n" + fields + "\nprint fmt: \"\"\n";
}

template <typename T>
void put(std::string* record, size_t at, T value) {
  if (record->size() < at + sizeof value) record->resize(at + sizeof value);
  std::memcpy(&(*record)[at], &value, sizeof value);
}
std::string make_record(uint16_t id, int32_t tid) {
  std::string record(8, '\0');
  put(&record, 0, id);
  put(&record, 4, tid);
  return record;
}

class GraphFile : public ::testing::Test {
 protected:
  GraphFile() {
    EXPECT_NE(::mkdtemp(directory_), nullptr);
    std::string call = field("unsigned long", "func", 8, 8);
    model_.add_format(kEntryId, "ftrace",
                      format("funcgraph_entry", kEntryId, call + field("int", "depth", 16, 4)));
    model_.add_format(
        kExitId, "ftrace",
        format("funcgraph_exit", kExitId,
               call + field("unsigned long", "retval", 16, 8) + field("int", "depth", 24, 4) +
                   field("unsigned long long", "calltime", 32, 8) +
                   field("unsigned long long", "rettime", 40, 8)));
    model_.add_format(
        kStackId, "ftrace",
        format("kernel_stack", kStackId,
               field("int", "size", 8, 4) + field("unsigned long", "caller[8]", 16, 64)));
    model_.add_format(
        kFunctionId, "ftrace",
        format("function", kFunctionId,
               field("unsigned long", "ip", 8, 8) + field("unsigned long", "parent_ip", 16, 8)));
    model_.add_comm(77, "de\033mo");
    model_.add_clock_pair(1000, 1000);
    model_.add_clock_pair(2000000000, 2000000000);
  }
  ~GraphFile() override {
    for (const char* name : {"/buffer", "/t.dat"})
      ::unlink((std::string(directory_) + name).c_str());
    ::rmdir(directory_);
  }

  void enter(uint64_t func, uint32_t depth) {
    std::string record = make_record(kEntryId, 77);
    put(&record, 8, func);
    put(&record, 16, depth);
    ASSERT_TRUE(model_.write(0, ns_ += 1000, record));
  }
  void leave(uint64_t func, uint32_t depth, uint64_t duration_ns) {
    std::string record = make_record(kExitId, 77);
    ns_ += 1000;
    put(&record, 8, func);
    put(&record, 16, uint64_t{42});
    put(&record, 24, depth);
    put(&record, 32, ns_ - duration_ns);
    put(&record, 40, ns_);
    ASSERT_TRUE(model_.write(0, ns_, record));
  }
  // Of functions: all but the first have called.
  void stack(const std::vector<uint64_t>& frames) {
    std::string record = make_record(kStackId, 77);
    put(&record, 8, int32_t(frames.size()));
    for (size_t i = 0; i < frames.size(); i++) put(&record, 16 + 8 * i, frames[i] + (i ? 5 : 0));
    ASSERT_TRUE(model_.write(0, ns_ += 1000, record));
  }

  std::unique_ptr<GraphSource> open_dat() {
    std::string buffer = std::string(directory_) + "/buffer",
                dat = directory_ + std::string("/t.dat");
    EXPECT_TRUE(model_.save(buffer));
    auto file = BufferFile::open(buffer, false);
    auto writer = TraceDatWriter::open(dat, {7, 4096, (*file)->nr_rings(), {}});
    auto meta = read_recorded_meta(**file);
    AddressCollector addresses(meta->events);
    PageImage page;
    for (uint32_t ring = 0; ring < (*file)->nr_rings(); ring++)
      while ((*file)->next_page(ring, true, &page))
        EXPECT_TRUE((*writer)->append_page(0, ring, page).ok());
    auto metadata = collect_metadata(**file, addresses);
    metadata->kallsyms =
        "0000000000401000 t main\n0000000000401100 t shop::add\n0000000000401200 t parse\t[x.so]\n"
        "0000000000401300 t <ev>il;\"&\n";
    EXPECT_TRUE((*writer)->finish(*metadata).ok());
    auto source = GraphSource::open(dat);
    EXPECT_TRUE(source.ok()) << (source.ok() ? "" : source.error().message());
    return std::move(*source);
  }

  char directory_[32] = "/tmp/pb-graph-XXXXXX";
  test::RingModel model_{2, 8, true};
  uint64_t ns_ = 5000000000;
};

TEST_F(GraphFile, TimesOfATraceDat) {
  enter(kMain, 0);
  enter(kParse, 1);
  leave(kParse, 1, 500);
  leave(kMain, 0, 2500);
  auto source = open_dat();
  std::vector<uint64_t> durations;
  ASSERT_TRUE(source
                  ->walk(0,
                         [&](const MergedEvent&, const GraphRecord& record) {
                           if (record.kind == GraphRecord::Kind::kExit) {
                             durations.push_back(record.duration_ns);
                             EXPECT_TRUE(record.has_retval);
                             EXPECT_EQ(record.retval, 42u);
                           }
                         })
                  .ok());
  EXPECT_EQ(durations, (std::vector<uint64_t>{500, 2500}));
  EXPECT_EQ(source->thread_name(77), "de?mo-77");
  EXPECT_EQ(source->losses().short_records, 0u);
}

TEST_F(GraphFile, FoldedCalls) {
  enter(kMain, 0);
  enter(kEvil, 1);
  leave(kEvil, 1, 500);
  leave(kMain, 0, 2500);
  auto source = open_dat();
  auto stacks = read_stacks(*source, GroupBy::kNone);
  ASSERT_TRUE(stacks.ok());
  EXPECT_EQ(folded_text(*stacks), "main 2000\nmain;<ev>il:\"& 500\n");
  auto apart = read_stacks(*source, GroupBy::kTid);
  ASSERT_TRUE(apart.ok());
  EXPECT_EQ(folded_text(*apart), "de?mo-77;main 2000\nde?mo-77;main;<ev>il:\"& 500\n");
}

TEST_F(GraphFile, FoldedStacks) {
  for (int i = 0; i < 3; i++) stack({kParse, kAdd, kMain});
  stack({kMain});
  stack({});
  auto stacks = read_stacks(*open_dat(), GroupBy::kNone);
  ASSERT_TRUE(stacks.ok());
  EXPECT_FALSE(stacks->in_ns);
  EXPECT_EQ(folded_text(*stacks), "main 1\nmain;shop::add;parse 3\n");
}

TEST_F(GraphFile, FoldedFunctions) {
  std::string record = make_record(kFunctionId, 77);
  put(&record, 8, kParse);
  put(&record, 16, kMain + 5);
  for (int i = 0; i < 2; i++) ASSERT_TRUE(model_.write(1, ns_ += 1000, record));
  auto stacks = read_stacks(*open_dat(), GroupBy::kNone);
  ASSERT_TRUE(stacks.ok());
  EXPECT_EQ(folded_text(*stacks), "main;parse 2\n");
}

TEST_F(GraphFile, NothingToFold) {
  ASSERT_TRUE(model_.write(0, ns_, make_record(600, 77)));
  EXPECT_FALSE(read_stacks(*open_dat(), GroupBy::kNone).ok());
}

TEST_F(GraphFile, ShortRecordsAreCounted) {
  std::string record = make_record(kExitId, 77);
  record.resize(40);
  ASSERT_TRUE(model_.write(0, ns_ += 1000, record));
  auto source = open_dat();
  ASSERT_TRUE(source->walk(0, [](const MergedEvent&, const GraphRecord&) { FAIL(); }).ok());
  EXPECT_EQ(source->losses().short_records, 1u);
}

TEST_F(GraphFile, FlameGraphIsSafeXml) {
  enter(kMain, 0);
  enter(kEvil, 1);
  leave(kEvil, 1, 500);
  leave(kMain, 0, 2500);
  auto stacks = read_stacks(*open_dat(), GroupBy::kNone);
  ASSERT_TRUE(stacks.ok());
  std::string svg = flame_svg(*stacks, {"<t>", "2 calls", 1200});
  EXPECT_NE(svg.find("<title>&lt;ev&gt;il;&quot;&amp; (1 call, 0.500 us, 20.00%)</title>"),
            svg.npos);
  EXPECT_NE(svg.find("<title>main (1 call, 2.500 us, 100.00%)</title>"), svg.npos);
  EXPECT_NE(svg.find(">&lt;t&gt;</text>"), svg.npos);
  EXPECT_EQ(svg.find("<ev>"), svg.npos);
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
}

}  // namespace
}  // namespace patchbay::cmd
