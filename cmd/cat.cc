// SPDX-License-Identifier: MIT
// patchbay cat PID PATH...: read tracefs files of a process.
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>

#include <cerrno>

#include "tracefs_command.h"

namespace patchbay::cmd {
namespace {

constexpr const char kHelp[] =
    "Usage: patchbay cat PID PATH...\n\n"
    "Prints tracefs files of a process with an agent, as cat does below /sys/kernel/tracing. A "
    "file\n"
    "that waits for events (trace_pipe) is followed until Ctrl-C or the end of the process.\n"
    "Example: patchbay cat 1234 function_events\n";

volatile sig_atomic_t g_stopped = 0;

// Ctrl-C ends the output as the end of the file does.
void stop_on_interrupt() {
  struct sigaction action {};
  action.sa_handler = [](int) { g_stopped = 1; };
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

// What a file has goes out at once, as somebody may look at it while it waits.
Status print_file(serve::Client& client, std::string_view path) {
  Result<uint32_t> handle = client.open(path, O_RDONLY);
  if (!handle.ok()) return handle.error();
  while (!g_stopped) {
    Result<std::string> text =
        client.read_waiting(*handle, serve::kMaxMessage, [] { return g_stopped != 0; });
    if (!text.ok() && text.error().errno_value == EINTR && g_stopped) break;
    if (!text.ok()) return text.error();
    if (text->empty()) break;
    if (std::fwrite(text->data(), 1, text->size(), stdout) != text->size() ||
        std::fflush(stdout) != 0)
      return sys_error("write the output", errno);
  }
  if (!client.gone()) (void)client.close(*handle);
  return {};
}

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
  for (int i = ::optind + 1; i < argc && !g_stopped; i++) {
    Status printed = print_file(*client, argv[i]);
    if (!printed.ok())
      status = fail("cat", std::string(argv[i]) + ": " + printed.error().message());
  }
  return status;
}

}  // namespace patchbay::cmd
