// SPDX-License-Identifier: MIT
// patchbay cat PID PATH...: read tracefs files of a process.
#include <unistd.h>

#include "cmd/common/print_file.h"
#include "cmd/common/tracefs_command.h"
#include "cmd/target/process_word.h"

namespace patchbay::cmd {
constexpr CommandLine kCatLine = {
    .name = "cat",
    .summary = "read a tracefs file of a process",
    .synopsis = "cat [-p] PID PATH...",
    .about = R"(Prints tracefs files of a process with an agent, as cat does below
/sys/kernel/tracing. A file that waits for events (trace_pipe) is followed until
Ctrl-C or the end of the process.

)",
    .options = {{std::span(&kNeededPidOption, 1)}},
    .after = "Example: patchbay cat 1234 function_events\n",
    .words = "PID PATH",
};

int run_cat(int argc, char** argv) {
  int pid = 0, status = kOk;
  const auto take = [&pid](int, const char* value) { return take_pid(value, &pid); };
  if (const std::optional<int> ended = parse_options(kCatLine, argc, argv, take)) return *ended;
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
