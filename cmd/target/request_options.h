// SPDX-License-Identifier: MIT
// The options of a TraceRequest: those that record and start share.
#pragma once

#include <algorithm>
#include <array>

#include "cmd/common/options.h"
#include "event/trace_options.h"

namespace patchbay::cmd {

inline constexpr int kTracerId = 't', kMaxGraphDepthId = 2001;
inline constexpr int kOptionWordId = 2100;  // and above: an index of kTraceOptions

inline constexpr Option kRequestOptions[] = {
    {.letter = 'e',
     .name = "event",
     .argument = "EVENT",
     .help = "records EVENT",
     .more =
         "'FUNC(ARGS)' is a function and its arguments, see patchbay(1); of a library that the "
         "program loads later it is written 'LIB:FUNC(ARGS)', and waits until the library comes. "
         "'FUNC(*)' is a function with all the arguments that its debug information knows: a "
         "probe, where some are structures; an event for each overload, where they differ. With "
         "its result in front, 'int fd = open(string path)', it is the whole call. 'PLACE ARG ...' "
         "is a place in the source and variables there, see "
         "patchbay-probe(1). 'p:NAME PLACE ARG ...' is a probe as dynamic_events takes it; so are "
         "r, f, t and e. SYSTEM:EVENT, SYSTEM and EVENT are events that the program has, as "
         "`patchbay list events` shows them; they may be globs. `all` means all of them. A name or "
         "a glob that no event has means functions: malloc, 'libfoo:parse*', 'ns::Class::*' (at "
         "most 1000). Their arguments are known from debug information, or from a file of "
         "prototypes; `patchbay probe --prototype FUNC` shows them. A declaration of C, as a "
         "header has it, is a function and its arguments as well.",
     .group = "What is recorded",
     .repeats = true},
    {.letter = 'f',
     .name = "filter",
     .argument = "FILTER",
     .help = "records the events of the -e before it only when FILTER is true: 'flags & 2 && path "
             "~ \"/tmp/*\"'",
     .more = "FILTER is what the file `filter` of an event takes.",
     .repeats = true},
    {.letter = 'P',
     .name = "tid",
     .argument = "TID",
     .help = "records this thread only",
     .repeats = true},
    {.letter = 'B',
     .name = "buffer",
     .argument = "NAME",
     .help = "makes the options behind it be about the instance NAME",
     .more = "The instance is made when it does not exist. A recording has the buffer of each.",
     .repeats = true},
    {.letter = 'C', .name = "clock", .argument = "CLOCK", .help = "sets trace_clock"},
    {.letter = 'b',
     .name = "buffer-size",
     .argument = "SIZE",
     .help = "sets the size of the buffer of one CPU: KB, or with a unit, as 512K, 64M, 1G",
     .more = "A program that is started gets 8192 KB without it, and less on a machine with more "
             "than 32 CPUs, or in a control group with little memory left."},
    {.letter = 't',
     .name = "tracer",
     .argument = "TRACER",
     .help = "chooses a tracer: function records every call of a function, function_graph "
             "entries and returns, for patchbay graph, replay and report --flame",
     .more = "Each instance may have one.",
     .group = "Tracers"},
    {.letter = 'l',
     .name = "function",
     .argument = "GLOB",
     .help =
         "makes the tracer trace these functions only: 'db_*', 'ns::Class::*', 'f*:mod:libfoo*'",
     .more =
         "A glob fits the names that available_filter_functions lists, C++ names as they stand "
         "there. GLOB:mod:LIB means those of a library (LIB may be a glob, and an empty GLOB means "
         "all), and :mod:!* means those of the program itself. LIB:GLOB means the same, as for -e, "
         "and prog:* the functions of the program prog. A name without a library means the "
         "program's own function, before a library's, before libc's. When nothing fits, the "
         "program does not run. A library that is not loaded yet is waited for, and what is traced "
         "of it is traced again each time that it comes.",
     .repeats = true},
    {.letter = 'N',
     .name = "notrace",
     .argument = "GLOB",
     .help = "makes the tracer leave out these functions",
     .repeats = true},
    {.letter = 'g',
     .name = "graph-function",
     .argument = "FUNC",
     .help = "makes function_graph trace only FUNC and what it calls",
     .more = "This is set_graph_function, which all instances share.",
     .repeats = true},
    {.name = "max-graph-depth",
     .argument = "N",
     .help = "makes function_graph trace N levels only",
     .id = kMaxGraphDepthId},
    {.letter = 'O',
     .name = "option",
     .argument = "WORD",
     .help =
         "sets a word of trace_options: sym-offset, nofuncgraph-irqs. The words of the tracers "
         "are options themselves: --funcgraph-retval, --func-args, --func_stack_trace and so on",
     .repeats = true},
    {.letter = 'n', .argument = "GLOB", .id = 'N', .kind = Option::Kind::kOldSpelling},
};

// --funcgraph-retval and the other words of the tracers.
constexpr size_t nr_tracer_words() {
  return size_t(std::count_if(kTraceOptions.begin(), kTraceOptions.end(),
                              [](const auto& one) { return one.name.starts_with("func"); }));
}
constexpr std::array<Option, std::size(kRequestOptions) + nr_tracer_words()> request_options() {
  std::array<Option, std::size(kRequestOptions) + nr_tracer_words()> options{};
  size_t count = 0;
  for (const Option& one : kRequestOptions) options[count++] = one;
  for (size_t i = 0; i < kTraceOptions.size(); i++) {
    if (!kTraceOptions[i].name.starts_with("func")) continue;
    options[count].name = kTraceOptions[i].name.data();
    options[count].id = kOptionWordId + int(i);
    options[count++].kind = Option::Kind::kCompleted;
  }
  return options;
}
inline constexpr auto kAllRequestOptions = request_options();

}  // namespace patchbay::cmd
