// SPDX-License-Identifier: MIT
//
// patchbay view: a recording as one HTML file, which a browser opens without anything else.
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <utility>
#include <vector>

#include "base/output_file.h"
#include "cmd/common/commands.h"
#include "cmd/common/tracefs_command.h"
#include "cmd/common/who_options.h"
#include "cmd/target/process_word.h"
#include "cmd/view/page_text.h"
#include "cmd/view/recording_page.h"
#include "cmd/view/view_process.h"

namespace patchbay::cmd {
namespace {

constexpr int kFrom = kFirstOptionId, kUntil = kFrom + 1, kRows = kFrom + 2, kHist = kFrom + 3,
              kPort = kFrom + 4;
constexpr size_t kMostRows = 20000000;
constexpr Option kOptions[] = {
    {.letter = 'i',
     .name = "input",
     .argument = "FILE",
     .help = "reads FILE instead of trace.dat; it may be what patchbay report takes"},
    {.letter = 'o',
     .name = "output",
     .argument = "FILE",
     .help = "writes FILE; the default is the name of the recording with .html, in this directory; "
             "- is standard output"},
    {.name = "from",
     .argument = "SECONDS",
     .help = "shows the recording from here on; counts from its first record",
     .id = kFrom},
    {.name = "until", .argument = "SECONDS", .help = "shows it up to here", .id = kUntil},
    {.letter = 'e',
     .name = "event",
     .argument = "GLOB",
     .help = "shows these events only: event, system:event or system; of a process, records them, "
             "as patchbay record -e does",
     .repeats = true},
    {.letter = 'f',
     .name = "filter",
     .argument = "FILTER",
     .help = "shows only events that this filter lets through; of a process, records the events of "
             "the -e before it only then"},
    {.name = "rows",
     .argument = "N",
     .help = "cuts the recording behind N calls and events; the default is 1000000",
     .more = "The page says how much of the recording it has. Browsers stay quick up to some "
             "millions.",
     .id = kRows},
    {.letter = 'p',
     .name = "pid",
     .argument = "PID",
     .help = "shows a running process, live: serves the page on 127.0.0.1 until Ctrl-C; with FILE, "
             "only this process of the recording",
     .more = "The address is printed; nobody who does not know it gets anything. A view more shows "
             "the functions by calls and time, as `patchbay top` does, all histograms of the "
             "process, and its buffers; it asks for them once a second. The other views show the "
             "newest events, taken anew with a key. A process that was started without the agent "
             "has it for as long as the command runs. Without -e, -t, -l and --hist all functions "
             "are profiled.",
     .group = "A running process"},
    {.letter = 't',
     .name = "tracer",
     .argument = "TRACER",
     .help = "records with function_graph or function"},
    {.letter = 'l',
     .name = "function",
     .argument = "GLOB",
     .help = "profiles these functions; with -t, traces them, too",
     .repeats = true},
    {.name = "hist",
     .argument = "'EVENT keys=FIELD...'",
     .help = "counts the hits of an event by fields, as patchbay hist does",
     .more = "For example: 'malloc(u64 size) keys=size.log2:vals=size'.",
     .repeats = true,
     .id = kHist},
    {.name = "port",
     .argument = "PORT",
     .help = "serves on this port; the default is one that is free",
     .id = kPort},
};

struct Options {
  PageChoice page;
  std::string output;
  bool has_file = false;
  // Of a process. -e, -f, -t, -l mean something else there, which is known at the end.
  std::string pid_text;
  int pid = 0;
  uint16_t port = 0;
  std::vector<std::pair<int, std::string>> request;
  std::vector<std::string> histograms;
};

bool parse_seconds(std::string_view text, uint64_t* ns) {
  double seconds = 0;
  if (text.ends_with('s')) text.remove_suffix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size() || !(seconds >= 0) || seconds > 1e9)
    return false;
  *ns = uint64_t(seconds * 1e9 + 0.5);
  return true;
}

bool parse_port(const char* value, uint16_t* port) {
  int number = 0;
  if (!parse_positive(value, &number) || number > 65535) return false;
  *port = uint16_t(number);
  return true;
}

const char* take_option(int id, const char* value, Options* options) {
  ExportChoice& choice = options->page.choice;
  if (id == 'e' || id == 'f' || id == 't' || id == 'l') options->request.emplace_back(id, value);
  switch (id) {
    case 'p':
      if (!options->pid_text.empty()) options->pid_text += ',';
      options->pid_text += value;
      return nullptr;
    case 't':
    case 'l':
      return nullptr;
    case kHist:
      options->histograms.push_back(value);
      return nullptr;
    case kPort:
      return parse_port(value, &options->port) ? nullptr : "--port takes a port: 1 to 65535.";
    case 'i':
      options->page.input = value;
      options->has_file = true;
      return nullptr;
    case 'o':
      options->output = value;
      return nullptr;
    case 'e':
      choice.events.push_back(value);
      return nullptr;
    case 'f':
      choice.filter = value;
      return nullptr;
    case kFrom:
      choice.from_is_relative = true;
      return parse_seconds(value, &choice.from_ns) ? nullptr : "--from takes seconds: 1.25.";
    case kUntil:
      choice.until_is_relative = true;
      return parse_seconds(value, &choice.until_ns) ? nullptr : "--until takes seconds: 1.25.";
    case kRows:
      return parse_positive(value, &options->page.rows) && options->page.rows <= kMostRows
                 ? nullptr
                 : "--rows takes a number up to 20000000.";
    default:
      return take_who_option(id, value, &choice.who);
  }
}

// --- output

// Under its name only when it is whole.
Status write_output(const std::string& path, std::string_view payload, uint64_t* size) {
  const bool to_stdout = path == "-";
  Result<OutputFile> file =
      to_stdout ? OutputFile::of_stdout() : OutputFile::replacement(path, ".part");
  if (!file.ok()) return file.error();
  Status written;
  const bool ok = write_page(payload, [&](std::string_view text) {
    *size += text.size();
    written = file->write(text);
    return written.ok();
  });
  if (!written.ok()) return written;
  if (!ok) return sys_error("write " + path, EIO);
  return file->take_place();
}

// "a/trace.dat" becomes "trace.html".
std::string default_output(const std::string& input) {
  std::string name = input.substr(input.find_last_of('/') + 1);
  if (name.ends_with(".dat")) name.resize(name.size() - 4);
  return (name.empty() ? "trace" : name) + ".html";
}

int view(const Options& options) {
  auto page = page_of(options.page);
  if (!page.ok()) return fail("view", page.error());
  const std::string output = options.output.empty() ? default_output(page->path) : options.output;
  uint64_t size = 0;
  if (Status status = write_output(output, page->payload, &size); !status.ok())
    return fail("view", status.error());
  if (output != "-")
    std::fprintf(stderr, "[ patchbay view: %llu records, %s in %s ]\n",
                 static_cast<unsigned long long>(page->records), size_text(size).c_str(),
                 printable(output).c_str());
  if (page->is_cut)
    std::fprintf(stderr,
                 "[ patchbay view: the page has the first %zu calls and events; it says "
                 "where to go on ]\n",
                 page->rows);
  return kOk;
}

// -p: a running process, or one of the recording that is named.
const char* take_process(Options* options) {
  const char* const text = options->pid_text.c_str();
  if (!*text) return nullptr;
  return options->has_file ? take_who_option(kWhoPid, text, &options->page.choice.who)
                           : take_pid(text, &options->pid);
}

// The sentence about options that need another, or null. With -p: what they mean there is in
// *choice.
const char* check(const Options& options, LiveChoice* choice) {
  const auto has = [&](int id) {
    for (const auto& [each, value] : options.request)
      if (each == id) return true;
    return false;
  };
  if (options.pid == 0) {
    const bool is_live = has('t') || has('l') || !options.histograms.empty() || options.port != 0;
    return is_live ? "-t, -l, --hist and --port are about a running process: -p PID." : nullptr;
  }
  if (!options.output.empty()) return "-p shows a process, and writes no file: without -o.";
  const ExportChoice& shown = options.page.choice;
  if (shown.from_ns != 0 || shown.until_ns != ~uint64_t{0} || shown.who.has_any())
    return "--from, --until, --tid, --comm, --exe and --tree are about a recording: name its FILE.";
  for (const auto& [id, value] : options.request) {
    if (id == 'l') choice->functions.push_back(value);
    if (id == 'l' && !has('t')) continue;
    if (const char* wrong = choice->request.take(id, value.c_str())) return wrong;
  }
  choice->histograms = options.histograms;
  choice->rows = options.page.rows;
  return choice->request.check();
}

}  // namespace

