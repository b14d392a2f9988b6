// SPDX-License-Identifier: MIT
#include "output/line_columns.h"

#include <sys/utsname.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "output/graph_text.h"
#include "output/text_put.h"
#include "ring_buffer/buffer_file.h"

namespace patchbay {

namespace {

// trace_print_lat_fmt(): five characters.
char* write_flags(char* at, uint8_t flags, uint8_t preempt) {
  bool irqs_off = flags & 0x01, bh_off = flags & 0x80;
  bool nmi = flags & 0x40, hard = flags & 0x08, soft = flags & 0x10;
  static constexpr char kResched[] = ".lnbpLNB";  // lazy 1, need 2, preempt 4
  static constexpr char kDepth[] = ".123456789abcdef";
  const char text[5] = {
      irqs_off && bh_off ? 'D'
      : irqs_off         ? 'd'
      : bh_off           ? 'b'
                         : '.',
      kResched[(flags & 0x02 ? 1 : 0) | (flags & 0x04 ? 2 : 0) | (flags & 0x20 ? 4 : 0)],
      nmi && hard    ? 'Z'
      : nmi          ? 'z'
      : hard && soft ? 'H'
      : hard         ? 'h'
      : soft         ? 's'
                     : '.',
      kDepth[preempt & 15], kDepth[preempt >> 4]};
  std::memcpy(at, text, sizeof text);
  return at + sizeof text;
}

// At most 22 characters.
char* write_seconds(char* at, uint64_t ns) {
  const uint64_t us = ns / 1000 + (ns % 1000 >= 500), seconds = us / 1000000;
  const int digits = count_digits(seconds);
  for (int i = digits; i < 5; i++) *at++ = ' ';
  at = put_digits(at, seconds, digits);
  *at++ = '.';
  return put_digits(at, us % 1000000, 6);
}

// At most 13 characters.
char* write_cpu(char* at, uint32_t cpu) {
  *at++ = '[';
  at = put_digits(at, cpu, std::max(3, count_digits(cpu)));
  *at++ = ']';
  *at++ = ' ';
  return at;
}

// At most 43 characters.
char* write_place_and_time(char* at, uint32_t cpu, uint8_t flags, uint8_t preempt, uint64_t ns) {
  at = write_flags(write_cpu(at, cpu), flags, preempt);
  *at++ = ' ';
  at = write_seconds(at, ns);
  *at++ = ':';
  *at++ = ' ';
  return at;
}

void put_task_column(Pieces* pieces, std::string_view comm, int32_t pid) {
  constexpr std::string_view kBlanks = "                ";
  if (comm.size() < 16) pieces->put(kBlanks.substr(comm.size()));
  pieces->put(comm);
  pieces->put('-');
  pieces->put_signed(pid);
  const size_t length = size_t(count_digits(uint64_t(std::abs(int64_t{pid})))) + (pid < 0);
  pieces->put(kBlanks.substr(0, 1 + (length < 7 ? 7 - length : 0)));
}

}  // namespace

void put_flags(std::string* out, uint8_t flags, uint8_t preempt) {
  char text[8];
  out->append(text, size_t(write_flags(text, flags, preempt) - text));
}

void put_seconds(std::string* out, uint64_t ns) {
  char text[32];
  out->append(text, size_t(write_seconds(text, ns) - text));
}

void put_place_and_time(std::string* out, uint32_t cpu, uint8_t flags, uint8_t preempt,
                        uint64_t ns) {
  char text[64];
  out->append(text, size_t(write_place_and_time(text, cpu, flags, preempt, ns) - text));
}

// trace_find_mark()
char duration_mark(uint64_t ns) {
  struct Row {
    uint64_t above;
    char mark;
  };
  static constexpr Row kRows[] = {{1000000000, '$'}, {100000000, '@'}, {10000000, '*'},
                                  {1000000, '#'},    {100000, '!'},    {10000, '+'}};
  for (const Row& row : kRows)
    if (ns > row.above) return row.mark;
  return ' ';
}

namespace {

void put_left(std::string* out, int64_t number, size_t width) {
  size_t start = out->size();
  put_number(out, number);
  if (out->size() - start < width) out->append(width - (out->size() - start), ' ');
}

void put_right(std::string* out, int64_t number, size_t width) {
  char digits[24];
  size_t length = size_t(std::to_chars(digits, digits + sizeof digits, number).ptr - digits);
  if (length < width) out->append(width - length, ' ');
  out->append(digits, length);
}

}  // namespace

void put_task(std::string* out, std::string_view comm, int32_t pid) {
  Pieces pieces(out);
  put_task_column(&pieces, comm, pid);
}

void put_columns(std::string* out, std::string_view comm, const abi::RecordHeader& header,
                 uint32_t cpu, uint64_t ns) {
  Pieces pieces(out);
  put_task_column(&pieces, comm, header.common_pid);
  char text[64];
  const char* end =
      write_place_and_time(text, cpu, header.common_flags, header.common_preempt_count, ns);
  pieces.put({text, size_t(end - text)});
}

void put_cpu(std::string* out, uint32_t cpu) {
  char text[16];
  out->append(text, size_t(write_cpu(text, cpu) - text));
}

void put_lost(std::string* out, uint32_t cpu, uint64_t lost) {
  *out += "CPU:";
  put_number(out, cpu);
  *out += " [LOST ";
  if (lost != kLostUnknown) {
    put_number(out, lost);
    *out += ' ';
  }
  *out += "EVENTS]\n";
}

namespace {

void put_counts(std::string* out, const HeaderCounts& counts) {
  *out += "# entries-in-buffer/entries-written: ";
  put_number(out, counts.entries);
  *out += '/';
  put_number(out, counts.written);
  *out += "   #P:";
  put_number(out, counts.nr_cpus);
  *out += "\n#\n";
}

// print_func_help_header_irq(), print_func_help_header()
void put_column_names(std::string* out, bool irq_info, bool tgid) {
  static constexpr std::string_view kFlags[] = {
      "                            _-----=> irqs-off/BH-disabled\n",
      "                           / _----=> need-resched\n",
      "                          | / _---=> hardirq/softirq\n",
      "                          || / _--=> preempt-depth\n",
      "                          ||| / _-=> migrate-disable\n",
      "                          |||| /     delay\n"};
  for (std::string_view line : kFlags) {
    if (!irq_info) break;
    *out += tgid ? "#              " : "#    ";
    *out += line;
  }
  *out += tgid ? "#           TASK-PID       TGID    CPU#  " : "#           TASK-PID     CPU#  ";
  *out += irq_info ? "|||||  TIMESTAMP  FUNCTION\n" : "   TIMESTAMP  FUNCTION\n";
  *out += tgid ? "#              | |           |       |   " : "#              | |         |   ";
  *out += irq_info ? "|||||     |         |\n" : "      |         |\n";
}

// print_trace_header()
void put_latency_header(std::string* out, const HeaderCounts& counts, std::string_view tracer) {
  utsname system{};
  ::uname(&system);
  *out += "# ";
  *out += tracer;
  *out += " latency trace v1.1.5 on ";
  *out += system.release;
  *out += "\n# --------------------------------------------------------------------\n";
  *out += "# latency: 0 us, #";
  put_number(out, counts.entries);
  *out += '/';
  put_number(out, counts.written);
  *out += ", CPU#0 | (M:desktop VP:0, KP:0, SP:0 HP:0 #P:";
  put_number(out, counts.nr_cpus);
  *out +=
      ")\n"
      "#    -----------------\n"
      "#    | task: -0 (uid:0 nice:0 policy:0 rt_prio:0)\n"
      "#    -----------------\n"
      "#\n";
}

// print_lat_help_header()
void put_latency_columns_help(std::string* out) {
  *out +=
      "#                    _------=> CPU#            \n"
      "#                   / _-----=> irqs-off/BH-disabled\n"
      "#                  | / _----=> need-resched    \n"
      "#                  || / _---=> hardirq/softirq \n"
      "#                  ||| / _--=> preempt-depth   \n"
      "#                  |||| / _-=> migrate-disable \n"
      "#                  ||||| /     delay           \n"
      "#  cmd     pid     |||||| time  |   caller     \n"
      "#     \\   /        ||||||  \\    |    /       \n";
}

}  // namespace

// trace_default_header(), print_graph_headers()
void put_header(std::string* out, const TraceOptions& options, bool latency_format,
                const HeaderCounts& counts, std::string_view tracer) {
  *out += "# tracer: ";
  *out += tracer;
  *out += "\n#\n";
  if (!options[TraceOption::kContextInfo]) return;
  const bool verbose = options[TraceOption::kVerbose], graph = tracer == "function_graph";
  if (latency_format) {
    if (!counts.entries) return;
    put_latency_header(out, counts, tracer);
    if (!graph && !verbose) put_latency_columns_help(out);
  }
  if (graph) return GraphText::put_header(out, options);
  if (latency_format || verbose) return;
  put_counts(out, counts);
  put_column_names(out, options[TraceOption::kIrqInfo], options[TraceOption::kRecordTgid]);
}

namespace {

uint64_t microseconds(uint64_t ns) { return ns / 1000 + (ns % 1000 >= 500); }

void put_milliseconds(std::string* out, uint64_t us) {
  put_number(out, us / 1000);
  *out += '.';
  put_padded(out, us % 1000, 3, '0');
  *out += "ms";
}

void put_verbose_time(std::string* out, const LatencyLine& line) {
  uint64_t since = line.time - line.start, until_next = line.next - line.time;
  *out += '[';
  put_padded(out, line.in_ns ? microseconds(line.time) : line.time, line.in_ns ? 8 : 16, '0', 16);
  *out += "] ";
  if (line.in_ns) {
    put_milliseconds(out, microseconds(since));
    *out += " (+";
    put_milliseconds(out, microseconds(until_next));
  } else {
    put_number(out, int64_t(since));
    *out += " (+";
    put_number(out, int64_t(until_next));
  }
  *out += "): ";
}

}  // namespace

// trace_print_lat_context(), lat_print_timestamp()
void put_latency_columns(std::string* out, const abi::RecordHeader& header,
                         const LatencyLine& line) {
  if (line.verbose) {
    if (line.comm.size() < 16) out->append(16 - line.comm.size(), ' ');
    *out += line.comm;
    *out += ' ';
    put_right(out, header.common_pid, 7);
    *out += ' ';
    put_padded(out, line.cpu, 3, ' ');
    *out += ' ';
    put_number(out, unsigned(header.common_flags));
    *out += ' ';
    put_padded(out, header.common_preempt_count & 15u, 8, '0', 16);
    *out += ' ';
    put_padded(out, line.index, 8, '0', 16);
    *out += ' ';
    return put_verbose_time(out, line);
  }
  std::string_view comm = line.comm.substr(0, 8);
  out->append(8 - comm.size(), ' ');
  *out += comm;
  *out += '-';
  put_left(out, header.common_pid, 7);
  *out += ' ';
  put_padded(out, line.cpu, 3, ' ');
  put_flags(out, header.common_flags, header.common_preempt_count);
  *out += ' ';
  uint64_t since = line.time - line.start;
  if (line.in_ns) {
    put_padded(out, microseconds(since), 4, ' ');
    *out += "us";
    *out += duration_mark(microseconds(line.next - line.time) * 1000);
  } else {
    put_padded(out, since, 4, ' ');
  }
  *out += ": ";
}

}  // namespace patchbay
