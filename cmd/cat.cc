// SPDX-License-Identifier: MIT
// patchbay cat PID PATH...: read tracefs files of a process.
#include <getopt.h>

#include "print_file.h"
#include "tracefs_command.h"

namespace patchbay::cmd {
namespace {

constexpr const char kHelp[] =
    "Usage: patchbay cat PID PATH...\n\n"
    "Prints tracefs files of a process with an agent, as cat does below /sys/kernel/tracing. A "
    "file\n"
    "that waits for events (trace_pipe) is followed until Ctrl-C or the end of the process.\n"
    "Example: patchbay cat 1234 function_events\n";

}  // namespace

int run_cat(int argc, char** argv) {
  const option options[] = {{"help", no_argument, nullptr, 'h'}, {}};
  ::opterr = 0;
  int letter = ::getopt_long(argc, argv, "+h", options, nullptr);
  if (letter == 'h') return std::fputs(kHelp, stdout), kOk;
  if (letter != -1) return bad_option("cat", argv);
  if (argc - ::optind < 2) return usage_error("cat", "A process id and a path are needed.");
  int status = kOk;
  std::unique_ptr<serve::Client> client = connect_to("cat", argv[::optind], &status);
  if (!client) return status;
  stop_on_interrupt();
  for (int i = ::optind + 1; i < argc && !interrupted(); i++) {
    Status printed = print_file(*client, argv[i]);
    if (!printed.ok())
      status = fail("cat", std::string(argv[i]) + ": " + printed.error().message());
  }
  return status;
}

}  // namespace patchbay::cmd
