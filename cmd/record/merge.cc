// SPDX-License-Identifier: MIT
//
// patchbay merge: recordings that were made apart, on one machine, as one.
#include <unistd.h>

#include "cmd/common/commands.h"
#include "cmd/record/file_options.h"
#include "cmd/record/recording.h"
#include "trace_dat/merge.h"

namespace patchbay::cmd {
namespace {

constexpr Option kOptions[] = {
    {.letter = 'o',
     .name = "output",
     .argument = "FILE",
     .help = "writes FILE; it must not be one of the recordings"},
    kFormatOption,
};

struct MergeOptions : FileOptions {
  std::vector<std::string> inputs;
};

int merge(const MergeOptions& options) {
  auto lock = OutputLock::take(options.output);
  if (!lock.ok()) return fail("merge", lock.error());
  std::vector<MergedPart> parts;
  for (const std::string& path : options.inputs) parts.emplace_back().path = path;
  auto merged = merge_trace_dats(parts, {}, options.output, options.version);
  if (!merged.ok()) return fail("merge", merged.error());
  (*lock)->keep();
  for (const std::string& note : merged->notes) remark(note);
  std::printf("%s: %llu events of %zu recordings, %s\n", one_line(options.output).c_str(),
              static_cast<unsigned long long>(merged->events), parts.size(),
              size_text(merged->file.bytes).c_str());
  const Status saved = saved_whole(merged->file, options.output);
  return saved.ok() ? kOk : fail("merge", saved.error());
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
  const auto take = [&](int id, const char* value) {
    return take_file_option(id, value, &options);
  };
  if (const std::optional<int> ended = parse_options(kMergeLine, argc, argv, take)) return *ended;
  while (::optind < argc) options.inputs.push_back(argv[::optind++]);
  if (options.inputs.empty()) return usage_error("merge", "Recordings are needed: FILE...");
  if (options.output.empty()) return usage_error("merge", "The output is needed: -o FILE.");
  return merge(options);
}

}  // namespace patchbay::cmd
