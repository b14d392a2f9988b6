// SPDX-License-Identifier: MIT
#include "cmd/common/print_file.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>

#include "cmd/common/commands.h"

namespace patchbay::cmd {
namespace {

volatile sig_atomic_t g_stopped = 0;
constexpr size_t kMostCut = 1 << 16;

Status put(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0)
    return {};
  return sys_error("write the output", errno);
}

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
  const bool is_terminal = ::isatty(STDOUT_FILENO);
  std::string cut;  // of a line whose end is not there yet
  PB_ASSIGN(uint32_t handle, client.open(path, O_RDONLY));
  while (!g_stopped) {
    Result<std::string> text =
        client.read_waiting(handle, serve::kMaxMessage, [] { return g_stopped != 0; });
    if (!text.ok() && text.error().errno_value == EINTR && g_stopped) break;
    if (!text.ok()) return text.error();
    if (text->empty()) break;
    if (is_terminal) {
      // A character may stand in two pieces.
      cut += *text;
      const size_t whole = cut.size() < kMostCut ? cut.rfind('\n') + 1 : cut.size();
      *text = printable(std::string_view(cut).substr(0, whole));
      cut.erase(0, whole);
    }
    PB_TRY(put(*text));
  }
  PB_TRY(put(printable(cut)));
  if (!client.gone()) (void)client.close(handle);
  return {};
}

}  // namespace patchbay::cmd
