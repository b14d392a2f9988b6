// SPDX-License-Identifier: MIT
//
// patchbay view: a recording as one HTML file, which a browser opens without anything else.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <memory>

#include "base/monotonic_clock.h"
#include "base/unique_fd.h"
#include "cmd/common/commands.h"
#include "cmd/common/losses.h"
#include "cmd/common/trace_input.h"
#include "cmd/record/recorded_arguments.h"
#include "cmd/view/page_pack.h"
#include "cmd/view/page_sink.h"
#include "cmd/view/page_text.h"
#include "export/export_sink.h"
#include "export/export_source.h"

namespace patchbay::cmd {
namespace {

constexpr int kFrom = kFirstOptionId, kUntil = kFrom + 1, kRows = kFrom + 2;
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
     .help = "shows these events only: event, system:event or system",
     .repeats = true},
    {.letter = 'f',
     .name = "filter",
     .argument = "FILTER",
     .help = "shows only events that this filter lets through"},
    {.name = "rows",
     .argument = "N",
     .help = "cuts the recording behind N calls and events; the default is 1000000",
     .more = "The page says how much of the recording it has. Browsers stay quick up to some "
             "millions.",
     .id = kRows},
};

struct Options {
  std::string input = "trace.dat", output;
  ExportChoice choice;
  size_t rows = 1000000;
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

const char* take_option(int id, const char* value, Options* options) {
  ExportChoice& choice = options->choice;
  switch (id) {
    case 'i':
      options->input = value;
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
    default:
      return parse_positive(value, &options->rows) && options->rows <= kMostRows
                 ? nullptr
                 : "--rows takes a number up to 20000000.";
  }
}

std::string size_text(uint64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, bytes < 1 << 20 ? "%.1f KB" : "%.1f MB",
                double(bytes) / (bytes < 1 << 20 ? 1024 : 1 << 20));
  return text;
}

// --- input

// The input with what it needs as long as it is read.
struct Opened {
  TraceInput input;
  std::unique_ptr<RecordedArguments> arguments;
};

Result<ExportInput> export_input(const std::shared_ptr<Opened>& opened) {
  ExportInput input;
  input.path = opened->input.path;
  input.dat = opened->input.dat.get();
  input.buffer = opened->input.buffer.get();
  for (size_t i = 0; i < opened->input.nr_buffers(); i++) {
    input.names.push_back(opened->input.buffer_name(i));
    PB_ASSIGN(auto pages, opened->input.pages(i));
    input.pages.push_back(std::move(pages));
  }
  input.arguments_of = [opened](uint64_t function) { return opened->arguments->of(function); };
  input.owner = opened;
  return input;
}

std::vector<std::string> damages_of(const TraceInput& input) {
  std::vector<std::string> damages;
  if (!input.dat) return damages;
  for (const auto& buffer : input.dat->buffers())
    for (const auto& cpu : buffer.cpus)
      if (cpu.cut)
        damages.push_back("The file is cut short: the end of CPU " + std::to_string(cpu.cpu) +
                          " is missing.");
  return damages;
}

PageOptions page_options(const Options& options, const std::shared_ptr<Opened>& opened) {
  PageOptions page;
  const TraceInput& input = opened->input;
  const size_t slash = input.path.rfind('/');
  page.title = slash == input.path.npos ? input.path : input.path.substr(slash + 1);
  page.most_rows = options.rows;
  const ExportChoice& choice = options.choice;
  page.is_part = choice.from_ns != 0 || choice.until_ns != ~uint64_t{0} || !choice.events.empty() ||
                 !choice.filter.empty();
  page.facts = {{"File", input.path}};
  struct ::stat status {};
  if (::stat(input.path.c_str(), &status) == 0)
    page.facts.emplace_back("Size", size_text(uint64_t(status.st_size)));
  for (size_t i = 0; i < input.nr_buffers(); i++)
    if (!input.buffer_name(i).empty()) page.facts.emplace_back("Instance", input.buffer_name(i));
  page.facts.emplace_back("Written by", std::string("patchbay view ") + PATCHBAY_VERSION);
  page.losses_of = [opened](const LossCounter& counter) { return counter.finish(opened->input); };
  page.malformed_formats = input.dat ? input.dat->malformed_formats() : 0;
  page.damages = damages_of(input);
  return page;
}

// --- reading, with a line that says how far it is

class Progress {
 public:
  void take() {
    if ((++events_ & 0xffff) != 0 || !on_ || monotonic_ms() < next_) return;
    next_ = monotonic_ms() + 500;
    shown_ = true;
    std::fprintf(stderr, "\r\033[K[ patchbay view: %.1f million records read ]",
                 double(events_) / 1e6);
  }
  ~Progress() {
    if (shown_) std::fputs("\r\033[K", stderr);
  }

