// SPDX-License-Identifier: MIT
//
// patchbay recover: a trace.dat out of what a process has left in its runtime directory, whatever
// ended it. Every published event is in the buffer file (G5); nothing of the process is needed but
// its binaries, for names.
#include <getopt.h>

#include <algorithm>
#include <cstring>

#include "buffer_source.h"
#include "commands.h"
#include "leftovers.h"
#include "recording.h"

namespace patchbay::cmd {
namespace {

constexpr char kHelp[] =
    "Usage: patchbay recover DIR|FILE [-o FILE] [--format 6|7]\n\n"
    "Writes a trace.dat of the events that a process left behind, after a crash or a kill -9 "
    "too.\n\n"
    "  DIR               DIR/PID of a runtime directory, or the runtime directory itself: then "
    "every\n"
    "                    process in it gets a file of its own, FILE.PID, when there are several;\n"
    "                    instances and snapshots are in it, too\n"
    "  FILE              a buffer file\n"
    "  -o, --output FILE default: trace.dat\n"
    "      --format N    version of the trace.dat: 7 (default) or 6\n"
    "  -h, --help        this text\n";

struct RecoverOptions {
  std::string source, output = "trace.dat";
  int version = 7;
};

void print_counts(const Recording& recording, const TraceDatResult& result,
                  const std::string& output) {
  for (uint32_t ring = 0; ring < recording.counts().size(); ring++) {
    const RingCounts& counts = recording.counts()[ring];
    uint64_t lost = counts.overwritten + counts.dropped;
    if (counts.events + lost == 0) continue;
    const bool is_cpu = ring < recording.buffer().header().nr_cpus;
    std::printf("%s: %llu events, %llu lost%s\n",
                is_cpu ? ("CPU " + std::to_string(ring)).c_str() : "without CPU",
                static_cast<unsigned long long>(counts.events),
                static_cast<unsigned long long>(lost), is_cpu ? "" : " (threads without rseq)");
  }
  uint64_t lost = recording.lost() + recording.missed() + result.events_lost;
  std::printf("%s: %llu events recovered, %llu lost, %llu bytes\n", output.c_str(),
              static_cast<unsigned long long>(recording.events() - result.events_lost),
              static_cast<unsigned long long>(lost), static_cast<unsigned long long>(result.bytes));
}

// Opens the parts behind the file that decodes them. One of them that is damaged costs the others
// nothing.
Result<std::vector<RecordedBuffer>> open_parts(const BufferSource& source) {
  std::vector<RecordedBuffer> buffers;
  auto top = BufferFile::open(source.top, false);
  if (!top.ok()) return top.error();
  buffers.push_back({"", std::move(*top), source.top, false, false});
  for (const BufferPart& part : source.parts) {
    if (part.path == source.top) {
      buffers.front().wanted = true;
      continue;
    }
    auto file = BufferFile::open(part.path, false);
    if (!file.ok())
      fail("recover", file.error());
    else
      buffers.push_back({part.name, std::move(*file), part.path, false, true});
  }
  return buffers;
}

Status recover_one(const BufferSource& source, const std::string& output, int version) {
  auto buffers = open_parts(source);
  if (!buffers.ok()) return buffers.error();
  auto recording = Recording::open(std::move(*buffers), output, version);
  if (!recording.ok()) return recording.error();
  auto result = (*recording)->finish();
  if (!result.ok()) return result.error();
  print_counts(**recording, *result, output);
  if (result->error)
    return user_error(result->error,
                      output + ": " + std::to_string(result->events_lost) +
                          " events could not be saved: " + std::strerror(result->error) +
                          ". The file holds the others.");
  return {};
}

bool has_events(const BufferSource& source) {
  for (const BufferPart& part : source.parts) {
    auto file = BufferFile::open(part.path, false);
    if (!file.ok()) return true;  // recover_one says what is wrong with it
    for (uint32_t ring = 0; ring < (*file)->nr_rings(); ring++)
      if ((*file)->stats(ring).entries + (*file)->stats(ring).dropped > 0) return true;
  }
  return false;
}

int recover(const RecoverOptions& options) {
  auto sources = find_buffer_sources(options.source);
  if (!sources.ok()) return fail("recover", sources.error());
  // What a launcher (a shell, valgrind) left that exec'ed the program is not worth a file.
  if (sources->size() > 1 && std::any_of(sources->begin(), sources->end(), has_events))
    std::erase_if(*sources, [](const BufferSource& source) { return !has_events(source); });
  int status = kOk;
  for (const BufferSource& source : *sources) {
    std::string output =
        sources->size() == 1 ? options.output : options.output + "." + source.process();
    Status done = recover_one(source, output, options.version);
    if (!done.ok()) status = fail("recover", done.error());
    const std::string directory = source.top.substr(0, source.top.rfind('/'));
    const bool is_whole = source.parts.size() == source_of_directory(directory).parts.size();
    if (done.ok() && is_whole) note_recovered(directory);
  }
  return status;
}

}  // namespace

int run_recover(int argc, char** argv) {
  static const option kOptions[] = {{"output", required_argument, nullptr, 'o'},
                                    {"format", required_argument, nullptr, 'f'},
                                    {"color", required_argument, nullptr, 'c'},
                                    {"help", no_argument, nullptr, 'h'},
                                    {}};
  RecoverOptions options;
  ::opterr = 0;
  for (int c; (c = getopt_long(argc, argv, "o:h", kOptions, nullptr)) != -1;) {
    if (c == 'o') options.output = optarg;
    if (c == 'o' && options.output == "-")
      return usage_error("recover", "A trace.dat cannot be written to standard output: -o FILE.");
    if (c == 'f' && std::string_view(optarg) != "6" && std::string_view(optarg) != "7")
      return usage_error("recover", std::string("--format is 6 or 7, not '") + optarg + "'.");
    if (c == 'f') options.version = optarg[0] - '0';
    if (c == 'c' && !set_color(optarg))
      return usage_error("recover", "--color is auto, always or never.");
    if (c == 'h') return std::fputs(kHelp, stdout) < 0 ? kFailed : kOk;
    if (c == '?')
      return usage_error("recover", "There is no such option, or its argument is missing.");
  }
  if (optind >= argc) return usage_error("recover", "Which directory or buffer file?");
  options.source = argv[optind++];
  if (optind < argc)
    return usage_error("recover",
                       std::string("One source only: '") + argv[optind] + "' is too many.");
  return recover(options);
}

}  // namespace patchbay::cmd
