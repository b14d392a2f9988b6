// SPDX-License-Identifier: MIT
// patchbay write PID PATH [TEXT...]: write to a tracefs file of a process.
#include <getopt.h>
#include <unistd.h>

#include <cerrno>

#include "tracefs_command.h"

namespace patchbay::cmd {
namespace {

constexpr const char kHelp[] =
    "Usage: patchbay write [-t] [-p] PID PATH [TEXT...]\n\n"
    "Writes TEXT (the words joined by blanks, and a newline) to a tracefs file of a process with "
    "an\n"
    "agent; without TEXT, what standard input has.\n\n"
    "  -t, --truncate   open as the shell's `>` does, which clears the file first;\n"
    "                   otherwise as `>>`\n\n"
    "Example: patchbay write 1234 function_events 'getenv(string name)'\n"
    "         patchbay write 1234 events/functions/getenv/enable 1\n";

Result<std::string> read_standard_input() {
  std::string text;
  char part[65536];
  for (;;) {
    ssize_t count = ::read(STDIN_FILENO, part, sizeof part);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return sys_error("read standard input", errno);
    if (count == 0) return text;
    text.append(part, size_t(count));
  }
}

std::string join(char** words, int count) {
  std::string text;
  for (int i = 0; i < count; i++) text += (i ? " " : "") + std::string(words[i]);
  return text + "\n";
}

}  // namespace

int run_write(int argc, char** argv) {
  const option options[] = {{"help", no_argument, nullptr, 'h'},
                            {"pid", required_argument, nullptr, 'p'},
                            {"truncate", no_argument, nullptr, 't'},
                            {}};
  bool truncate = false;
  int pid = 0, status = kOk;
  ::opterr = 0;
  for (int letter; (letter = ::getopt_long(argc, argv, "+htp:", options, nullptr)) != -1;) {
    if (letter == 'h') return std::fputs(kHelp, stdout), kOk;
    if (letter == '?') return bad_option("write", argv);
    truncate |= letter == 't';
    if (letter == 'p' && !parse_pid(::optarg, &pid))
      return usage_error("write", "-p takes a process id.");
  }
  if (!take_pid_word(argv, argc, &pid) || ::optind == argc)
    return usage_error("write", "A process id and a path are needed.");
  std::unique_ptr<serve::Client> client = connect_to("write", pid, &status);
  if (!client) return status;
  const char* path = argv[::optind++];
  int words = argc - ::optind;
  Result<std::string> text = words > 0 ? join(argv + ::optind, words) : read_standard_input();
  if (!text.ok()) return fail("write", text.error());
  Status written = client->write_all(path, *text, truncate);
  if (written.ok()) return kOk;
  // A caret stands under the right character only where the line above begins as it was written.
  std::string sentence = written.error().message();
  if (sentence.find('\n') != sentence.npos) sentence.insert(0, "\n");
  return fail("write", std::string(path) + (sentence[0] == '\n' ? ":" : ": ") + sentence);
}

}  // namespace patchbay::cmd
