// SPDX-License-Identifier: MIT
//
// patchbay export: a recording as a file for other viewers and tools.
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <deque>

#include "base/monotonic_clock.h"
#include "base/text.h"
#include "cmd/common/commands.h"
#include "cmd/common/export_input.h"
#include "cmd/common/losses.h"
#include "cmd/common/who_options.h"
#include "cmd/record/recorded_arguments.h"
#include "cmd/report/report_select.h"
#include "export/export_formats.h"

namespace patchbay::cmd {
namespace {

constexpr int kTo = kFirstOptionId, kFrom = kTo + 1, kUntil = kTo + 2, kCompress = kTo + 3,
              kInstants = kTo + 4, kCounter = kTo + 5, kFormulas = kTo + 6;
constexpr Option kOptions[] = {
    {.name = "to",
     .argument = "FORMAT",
     .help = "writes FORMAT: perfetto (ui.perfetto.dev), chrome, speedscope, folded, csv, jsonl, "
             "parquet (DuckDB, ClickHouse, pandas), sqlite, perf (perf.data), pprof, ctf "
             "(babeltrace2)",
     .id = kTo},
    {.letter = 'o',
     .name = "output",
     .argument = "FILE",
     .help = "writes FILE instead of trace and the format's suffix; - is standard output. "
             "For parquet and ctf FILE is a directory"},
    {.letter = 'i',
     .name = "input",
     .argument = "FILE",
     .help = "reads FILE instead of trace.dat; it may be what patchbay report takes, and a "
             "directory of several processes; several -i are merged by time",
     .repeats = true},
    {.letter = 'e',
     .name = "event",
     .argument = "GLOB",
     .help = "writes only events that GLOB fits: EVENT, SYSTEM:EVENT or SYSTEM",
     .repeats = true},
    {.letter = 'f',
     .name = "filter",
     .argument = "FILTER",
     .help = "writes only events for which FILTER is true, in the language of the filter files; "
             "events without its fields are left out"},
    {.name = "from",
     .argument = "TIME",
     .help = "leaves out what is earlier: seconds as report shows them, or +1.5s, +20ms, +300us "
             "after the first event",
     .id = kFrom},
    {.name = "until", .argument = "TIME", .help = "leaves out what is later", .id = kUntil},
    {.name = "compress",
     .argument = "zstd|gzip",
     .help = "compresses the output (perfetto, chrome, csv, jsonl); Perfetto opens both",
     .id = kCompress},
    {.name = "formulas",
     .argument = "keep|quote",
     .help = "csv: puts an apostrophe before texts that a spreadsheet would take for formulas "
             "(quote), or keeps them as they are (the default)",
     .more = "Such a text begins with =, +, - or @ and is no number. The traced program chooses "
             "it: give quote for a file that a spreadsheet opens. Programs that read the file get "
             "the exact text with keep.",
     .id = kFormulas},
    {.name = "instants",
     .help = "perfetto: shows single events on their thread's track, too",
     .more = "Without it they are in the tracks of ftrace events by CPU, and in the table "
             "ftrace_event. Events with a stack are always shown.",
     .id = kInstants},
    {.name = "counter",
     .argument = "EVENT.FIELD",
     .help = "perfetto, chrome: draws a number of an event as a counter",
     .repeats = true,
     .id = kCounter},
};

struct ExportOptions {
  const ExportFormatRow* format = nullptr;
  std::vector<std::string> inputs;
  ExportChoice choice;
  ExportSettings settings;
  std::string wrong;  // keeps a sentence about an option
};

const char* take_format(const std::string& value, ExportOptions* options) {
  options->format = find_export_format(value);
  options->wrong =
      "There is no format '" + value + "'; --to takes one of " + export_format_names() + ".";
  return options->format ? nullptr : options->wrong.c_str();
}

const char* take_option(int id, const char* value, ExportOptions* options) {
  const std::string_view text = value;
  switch (id) {
    case kTo:
      return take_format(value, options);
    case 'o':
      options->settings.path = value;
      return *value ? nullptr : "-o takes a file.";
    case 'i':
      options->inputs.push_back(value);
      return nullptr;
    case 'e':
      options->choice.events.push_back(value);
      return nullptr;
    case 'f':
      options->choice.filter = value;
      return nullptr;
    case kFrom:
      return take_time(value, &options->choice.from_ns, &options->choice.from_is_relative);
    case kUntil:
      return take_time(value, &options->choice.until_ns, &options->choice.until_is_relative);
    case kCompress:
      options->settings.compression =
          text == "gzip" ? ExportCompression::kGzip : ExportCompression::kZstd;
      return text == "gzip" || text == "zstd" ? nullptr : "--compress takes zstd or gzip.";
    case kFormulas:
      options->settings.quote_formulas = text == "quote";
      return text == "quote" || text == "keep" ? nullptr : "--formulas takes keep or quote.";
    case kInstants:
      options->settings.instants = true;
      return nullptr;
    case kCounter:
      options->settings.counters.push_back(value);
      return nullptr;
    default:
      return take_who_option(id, value, &options->choice.who);
  }
}

// What is written over each half second, while standard error is a terminal.
class ExportProgress {
 public:
  ~ExportProgress() {
    if (shown_) std::fputs("\r\033[K", stderr);
  }
  void take() {
    if ((++events_ & 0xffff) != 0 || !on_ || monotonic_ms() < next_) return;
    next_ = monotonic_ms() + 500;
    shown_ = true;
    std::fprintf(stderr, "\r\033[K[ patchbay export: %.1f million events ]", double(events_) / 1e6);
  }

