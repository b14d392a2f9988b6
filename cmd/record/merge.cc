// SPDX-License-Identifier: MIT
//
// patchbay merge: recordings that were made apart, on one machine, as one.
#include <unistd.h>

#include <cstring>

#include "cmd/common/commands.h"
#include "cmd/record/recording.h"
#include "trace_dat/merge.h"

namespace patchbay::cmd {
namespace {

constexpr int kFormat = kFirstOptionId;
constexpr Option kOptions[] = {
    {.letter = 'o',
     .name = "output",
     .argument = "FILE",
     .help = "writes FILE; it must not be one of the recordings"},
    {.name = "format",
     .argument = "6|7",
     .help = "sets the version of the trace.dat; the default is 7",
     .id = kFormat},
};

struct MergeOptions {
  std::vector<std::string> inputs;
  std::string output;
  int version = 7;
};

// Null when the option is right, else the sentence about it.
const char* take_option(int id, std::string_view value, MergeOptions* options) {
  if (id == 'o') {
    options->output = value;
    return value == "-" ? "A trace.dat cannot be written to standard output: -o FILE." : nullptr;
  }
  options->version = value == "6" ? 6 : 7;
  return value == "6" || value == "7" ? nullptr : "--format takes 6 or 7.";
}

int merge(const MergeOptions& options) {
  auto lock = OutputLock::take(options.output);
  if (!lock.ok()) return fail("merge", lock.error());
  std::vector<MergedPart> parts;
  for (const std::string& path : options.inputs) parts.emplace_back().path = path;
  auto merged = merge_trace_dats(parts, {}, options.output, options.version);
  if (!merged.ok()) return fail("merge", merged.error());
  (*lock)->keep();
  for (const std::string& note : merged->notes) remark(note);
  std::printf("%s: %llu events of %zu recordings, %s\n", options.output.c_str(),
              static_cast<unsigned long long>(merged->events), parts.size(),
              size_text(merged->file.bytes).c_str());
  if (merged->file.error == 0) return kOk;
  return fail("merge", options.output + ": " + std::to_string(merged->file.events_lost) +
                           " events could not be saved: " + std::strerror(merged->file.error) +
                           ". The file holds the others.");
}

}  // namespace

constexpr CommandLine kMergeLine = {
    .name = "merge",
    .summary = "make one recording of several",
    .synopsis = "merge FILE... -o FILE [--format 6|7]",
    .about = R"(Writes one trace.dat with the events of several in order of time, each with the
names of its own program. They must be of one machine, since one boot of it.

)",
    .options = {kOptions},
    .after = R"(report, graph, replay, export and view read it as any recording, and so do
trace-cmd and KernelShark; `patchbay report --processes` lists who is in it.
)",
    .words = "FILE",
};

int run_merge(int argc, char** argv) {
  MergeOptions options;
  const auto take = [&](int id, const char* value) { return take_option(id, value, &options); };
  if (const std::optional<int> ended = parse_options(kMergeLine, argc, argv, take)) return *ended;
  while (::optind < argc) options.inputs.push_back(argv[::optind++]);
  if (options.inputs.empty()) return usage_error("merge", "Recordings are needed: FILE...");
  if (options.output.empty()) return usage_error("merge", "The output is needed: -o FILE.");
  return merge(options);
}

}  // namespace patchbay::cmd
