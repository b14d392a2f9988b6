// SPDX-License-Identifier: MIT
//
// patchbay graph: the calls of a function_graph recording as a tree, with counts and times.
#include <getopt.h>
#include <unistd.h>

#include <charconv>
#include <set>

#include "call_tree.h"
#include "commands.h"
#include "graph_source.h"
#include "graph_text.h"
#include "output/trace_line.h"
#include "symbol/symbol.h"
#include "tracefs_command.h"

namespace patchbay::cmd {
namespace {

constexpr char kHelp[] =
    "Usage: patchbay graph [-i FILE] [OPTION...] [FUNC]\n"
    "       patchbay graph [OPTION...] FILE [FUNC]\n\n"
    "Prints who called whom in a recording of the function_graph tracer: for each path of calls\n"
    "its time with and without what it called, the number of calls, and the average, least and\n"
    "most time of one.\n\n"
    "  FUNC                below FUNC only (a glob), with the ways that led to it\n"
    "  -i, --input FILE    as patchbay report takes it; default trace.dat\n"
    "      --callers FUNC  upside down: FUNC, and below it who called it\n"
    "      --flat          sums by function, without a tree\n"
    "      --per-thread    a tree for each thread\n"
    "      --tid TID       this thread only; any number of them\n"
    "  -B, --buffer NAME   this instance only\n"
    "  -D, --depth N       N levels only\n"
    "  -t, --time TIME     only what took TIME in all or longer: 20us, 1.5ms, 3s\n"
    "  -s, --sort KEY      total (default), self, or calls\n\n"
    "Example: patchbay record -p function_graph -- ./prog && patchbay graph\n";

constexpr int kCallers = 1001, kFlat = 1002, kPerThread = 1003, kTid = 1004;

struct GraphOptions {
  std::string input = "trace.dat", function, callers, buffer;
  bool flat = false, per_thread = false, one_buffer = false;
  std::set<int32_t> tids;
  GraphTextOptions text;
};

// --- command line

bool parse_number(std::string_view text, uint32_t* number) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size() && *number > 0;
}

// Null when the option is right, else the sentence about it.
const char* take_option(int letter, const std::string& value, GraphOptions* options) {
  int tid = 0;
  switch (letter) {
    case 'i':
      options->input = value;
      return nullptr;
    case 'B':
      options->buffer = value;
      options->one_buffer = true;
      return nullptr;
    case 'D':
      return parse_number(value, &options->text.depth) ? nullptr : "-D takes a number of levels.";
    case 't':
      return parse_time(value, &options->text.least_ns) ? nullptr
                                                        : "-t takes a time: 20us, 1.5ms, 3s.";
    case 's':
      options->text.sort = value == "self"    ? GraphSort::kSelf
                           : value == "calls" ? GraphSort::kCalls
                                              : GraphSort::kTotal;
      return value == "self" || value == "calls" || value == "total"
                 ? nullptr
                 : "-s takes total, self or calls.";
    case kCallers:
      options->callers = value;
      return nullptr;
    case kFlat:
      options->flat = true;
      return nullptr;
    case kPerThread:
      options->per_thread = true;
      return nullptr;
    default:
      if (!parse_pid(value, &tid)) return "--tid takes a thread id.";
      options->tids.insert(tid);
      return nullptr;
  }
}

// A function may be called as a file is, but not as one with records in it.
bool is_recording(const std::string& word) {
  return ::access(word.c_str(), F_OK) == 0 && open_trace_input(word).ok();
}

bool parse_command_line(int argc, char** argv, GraphOptions* options, int* status) {
  static const option kOptions[] = {{"input", required_argument, nullptr, 'i'},
                                    {"callers", required_argument, nullptr, kCallers},
                                    {"flat", no_argument, nullptr, kFlat},
                                    {"per-thread", no_argument, nullptr, kPerThread},
                                    {"tid", required_argument, nullptr, kTid},
                                    {"buffer", required_argument, nullptr, 'B'},
                                    {"depth", required_argument, nullptr, 'D'},
                                    {"time", required_argument, nullptr, 't'},
                                    {"sort", required_argument, nullptr, 's'},
                                    {"help", no_argument, nullptr, 'h'},
                                    {}};
  ::opterr = 0;
  for (int letter; (letter = ::getopt_long(argc, argv, "i:B:D:t:s:h", kOptions, nullptr)) != -1;) {
    if (letter == 'h') return std::fputs(kHelp, stdout), *status = kOk, false;
    if (letter == '?') return *status = bad_option("graph", argv), false;
    if (const char* wrong = take_option(letter, ::optarg ? ::optarg : "", options))
      return *status = usage_error("graph", wrong), false;
  }
  if (::optind < argc && options->input == "trace.dat" && is_recording(argv[::optind]))
    options->input = argv[::optind++];
  if (::optind < argc) options->function = argv[::optind++];
  if (::optind < argc)
    return *status = usage_error("graph", "'" + std::string(argv[::optind]) + "' is too much."),
           false;
  int kinds = options->flat + !options->callers.empty() + !options->function.empty();
  if (kinds <= 1) return true;
  return *status = usage_error("graph", "FUNC, --callers and --flat exclude each other."), false;
}

// --- output

void print_tree(const CallTree& tree, const GraphOptions& options) {
  auto wanted_by = [&](const std::string& glob) {
    return [&](uint64_t func) { return function_fits(glob, options.text.name_of(func)); };
  };
  std::string text;
  if (options.flat) {
    text = graph_head() + flat_text(tree, options.text);
  } else if (!options.callers.empty()) {
    text = graph_head() + graph_text(tree.callers(wanted_by(options.callers)), options.text);
  } else if (!options.function.empty()) {
    text = "# ways to " + options.function + "\n" +
           ways_text(tree.ways(wanted_by(options.function)), options.text) + "#\n" + graph_head() +
           graph_text(tree.below(wanted_by(options.function)), options.text);
  } else {
    text = graph_head() + graph_text(tree, options.text);
  }
  std::fwrite(text.data(), 1, text.size(), stdout);
}

// A sentence when FUNC is in none of the trees.
std::string not_called(const std::string& glob, const std::map<int32_t, CallTree>& trees,
                       GraphSource& source) {
  std::set<std::string> names;
  for (const auto& [tid, tree] : trees)
    for (uint32_t i = 1; i < tree.size(); i++)
      names.insert(source.function_name(tree.node(i).func));
  for (const std::string& name : names)
    if (function_fits(glob, name)) return "";
  std::string sentence = "No call of '" + glob + "' is in the recording";
  std::vector<std::string> near =
      near_matches(glob, std::vector<std::string_view>(names.begin(), names.end()));
  for (size_t i = 0; i < near.size(); i++) sentence += (i == 0 ? "; near: " : ", ") + near[i];
  return sentence + ".";
}

struct BufferGraph {
  CallTreeBuilder builder{false};
  PairingTotals totals;
  size_t threads = 0;
};

Result<BufferGraph> read_buffer(GraphSource& source, size_t buffer, const GraphOptions& options) {
  BufferGraph graph;
  graph.builder = CallTreeBuilder(options.per_thread);
  CallPairing pairing(&graph.builder);
  PB_TRY(source.walk(buffer, [&](const MergedEvent&, const GraphRecord& record) {
    if (options.tids.empty() || options.tids.contains(record.tid)) pairing.take(record);
  }));
  pairing.finish();
  graph.totals = pairing.totals();
  graph.threads = pairing.threads();
  return graph;
}

void print_head(GraphSource& source, size_t buffer, const BufferGraph& graph) {
  std::string name;
  append_escaped(&name, source.buffer_name(buffer));
  if (!name.empty()) std::printf("# instance: %s\n", name.c_str());
  std::printf("# calls: %llu in %zu thread%s\n",
              static_cast<unsigned long long>(graph.totals.calls), graph.threads,
              graph.threads == 1 ? "" : "s");
}

int graph(GraphOptions& options) {
  auto source = GraphSource::open(options.input);
  if (!source.ok()) return fail("graph", source.error());
  (*source)->show_progress("graph");
  options.text.name_of = [&](uint64_t func) { return (*source)->function_name(func); };
  PairingTotals totals;
  std::string missing =
      "There are no records of the function_graph tracer in " + (*source)->path() + ".";
  for (size_t i = 0; i < (*source)->nr_buffers(); i++) {
    if (options.one_buffer && (*source)->buffer_name(i) != options.buffer) continue;
    auto graph = read_buffer(**source, i, options);
    if (!graph.ok()) return fail("graph", graph.error());
    if (graph->totals.calls == 0) continue;
    const std::string& glob = options.callers.empty() ? options.function : options.callers;
    missing = glob.empty() ? "" : not_called(glob, graph->builder.trees(), **source);
    if (!missing.empty()) continue;
    print_head(**source, i, *graph);
    for (const auto& [tid, tree] : graph->builder.trees()) {
      if (options.per_thread) std::printf("# thread: %s\n", (*source)->thread_name(tid).c_str());
      print_tree(tree, options);
    }
    totals += graph->totals;
  }
  std::fflush(stdout);
  print_graph_notes("graph", (*source)->losses(), totals);
  return totals.calls ? kOk : fail("graph", missing);
}

}  // namespace

int run_graph(int argc, char** argv) {
  GraphOptions options;
  int status = kOk;
  return parse_command_line(argc, argv, &options, &status) ? graph(options) : status;
}

}  // namespace patchbay::cmd
