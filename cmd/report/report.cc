// SPDX-License-Identifier: MIT
//
// patchbay report: events as text, in the columns of the kernel's trace file, or as JSON lines.
// Events, values and order are those of trace-cmd report.
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "cmd/common/commands.h"
#include "cmd/common/pager.h"
#include "cmd/common/trace_input.h"
#include "cmd/common/who_options.h"
#include "cmd/report/report_decoder.h"
#include "cmd/report/report_flame.h"
#include "cmd/report/report_lines.h"
#include "cmd/report/report_print.h"
#include "cmd/report/report_processes.h"

namespace patchbay::cmd {
namespace {

constexpr int kJson = kFirstOptionId, kStat = kJson + 1, kFlame = kJson + 2, kFolded = kJson + 3,
              kPerThread = kJson + 4, kFields = kJson + 5, kRelTime = kJson + 6,
              kDeltaTime = kJson + 7, kNoPager = kJson + 8, kGroup = kJson + 9,
              kProcesses = kJson + 10;
constexpr Option kOptions[] = {
    {.letter = 'i',
     .name = "input",
     .argument = "FILE",
     .help = "reads FILE instead of trace.dat: a trace.dat (of patchbay or trace-cmd), a buffer "
             "file, or a process's directory DIR/PID with its instances and snapshots"},
    {.name = "json",
     .help = "prints one JSON object a line: ts, cpu, pid, comm, event, fields",
     .id = kJson},
    {.name = "fields",
     .argument = "NAME,...",
     .help = "prints these columns only: comm, tid, cpu, flags, time, event, trace (what stands "
             "behind the time), and fields of events",
     .more = "A tab is between them. An event without such a field has a - there.",
     .id = kFields},
    {.letter = 'e',
     .name = "event",
     .argument = "GLOB",
     .help = "prints only events that GLOB fits: EVENT, SYSTEM:EVENT or SYSTEM",
     .more = "All of -e, -f, --from, --until, --cpu, and of the options below, that are given "
             "must be true of an event. The stack of an event is printed with it. Lines about lost "
             "events are printed always.",
     .repeats = true},
    {.letter = 'f',
     .name = "filter",
     .argument = "FILTER",
     .help = "prints only events for which FILTER is true, in the language of the filter files; "
             "events without its fields are left out"},
    {.name = "from",
     .argument = "TIME",
     .help = "leaves out what is earlier: seconds as report shows them, or +1.5s, +20ms, +300us "
             "after the first event",
     .id = report_choice::kFrom},
    {.name = "until",
     .argument = "TIME",
     .help = "leaves out what is later",
     .id = report_choice::kUntil},
    {.name = "cpu",
     .argument = "LIST",
     .help = "prints only events of these CPUs",
     .repeats = true,
     .id = report_choice::kCpu},
    {.name = "reltime", .help = "prints times since the first event", .id = kRelTime},
    {.name = "deltatime",
     .help = "prints times since the event before",
     .more = "Both also count for --json and --fields.",
     .id = kDeltaTime},
    {.name = "group",
     .argument = "tid|pid|comm|exe|cpu|event",
     .help = "prints the lines of each thread (tid), process (pid), name of a thread, program, CPU "
             "or event together, below a line '# == thread 1234 (sh): 56 events =='; with --stat, "
             "counts them",
     .more = "The groups have the order of their first events; --deltatime counts within a group. "
             "The stack of an event stays behind it. A line about lost events is in the group of "
             "the event behind it. With --json only the order of the objects changes. Lines that "
             "do not fit into memory wait in a temporary file in $TMPDIR, or /tmp.",
     .id = kGroup},
    {.name = "no-pager",
     .help = "prints into the terminal itself",
     .more = "Otherwise what is printed to a terminal goes through $PATCHBAY_PAGER, $PAGER or "
             "less(1), with LESS=FRX where LESS is not set. An empty one, or cat, is none.",
     .id = kNoPager},
    {.name = "processes",
     .help = "prints who was recorded: pid, parent, when it began, how long it lasted, events, "
             "lost, command line",
     .more = "A process that has executed another program has a line for each. Times are those of "
             "report; a ~ stands before a time that is only known from the first and the last "
             "event. Programs that were executed and not followed stand below, with the reason.",
     .id = kProcesses},
    {.name = "stat",
     .help = "prints how many events of which kind and on which CPU there are, and what was lost",
     .id = kStat},
    {.name = "flame",
     .argument = "FILE",
     .help = "writes a flame graph of the calls of function_graph, or of stacks, as an SVG for a "
             "browser: a click zooms, Ctrl-F searches",
     .more = "The SVG needs nothing from elsewhere. A frame is as wide as the time of a path of "
             "calls of the function_graph tracer, and its title says calls and time. In a "
             "recording without them, stacks are counted (options stacktrace, func_stack_trace), "
             "or callers and functions of the function tracer. Ctrl-F or Search colours what a "
             "regular expression fits; Escape shows all.",
     .id = kFlame},
    {.name = "folded",
     .help = "prints the same as text: 'main;parse;next 1234', nanoseconds or samples",
     .more = "Each path is a line, with its own nanoseconds or its number; flame graph programs "
             "take it.",
     .id = kFolded},
    {.name = "per-thread", .help = "keeps threads apart, in both", .id = kPerThread},
};

// What the head of a listing says.
struct Head {
  uint64_t events = 0, lost = 0;
  const char* tracer = "nop";
};

// The tracer that writes records of this kind.
const char* tracer_of(const EventCall& event) {
  switch (TracerText(event).kind()) {
    case TracerText::Kind::kFunction:
    case TracerText::Kind::kRepeats:
      return "function";
    case TracerText::Kind::kGraphEntry:
    case TracerText::Kind::kGraphExit:
      return "function_graph";
    default:
      return nullptr;
  }
}

// No file says which tracer it was. But another tracer empties the buffer, so the first record of a
// tracer tells.
const char* find_tracer(const PageImage& page, const std::vector<const char*>& tracers) {
  EventIterator events(page.bytes, page.used);
  for (EventView event; events.next(&event);) {
    uint16_t id = 0;
    if (event.record.size() >= 2) std::memcpy(&id, event.record.data(), 2);
    if (id < tracers.size() && tracers[id]) return tracers[id];
  }
  return nullptr;
}

uint32_t nr_cpus(const PageSource& pages) {
  std::set<uint32_t> cpus;
  for (size_t i = 0; i < pages.nr_cpus(); i++) cpus.insert(pages.cpu_number(i));
  return uint32_t(cpus.size());
}

// One pass over the pages.
Head read_head(PageSource* pages, const std::vector<EventCall>& formats) {
  Head head;
  std::vector<const char*> tracers;
  for (const EventCall& event : formats) {
    if (event.id >= tracers.size()) tracers.resize(size_t(event.id) + 1);
    tracers[event.id] = tracer_of(event);
  }
  const char* found = nullptr;
  PageImage page;
  for (size_t cpu = 0; cpu < pages->nr_cpus(); cpu++) {
    while (pages->next_page(cpu, &page)) {
      head.events += page.entries;
      if (page.lost_before != kLostUnknown) head.lost += page.lost_before;
      if (!found) found = find_tracer(page, tracers);
    }
  }
  if (found) head.tracer = found;
  return head;
}

void count_kind(const MergedEvent& event, ReportTotals* totals) {
  uint16_t id = 0;
  if (event.record.size() >= 2) std::memcpy(&id, event.record.data(), 2);
  totals->by_id[id]++;
  totals->by_cpu[event.cpu]++;
}

Error no_output() { return sys_error("write to standard output", errno); }

void count_events(const ReportForm& form, GroupNames* names, EventMerger* merger,
                  ReportTotals* totals) {
  MergedEvent event;
  while (merger->next(&event)) {
    if (form.selection && !form.selection->wants(event)) {
      totals->losses.take(event);
      continue;
    }
    totals->take(event);
    count_kind(event, totals);
    if (form.options->group != GroupBy::kNone) totals->count_of_group(names, event);
  }
}

Status print_in_order(const ReportForm& form, EventMerger* merger, const ReportPrinter& printer,
                      ReportLines* lines, ReportTotals* totals) {
  MergedEvent event;
  std::optional<uint64_t> before_ns;
  while (merger->next(&event)) {
    if (form.selection && !form.selection->wants(event)) {
      totals->losses.take(event);
      if (event.lost_before)
        PB_TRY(lines->take({.cpu = event.cpu,
                            .is_wanted = false,
                            .lost_before = event.lost_before,
                            .record = {},
                            .behind = {}}));
      continue;
    }
    totals->take(event);
    PB_TRY(lines->take(printer.take(merger, event, totals, &before_ns)));
  }
  return lines->finish();
}

Status print_in_groups(const ReportForm& form, GroupNames* names, EventMerger* merger,
                       ReportPrinter* printer, ReportTotals* totals) {
  ReportGroups groups(names);
  MergedEvent event;
  std::string line;
  while (merger->next(&event)) {
    if (form.selection && !form.selection->wants(event)) {
      totals->losses.take(event);  // the summary says it: there may be no group for the line
      continue;
    }
    ReportGroups::Group* group = groups.of(event);
    const uint64_t events = totals->events;
    totals->take(event);
    line.clear();
    printer->print(&line, printer->take(merger, event, totals, &group->before_ns));
    group->events += totals->events - events;
    PB_TRY(groups.append(*group, line));
  }
  for (const ReportGroups::Group& group : groups.all()) {
    std::string head = form.options->json ? "" : groups.head_of(group);
    if (form.colors && !head.empty()) head = in_color(kBold, head);
    bool is_written = write_out(&head);
    if (is_written)
      PB_TRY(groups.read(group, [&](std::string* part) { return is_written = write_out(part); }));
    if (!is_written) return no_output();
  }
  return {};
}

void print_kind(const std::vector<EventCall>& events, size_t id, uint64_t count) {
  if (!count) return;
  std::string name = "unknown event " + std::to_string(id), safe;
  for (const EventCall& event : events)
    if (event.id == id) name = event.system + ":" + event.name;
  append_escaped(&safe, name);
  std::printf("%20llu  %s\n", static_cast<unsigned long long>(count), safe.c_str());
}

void print_stat(const std::vector<EventCall>& events, const TraceInput& input,
                const ReportTotals& totals, const Losses& losses) {
  std::printf("%20s  event\n", "events");
  for (const ReportTotals::Group& group : totals.groups) {
    std::printf("%s", group_head(group.name, group.events).c_str());
    for (const auto& [id, count] : group.by_id) print_kind(events, id, count);
  }
  if (!totals.groups.empty()) std::printf("# == all ==\n");
  for (size_t id = 0; id < totals.by_id.size(); id++) print_kind(events, id, totals.by_id[id]);
  std::map<uint32_t, std::pair<uint64_t, uint64_t>> cpus;  // events, lost
  for (const auto& [cpu, count] : totals.by_cpu) cpus[cpu].first = count;
  for (const auto& [cpu, lost] : losses.by_cpu) cpus[cpu].second = lost;
  for (const auto& [cpu, counts] : cpus)
    std::printf("%20llu  on CPU %u, %s%llu lost\n", static_cast<unsigned long long>(counts.first),
                cpu, losses.at_least && counts.second ? "at least " : "",
                static_cast<unsigned long long>(counts.second));
  std::printf("%20llu  in all\n", static_cast<unsigned long long>(totals.events));
  if (!input.dat) return;
  for (const std::string& stats : input.dat->cpu_stats()) {
    std::string safe;
    for (size_t at = 0; at < stats.size();) {
      size_t end = std::min(stats.find('\n', at), stats.size());
      append_escaped(&safe, std::string_view(stats).substr(at, end - at));
      safe += '\n';
      at = end + 1;
    }
    std::fputs(safe.c_str(), stdout);
  }
}

void print_damages(const TraceInput& input, const ReportTotals& totals) {
  if (totals.malformed)
    std::fprintf(stderr, "patchbay report: %u pages are damaged; they are shown up to the damage\n",
                 totals.malformed);
  if (!input.dat) return;
  if (input.dat->malformed_formats())
    std::fprintf(stderr, "patchbay report: %u event formats could not be understood\n",
                 input.dat->malformed_formats());
  for (const auto& buffer : input.dat->buffers())
    for (const auto& cpu : buffer.cpus)
      if (cpu.cut)
        std::fprintf(stderr, "patchbay report: %s is cut short: the end of CPU %u is missing\n",
                     one_line(input.path).c_str(), cpu.cpu);
}

// What stands above the events of a buffer.
Result<std::string> head_of(const ReportOptions& options, const ReportColumns* columns,
                            TraceInput& input, size_t buffer,
                            const std::vector<EventCall>& events) {
  std::string head;
  if (options.json || options.stat) return head;
  if (std::string name = input.buffer_name(buffer); !name.empty()) {
    head = "# instance: ";
    append_escaped(&head, name);
    head += '\n';
  }
  if (columns) return head + columns->head();
  PB_ASSIGN(auto pages, input.shown_pages(buffer));
  const Head found = read_head(pages.get(), events);
  TraceLineWriter::append_header(&head, nr_cpus(*pages), found.events, found.events + found.lost,
                                 found.tracer);
  return head;
}

// The time of the first event of all buffers.
Result<uint64_t> first_time(TraceInput& input) {
  std::optional<uint64_t> first;
  for (size_t i = 0; i < input.nr_buffers(); i++) {
    PB_ASSIGN(auto pages, input.pages(i));
    EventMerger merger(pages.get());
    MergedEvent event;
    if (merger.next(&event)) first = std::min(first.value_or(event.ns), event.ns);
  }
  return first.value_or(0);
}

// Threads read names and arguments of a trace.dat without each other. Colours are for a terminal,
// which is slower than any of this.
ReportLines::MakePrinter maker_of_printers(const ReportForm& form, const TraceInput& input,
                                           const ReportDecoder& decoder) {
  if (!input.dat || form.colors) return nullptr;
  return [&form, &input, &decoder] {
    std::shared_ptr<ReportDecoder> own = make_report_decoder_like(input, decoder);
    ReportForm own_form = form;
    own_form.lines = own->lines.get();
    return ReportLines::Printer{own, std::make_unique<ReportPrinter>(own_form, nullptr, false)};
  };
}

Status print_buffers(const ReportOptions& options, bool color, TraceInput& input,
                     ReportDecoder& decoder, ReportTotals* totals) {
  std::unique_ptr<ReportColumns> columns;
  if (!options.fields.empty()) {
    PB_ASSIGN(columns, ReportColumns::parse(options.fields, decoder.events));
  }
  const ReportColors colors(decoder.events);
  ReportForm form{&options, columns.get(), color ? &colors : nullptr, 0, decoder.lines.get()};
  GroupNames names(options.group, input, decoder.events, decoder.lines.get());
  if (options.reltime || options.choice.has_times()) {
    PB_ASSIGN(form.start_ns, first_time(input));
  }
  std::unique_ptr<ReportSelection> selection;
  if (options.choice.has_any()) {
    PB_ASSIGN(selection,
              ReportSelection::make(options.choice, input, decoder.events, form.start_ns));
  }
  form.selection = selection.get();
  const std::optional<size_t> kernel = input.kernel_buffer();
  for (size_t i = 0; i < input.nr_buffers(); i++) {
    if (i == kernel) continue;
    PB_ASSIGN(std::string head, head_of(options, columns.get(), input, i, decoder.events));
    PB_ASSIGN(auto pages, input.shown_pages(i));
    if (!write_out(&head)) return no_output();
    ReportPrinter printer(form, pages.get(), input.buffer != nullptr);
    EventMerger merger(pages.get());
    if (options.stat) {
      count_events(form, &names, &merger, totals);
    } else if (options.group != GroupBy::kNone) {
      PB_TRY(print_in_groups(form, &names, &merger, &printer, totals));
    } else {
      ReportLines lines(&printer, maker_of_printers(form, input, decoder));
      PB_TRY(print_in_order(form, &merger, printer, &lines, totals));
    }
    totals->malformed += merger.malformed_pages();
  }
  return {};
}

int report(const ReportOptions& options, Pager& pager) {
  auto input = open_trace_input(options.input);
  if (!input.ok()) return fail("report", input.error());
  auto decoder = make_report_decoder(*input);
  if (!decoder.ok()) return fail("report", decoder.error());
  const bool color = use_color(stdout);  // the pager is no terminal
  if (!options.no_pager) pager.start(color);
  if (options.processes) return report_processes(*input, pager);
  ReportTotals totals;
  Status printed = print_buffers(options, color, *input, **decoder, &totals);
  const bool was_left = pager.running() && !printed.ok() && printed.error().errno_value == EPIPE;
  if (was_left) return kOk;
  if (!printed.ok()) return fail("report", printed.error());
  const Losses losses = totals.losses.finish(*input);
  if (options.stat) print_stat((*decoder)->events, *input, totals, losses);
  print_losses("report", losses);
  print_damages(*input, totals);
  return std::fflush(stdout) == 0 || pager.running()
             ? kOk
             : fail("report", sys_error("write to standard output", errno));
}

int report_in_pager(const ReportOptions& options) {
  Pager pager;
  const int status = report(options, pager);
  if (pager.finish()) return status;
  return fail("report", user_error(ENOENT, "The pager '" + pager_command() +
                                               "' cannot be run: --no-pager prints without one."));
}

// Null when the option is right, else the sentence about it.
const char* take_option(int id, const char* value, ReportOptions* options, FlameRequest* flame) {
  if (id == 'i') options->input = value;
  options->json |= id == kJson;
  options->stat |= id == kStat;
  options->processes |= id == kProcesses;
  options->no_pager |= id == kNoPager;
  options->reltime |= id == kRelTime;
  options->deltatime |= id == kDeltaTime;
  if (id == kFields) options->fields = value;
  if (id == kFields && options->fields.empty()) return "--fields takes names of columns.";
  if (id == kGroup) options->group = group_by_of(value);
  if (id == kGroup && options->group == GroupBy::kNone)
    return "--group takes tid, pid, comm, exe, cpu or event.";
  if (id == kFlame) flame->output = value;
  flame->folded |= id == kFolded;
  flame->per_thread |= id == kPerThread;
  return report_choice::take_option(id, value, &options->choice);
}

// A sentence when options exclude each other, else null.
const char* excluded(const ReportOptions& options, const FlameRequest& flame) {
  const int forms = options.json + options.stat + options.processes + !options.fields.empty();
  if (forms > 1) return "--json, --stat, --processes and --fields exclude each other.";
  if (options.processes && (options.choice.has_any() || options.group != GroupBy::kNone))
    return "--processes lists all processes, with all their events.";
  if (options.reltime && options.deltatime) return "--reltime and --deltatime exclude each other.";
  if (!flame.wanted()) return nullptr;
  if (options.group == GroupBy::kCpu || options.group == GroupBy::kEvent)
    return "--flame and --folded have groups of tid, pid, comm or exe.";
  if (flame.per_thread && options.group != GroupBy::kNone)
    return "--per-thread is --group tid: leave one of them out.";
  if (options.choice.has_events())
    return "--flame and --folded are of all events: `patchbay export --to folded` has -e, -f, "
           "--from and --until.";
  if (forms) return "--flame and --folded exclude --json, --stat, --processes and --fields.";
  return nullptr;
}

}  // namespace

constexpr CommandLine kReportLine = {
    .name = "report",
    .summary = "print the events of a trace.dat",
    .synopsis =
        "report [-i FILE] [--json | --fields NAME,...] [--group WHAT] [OPTION...]\n"
        "report [-i FILE] --stat [--group WHAT] | --processes\n"
        "report [-i FILE] [--flame OUT.svg] [--folded] [--group WHAT]",
    .about = "Prints the events of a recording in order of time.\n\n",
    .options = {kOptions, kWhoOptions},
    .after = R"(Losses are shown where they happened (CPU:1 [LOST 77 EVENTS]) and summed up on
standard error.
)",
    .words = "FILE",
};

int run_report(int argc, char** argv) {
  ReportOptions options;
  FlameRequest flame;
  const auto take = [&](int id, const char* value) {
    return take_option(id, value, &options, &flame);
  };
  if (const std::optional<int> ended = parse_options(kReportLine, argc, argv, take)) return *ended;
  if (::optind + 1 == argc && options.input == "trace.dat") options.input = argv[::optind++];
  if (::optind < argc) return too_much(kReportLine, argv);
  if (const char* wrong = excluded(options, flame)) return usage_error("report", wrong);
  flame.group = flame.per_thread ? GroupBy::kTid : options.group;
  flame.who = options.choice.events.who;
  if (flame.wanted()) return report_flame(options.input, flame);
  return flame.per_thread ? usage_error("report", "--per-thread belongs to --flame and --folded.")
                          : report_in_pager(options);
}

}  // namespace patchbay::cmd