 private:
  const bool on_ = ::isatty(STDERR_FILENO);
  bool shown_ = false;
  uint64_t events_ = 0;
  int64_t next_ = monotonic_ms() + 1500;
};

Status read_all(ExportSource* source, PageSink* sink) {
  PB_TRY(sink->begin(source->meta(), source));
  Progress progress;
  ExportEvent event;
  while (source->next(&event)) {
    progress.take();
    if (event.kind == ExportEvent::Kind::kLoss) {
      PB_TRY(sink->loss(event));
    } else {
      PB_TRY(sink->event(event));
    }
  }
  return sink->end(source->stats());
}

// --- output

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(fd, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    text.remove_prefix(size_t(count));
  }
  return true;
}

// Under its name only when it is whole.
Status write_output(const std::string& path, std::string_view payload, uint64_t* size) {
  const bool to_stdout = path == "-";
  struct ::stat status {};
  const bool in_place =
      !to_stdout && ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
  const std::string part = in_place ? path : path + ".part";
  UniqueFd file;
  if (!to_stdout) {
    file.reset(::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (!file.valid()) return sys_error("open " + part, errno);
  }
  const int fd = to_stdout ? STDOUT_FILENO : file.get();
  const bool ok = write_page(payload, [&](std::string_view text) {
    *size += text.size();
    return write_all(fd, text);
  });
  if (ok && (to_stdout || in_place || ::rename(part.c_str(), path.c_str()) == 0)) return {};
  const int error = errno;
  if (!to_stdout && !in_place) ::unlink(part.c_str());
  return sys_error("write " + path, error);
}

// "a/trace.dat" becomes "trace.html".
std::string default_output(const std::string& input) {
  std::string name = input.substr(input.find_last_of('/') + 1);
  if (name.ends_with(".dat")) name.resize(name.size() - 4);
  return (name.empty() ? "trace" : name) + ".html";
}

int view(const Options& options) {
  auto opened = std::make_shared<Opened>();
  auto input = open_trace_input(options.input);
  if (!input.ok()) return fail("view", input.error());
  opened->input = std::move(*input);
  opened->arguments = std::make_unique<RecordedArguments>(opened->input);
  auto exported = export_input(opened);
  if (!exported.ok()) return fail("view", exported.error());
  std::vector<ExportInput> inputs;
  inputs.push_back(std::move(*exported));
  auto source = ExportSource::open(std::move(inputs), options.choice);
  if (!source.ok()) return fail("view", source.error());
  PageSink sink(page_options(options, opened));
  if (Status status = read_all(source->get(), &sink); !status.ok())
    return fail("view", status.error());
  auto payload = page_payload(sink.header(), sink.data());
  if (!payload.ok()) return fail("view", payload.error());
  const std::string output =
      options.output.empty() ? default_output(opened->input.path) : options.output;
  uint64_t size = 0;
  if (Status status = write_output(output, *payload, &size); !status.ok())
    return fail("view", status.error());
  if (output != "-")
    std::fprintf(stderr, "[ patchbay view: %llu records, %s in %s ]\n",
                 static_cast<unsigned long long>(sink.records()), size_text(size).c_str(),
                 printable(output).c_str());
  if (sink.is_cut())
    std::fprintf(stderr,
                 "[ patchbay view: the page has the first %zu calls and events; it says "
                 "where to go on ]\n",
                 sink.rows());
  return kOk;
}

}  // namespace

constexpr CommandLine kViewLine = {
    .name = "view",
    .summary = "make a page of a recording, for a browser",
    .synopsis = "view [[-i] FILE] [-o PAGE.html] [OPTION...]",
    .about = R"(Writes a recording as one HTML file that a browser opens, with a timeline, the
calls as a tree and as a flame graph, distributions, and a table of all events.
The file needs nothing from elsewhere, so it can be attached to a report.

)",
    .options = {kOptions},
    .after = "Example: patchbay record -t function_graph -- ./prog && patchbay view\n",
    .words = "FILE",
};

int run_view(int argc, char** argv) {
  Options options;
  const auto take = [&](int id, const char* value) { return take_option(id, value, &options); };
  if (const std::optional<int> ended = parse_options(kViewLine, argc, argv, take)) return *ended;
  if (::optind + 1 == argc && options.input == "trace.dat") options.input = argv[::optind++];
  if (::optind < argc) return too_much(kViewLine, argv);
  return view(options);
}

}  // namespace patchbay::cmd
