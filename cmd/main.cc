// SPDX-License-Identifier: MIT
//
// patchbay: the tool. One sub-command a source file; this one only finds it.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <vector>

#include "commands.h"
#include "symbol/symbol.h"

namespace patchbay::cmd {
namespace {

struct Command {
  const char* name;
  int (*run)(int argc, char** argv);
  const char* summary;
};

int run_help(int argc, char** argv);
int run_version(int argc, char** argv);

constexpr Command kCommands[] = {
    {"record", run_record, "record events of a program, or of a running process"},
    {"report", run_report, "print the events of a trace.dat"},
    {"graph", run_graph, "print the calls of a function_graph recording as a tree"},
    {"replay", run_replay, "print its calls as they happened, indented"},
    {"dump", run_dump, "print the structure of a trace.dat or buffer file"},
    {"recover", run_recover, "make a trace.dat of what a dead process has left"},
    {"clean", run_clean, "remove what dead processes have left"},
    {"list", run_list, "list functions, events or processes"},
    {"cat", run_cat, "read a tracefs file of a process"},
    {"write", run_write, "write to a tracefs file of a process"},
    {"ls", run_ls, "list a tracefs directory of a process"},
    {"probe", run_probe, "put a probe on a source line and fetch variables"},
    {"start", run_live, "start tracing in a running process"},
    {"stop", run_live, "stop tracing in it"},
    {"show", run_live, "print its buffer"},
    {"clear", run_live, "empty its buffer"},
    {"reset", run_live, "switch everything off in it"},
    {"stat", run_live, "print what is set up in it"},
    {"snapshot", run_live, "take, print or free a snapshot of its buffer"},
    {"extract", run_live, "write its buffer to a trace.dat"},
    {"top", run_top, "show the functions of a process by calls and time, live"},
    {"hist", run_hist, "count the hits of an event by its fields"},
    {"latency", run_latency, "show how long it takes from one event to another"},
    {"sql", run_sql, "ask events of a program in sqlhist's language"},
    {"mount", run_mount, "show the tracefs of a process, or of all, as a directory"},
    {"with-tracefs", run_with_tracefs, "run trace-cmd or its like on a process"},
    {"help", run_help, "print this text, or that of a command"},
    {"version", run_version, "print the version"},
};

const Command* find_command(std::string_view name) {
  for (const Command& command : kCommands) {
    if (name == command.name) return &command;
  }
  return nullptr;
}

void print_usage(std::FILE* stream) {
  std::fprintf(stream,
               "Usage: patchbay [--color=auto|always|never] COMMAND [ARG...]\n\n"
               "ftrace for user space: name a function, run the program, see every call.\n\n");
  for (const Command& command : kCommands)
    std::fprintf(stream, "  %-12s %s\n", command.name, command.summary);
  std::fprintf(stream,
               "\n'patchbay COMMAND -h' explains one of them. Example:\n"
               "  patchbay record -e 'getenv(string name)' -- env\n"
               "  patchbay report\n");
}

int unknown_command(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Command& command : kCommands) names.push_back(command.name);
  std::string sentence = "There is no command '" + std::string(name) + "'.";
  std::vector<std::string> near = near_matches(name, names);
  for (size_t i = 0; i < near.size(); i++)
    sentence += (i == 0 ? " Did you mean '" : "' or '") + near[i];
  if (!near.empty()) sentence += "'?";
  return usage_error("", sentence);
}

int run_help(int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return print_usage(stdout), kOk;
  const Command* command = find_command(argv[1]);
  if (!command) return unknown_command(argv[1]);
  if (command->run == run_help || command->run == run_version) return print_usage(stdout), kOk;
  char option[] = "-h";
  char* words[] = {argv[1], option, nullptr};
  ::optind = 1;
  return command->run(2, words);
}

int run_version(int, char**) {
  std::printf("patchbay %s\n", PATCHBAY_VERSION);
  return kOk;
}

// Takes `--color=WHEN` out of the words before the first that belongs to a traced program (`--`).
// False when WHEN is wrong.
bool take_color(std::vector<char*>& words) {
  for (size_t i = 1; i < words.size() && std::strcmp(words[i], "--") != 0;) {
    if (std::strncmp(words[i], "--color=", 8) != 0) {
      i++;
      continue;
    }
    if (!set_color(words[i] + 8)) return false;
    words.erase(words.begin() + ptrdiff_t(i));
  }
  return true;
}

// Output that could not be written (a full disk, a closed pipe) is a failure, too.
int finish_output(int status) {
  bool failed = std::fflush(stdout) != 0 || std::ferror(stdout);
  if (!failed || status != kOk || errno == EPIPE) return status;
  return fail("", sys_error("write the output", errno));
}

int run(int argc, char** argv) {
  std::vector<char*> words(argv, argv + argc);
  if (!take_color(words)) return usage_error("", "--color takes auto, always or never.");
  if (words.size() < 2) return print_usage(stderr), kUsage;
  std::string_view name = words[1];
  if (name == "-h" || name == "--help") return print_usage(stdout), kOk;
  if (name == "-V" || name == "--version") return run_version(0, nullptr);
  if (name.front() == '-')
    return usage_error("", "There is no option '" + std::string(name) + "'.");
  const Command* command = find_command(name);
  if (!command) return unknown_command(name);
  int count = int(words.size()) - 1;
  words.push_back(nullptr);
  return command->run(count, words.data() + 1);
}

}  // namespace
}  // namespace patchbay::cmd

int main(int argc, char** argv) {
  try {
    return patchbay::cmd::finish_output(patchbay::cmd::run(argc, argv));
  } catch (const std::exception& exception) {
    return patchbay::cmd::fail("", exception.what());
  }
}
