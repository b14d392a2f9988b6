// SPDX-License-Identifier: MIT
//
// patchbay recover: a trace.dat out of what a process has left in its runtime directory, whatever
// ended it. Every published event is in the buffer file (G5); nothing of the process is needed but
// its binaries, for names.
#include <getopt.h>

#include <algorithm>

#include "commands.h"
#include "trace_dat/trace_dat_write.h"
#include "trace_input.h"

namespace patchbay::cmd {
namespace {

constexpr char kHelp[] =
    "Usage: patchbay recover DIR|FILE [-o FILE] [--format 6|7]\n\n"
    "Writes a trace.dat of the events that a process left behind, after a crash or a kill -9 "
    "too.\n\n"
    "  DIR               DIR/PID of a runtime directory, or the runtime directory itself: then "
    "every\n"
    "                    process in it gets a file of its own, FILE.PID, when there are several\n"
    "  FILE              a buffer file\n"
    "  -o, --output FILE default: trace.dat\n"
    "      --format N    version of the trace.dat: 7 (default) or 6\n"
    "  -h, --help        this text\n";

struct RecoverOptions {
  std::string source, output = "trace.dat";
  int version = 7;
};

struct CpuCount {
  uint64_t events = 0, lost = 0;
};

void print_counts(const BufferFile& file, const std::vector<CpuCount>& counts,
                  const TraceDatResult& result, const std::string& output) {
  uint64_t events = 0, lost = 0;
  for (uint32_t ring = 0; ring < counts.size(); ring++) {
    uint64_t missing = counts[ring].lost + file.stats(ring).dropped;
    events += counts[ring].events;
    lost += missing;
    if (counts[ring].events + missing == 0) continue;
    if (ring == file.header().nr_cpus) {
      std::printf("without CPU: %llu events, %llu lost (threads without rseq)\n",
                  static_cast<unsigned long long>(counts[ring].events),
                  static_cast<unsigned long long>(missing));
    } else {
      std::printf("CPU %u: %llu events, %llu lost\n", ring,
                  static_cast<unsigned long long>(counts[ring].events),
                  static_cast<unsigned long long>(missing));
    }
  }
  lost += file.missed() + result.events_lost;
  std::printf("%s: %llu events recovered, %llu lost, %llu bytes\n", output.c_str(),
              static_cast<unsigned long long>(events - result.events_lost),
              static_cast<unsigned long long>(lost), static_cast<unsigned long long>(result.bytes));
}

Status recover_one(const std::string& source, const std::string& output, int version) {
  auto opened = BufferFile::open(source, false);
  if (!opened.ok()) return opened.error();
  auto meta = read_recorded_meta(**opened);
  if (!meta.ok()) return meta.error();
  BufferPages pages(std::move(*opened));
  BufferFile& file = pages.file();
  auto writer = TraceDatWriter::open(output, {version, file.header().subbuf_size, file.nr_rings()});
  if (!writer.ok()) return writer.error();
  AddressCollector addresses(meta->events);
  std::vector<CpuCount> counts(file.nr_rings());
  PageImage page;
  for (uint32_t ring = 0; ring < file.nr_rings(); ring++) {
    while (pages.next_page(ring, &page)) {
      counts[ring].events += page.entries;
      counts[ring].lost += page.lost_before;
      addresses.add_page(page);
      // A page that does not fit is counted by the writer; what was saved before is still worth a
      // file.
      if (!(*writer)->append_page(ring, page).ok()) continue;
    }
  }
  auto metadata = collect_metadata(file, addresses);
  if (!metadata.ok()) return metadata.error();
  auto result = (*writer)->finish(*metadata);
  if (!result.ok()) return result.error();
  print_counts(file, counts, *result, output);
  if (result->error)
    return user_error(result->error,
                      output + ": " + std::to_string(result->events_lost) +
                          " events could not be saved: " + std::strerror(result->error) +
                          ". The file holds the others.");
  return {};
}

// DIR/PID/buffer -> FILE.PID
std::string output_of(const std::string& output, const std::string& source) {
  size_t end = source.rfind('/');
  size_t start = source.rfind('/', end - 1) + 1;
  return output + "." + source.substr(start, end - start);
}

bool has_events(const std::string& source) {
  auto file = BufferFile::open(source, false);
  if (!file.ok()) return true;  // recover_one says what is wrong with it
  for (uint32_t ring = 0; ring < (*file)->nr_rings(); ring++)
    if ((*file)->stats(ring).entries + (*file)->stats(ring).dropped > 0) return true;
  return false;
}

int recover(const RecoverOptions& options) {
  auto sources = find_buffer_files(options.source);
  if (!sources.ok()) return fail("recover", sources.error());
  // What a launcher (a shell, valgrind) left that exec'ed the program is not worth a file.
  if (sources->size() > 1 && std::any_of(sources->begin(), sources->end(), has_events))
    std::erase_if(*sources, [](const std::string& source) { return !has_events(source); });
  int status = kOk;
  for (const std::string& source : *sources) {
    std::string output = sources->size() == 1 ? options.output : output_of(options.output, source);
    Status done = recover_one(source, output, options.version);
    if (!done.ok()) status = fail("recover", done.error());
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
