// SPDX-License-Identifier: MIT
//
// Which running processes a command is about, as its options name them.
#pragma once

#include <string>
#include <vector>

#include "cmd/common/tracefs_command.h"
#include "cmd/common/who_options.h"

namespace patchbay::cmd {

struct ProcessChoice {
  std::vector<int> pids;
  bool all = false;  // that have an agent
  std::vector<std::string> services, cgroups, containers;
  WhoChoice who;  // --exe, --comm, --tree: which of these; alone: which of all

  bool has_groups() const { return !services.empty() || !cgroups.empty() || !containers.empty(); }
  bool is_several() const { return pids.size() > 1 || all || has_groups() || who.has_any(); }
  // The only process that is named by its number; 0: none, or several.
  int only_pid() const { return is_several() || pids.empty() ? 0 : pids[0]; }

  // -p A,B, --all, --service, --cgroup, --container, --exe, --comm, --tree. Null when it is right,
  // else the sentence about it.
  const char* take(int id, const std::string& value);
};

inline constexpr int kAllId = kFirstOptionId + 40, kServiceId = kFirstOptionId + 41,
                     kCgroupId = kFirstOptionId + 42, kContainerId = kFirstOptionId + 43;
constexpr bool is_process_option(int id) {
  return id == 'p' || (id >= kAllId && id <= kContainerId) || id == kWhoComm || id == kWhoExe ||
         id == kWhoTree;
}

// Of the commands that sum.
inline constexpr Option kProcessOptions[] = {
    {.letter = 'p',
     .name = "pid",
     .argument = "PID",
     .help = "names the process, by its id or its name; it may be left out when only one has an "
             "agent; several, as -p A -p B, -p A,B or all of a name, are summed",
     .repeats = true},
    {.name = "all", .help = "sums the processes that have an agent now", .id = kAllId},
    {.name = "service",
     .argument = "NAME",
     .help = "sums the processes of a service of systemd, and those that come to it",
     .more = "They are those of its control group, and of the groups below it.",
     .repeats = true,
     .id = kServiceId},
    {.name = "cgroup",
     .argument = "PATH",
     .help = "sums the processes of a control group, and those that come to it",
     .more = "PATH is a directory below /sys/fs/cgroup, whose beginning may be left out.",
     .repeats = true,
     .id = kCgroupId},
    {.name = "container",
     .argument = "ID|NAME|PID",
     .help = "sums the processes of a container, by its id, its name or one of its processes",
     .more = "The beginning of the id is enough. Process ids are those of the host.",
     .repeats = true,
     .id = kContainerId},
};

// Which of these, of all commands that are about several running processes.
inline constexpr Option kChosenProcessOptions[] = {
    {.name = "exe",
     .argument = "GLOB",
     .help = "takes only processes with such a program: its path, or the last part of it",
     .more = "Without another option that names processes, those that are there and those that "
             "come are looked at. With several of these options, a process is taken for which all "
             "are true.",
     .group = "Which of several processes",
     .repeats = true,
     .id = kWhoExe},
    {.name = "comm",
     .argument = "GLOB",
     .help = "takes only processes with such a name, as ps shows it",
     .repeats = true,
     .id = kWhoComm},
    {.name = "tree",
     .argument = "LIST",
     .help = "takes only these processes and all that they have started, and start later",
     .repeats = true,
     .id = kWhoTree},
};

}  // namespace patchbay::cmd
