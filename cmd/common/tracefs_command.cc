// SPDX-License-Identifier: MIT
#include "cmd/common/tracefs_command.h"

#include <cerrno>

#include "serve/directory.h"

namespace patchbay::cmd {

bool take_pid_word(char** argv, int argc, int* pid) {
  if (*pid != 0) return true;
  if (::optind >= argc || !parse_pid(argv[::optind], pid)) return false;
  ::optind++;
  return true;
}

std::unique_ptr<serve::Client> connect_to(std::string_view command, int pid, int* status) {
  Result<std::unique_ptr<serve::Client>> client = serve::Client::connect(pid);
  if (client.ok()) return std::move(*client);
  *status = fail(command, client.error());
  return nullptr;
}

Result<std::unique_ptr<serve::Client>> choose_process(int pid) {
  if (pid != 0) return serve::Client::connect(pid);
  PB_ASSIGN(std::string directory, serve::runtime_directory(false));
  PB_ASSIGN(std::vector<serve::ProcessEntry> entries, serve::list_processes(directory));
  std::erase_if(entries, [](const auto& entry) { return !entry.has_agent(); });
  if (entries.size() == 1) return serve::Client::connect_directory(entries.front().directory);
  return user_error(
      ESRCH, entries.empty()
                 ? "No process has an agent; `patchbay attach PID` puts it into a running one."
                 : "Several processes have an agent; choose one with -p PID.");
}

}  // namespace patchbay::cmd
