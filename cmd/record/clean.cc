// SPDX-License-Identifier: MIT
// patchbay clean: removes what dead processes have left in the runtime directory.
#include <unistd.h>

#include <cerrno>

#include "cmd/common/commands.h"
#include "cmd/common/tracefs_command.h"
#include "cmd/target/attached_mark.h"
#include "cmd/target/leftovers.h"
#include "serve/directory.h"
#include "uprobes/kernel_mirrors.h"
#include "uprobes/kernel_tracefs.h"

namespace patchbay::cmd {
namespace {

constexpr int kAll = kFirstOptionId;
constexpr Option kOptions[] = {
    {.name = "all",
     .help = "also removes recordings that nobody has saved, histograms and profiles",
     .id = kAll},
    {.letter = 'n', .name = "dry-run", .help = "says what would be removed, and does nothing"},
    {.letter = 'a', .id = kAll, .kind = Option::Kind::kOldSpelling},
};

const char* reason(Leftover::Kind kind) {
  switch (kind) {
    case Leftover::Kind::kEmpty:
      return "nothing was recorded";
    case Leftover::Kind::kRecovered:
      return "it was recovered";
    case Leftover::Kind::kUnsaved:
      return "patchbay recover makes a trace.dat of it";
    case Leftover::Kind::kTexts:
      return "its histograms or profile are in it (hist/, trace_stat), and in no trace.dat";
    case Leftover::Kind::kInUse:
      return "a process still records in it";
  }
  return "";
}

// Marks that killed commands have left.
void clean_marks(const std::string& runtime, bool dry_run) {
  for (const std::string& path : stale_marks(runtime))
    if (remove_stale_mark(path, dry_run))
      std::printf("%s %s: its process has ended\n", dry_run ? "would remove" : "removed",
                  printable(path).c_str());
}

// Instances in the kernel's tracefs that killed recordings have left (record -k, uprobes).
void clean_kernel(bool dry_run) {
  for (const std::string& name : remove_kernel_leftovers(dry_run))
    std::printf("%s %s of the kernel's tracefs: its recording has ended\n",
                dry_run ? "would remove" : "removed", one_line(name).c_str());
}

// Lines of the kernel's uprobe_events that killed mirrors have left.
void clean_mirrors(const std::string& runtime, bool dry_run) {
  for (const std::string& event : remove_mirror_leftovers(runtime, dry_run))
    std::printf("%s %s of the kernel's uprobe_events: its mirror has ended\n",
                dry_run ? "would remove" : "removed", printable(event).c_str());
}

int clean(bool all, bool dry_run) {
  clean_kernel(dry_run);
  Result<std::string> runtime = serve::runtime_directory(false);
  if (!runtime.ok()) return fail("clean", runtime.error());
  Result<std::vector<Leftover>> found = find_leftovers(*runtime);
  if (!found.ok()) return fail("clean", found.error());
  // Root looks anywhere. It removes nothing of other users, who could have put links there.
  Status own = dry_run ? Status() : serve::check_directory(*runtime, false);
  if (!own.ok() && !found->empty()) return fail("clean", own.error());
  if (own.ok()) clean_marks(*runtime, dry_run);
  if (own.ok()) clean_mirrors(*runtime, dry_run);
  if (own.ok())
    for (const std::string& path : remove_stale_trees(*runtime, dry_run))
      std::printf("%s %s: its recording has ended\n", dry_run ? "would remove" : "removed",
                  printable(path).c_str());
  int status = kOk;
  for (const Leftover& one : *found) {
    const bool goes = one.kind == Leftover::Kind::kEmpty ||
                      one.kind == Leftover::Kind::kRecovered ||
                      (all && one.kind != Leftover::Kind::kInUse);
    const uint64_t bytes = bytes_of(one);
    Status removed = goes && !dry_run ? remove_leftover(one) : Status();
    if (!removed.ok()) status = fail("clean", removed.error());
    if (!removed.ok()) continue;
    std::printf("%s %s: %s, %s\n", goes ? (dry_run ? "would remove" : "removed") : "kept",
                printable(one.directory).c_str(), size_text(bytes).c_str(), reason(one.kind));
  }
  return status;
}

}  // namespace

constexpr CommandLine kCleanLine = {
    .name = "clean",
    .summary = "remove what dead processes have left",
    .synopsis = "clean [-n] [--all]",
    .about = R"(Removes the directories of dead processes in which nothing was recorded, and
those that patchbay recover has saved whole. It names the others and keeps them.
(A command that starts a program removes empty ones, too.) With the rights for it,
also what killed recordings have left in the kernel's tracefs.

)",
    .options = {kOptions},
};

int run_clean(int argc, char** argv) {
  bool all = false, dry_run = false;
  const auto take = [&](int id, const char*) -> const char* {
    (id == kAll ? all : dry_run) = true;
    return nullptr;
  };
  if (const std::optional<int> ended = parse_options(kCleanLine, argc, argv, take)) return *ended;
  if (::optind < argc) return too_much(kCleanLine, argv);
  return clean(all, dry_run);
}

}  // namespace patchbay::cmd
