// SPDX-License-Identifier: MIT
//
// patchbay recover: makes a trace.dat of what a process has left in its runtime directory, whatever
// ended it. Every published event is in the buffer file (G5). Of the process only its binaries are
// needed, for names.
#include <unistd.h>

#include <algorithm>

#include "cmd/common/buffer_source.h"
#include "cmd/common/commands.h"
#include "cmd/record/file_options.h"
#include "cmd/record/recording.h"
#include "cmd/target/leftovers.h"

namespace patchbay::cmd {
namespace {

constexpr Option kOptions[] = {
    {.letter = 'o',
     .name = "output",
     .argument = "FILE",
     .help = "writes FILE instead of trace.dat"},
    kFormatOption,
};

struct RecoverOptions : FileOptions {
  RecoverOptions() { output = "trace.dat"; }
  std::string source;
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
  std::printf("%s: %llu events recovered, %llu lost, %llu bytes\n", one_line(output).c_str(),
              static_cast<unsigned long long>(recording.events() - result.events_lost),
              static_cast<unsigned long long>(lost), static_cast<unsigned long long>(result.bytes));
}

// Opens the parts, behind the file that decodes them. A damaged part costs the others nothing.
Result<std::vector<RecordedBuffer>> open_parts(const BufferSource& source) {
  std::vector<RecordedBuffer> buffers;
  PB_ASSIGN(auto top, BufferFile::open(source.top, false));
  buffers.push_back({"", std::move(top), source.top, false, false});
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
  PB_ASSIGN(auto buffers, open_parts(source));
  PB_ASSIGN(auto recording, Recording::open(std::move(buffers), output, version));
  PB_ASSIGN(auto result, recording->finish());
  print_counts(*recording, result, output);
  return saved_whole(result, output);
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
  // A launcher (a shell, valgrind) that exec'ed the program has left a directory, too. It is not
  // worth a file.
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

constexpr CommandLine kRecoverLine = {
    .name = "recover",
    .summary = "make a trace.dat of what a dead process has left",
    .synopsis = "recover DIR|FILE [-o FILE] [--format 6|7]",
    .about = R"(Writes a trace.dat of the events that a process has left behind, also after a
crash or a kill -9.

DIR is DIR/PID of a runtime directory, or the runtime directory itself: then each
of several processes in it gets a file of its own, FILE.PID. Instances and
snapshots are in it, too. FILE is a buffer file.

)",
    .options = {kOptions},
    .words = "FILE",
};

int run_recover(int argc, char** argv) {
  RecoverOptions options;
  const auto take = [&](int id, const char* value) {
    return take_file_option(id, value, &options);
  };
  if (const std::optional<int> ended = parse_options(kRecoverLine, argc, argv, take)) return *ended;
  if (::optind >= argc) return usage_error("recover", "A directory or a buffer file is needed.");
  options.source = argv[::optind++];
  if (::optind < argc) return too_much(kRecoverLine, argv);
  return recover(options);
}

}  // namespace patchbay::cmd
