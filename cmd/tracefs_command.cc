// SPDX-License-Identifier: MIT
#include "tracefs_command.h"

#include <getopt.h>

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
  Result<std::string> directory = serve::runtime_directory(false);
  if (!directory.ok()) return directory.error();
  Result<std::vector<serve::ProcessEntry>> entries = serve::list_processes(*directory);
  if (!entries.ok()) return entries.error();
  std::erase_if(*entries, [](const auto& entry) { return !entry.has_agent(); });
  if (entries->size() == 1) return serve::Client::connect_directory(entries->front().directory);
  return user_error(ESRCH, entries->empty()
                               ? "No process has an agent; start one with `patchbay record`."
                               : "Several processes have an agent; choose one with -p PID.");
}

int bad_option(std::string_view command, char** argv) {
  bool is_short = ::optopt != 0 && argv[::optind - 1][1] != '-';
  std::string option =
      is_short ? std::string{'-', char(::optopt)} : std::string(argv[::optind - 1]);
  return usage_error(command, "The option '" + option + "' does not exist, or misses its value.");
}

}  // namespace patchbay::cmd