 private:
  const bool on_ = ::isatty(STDERR_FILENO) != 0;
  bool shown_ = false;
  uint64_t events_ = 0;
  int64_t next_ = monotonic_ms() + 1000;
};

bool is_same_file(const std::string& a, const std::string& b) {
  struct stat one, other;
  return ::stat(a.c_str(), &one) == 0 && ::stat(b.c_str(), &other) == 0 &&
         one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

void say(uint64_t count, const char* what, const char* where) {
  if (count != 0)
    std::fprintf(stderr, "patchbay export: %llu %s%s %s\n", static_cast<unsigned long long>(count),
                 what, count == 1 ? "" : "s", where);
}

void print_notes(const ExportStats& stats, const ExportMeta& meta) {
  say(stats.open_at_end, "call", "open at the end");
  say(stats.without_exit, "call", "ended without a return");
  say(stats.without_entry, "call", "whose entry is not in the recording");
  say(stats.damaged_pages, "damaged page", "read up to the damage");
  say(stats.short_records, "record", "shorter than the format says");
  say(stats.unknown_events, "event", "of a kind that no file describes");
  for (const ExportInputInfo& input : meta.inputs)
    if (input.clock != meta.inputs[0].clock)
      std::fprintf(stderr,
                   "patchbay export: %s has the clock %s, %s has %s: their events are not in one "
                   "order\n",
                   printable(input.path).c_str(), printable(input.clock).c_str(),
                   printable(meta.inputs[0].path).c_str(), printable(meta.inputs[0].clock).c_str());
}

// An input's own losses, counted as report does.
struct InputLosses {
  const TraceInput* input;
  LossCounter counter;
};

void print_lost(const std::vector<InputLosses>& inputs) {
  Losses all;
  for (const InputLosses& one : inputs) {
    const Losses losses = one.counter.finish(*one.input);
    all.at_least |= losses.at_least;
    for (const auto& [cpu, count] : losses.by_cpu) all.by_cpu[cpu] += count;
  }
  print_losses("export", all);
}

// Names of arguments, from debug information.
void name_arguments(std::vector<ExportInput>* inputs) {
  for (ExportInput& input : *inputs) {
    auto arguments = std::make_shared<RecordedArguments>(trace_input_of(input));
    input.arguments_of = [arguments](uint64_t function, uint32_t image) {
      return arguments->of(function, image);
    };
  }
}

int run(ExportOptions& options) {
  auto inputs = open_export_inputs(options.inputs);
  if (!inputs.ok()) return fail("export", inputs.error());
  name_arguments(&*inputs);
  std::vector<InputLosses> losses;
  for (const ExportInput& input : *inputs) {
    losses.push_back({&trace_input_of(input), {}});
    if (is_same_file(losses.back().input->path, options.settings.path))
      return fail("export", options.settings.path + " is the recording itself; -o names another.");
  }
  auto source = ExportSource::open(std::move(*inputs), options.choice);
  if (!source.ok()) return fail("export", source.error());
  auto sink = options.format->make(options.settings);
  if (!sink.ok()) return fail("export", sink.error());
  Status status;
  {
    ExportProgress progress;
    status = export_all(source->get(), sink->get(), [&](const ExportEvent& event) {
      progress.take();
      if (event.lost)
        losses[event.input].counter.take({.cpu = event.cpu, .lost_before = event.lost});
    });
  }
  const std::vector<std::string> notes = (*sink)->notes();
  sink->reset();
  if (!status.ok()) return fail("export", status.error());
  print_lost(losses);
  print_notes((*source)->stats(), (*source)->meta());
  for (const std::string& note : notes)
    std::fprintf(stderr, "patchbay export: %s\n", printable(note).c_str());
  const unsigned long long events = (*source)->stats().events;
  if (options.settings.path != "-")
    std::fprintf(stderr, "patchbay export: %llu event%s in %s\n", events, events == 1 ? "" : "s",
                 printable(options.settings.path).c_str());
  return kOk;
}

}  // namespace

constexpr CommandLine kExportLine = {
    .name = "export",
    .summary = "write a recording for other viewers and tools",
    .synopsis = "export --to FORMAT [-o FILE] [-i FILE...] [OPTION...]",
    .about = R"(Writes a recording, or several in one order of time, in the format of another
program: calls of function_graph, events with typed fields, stacks, losses, and
the names of threads and processes. Recordings of trace-cmd are read, too, and
the buffers of processes that run or have died.

)",
    .options = {kOptions, kWhoOptions},
    .after =
        "Example: patchbay record -t function_graph -- ./prog\n"
        "         patchbay export --to perfetto && ls trace.pftrace\n",
    .words = "FILE",
};

int run_export(int argc, char** argv) {
  ExportOptions options;
  const auto take = [&](int id, const char* value) { return take_option(id, value, &options); };
  if (const std::optional<int> ended = parse_options(kExportLine, argc, argv, take)) return *ended;
  while (::optind < argc) options.inputs.push_back(argv[::optind++]);
  if (options.inputs.empty()) options.inputs.push_back("trace.dat");
  if (!options.format)
    return usage_error("export", "--to is needed, one of " + export_format_names() + ".");
  const ExportFormatRow& format = *options.format;
  const ExportCompression packed = options.settings.compression;
  if (packed != ExportCompression::kNone && !format.compresses)
    return usage_error("export", std::string("--compress is not for ") + format.name + ".");
  if (options.settings.path.empty()) {
    options.settings.path = std::string("trace.") + format.suffix;
    if (packed != ExportCompression::kNone)
      options.settings.path += packed == ExportCompression::kGzip ? ".gz" : ".zst";
  }
  return run(options);
}

}  // namespace patchbay::cmd
