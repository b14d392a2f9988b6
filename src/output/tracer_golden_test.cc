// SPDX-License-Identifier: MIT
// The lines of the tracers function and function_graph: pages that a 6.12 kernel has recorded, and
// what it printed of them under each option (tests/golden/function_*.txt).
#include <gtest/gtest.h>
#include <sys/utsname.h>

#include <fstream>
#include <map>
#include <sstream>

#include "output/page_feed.h"
#include "output/trace_text.h"

namespace patchbay {
namespace {

using test::PageFeed;
using enum TraceOption;

EventCall call(std::string system, std::string name, uint16_t id, std::vector<EventField> fields,
               std::string print_fmt) {
  return {std::move(system), std::move(name),   id,
          common_fields(),   std::move(fields), std::move(print_fmt)};
}

std::vector<EventCall> kernel_events() {
  const EventField ip{"unsigned long", "ip", 8, 8}, parent{"unsigned long", "parent_ip", 16, 8},
      func{"unsigned long", "func", 8, 8}, depth{"int", "depth", 16, 4, true},
      caller{"unsigned long", "caller", 16, 64, false, 8};
  return {
      call("ftrace", "function", 1, {ip, parent}, "\"\""),
      call("ftrace", "kernel_stack", 4, {{"int", "size", 8, 4, true}, caller}, "\"\""),
      call("ftrace", "print", 5, {ip, {"char", "buf", 16, 0, false, 0, "[]"}},
           "\"%ps: %s\", (void *)REC->ip, REC->buf"),
      call("ftrace", "funcgraph_exit", 10,
           {func,
            depth,
            {"unsigned int", "overrun", 20, 4},
            {"unsigned long long", "calltime", 24, 8},
            {"unsigned long long", "rettime", 32, 8}},
           "\"\""),
      call("ftrace", "funcgraph_entry", 11, {func, depth}, "\"\""),
      call("ftrace", "user_stack", 12, {{"unsigned int", "tgid", 8, 4}, caller}, "\"\""),
      call("signal", "signal_generate", 193,
           {{"int", "sig", 8, 4, true},
            {"int", "errno", 12, 4, true},
            {"int", "code", 16, 4, true},
            {"char", "comm", 20, 16, false, 16},
            {"pid_t", "pid", 36, 4, true},
            {"int", "group", 40, 4, true},
            {"int", "result", 44, 4, true}},
           "\"sig=%d errno=%d code=%d comm=%s pid=%d grp=%d res=%d\", REC->sig, REC->errno, "
           "REC->code, REC->comm, REC->pid, REC->group, REC->result"),
      call("syscalls", "sys_enter_umask", 201, {}, "\"\""),
      call("sched", "sched_process_exit", 307,
           {{"char", "comm", 8, 16, false, 16},
            {"pid_t", "pid", 24, 4, true},
            {"int", "prio", 28, 4, true}},
           "\"comm=%s pid=%d prio=%d\", REC->comm, REC->pid, REC->prio"),
  };
}

// Sections of the file, in its order; several may have one name.
std::vector<std::pair<std::string, std::string>> read_sections(const std::string& name) {
  // __FILE__ may be relative to the build folder; tests run in a folder inside it.
  std::string source = __FILE__;
  std::string path = source.substr(0, source.rfind("src/")) + "tests/golden/" + name;
  std::ifstream file(path);
  if (!file) file.open("../" + path);
  std::vector<std::pair<std::string, std::string>> sections;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("=== ")) {
      sections.emplace_back(line.substr(4), "");
    } else if (!sections.empty()) {
      sections.back().second += line + "\n";
    }
  }
  return sections;
}

PageImage page_of(const std::string& hex) {
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i + 1 < hex.size();) {
    if (hex[i] == '\n') {
      i++;
      continue;
    }
    bytes.push_back(uint8_t(std::stoi(hex.substr(i, 2), nullptr, 16)));
    i += 2;
  }
  bytes.resize(4096);
  PageImage page;
  page.bytes.assign(bytes.begin(), bytes.end());
  read_commit(&page);
  return page;
}

// The system call's text is the kernel's own; the number of CPUs, the CPU that read and the release
// are the machine's; in the latency format times count from the start of the tracer.
std::string comparable(const std::string& text) {
  utsname system{};
  uname(&system);
  std::istringstream lines(text);
  std::string out;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("sys_umask(") != std::string::npos ||
        line.find("type: 201") != std::string::npos ||
        line.find("sys_enter_umask") != std::string::npos)
      continue;
    size_t at = line.find("#P:");
    if (at != std::string::npos) line.resize(at);
    if ((at = line.find(", CPU#")) != std::string::npos) line.resize(at);
    if ((at = line.find("us", 24)) != std::string::npos && line.find(": ", at) == at + 3)
      line.erase(24, at - 24);
    for (std::string_view release :
         {std::string_view(system.release), std::string_view("6.12.117+deb12-amd64")})
      if ((at = line.find(release)) != std::string::npos) line.replace(at, release.size(), "R");
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return out;
}

struct Row {
  std::vector<std::pair<TraceOption, bool>> options;
  std::optional<uint32_t> cpu = {};
};

