// SPDX-License-Identifier: MIT
// patchbay ls PID [PATH]: list a tracefs directory of a process.
#include <getopt.h>

#include "tracefs_command.h"

namespace patchbay::cmd {
namespace {

constexpr const char kHelp[] =
    "Usage: patchbay ls [-p] PID [PATH]\n\n"
    "Lists a directory of the tracefs of a process with an agent, one name a line; directories "
    "end\n"
    "in '/'. Without PATH the root.\n"
    "Example: patchbay ls 1234 events/functions\n";

}  // namespace

int run_ls(int argc, char** argv) {
  const option options[] = {
      {"help", no_argument, nullptr, 'h'}, {"pid", required_argument, nullptr, 'p'}, {}};
  int pid = 0, status = kOk;
  ::opterr = 0;
  for (int letter; (letter = ::getopt_long(argc, argv, "+hp:", options, nullptr)) != -1;) {
    if (letter == 'h') return std::fputs(kHelp, stdout), kOk;
    if (letter != 'p') return bad_option("ls", argv);
    if (!parse_pid(::optarg, &pid)) return usage_error("ls", "-p takes a process id.");
  }
  if (!take_pid_word(argv, argc, &pid) || argc - ::optind > 1)
    return usage_error("ls", "A process id and at most one path are needed.");
  std::unique_ptr<serve::Client> client = connect_to("ls", pid, &status);
  if (!client) return status;
  Result<std::vector<std::string>> names = client->list(::optind < argc ? argv[::optind] : "");
  if (!names.ok()) return fail("ls", names.error());
  bool color = use_color(stdout);
  for (const std::string& name : *names) {
    bool directory = !name.empty() && name.back() == '/';
    std::printf(color && directory ? "\033[34m%s\033[0m\n" : "%s\n", printable(name).c_str());
  }
  return kOk;
}

}  // namespace patchbay::cmd
