// SPDX-License-Identifier: MIT
#include "tracefs_command.h"

#include <getopt.h>

namespace patchbay::cmd {

std::unique_ptr<serve::Client> connect_to(std::string_view command, std::string_view pid_text,
                                          int* status) {
  int pid = 0;
  if (!parse_pid(pid_text, &pid)) {
    *status = usage_error(command, "'" + std::string(pid_text) + "' is not a process id.");
    return nullptr;
  }
  Result<std::unique_ptr<serve::Client>> client = serve::Client::connect(pid);
  if (client.ok()) return std::move(*client);
  *status = fail(command, client.error());
  return nullptr;
}

int bad_option(std::string_view command, char** argv) {
  bool is_short = ::optopt != 0 && argv[::optind - 1][1] != '-';
  std::string option =
      is_short ? std::string{'-', char(::optopt)} : std::string(argv[::optind - 1]);
  return usage_error(command, "The option '" + option + "' does not exist, or misses its value.");
}

}  // namespace patchbay::cmd
