// SPDX-License-Identifier: MIT
//
// patchbay stacks, patchbay locks: where all threads of a process stand, and which of them wait for
// locks. No agent is needed for it.
#include <unistd.h>

#include "cmd/common/commands.h"
#include "cmd/common/print_file.h"
#include "cmd/common/tracefs_command.h"
#include "cmd/measure/process_stacks.h"
#include "cmd/target/process_word.h"

namespace patchbay::cmd {
namespace {

constexpr int kJson = kFirstOptionId;
constexpr Option kOptions[] = {
    kNeededPidOption,
    {.name = "json", .help = "prints JSON", .id = kJson},
};

int run(const CommandLine& line, int argc, char** argv, bool locks_alone) {
  int pid = 0;
  bool json = false;
  const auto take = [&](int id, const char* value) -> const char* {
    if (id == 'p') return take_pid(value, &pid);
    json = true;
    return nullptr;
  };
  if (const std::optional<int> ended = parse_options(line, argc, argv, take)) return *ended;
  if (pid == 0 && ::optind < argc)
    if (const char* wrong = take_pid(argv[::optind++], &pid)) return usage_error(line.name, wrong);
  if (::optind < argc) return too_much(line, argv);
  if (pid == 0) return usage_error(line.name, "A process is needed: its id, or its name.");
  stop_on_interrupt();  // no thread is left in the middle
  Result<ProcessStacks> stacks = stacks_of(pid);
  if (!stacks.ok()) return fail(line.name, stacks.error());
  const std::string text = json          ? stacks_json(*stacks, locks_alone)
                           : locks_alone ? locks_text(*stacks)
                                         : stacks_text(*stacks);
  return std::fputs(text.c_str(), stdout) < 0 ? kFailed : kOk;
}

}  // namespace

constexpr CommandLine kStacksLine = {
    .name = "stacks",
    .summary = "show where all threads of a process stand",
    .synopsis = "stacks [-p] PID|NAME [--json]",
    .about = R"(Shows the stack of each thread of a running process: its functions, also those that
were inlined, with their lines where the debug information has them, and the system
call that it is in. Threads with the same stack are shown together. The process
needs no agent; its threads stand still for as long as their stacks are copied.

)",
    .options = {kOptions},
    .after = R"(A frame with a ? was found by the frame pointer, as nothing else says who called.
)",
    .words = "PID",
};

constexpr CommandLine kLocksLine = {
    .name = "locks",
    .summary = "show which threads of a process wait for locks, and who holds them",
    .synopsis = "locks [-p] PID|NAME [--json]",
    .about = R"(Shows the threads of a running process that wait for a mutex or an rwlock of glibc
(std::mutex is one): the lock's name, where it waits, the thread that holds it and
where that stands; and those that wait for each other. The process needs no agent,
and need not have been watched before.

)",
    .options = {kOptions},
    .words = "PID",
};

int run_stacks(int argc, char** argv) { return run(kStacksLine, argc, argv, false); }
int run_locks(int argc, char** argv) { return run(kLocksLine, argc, argv, true); }

}  // namespace patchbay::cmd
