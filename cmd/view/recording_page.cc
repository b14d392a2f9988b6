// SPDX-License-Identifier: MIT
#include "cmd/view/recording_page.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <memory>

#include "base/monotonic_clock.h"
#include "cmd/common/commands.h"
#include "cmd/common/losses.h"
#include "cmd/common/trace_input.h"
#include "cmd/record/recorded_arguments.h"
#include "cmd/view/page_pack.h"
#include "cmd/view/page_sink.h"
#include "export/export_sink.h"

namespace patchbay::cmd {
namespace {

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
  input.arguments_of = [opened](uint64_t function, uint32_t image) {
    return opened->arguments->of(function, image);
  };
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

PageOptions page_options(const PageChoice& options, const std::shared_ptr<Opened>& opened) {
  PageOptions page;
  const TraceInput& input = opened->input;
  const size_t slash = input.path.rfind('/');
  page.title = slash == input.path.npos ? input.path : input.path.substr(slash + 1);
  if (!options.title.empty()) page.title = options.title;
  page.most_rows = options.rows;
  const ExportChoice& choice = options.choice;
  page.is_part = choice.from_ns != 0 || choice.until_ns != ~uint64_t{0} || !choice.events.empty() ||
                 !choice.filter.empty() || choice.who.has_any();
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

}  // namespace

Result<RecordingPage> page_of(const PageChoice& choice) {
  auto opened = std::make_shared<Opened>();
  PB_ASSIGN(opened->input, open_trace_input(choice.input));
  opened->arguments = std::make_unique<RecordedArguments>(opened->input);
  std::vector<ExportInput> inputs;
  PB_ASSIGN(ExportInput exported, export_input(opened));
  inputs.push_back(std::move(exported));
  PB_ASSIGN(auto source, ExportSource::open(std::move(inputs), choice.choice));
  PageSink sink(page_options(choice, opened));
  PB_TRY(read_all(source.get(), &sink));
  RecordingPage page;
  PB_ASSIGN(page.payload, page_payload(sink.header(), sink.data()));
  page.path = opened->input.path;
  page.records = sink.records();
  page.rows = sink.rows();
  page.is_cut = sink.is_cut();
  return page;
}

}  // namespace patchbay::cmd
