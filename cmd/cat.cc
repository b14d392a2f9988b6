// SPDX-License-Identifier: MIT
// patchbay cat PID PATH...: read tracefs files of a process.
#include <getopt.h>

#include "tracefs_command.h"

namespace patchbay::cmd {
namespace {

constexpr const char kHelp[] =
    "Usage: patchbay cat PID PATH...\n\n"
    "Prints tracefs files of a process with an agent, as cat does below /sys/kernel/tracing.\n"
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
  for (int i = ::optind + 1; i < argc; i++) {
    Result<std::string> text = client->read_all(argv[i]);
    if (text.ok())
      std::fwrite(text->data(), 1, text->size(), stdout);
    else
      status = fail("cat", std::string(argv[i]) + ": " + text.error().message());
  }
  return status;
}

}  // namespace patchbay::cmd
