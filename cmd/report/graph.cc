// SPDX-License-Identifier: MIT
//
// patchbay graph: the calls of a function_graph recording as a tree, with counts and times.
#include <unistd.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "cmd/common/commands.h"
#include "cmd/common/run_time.h"
#include "cmd/common/who_options.h"
#include "cmd/report/call_groups.h"
#include "cmd/report/call_tree.h"
#include "cmd/report/graph_source.h"
#include "cmd/report/graph_text.h"
#include "output/trace_line.h"
#include "symbol/symbol.h"

namespace patchbay::cmd {
namespace {

constexpr int kCallers = kFirstOptionId, kFlat = kCallers + 1, kPerThread = kCallers + 2,
              kJson = kCallers + 3, kBy = kCallers + 4;
constexpr Option kOptions[] = {
    {.letter = 'i',
     .name = "input",
     .argument = "FILE",
     .help = "reads FILE instead of trace.dat; it may be what patchbay report takes"},
    {.name = "callers",
     .argument = "FUNC",
     .help = "turns the tree upside down: FUNC, and below each line who called it",
     .more = "Times are those that FUNC took on this way.",
     .id = kCallers},
    {.name = "flat",
     .help = "prints sums by function, without a tree",
     .more = "The time of a function within itself counts once.",
     .id = kFlat},
    {.name = "per-thread", .help = "prints a tree for each thread", .id = kPerThread},
    {.name = "by",
     .argument = "exe|comm|pid|tid",
     .help = "prints a tree for each program, name of a thread, process or thread",
     .more = "A call counts for the program in which it began.",
     .id = kBy},
    {.letter = 'B',
     .name = "buffer",
     .argument = "NAME",
     .help = "shows this instance only",
     .more = "Otherwise each instance has its tree."},
    {.letter = 'D', .name = "depth", .argument = "N", .help = "shows N levels only"},
    {.letter = 'T',
     .name = "time",
     .argument = "TIME",
     .help = "shows only what took TIME in all or longer: 20us, 1.5ms, 3s, 250 (nanoseconds)"},
    {.letter = 's',
     .name = "sort",
     .argument = "total|self|calls",
     .help = "sorts the lines of one level; the default is total"},
    {.name = "json",
     .help = "prints one JSON object a line, with times in nanoseconds",
     .more = "kind says what a line is: call and caller have an id, the id of their parent line "
             "(null: outermost) and their depth; way has functions, the outermost first; function "
             "is a sum of --flat. Of a recording with sched:sched_switch (record -k) each has "
             "on_cpu_ns, self_on_cpu_ns and off_cpu_ns, and in off_cpu_unsure the calls for which "
             "switches are missing.",
     .id = kJson},
    {.letter = 't', .argument = "TIME", .id = 'T', .kind = Option::Kind::kOldSpelling},
};

struct GraphOptions {
  std::string input = "trace.dat", function, callers, buffer;
  bool flat = false, per_thread = false, one_buffer = false, json = false;
  GroupBy by = GroupBy::kNone;
  WhoChoice who;
  GraphTextOptions text;
};

// --- command line

// Null when the option is right, else the sentence about it.
const char* take_option(int id, const std::string& value, GraphOptions* options) {
  switch (id) {
    case 'i':
      options->input = value;
      return nullptr;
    case 'B':
      options->buffer = value;
      options->one_buffer = true;
      return nullptr;
    case 'D':
      return parse_positive(value, &options->text.depth) ? nullptr : "-D takes a number of levels.";
    case 'T':
      return parse_time(value, &options->text.least_ns, "ns") ? nullptr
                                                        : "-T takes a time: 20us, 1.5ms, 3s.";
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
    case kJson:
      options->json = true;
      return nullptr;
    case kBy:
      options->by = group_by_of(value);
      return is_group_of_calls(options->by) ? nullptr : "--by takes exe, comm, pid or tid.";
    case kPerThread:
      options->per_thread = true;
      return nullptr;
    default:
      return take_who_option(id, value.c_str(), &options->who);
  }
}

// A function may have the name of a file, but not of a file with records in it.
bool is_recording(const std::string& word) {
  return ::access(word.c_str(), F_OK) == 0 && open_trace_input(word).ok();
}

bool parse_command_line(int argc, char** argv, GraphOptions* options, int* status) {
  const auto take = [&](int id, const char* value) { return take_option(id, value, options); };
  if (const std::optional<int> ended = parse_options(kGraphLine, argc, argv, take))
    return *status = *ended, false;
  if (::optind < argc && options->input == "trace.dat" && is_recording(argv[::optind]))
    options->input = argv[::optind++];
  if (::optind < argc) options->function = argv[::optind++];
  if (::optind < argc) return *status = too_much(kGraphLine, argv), false;
  if (options->by != GroupBy::kNone && options->per_thread)
    return *status = usage_error("graph", "--by and --per-thread exclude each other."), false;
  if (options->per_thread) options->by = GroupBy::kTid;
  int kinds = options->flat + !options->callers.empty() + !options->function.empty();
  if (kinds <= 1) return true;
  return *status = usage_error("graph", "FUNC, --callers and --flat exclude each other."), false;
}

// --- output

CallTree::Wanted wanted_by(const std::string& glob, const GraphOptions& options) {
  return [&](uint64_t func) { return function_fits(glob, options.text.name_of(func)); };
}

// `of`: the members of each line that say whose tree it is.
void print_json(const CallTree& tree, const std::string& of, const GraphOptions& options) {
  const auto head = [&](const char* kind) {
    return "\"kind\": \"" + std::string(kind) + "\", " + of;
  };
  std::string json;
  if (options.flat) {
    json = flat_json(tree, options.text, head("function"));
  } else if (!options.callers.empty()) {
    json =
        graph_json(tree.callers(wanted_by(options.callers, options)), options.text, head("caller"));
  } else if (!options.function.empty()) {
    const CallTree::Wanted wanted = wanted_by(options.function, options);
    json = ways_json(tree.ways(wanted), options.text, head("way")) +
           graph_json(tree.below(wanted), options.text, head("call"));
  } else {
    json = graph_json(tree, options.text, head("call"));
  }
  std::fwrite(json.data(), 1, json.size(), stdout);
}

void print_tree(const CallTree& tree, const GraphOptions& options) {
  std::string text;
  if (options.flat) {
    text = graph_head(options.text) + flat_text(tree, options.text);
  } else if (!options.callers.empty()) {
    text = graph_head(options.text) +
           graph_text(tree.callers(wanted_by(options.callers, options)), options.text);
  } else if (!options.function.empty()) {
    const CallTree::Wanted wanted = wanted_by(options.function, options);
    text = "# ways to " + options.function + "\n" + ways_text(tree.ways(wanted), options.text) +
           "#\n" + graph_head(options.text) + graph_text(tree.below(wanted), options.text);
  } else {
    text = graph_head(options.text) + graph_text(tree, options.text);
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
  explicit BufferGraph(GraphSource* source, GroupBy by) : groups(source, by) {}
  CallGroups groups;
  CallTreeBuilder builder{groups.group_of()};
  PairingTotals totals;
  size_t threads = 0;
};

Result<std::unique_ptr<BufferGraph>> read_buffer(GraphSource& source, size_t buffer,
                                                 const GraphOptions& options) {
  auto graph = std::make_unique<BufferGraph>(&source, options.by);
  CallPairing pairing(&graph->builder, source.off_cpu());
  PB_TRY(source.walk(buffer, [&](const MergedEvent&, const GraphRecord& record) {
    if (source.is_chosen()) pairing.take(record);
  }));
  pairing.finish();
  graph->totals = pairing.totals();
  graph->threads = pairing.threads();
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

void print_buffer(GraphSource& source, size_t buffer, BufferGraph& graph,
                  const GraphOptions& options) {
  if (!options.json) print_head(source, buffer, graph);
  for (const auto& [group, tree] : graph.builder.trees()) {
    if (options.json) {
      print_json(tree,
                 "\"instance\": " + json_quote(source.buffer_name(buffer)) + ", " +
                     graph.groups.json_of(group),
                 options);
      continue;
    }
    if (options.by != GroupBy::kNone) std::printf("# %s\n", graph.groups.title_of(group).c_str());
    print_tree(tree, options);
  }
}

int graph(GraphOptions& options) {
  auto source = GraphSource::open(options.input);
  if (!source.ok()) return fail("graph", source.error());
  (*source)->show_progress("graph");
  (*source)->choose(options.who);
  options.text.name_of = [&](uint64_t func) { return (*source)->function_name(func); };
  options.text.off_cpu = (*source)->off_cpu() != nullptr;
  PairingTotals totals;
  std::string missing = "There are no records of the function_graph tracer in " +
                        (*source)->path() + (*source)->of_chosen() + ".";
  for (size_t i = 0; i < (*source)->nr_buffers(); i++) {
    if (options.one_buffer && (*source)->buffer_name(i) != options.buffer) continue;
    auto graph = read_buffer(**source, i, options);
    if (!graph.ok()) return fail("graph", graph.error());
    if ((*graph)->totals.calls == 0) continue;
    const std::string& glob = options.callers.empty() ? options.function : options.callers;
    missing = glob.empty() ? "" : not_called(glob, (*graph)->builder.trees(), **source);
    if (!missing.empty()) continue;
    print_buffer(**source, i, **graph, options);
    totals += (*graph)->totals;
  }
  std::fflush(stdout);
  print_graph_notes("graph", (*source)->losses(), totals);
  return totals.calls ? kOk : fail("graph", missing);
}

}  // namespace

constexpr CommandLine kGraphLine = {
    .name = "graph",
    .summary = "print the calls of a function_graph recording as a tree",
    .synopsis =
        "graph [-i FILE] [OPTION...] [FUNC]\n"
        "graph [OPTION...] FILE [FUNC]",
    .about = R"(Prints who called whom in a recording of the function_graph tracer: for each path
of calls its time with and without what it called, the number of calls, and the
average, least and most time of one.

Of a recording with the kernel's switches (record -k sched:sched_switch) it also
prints how long each was on the CPU. A ? behind it: switches were lost meanwhile.

With FUNC (a glob) it prints the ways that led to FUNC, then the tree below it.

)",
    .options = {kOptions, kWhoOptions},
    .after = "Example: patchbay record -t function_graph -- ./prog && patchbay graph\n",
    .words = "FILE",
};

int run_graph(int argc, char** argv) {
  GraphOptions options;
  int status = kOk;
  return parse_command_line(argc, argv, &options, &status) ? graph(options) : status;
}

}  // namespace patchbay::cmd
