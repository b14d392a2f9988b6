// SPDX-License-Identifier: MIT
#include "cmd/common/print_file.h"

#include <fcntl.h>
#include <signal.h>

#include <cerrno>
#include <cstdio>

namespace patchbay::cmd {
namespace {

volatile sig_atomic_t g_stopped = 0;

}  // namespace

void stop_on_interrupt() {
  struct sigaction action {};
  action.sa_handler = [](int) { g_stopped = 1; };
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  struct sigaction hangup {};  // nohup has it ignored
  if (::sigaction(SIGHUP, nullptr, &hangup) == 0 && hangup.sa_handler != SIG_IGN)
    ::sigaction(SIGHUP, &action, nullptr);
}

void stop_on_closed_output() {
  struct sigaction action {};
  action.sa_handler = [](int) { g_stopped = 1; };
  ::sigaction(SIGPIPE, &action, nullptr);
}

bool interrupted() { return g_stopped != 0; }

Status print_file(serve::Client& client, std::string_view path) {
  PB_ASSIGN(uint32_t handle, client.open(path, O_RDONLY));
  while (!g_stopped) {
    Result<std::string> text =
        client.read_waiting(handle, serve::kMaxMessage, [] { return g_stopped != 0; });
    if (!text.ok() && text.error().errno_value == EINTR && g_stopped) break;
    if (!text.ok()) return text.error();
    if (text->empty()) break;
    if (std::fwrite(text->data(), 1, text->size(), stdout) != text->size() ||
        std::fflush(stdout) != 0)
      return sys_error("write the output", errno);
  }
  if (!client.gone()) (void)client.close(handle);
  return {};
}

}  // namespace patchbay::cmd