std::map<std::string, Row> rows() {
  return {
      {"default", {}},
      {"funcgraph-overrun", {{{kFuncgraphOverrun, true}}}},
      {"funcgraph-proc", {{{kFuncgraphProc, true}}}},
      {"funcgraph-abstime", {{{kFuncgraphAbstime, true}}}},
      {"funcgraph-tail", {{{kFuncgraphTail, true}}}},
      {"latency-format", {{{kLatencyFormat, true}}}},
      {"sym-offset", {{{kSymOffset, true}}}},
      {"sym-addr", {{{kSymAddr, true}}}},
      {"sym-offset-addr", {{{kSymOffset, true}, {kSymAddr, true}}}},
      {"raw", {{{kRaw, true}}}},
      {"hex", {{{kHex, true}}}},
      {"record-tgid", {{{kRecordTgid, false}}}},
      {"nofuncgraph-cpu", {{{kFuncgraphCpu, false}}}},
      {"nofuncgraph-overhead", {{{kFuncgraphOverhead, false}}}},
      {"nofuncgraph-duration", {{{kFuncgraphDuration, false}}}},
      {"nofuncgraph-irqs", {{{kFuncgraphIrqs, false}}}},
      {"nocontext-info", {{{kContextInfo, false}}}},
      {"noannotate", {{{kAnnotate, false}}}},
      {"noirq-info", {{{kIrqInfo, false}}}},
      {"noprint-parent", {{{kPrintParent, false}}}},
      {"lat-abstime-proc",
       {{{kLatencyFormat, true}, {kFuncgraphAbstime, true}, {kFuncgraphProc, true}}}},
      {"abstime-proc", {{{kFuncgraphAbstime, true}, {kFuncgraphProc, true}}}},
      {"abstime-proc-nocontext",
       {{{kFuncgraphAbstime, true}, {kFuncgraphProc, true}, {kContextInfo, false}}}},
      {"lat-nocontext", {{{kLatencyFormat, true}, {kContextInfo, false}}}},
      {"percpu1", {{}, 1}},
  };
}

class Golden {
 public:
  explicit Golden(const std::string& file) : sections_(read_sections(file)), names_(kallsyms()) {
    calls_ = kernel_events();
    sources_.names = &names_;
    sources_.events = [this] {
      std::vector<const EventCall*> all;
      for (const EventCall& event : calls_) all.push_back(&event);
      return all;
    };
    sources_.comms = [this] { return comms(); };
    sources_.clock = [](TraceClock clock) {
      return TraceClockConvert(clock, abi::kClockMonotonic, {});
    };
    array_.options.set(kRecordTgid, true);
  }

  std::string print(const Row& row, Tracer tracer, TraceText::Mode mode) {
    TraceArray array;
    array.tracer = tracer;
    array.options.set(kRecordTgid, true);
    for (auto [option, on] : row.options) array.options.set(option, on);
    auto feed = std::make_unique<PageFeed>(2);
    for (const auto& [name, text] : sections_) {
      if (!name.starts_with("page ")) continue;
      const uint32_t ring = uint32_t(name[5] - '0');
      PageImage page = page_of(text);
      feed->counts_of(ring).entries += page.entries;
      feed->add(ring, std::move(page));
    }
    TraceText text(sources_, array, std::move(feed), mode, row.cpu);
    std::string out;
    for (std::string part; !(part = text.next(65536)).empty();) out += part;
    return out;
  }

  const std::vector<std::pair<std::string, std::string>>& sections() const { return sections_; }

 private:
  std::string section(std::string_view wanted) const {
    for (const auto& [name, text] : sections_)
      if (name == wanted) return text;
    return "";
  }
  AddressNames kallsyms() const { return AddressNames::from_kallsyms(section("kallsyms")); }
  std::vector<abi::CommEntry> comms() const {
    std::vector<abi::CommEntry> entries;
    std::map<uint32_t, uint32_t> tgids;
    std::istringstream all(section("tgids")), lines(section("cmdlines"));
    for (uint32_t pid, tgid; all >> pid >> tgid;) tgids[pid] = tgid;
    uint32_t pid;
    for (std::string comm; lines >> pid >> comm;) {
      abi::CommEntry entry{pid, tgids[pid], {}};
      comm.copy(entry.comm, 15);
      entries.push_back(entry);
    }
    return entries;
  }

  std::vector<std::pair<std::string, std::string>> sections_;
  AddressNames names_;
  std::vector<EventCall> calls_;
  TraceTextSources sources_;
  TraceArray array_;
};

void compare(const char* file, Tracer tracer) {
  Golden golden(file);
  const auto known = rows();
  size_t compared = 0;
  for (const auto& [name, text] : golden.sections()) {
    if (!name.starts_with("text ")) continue;
    auto row = known.find(name.substr(5));
    ASSERT_NE(row, known.end()) << name;
    const std::string theirs = comparable(text),
                      ours = comparable(golden.print(row->second, tracer, TraceText::Mode::kTrace));
    EXPECT_EQ(ours.substr(0, theirs.size()), theirs) << file << ": " << name;
    compared++;
  }
  EXPECT_GE(compared, 13u);
}

TEST(TracerGolden, FunctionGraphPrintsWhatTheKernelPrints) {
  compare("function_graph.txt", Tracer::kFunctionGraph);
}

TEST(TracerGolden, FunctionPrintsWhatTheKernelPrints) {
  compare("function_trace.txt", Tracer::kFunction);
}

// trace_pipe has the same lines without the head, and consumes both events of a leaf.
TEST(TracerGolden, ThePipeHasTheSameLines) {
  Golden golden("function_graph.txt");
  std::string trace = golden.print({}, Tracer::kFunctionGraph, TraceText::Mode::kTrace);
  std::string pipe = golden.print({}, Tracer::kFunctionGraph, TraceText::Mode::kPipe);
  for (int i = 0; i < 4; i++) trace.erase(0, trace.find('\n') + 1);
  EXPECT_EQ(pipe, trace);
}

}  // namespace
}  // namespace patchbay
