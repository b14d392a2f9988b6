// SPDX-License-Identifier: MIT
// patchbay write PID PATH [TEXT...]: write to a tracefs file of a process.
#include <unistd.h>

#include <cerrno>

#include "cmd/common/tracefs_command.h"
#include "cmd/target/attachment.h"
#include "cmd/target/process_word.h"

namespace patchbay::cmd {
namespace {

constexpr Option kOptions[] = {
    kNeededPidOption,
    {.name = "truncate",
     .help = "opens the file as the shell's `>` does, which clears it first; otherwise as `>>`",
     .more = "For function_events this removes all events first, for set_event it disables all.",
     .id = 't'},
    {.letter = 't', .kind = Option::Kind::kOldSpelling},
};

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

constexpr CommandLine kWriteLine = {
    .name = "write",
    .summary = "write to a tracefs file of a process",
    .synopsis = "write [--truncate] [-p] PID PATH [TEXT...]",
    .about = R"(Writes TEXT (the words joined by blanks, and a newline) to a tracefs file of a
process. Without TEXT it writes what standard input has. A process without the
agent gets it, until `patchbay detach`.

)",
    .options = {kOptions},
    .after = R"(Example: patchbay write 1234 function_events 'getenv(string name)'
         patchbay write 1234 events/functions/getenv/enable 1
)",
    .words = "PID PATH",
    .order = CommandLine::Words::kLast,
    .attaches = true,
};

int run_write(int argc, char** argv) {
  bool truncate = false;
  int pid = 0;
  const auto take = [&](int id, const char* value) {
    truncate |= id == 't';
    return id == 'p' ? take_pid(value, &pid) : nullptr;
  };
  if (const std::optional<int> ended = parse_options(kWriteLine, argc, argv, take)) return *ended;
  if (!take_pid_word(argv, argc, &pid) || ::optind == argc)
    return usage_error("write", "A process id and a path are needed.");
  const char* path = argv[::optind++];
  int words = argc - ::optind;
  Result<std::string> text = words > 0 ? join(argv + ::optind, words) : read_standard_input();
  if (!text.ok()) return fail("write", text.error());
  Attachment attachment;
  Result<std::unique_ptr<serve::Client>> client = attach_if_needed(pid, &attachment);
  if (!client.ok()) return fail("write", client.error());
  Status written = (*client)->write_all(path, *text, truncate);
  if (written.ok()) {
    attachment.stay();
    return kOk;
  }
  // A caret stands under the right character only where the line above begins as it was written.
  std::string sentence = written.error().message();
  if (sentence.find('\n') != sentence.npos) sentence.insert(0, "\n");
  return fail("write", std::string(path) + (sentence[0] == '\n' ? ":" : ": ") + sentence);
}

}  // namespace patchbay::cmd
