// SPDX-License-Identifier: MIT
//
// patchbay: the tool. This file finds the sub-command (cmd/command_table.cc) and runs it.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <exception>
#include <vector>

#include "base/mapped_files.h"
#include "cmd/command_table.h"
#include "cmd/common/print_file.h"
#include "cmd/target/attachment.h"
#include "debug_info/packed_symbols.h"
#include "serve/client.h"
#include "symbol/debug_file.h"
#include "symbol/symbol.h"

namespace patchbay::cmd {
namespace {

void print_usage(std::FILE* stream) {
  std::fprintf(
      stream,
      "ftrace for user space: name a function, run the program, see every call.\n\n"
      "  patchbay ./prog                        the calls of its own functions, as a tree\n"
      "  patchbay calls -e malloc -- ./prog     each call, with values and times\n"
      "  patchbay COMMAND [ARG...]\n\n");
  std::string others;
  const auto end_group = [&] {
    if (!others.empty()) std::fprintf(stream, "  and %s", wrapped(others, 6).c_str());
    others.clear();
  };
  for (const Command& command : all_commands()) {
    if (command.group) end_group(), std::fprintf(stream, "%s:\n", command.group);
    if (command.is_usual)
      std::fprintf(stream, "  %-8s %s\n", command.line->name, command.line->summary);
    else
      others += (others.empty() ? "" : ", ") + std::string(command.line->name);
  }
  end_group();
  std::fprintf(stream,
               "\n`patchbay COMMAND -h` explains one of them. -p takes the id or the name of a "
               "running\nprocess, and --for 10s ends a command that goes on until Ctrl-C.\n");
}

int unknown_command(std::string_view name) {
  std::vector<std::string_view> names = {"help", "version"};
  for (const Command& command : all_commands()) names.push_back(command.line->name);
  return usage_error(
      "", "There is no command '" + std::string(name) + "'." + did_you_mean(name, names));
}

int run_help(int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return print_usage(stdout), kOk;
  const Command* command = find_command(argv[1]);
  const std::string_view name = argv[1];
  if (name == "help" || name == "version") return print_usage(stdout), kOk;
  if (!command) return unknown_command(name);
  return std::fputs(help_text(*command->line).c_str(), stdout) < 0 ? kFailed : kOk;
}

int run_version() {
  std::printf("patchbay %s\n", PATCHBAY_VERSION);
  return kOk;
}

// Output that could not be written (a full disk) is a failure, too; not so a reader that has seen
// enough.
int finish_output(int status) {
  bool failed = std::fflush(stdout) != 0 || std::ferror(stdout);
  if (!failed || status != kOk || errno == EPIPE) return status;
  const int error = errno;
  pollfd output{STDOUT_FILENO, 0, 0};
  if (::poll(&output, 1, 0) > 0 && (output.revents & POLLERR)) return status;
  errno = error;
  return fail("", sys_error("write the output", errno));
}

// The next file that is opened gets the number of a descriptor that is closed, and what is printed
// would go into it, or nowhere without a word. A write to what stands there instead fails, with its
// reason. What is executed has it closed, as it was.
void fill_closed_descriptors() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
    if (::fcntl(fd, F_GETFD) >= 0) continue;
    const int wrong_way = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    (void)::open("/dev/null", wrong_way | O_CLOEXEC);
  }
}

// What was read of a file that somebody has cut short meanwhile may be wrong.
int name_changed_file(int status) {
  const std::string file = changed_file();
  if (file.empty()) return status;
  (void)fail("", file + " was changed while it was read: do that again when it is whole.");
  return status == kOk ? kFailed : status;
}

int run(int argc, char** argv) {
  const std::string_view color = "--color=";
  for (; argc > 1 && std::string_view(argv[1]).starts_with(color); argc--, argv++)
    if (!set_color(argv[1] + color.size()))
      return usage_error("", "--color takes auto, always or never.");
  if (argc < 2) return print_usage(stderr), kUsage;
  const std::string_view name = argv[1];
  if (name == "-h" || name == "--help") return print_usage(stdout), kOk;
  if (name == "help") return run_help(argc - 1, argv + 1);
  if (name == "-V" || name == "--version" || name == "version") return run_version();
  if (name == "completions") return run_completions(argc - 1, argv + 1);
  if (name.starts_with('-'))
    return usage_error("", "There is no option '" + std::string(name) + "'.");
  const Command* command = find_command(name);
  // A path is no command's name: its calls are shown.
  if (!command && name.find('/') != name.npos && ::access(argv[1], X_OK) == 0) {
    std::vector<char*> words(argv + 1, argv + argc + 1);
    std::string calls = "calls", end = "--";
    words.insert(words.begin(), {calls.data(), end.data()});
    return run_calls(argc + 1, words.data());
  }
  return command ? command->run(argc - 1, argv + 1) : unknown_command(name);
}

}  // namespace
}  // namespace patchbay::cmd

int main(int argc, char** argv) {
  patchbay::cmd::fill_closed_descriptors();
  static const patchbay::MappedFilesGuard guard;
  patchbay::set_symbol_unpacker(&patchbay::unpacked_symbols);
  patchbay::serve::set_end_check(
      [] { return patchbay::cmd::interrupted() || patchbay::cmd::is_told_to_end(); });
  try {
    return patchbay::cmd::name_changed_file(
        patchbay::cmd::finish_output(patchbay::cmd::run(argc, argv)));
  } catch (const std::exception& exception) {
    return patchbay::cmd::fail("", exception.what());
  }
}
