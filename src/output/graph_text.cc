// SPDX-License-Identifier: MIT
#include "output/graph_text.h"

#include <algorithm>
#include <utility>

#include "output/event_text.h"
#include "output/line_columns.h"
#include "output/text_put.h"

namespace patchbay {

namespace {

constexpr size_t kTaskWidth = 14;     // "comm-pid", in the middle
constexpr size_t kTaskComm = 7;       // characters of comm
constexpr uint64_t kMaxErrno = 4095;  // of return values that are shown as errors

int digits_of(uint32_t number) {
  int digits = 1;
  while (number >= 10) {
    number /= 10;
    digits++;
  }
  return digits;
}

void put_indent(std::string* out, int32_t levels) {
  if (levels > 0) out->append(2 * size_t(std::min(levels, 4096)), ' ');
}

}  // namespace

GraphText::GraphText(const TraceOptions& options, uint32_t nr_cpus, CommOf comm_of,
                     TextContext* context)
    : options_(options),
      cpu_width_(digits_of(std::max(nr_cpus, 1u) - 1)),
      comm_of_(std::move(comm_of)),
      context_(context) {}

GraphText::Cpu& GraphText::cpu_of(uint32_t ring) {
  if (ring >= cpus_.size()) cpus_.resize(size_t(ring) + 1);
  return cpus_[ring];
}

const std::string& GraphText::name_of(uint64_t func) const {
  return context_->addresses->of(func).plain;
}

namespace {

// print_lat_header()
void put_latency_flags(std::string* out, const TraceOptions& options) {
  const size_t before = (options[TraceOption::kFuncgraphAbstime] ? 16 : 0) +
                        (options[TraceOption::kFuncgraphCpu] ? 4 : 0) +
                        (options[TraceOption::kFuncgraphProc] ? 17 : 0);
  for (std::string_view line : {"  _-----=> irqs-off        \n", " / _----=> need-resched    \n",
                                "| / _---=> hardirq/softirq \n", "|| / _--=> preempt-depth   \n",
                                "||| /                      \n"}) {
    *out += '#';
    out->append(before, ' ');
    *out += line;
  }
}

}  // namespace

// __print_graph_headers_flags()
void GraphText::put_header(std::string* out, const TraceOptions& options) {
  struct Column {
    bool shown;
    std::string_view name, bars;
  };
  const bool latency = options[TraceOption::kLatencyFormat];
  const Column columns[] = {
      {options[TraceOption::kFuncgraphAbstime], "     TIME       ", "      |         "},
      {options[TraceOption::kFuncgraphCpu], " CPU", " |  "},
      {options[TraceOption::kFuncgraphProc], "  TASK/PID       ", "   |    |        "},
      {latency, "||||   ", "||||   "},
      {options[TraceOption::kFuncgraphDuration], "  DURATION   ", "   |   |      "},
      {true, "               FUNCTION CALLS\n", "               |   |   |   |\n"}};
  if (latency) put_latency_flags(out, options);
  *out += '#';
  for (const Column& column : columns)
    if (column.shown) *out += column.name;
  *out += '#';
  for (const Column& column : columns)
    if (column.shown) *out += column.bars;
}

void GraphText::put_cpu_column(std::string* out, uint32_t cpu) const {
  *out += ' ';
  put_padded(out, cpu, cpu_width_, ' ');
  *out += ") ";
}

// print_graph_proc()
void GraphText::put_task_column(std::string* out, int32_t pid) const {
  std::string text(comm_of_(pid).substr(0, kTaskComm));
  text += '-';
  put_number(&text, pid);
  const size_t blanks = text.size() < kTaskWidth ? kTaskWidth - text.size() : 0;
  out->append(blanks / 2, ' ');
  *out += text;
  out->append(blanks - blanks / 2, ' ');
}

// verif_pid()
void GraphText::put_switch(std::string* out, const GraphLine& line) {
  static constexpr std::string_view kRule = " ------------------------------------------\n";
  const int32_t before = std::exchange(cpu_of(line.ring).last_pid, line.pid);
  if (before == line.pid || before == -1) return;
  *out += kRule;
  put_cpu_column(out, line.cpu);
  put_task_column(out, before);
  *out += " => ";
  put_task_column(out, line.pid);
  *out += '\n';
  *out += kRule;
  *out += '\n';
}

// print_graph_prologue()
void GraphText::put_start(std::string* out, const GraphLine& line) {
  put_switch(out, line);
  if (!has(TraceOption::kContextInfo)) return;
  if (has(TraceOption::kFuncgraphAbstime)) {
    put_padded(out, line.time / 1000000000, 5, ' ');
    *out += '.';
    put_padded(out, line.time % 1000000000 / 1000, 6, '0');
    *out += " |  ";
  }
  if (has(TraceOption::kFuncgraphCpu)) put_cpu_column(out, line.cpu);
  if (has(TraceOption::kFuncgraphProc)) {
    put_task_column(out, line.pid);
    *out += " | ";
  }
  if (!has(TraceOption::kLatencyFormat)) return;
  *out += ' ';
  put_flags(out, line.flags, line.preempt);
  *out += " | ";
}

// trace_print_graph_duration()
char* write_graph_duration(char* at, uint64_t ns) {
  const uint64_t us = ns / 1000;
  const int whole = count_digits(us);
  char* const start = at;
  at = put_digits(at, us, whole);
  if (whole < 7) {
    char rest[3];
    put_digits(rest, ns % 1000, 3);
    *at++ = '.';
    for (int i = 0; i < std::min(3, 7 - whole); i++) *at++ = rest[i];
  }
  const auto length = size_t(at - start);
  std::memcpy(at, " us ", 4);
  at += 4;
  for (size_t i = length; i < 8; i++) *at++ = ' ';
  return at;
}

void put_graph_duration(std::string* out, uint64_t ns) {
  char text[kGraphDurationSize];
  out->append(text, size_t(write_graph_duration(text, ns) - text));
}

// print_graph_duration()
void GraphText::put_duration(std::string* out, uint64_t ns) const {
  if (!has(TraceOption::kFuncgraphDuration) || !has(TraceOption::kContextInfo)) return;
  *out += has(TraceOption::kFuncgraphOverhead) ? duration_mark(ns) : ' ';
  *out += ' ';
  put_graph_duration(out, ns);
  *out += "|  ";
}

void GraphText::put_no_duration(std::string* out) const {
  if (!has(TraceOption::kFuncgraphDuration) || !has(TraceOption::kContextInfo)) return;
  *out += "              |  ";
}

void GraphText::put_call(std::string* out, const GraphEvent& entry) const {
  *out += name_of(entry.func);
  append_arguments(out, entry.args, entry.func, context_);
}

// print_graph_retaddr()
void GraphText::put_caller(std::string* out, const GraphEvent& entry) const {
  *out += " <-";
  *out += context_->addresses->caller(entry.retaddr).full;
}

bool GraphText::has_retval(const GraphEvent& exit) const {
  return exit.has_retval && has(TraceOption::kFuncgraphRetval) &&
         result_word(context_->arguments_of, exit.func) != ResultWord::kNone;
}

// print_graph_retval(): what looks like an errno is decimal, also as a negative int. Where nobody
// says what the function returns, it may return nothing, and what is in the register is marked.
void GraphText::put_retval(std::string* out, const GraphEvent& exit) const {
  put_retval(out, exit.retval);
  if (result_word(context_->arguments_of, exit.func) == ResultWord::kUnknown) *out += '?';
}

void GraphText::put_retval(std::string* out, uint64_t retval) const {
  uint64_t error = retval >> 31 == 1 ? uint64_t(int64_t(int32_t(uint32_t(retval)))) : retval;
  *out += " = ";
  if (!has(TraceOption::kFuncgraphRetvalHex) && retval && error >= ~kMaxErrno + 1)
    return put_number(out, int64_t(error));
  *out += "0x";
  put_hex(out, retval);
}

// print_graph_entry_leaf(), print_graph_entry_nested()
void GraphText::append_entry(std::string* out, const GraphLine& line, const GraphEvent& entry,
                             const GraphEvent* exit, uint64_t duration_ns) {
  put_start(out, line);
  Cpu& cpu = cpu_of(line.ring);
  const bool remembered = entry.depth >= 0 && entry.depth < kDepths;
  const bool retaddr = entry.retaddr && has(TraceOption::kFuncgraphRetaddr);
  cpu.depth = exit ? entry.depth - 1 : entry.depth;
  if (remembered) cpu.entered[size_t(entry.depth)] = exit ? 0 : entry.func;
  if (exit) {
    put_duration(out, duration_ns);
  } else {
    put_no_duration(out);
  }
  put_indent(out, entry.depth);
  put_call(out, entry);
  if (!exit) {
    *out += " {";
    if (retaddr) {
      *out += " /*";
      put_caller(out, entry);
      *out += " */";
    }
    *out += '\n';
    return;
  }
  const bool retval = has_retval(*exit);
  *out += ';';
  if (retaddr || retval) *out += " /*";
  if (retaddr) put_caller(out, entry);
  if (retval) put_retval(out, *exit);
  *out += retaddr || retval ? " */\n" : "\n";
}

// print_graph_return()
void GraphText::append_exit(std::string* out, const GraphLine& line, const GraphEvent& exit,
                            uint64_t duration_ns) {
  Cpu& cpu = cpu_of(line.ring);
  bool is_known = true;
  cpu.depth = exit.depth - 1;
  if (exit.depth >= 0 && exit.depth < kDepths)
    is_known = std::exchange(cpu.entered[size_t(exit.depth)], 0) == exit.func;
  put_start(out, line);
  put_duration(out, duration_ns);
  put_indent(out, exit.depth);
  const bool retval = has_retval(exit);
  *out += '}';
  if (retval || !is_known || has(TraceOption::kFuncgraphTail)) {
    *out += " /* ";
    *out += name_of(exit.func);
    if (retval) put_retval(out, exit);
    *out += " */";
  }
  *out += '\n';
  if (!has(TraceOption::kFuncgraphOverrun)) return;
  *out += " (Overruns: ";
  put_number(out, exit.overrun);
  *out += ")\n";
}

// print_graph_comment()
void GraphText::append_comment(std::string* out, const GraphLine& line, std::string_view text) {
  put_start(out, line);
  put_no_duration(out);
  const int32_t depth = cpu_of(line.ring).depth;
  if (depth > 0) put_indent(out, depth + 1);
  *out += "/* ";
  *out += text;
  *out += " */\n";
}

}  // namespace patchbay