constexpr CommandLine kViewLine = {
    .name = "view",
    .summary = "make a page of a recording, for a browser",
    .synopsis =
        "view [[-i] FILE] [-o PAGE.html] [-p PID] [OPTION...]\n"
        "view -p PID [-e EVENT] [-t TRACER] [-l GLOB] [--hist HIST] [OPTION...]",
    .about = R"(Writes a recording as one HTML file that a browser opens, with a timeline, the
calls as a tree and as a flame graph, distributions, and a table of all events.
The file needs nothing from elsewhere, so it can be attached to a report. With -p
it is the page of a running process, which a browser on this machine shows live.

)",
    // Without --pid, which is -p.
    .options = {kOptions, std::span<const Option>(kWhoOptions, std::size(kWhoOptions) - 1)},
    .after =
        "Example: patchbay record -t function_graph -- ./prog && patchbay view\n"
        "         patchbay view -p 1234 -l 'db_*' --hist 'malloc(u64 size) keys=size.log2'\n",
    .words = "FILE",
    .attaches = true,
    .lasts = true,
};

int run_view(int argc, char** argv) {
  Options options;
  const auto take = [&](int id, const char* value) { return take_option(id, value, &options); };
  if (const std::optional<int> ended = parse_options(kViewLine, argc, argv, take)) return *ended;
  if (::optind + 1 == argc && options.page.input == "trace.dat")
    options.page.input = argv[::optind++], options.has_file = true;
  if (::optind < argc) return too_much(kViewLine, argv);
  if (const char* wrong = take_process(&options)) return usage_error("view", wrong);
  LiveChoice live;
  if (const char* wrong = check(options, &live)) return usage_error("view", wrong);
  if (options.pid != 0) return view_process(options.pid, options.port, std::move(live));
  return view(options);
}

}  // namespace patchbay::cmd
