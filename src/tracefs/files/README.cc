// SPDX-License-Identifier: MIT
// README: what stands in this tree, and the few commands that it takes.
#include "tracefs/files/files.h"

namespace patchbay::tracefs {
namespace {

constexpr const char kText[] =
    "patchbay mini-HOWTO:\n\n"
    "# echo 'FUNC(TYPE NAME, ...)' >> function_events : define an event on a function's entry\n"
    "# echo '!FUNC' >> function_events : remove one event    # echo > function_events : remove "
    "all\n"
    "# echo 1 > events/functions/FUNC/enable : record it\n"
    "# echo 0 > tracing_on : stop recording    # echo 1 > tracing_on : go on\n\n"
    "  available_events\t\t- events that exist, SYSTEM:EVENT\n"
    "  available_filter_functions\t- functions that can be traced, with the kind of call site\n"
    "  buffer_size_kb\t\t- size of the buffer of one CPU\n"
    "  buffer_total_size_kb\t\t- size of all of them\n"
    "  events/\t\t\t- enable, format and id of each event\n"
    "  function_events\t\t- definitions of events on functions, and the last errors\n"
    "  per_cpu/cpuN/stats\t\t- counts of events, and of lost ones, of one CPU\n"
    "  saved_cmdlines\t\t- names of threads by their ids\n"
    "  set_event\t\t\t- enable with SYSTEM:EVENT, disable with !SYSTEM:EVENT\n"
    "  tracing_on\t\t\t- 0 or 1\n"
    "  debug/call_sites\t\t- places in the program's code that are patched\n"
    "  debug/counters\t\t- hits that could not be recorded\n"
    "  debug/no_rseq_stats\t\t- as per_cpu/cpuN/stats, of threads without restartable sequences\n"
    "  debug/refused_functions\t- functions that cannot be traced, with the reason\n";

}  // namespace

FilePtr make_readme(const TreeContext&) {
  return make_text_file([]() -> Result<std::string> { return std::string(kText); });
}

}  // namespace patchbay::tracefs
