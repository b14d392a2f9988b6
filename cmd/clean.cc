// SPDX-License-Identifier: MIT
// patchbay clean: removes what dead processes have left in the runtime directory.
#include <getopt.h>

#include <cerrno>

#include "commands.h"
#include "leftovers.h"
#include "serve/directory.h"
#include "tracefs_command.h"

namespace patchbay::cmd {
namespace {

constexpr char kHelp[] =
    "Usage: patchbay clean [-n] [--all]\n\n"
    "Removes the directories that dead processes have left beside those that live, where\n"
    "nothing was recorded, or patchbay recover has saved all of it. The others are named, and\n"
    "kept. (Empty ones are also removed when a command starts a program.)\n\n"
    "  -a, --all      also recordings that nobody has saved, histograms and profiles\n"
    "  -n, --dry-run  says what would be removed, and does nothing\n";

const char* reason(Leftover::Kind kind) {
  switch (kind) {
    case Leftover::Kind::kEmpty:
      return "nothing was recorded";
    case Leftover::Kind::kRecovered:
      return "it was recovered";
    case Leftover::Kind::kUnsaved:
      return "patchbay recover makes a trace.dat of it";
    case Leftover::Kind::kTexts:
      return "its histograms or profile are texts in it (hist/, trace_stat) that no trace.dat has";
    case Leftover::Kind::kInUse:
      return "a process still records in it";
  }
  return "";
}

int clean(bool all, bool dry_run) {
  Result<std::string> runtime = serve::runtime_directory(false);
  if (!runtime.ok()) return fail("clean", runtime.error());
  Result<std::vector<Leftover>> found = find_leftovers(*runtime);
  if (!found.ok()) return fail("clean", found.error());
  // Root looks anywhere, and removes nothing of other users', who could have put links there.
  Status own = found->empty() || dry_run ? Status() : serve::check_directory(*runtime, false);
  if (!own.ok()) return fail("clean", own.error());
  int status = kOk;
  for (const Leftover& one : *found) {
    const bool goes = one.kind == Leftover::Kind::kEmpty ||
                      one.kind == Leftover::Kind::kRecovered ||
                      (all && one.kind != Leftover::Kind::kInUse);
    Status removed = goes && !dry_run ? remove_leftover(one) : Status();
    if (!removed.ok()) status = fail("clean", removed.error());
    if (!removed.ok()) continue;
    std::printf("%s %s: %s, %s\n", goes ? (dry_run ? "would remove" : "removed") : "kept",
                printable(one.directory).c_str(), size_text(one.bytes).c_str(), reason(one.kind));
  }
  return status;
}

}  // namespace

int run_clean(int argc, char** argv) {
  const option options[] = {{"all", no_argument, nullptr, 'a'},
                            {"dry-run", no_argument, nullptr, 'n'},
                            {"help", no_argument, nullptr, 'h'},
                            {}};
  bool all = false, dry_run = false;
  ::opterr = 0;
  for (int letter; (letter = ::getopt_long(argc, argv, "anh", options, nullptr)) != -1;) {
    if (letter == 'h') return std::fputs(kHelp, stdout), kOk;
    if (letter == '?') return bad_option("clean", argv);
    all |= letter == 'a';
    dry_run |= letter == 'n';
  }
  if (::optind < argc)
    return usage_error("clean", "'" + std::string(argv[::optind]) + "' is too much.");
  return clean(all, dry_run);
}

}  // namespace patchbay::cmd
