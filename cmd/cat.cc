// SPDX-License-Identifier: MIT
// patchbay cat PID PATH...: read tracefs files of a process.
#include <getopt.h>

#include "print_file.h"
#include "tracefs_command.h"

namespace patchbay::cmd {
namespace {

constexpr const char kHelp[] =
    "Usage: patchbay cat [-p] PID PATH...\n\n"
    "Prints tracefs files of a process with an agent, as cat does below /sys/kernel/tracing. A "
    "file\n"
    "that waits for events (trace_pipe) is followed until Ctrl-C or the end of the process.\n"
    "Example: patchbay cat 1234 function_events\n";

}  // namespace

int run_cat(int argc, char** argv) {
  const option options[] = {
      {"help", no_argument, nullptr, 'h'}, {"pid", required_argument, nullptr, 'p'}, {}};
  int pid = 0, status = kOk;
  ::opterr = 0;
  for (int letter; (letter = ::getopt_long(argc, argv, "+hp:", options, nullptr)) != -1;) {
    if (letter == 'h') return std::fputs(kHelp, stdout), kOk;
    if (letter != 'p') return bad_option("cat", argv);
    if (!parse_pid(::optarg, &pid)) return usage_error("cat", "-p takes a process id.");
  }
  if (!take_pid_word(argv, argc, &pid) || ::optind == argc)
    return usage_error("cat", "A process id and a path are needed.");
  std::unique_ptr<serve::Client> client = connect_to("cat", pid, &status);
  if (!client) return status;
  stop_on_interrupt();
  for (int i = ::optind; i < argc && !interrupted(); i++) {
    Status printed = print_file(*client, argv[i]);
    if (!printed.ok())
      status = fail("cat", std::string(argv[i]) + ": " + printed.error().message());
  }
  return status;
}

}  // namespace patchbay::cmd
