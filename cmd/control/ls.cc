// SPDX-License-Identifier: MIT
// patchbay ls PID [PATH]: list a tracefs directory of a process.
#include <unistd.h>

#include "cmd/common/tracefs_command.h"
#include "cmd/target/process_word.h"

namespace patchbay::cmd {
constexpr CommandLine kLsLine = {
    .name = "ls",
    .summary = "list a tracefs directory of a process",
    .synopsis = "ls [-p] PID [PATH]",
    .about = R"(Lists a directory of the tracefs of a process with an agent, one name a line.
The names of directories end in '/'. Without PATH it lists the root.

)",
    .options = {{std::span(&kNeededPidOption, 1)}},
    .after = "Example: patchbay ls 1234 events/functions\n",
    .words = "PID PATH",
};

int run_ls(int argc, char** argv) {
  int pid = 0, status = kOk;
  const auto take = [&pid](int, const char* value) { return take_pid(value, &pid); };
  if (const std::optional<int> ended = parse_options(kLsLine, argc, argv, take)) return *ended;
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
