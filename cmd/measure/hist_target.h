// SPDX-License-Identifier: MIT
// What `patchbay hist`, latency and sql count in, and how they show it, as their options say it.
#pragma once

#include <string>
#include <vector>

#include "cmd/common/tracefs_command.h"
#include "cmd/target/process_choice.h"
#include "symbol/follow_wishes.h"

namespace patchbay::cmd {

inline constexpr Option kDelayOption = {
    .letter = 'd',
    .name = "delay",
    .argument = "SECS",
    .help = "waits SECS between two looks in a terminal; the default is 1"};
inline constexpr Option kVerboseOption = {
    .letter = 'v',
    .name = "verbose",
    .help = "prints what is written to the tracefs of the process"};
inline constexpr int kHistJson = kFirstOptionId + 20, kHistPerProcess = kFirstOptionId + 21,
                     kHistFollow = kFirstOptionId + 22;
inline constexpr Option kHistFollowOption = {
    .name = "follow",
    .help = "waits in the programs that CMD executes for events that CMD does not have",
    .more =
        "The programs that CMD executes in its place are counted in any case; those of its "
        "children are not.",
    .id = kHistFollow};
inline constexpr Option kHistJsonOption = {
    .name = "json",
    .help = "prints the result as one JSON object on a line; nothing is shown before the end",
    .id = kHistJson};
inline constexpr Option kPerProcessOption = {
    .name = "per-process",
    .help = "prints the result of each of several processes before that of all",
    .id = kHistPerProcess};
inline constexpr Option kHistOutputOption = {
    .letter = 'o',
    .name = "output",
    .argument = "FILE",
    .help = "writes the result to FILE, apart from what CMD prints"};

struct HistTarget {
  ProcessChoice processes;
  std::vector<std::string> words;  // CMD
  double delay = 1;                // seconds between two looks, in a terminal
  bool verbose = false;            // prints the plan
  bool json = false;               // the result is for programs
  bool per_process = false;
  bool waits_for_events = false;  // --follow: a program may lack them
  FollowWishes wishes;            // which of the programs that CMD executes have anything of it
  std::string output;  // the file of the result; empty: standard output

  bool names_processes() const { return processes.is_several() || !processes.pids.empty(); }
  // Takes the program's words, behind `--`. Returns the number of words before it; argc when there
  // is no `--`.
  int take_words(int argc, char** argv);
  // A word that is a process id, when no process is named yet.
  bool take_pid_word(const std::string& word);
  // -p and its like, -d, -v, -o, --json, --per-process, --follow. Null when it is right, else the
  // sentence about it.
  const char* take_option(int id, const std::string& value);
  // `has_words`: there was a `--`. Null when all fits together.
  const char* check(bool has_words) const;
};

}  // namespace patchbay::cmd
