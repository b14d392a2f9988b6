// SPDX-License-Identifier: MIT
// patchbay ls PID [PATH]: list a tracefs directory of a process.
#include <getopt.h>

#include "tracefs_command.h"

namespace patchbay::cmd {
namespace {

constexpr const char kHelp[] =
    "Usage: patchbay ls PID [PATH]\n\n"
    "Lists a directory of the tracefs of a process with an agent, one name a line; directories "
    "end\n"
    "in '/'. Without PATH the root.\n"
    "Example: patchbay ls 1234 events/functions\n";

}  // namespace

int run_ls(int argc, char** argv) {
  const option options[] = {{"help", no_argument, nullptr, 'h'}, {}};
  ::opterr = 0;
  int letter = ::getopt_long(argc, argv, "+h", options, nullptr);
  if (letter == 'h') return std::fputs(kHelp, stdout), kOk;
  if (letter != -1) return bad_option("ls", argv);
  int words = argc - ::optind;
  if (words < 1 || words > 2)
    return usage_error("ls", "A process id and at most one path are needed.");
  int status = kOk;
  std::unique_ptr<serve::Client> client = connect_to("ls", argv[::optind], &status);
  if (!client) return status;
  Result<std::vector<std::string>> names = client->list(words == 2 ? argv[::optind + 1] : "");
  if (!names.ok()) return fail("ls", names.error());
  bool color = use_color(stdout);
  for (const std::string& name : *names) {
    bool directory = !name.empty() && name.back() == '/';
    std::printf(color && directory ? "\033[34m%s\033[0m\n" : "%s\n", printable(name).c_str());
  }
  return kOk;
}

}  // namespace patchbay::cmd
