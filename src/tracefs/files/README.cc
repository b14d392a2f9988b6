// SPDX-License-Identifier: MIT
// README: what stands in this tree, and the commands that it takes. Tools and tests look for some
// of its words to learn which features there are (spec: ftrace.md 12.6): a sentence stands here
// only when what it says works.
#include "tracefs/files/files.h"

namespace patchbay::tracefs {
namespace {

constexpr const char kText[] =
    "patchbay mini-HOWTO:\n\n"
    "This is the tracefs of one process: what it says of the kernel is true of that process.\n"
    "Files belong to the user of the process. A mount can give them to a group:\n\n"
    "\t patchbay mount [-o [gid=<gid>]] -p PID DIR\n\n"
    "# echo 0 > tracing_on : stop recording\n"
    "# echo 1 > tracing_on : go on\n\n"
    " Important files:\n"
    "  trace\t\t\t- the events as text; reading does not consume them\n"
    "\t\t\t  echo > trace clears the buffer\n"
    "  trace_pipe\t\t- the events as text, consumed as they are read\n"
    "  current_tracer\t- the tracer in use; available_tracers lists them\n"
    "  error_log\t\t- the newest commands that failed, and where\n"
    "  buffer_size_kb\t- size of one CPU's buffer, read and written\n"
    "  buffer_total_size_kb\t- size of all of them\n"
    "  buffer_subbuf_size_kb\t- size of a sub-buffer: no event is larger\n"
    "  buffer_percent\t- how full a buffer wakes readers of trace_pipe_raw\n"
    "  free_buffer\t\t- shrinks the buffer when it is closed\n\n"
    "  trace_clock\t\t- the clock of the events\n"
    "       local, global, perf, mono: CLOCK_MONOTONIC    mono_raw, boot, tai: these clocks\n"
    "       counter: numbers the events    uptime: ticks since boot    x86-tsc: cycles\n"
    "  timestamp_mode\t- how events carry their time\n"
    "  trace_marker\t\t- what is written becomes an event\n"
    "  trace_marker_raw\t- the same with binary data, which begins with a number\n"
    "  tracing_cpumask\t- the CPUs that record\n"
    "  instances\t\t- mkdir instances/NAME makes a buffer of its own, rmdir removes it\n"
    "  trace_options\t\t- NAME sets an option, noNAME clears it; options/ has a file for each\n"
    "  saved_cmdlines\t- names of threads by their ids; saved_cmdlines_size of them\n"
    "  saved_tgids\t\t- processes of threads, with the option record-tgid\n"
    "  snapshot\t\t- a second buffer that holds a copy of a moment; read it to learn more\n"
    "  per_cpu/\t\t- trace, trace_pipe, trace_pipe_raw, stats, snapshot of each CPU\n\n"
    "  available_events\t- events that exist, SYSTEM:EVENT\n"
    "  set_event\t\t- enables the events whose names are written, disables with ! before one\n"
    "\t\t\t  Can enable module events via: :mod:<library>\n"
    "  set_event_pid\t\t- only these threads record events\n"
    "  set_event_notrace_pid\t- these threads do not\n"
    "  show_event_filters\t- events that have a filter\n"
    "  events/\t\t- enable, filter, format, id and inject of each event\n"
    "      enable\t\t- 0 or 1; X: some of the events below are enabled\n"
    "      filter\t\t- which records are kept: FIELD OP VALUE, with && || ! and parentheses\n"
    "      inject\t\t- FIELD=VALUE ... makes one record\n\n"
    "  function_events\t- events on functions of the program, and the last errors\n"
    "\t\t\t  echo 'FUNC(TYPE NAME, ...)' >> function_events\n"
    "\t\t\t  echo '!FUNC' >> function_events removes one\n"
    "  available_filter_functions - functions that can be traced\n\n"
    "  dynamic_events\t- Create/append/remove/show events of all the kinds below\n"
    "  kprobe_events\t\t- Create/append/remove/show probes on the program's code (p, r)\n"
    "  uprobe_events\t\t- Create/append/remove/show probes on places of files\n"
    "\t  accepts: definitions, one on a line:\n"
    "\t   Format: p[:[<group>/][<event>]] <place> [<args>]\n"
    "\t           r[maxactive][:[<group>/][<event>]] <place> [<args>]\n"
    "\t           f[:[<group>/][<event>]] <func-name>[%return] [<args>]\n"
    "\t           t[:[<group>/][<event>]] <tracepoint> [<args>]\n"
    "\t           e[:[<group>/][<event>]] <attached-group>.<attached-event> [<args>] "
    "[if <filter>]\n"
    "\t           s:[synthetic/]<event> <field> [<field>]\n"
    "\t           -:[<group>/][<event>]\n"
    "\t    place: [<module>:]<symbol>[+<offset>]|<memaddr>, a module is a library\n"
    "\tplace (kretprobe): [<module>:]<symbol>[+<offset>]%return|<memaddr>\n"
    "\tplace (uprobe): <path>:<offset>[%return][(ref_ctr_offset)]\n"
    "\t     args: <name>=fetcharg[:type]\n"
    "\t fetcharg: %<register>, $<field> of an event, $stack<index>, $stack, $retval, $comm,\n"
    "\t           $arg<N> with N 1 to 6, @<address>, @<symbol>[+|-<offset>], @+<file-offset>,\n"
    "\t           +|-[u]<offset>(<fetcharg>), \\imm-value, \\\"imm-string\"\n"
    "\t     kernel return probes support: $retval, $arg<N>, $comm\n"
    "\t     type: s8/16/32/64, u8/16/32/64, x8/16/32/64, char, string, ustring, symbol, symstr,\n"
    "\t           b<bit-width>@<bit-offset>/<container-size>, <type>\\[<array-size>\\]\n"
    "  synthetic_events\t- Create/append/remove/show synthetic events\n"
    "\t  Write into this file to define/undefine new synthetic events.\n"
    "\t     example: echo 'myevent u64 lat; char name[]; long[] stack' >> synthetic_events\n"
    "  synthetic_events\t- Create/append/remove/show events that are made of others\n"
    "\t\t\t  echo 'NAME u64 lat; char[] comm' >> synthetic_events\n"
    "  kprobe_profile\t- hits and misses of each line of kprobe_events\n"
    "  uprobe_profile\t- hits of each line of uprobe_events\n"
    "  kprobes/list\t\t- where probes are, and how; [OPTIMIZED] ones are jumps\n"
    "  kprobes/enabled\t- 0 takes all of kprobe_events out of the code, 1 puts them back\n"
    "  kprobes/blacklist\t- functions that no probe can be put on, with the reason\n\n"
    "  debug/call_sites\t- places in the program's code that are patched\n"
    "  debug/counters\t- hits that could not be recorded\n"
    "  debug/no_rseq_stats\t- as per_cpu/cpuN/stats, of threads without restartable sequences\n"
    "  debug/refused_functions - functions that cannot be traced, with the reason\n";

}  // namespace

FilePtr make_readme(const Place& place) {
  return make_text_file(
      place, [](TraceArray&, const Place&) -> Result<std::string> { return std::string(kText); });
}

}  // namespace patchbay::tracefs
