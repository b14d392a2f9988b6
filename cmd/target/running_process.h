// SPDX-License-Identifier: MIT
// Which process a number means, and what it runs, as /proc says it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace patchbay::cmd {

struct RunningProcess {
  int pid = 0, parent = 0;
  std::string start;       // when it was started: a number is given out again
  std::string image;       // another one when it has executed a program
  bool has_ended = false;  // it waits for its parent to ask for its status

  bool is_same_process(const RunningProcess& other) const {
    return pid == other.pid && start == other.start;
  }
  bool is_same_program(const RunningProcess& other) const {
    return is_same_process(other) && image == other.image;
  }
};

// Nothing: there is no such process.
std::optional<RunningProcess> running_process(int pid);
// The numbers of all that are there but this one, in no order.
std::vector<int> running_pids();
// Its words; empty: it has none (a thread of the kernel), or is another user's.
std::vector<std::string> command_line_of(int pid);
// "nginx": of its program, or what the kernel calls it; "": it is gone.
std::string short_name_of(int pid);
// It is there, or has ended and was not waited for.
bool is_alive(int pid);
// What the kernel calls it, as ps shows it; "": it is gone.
std::string comm_of(int pid);

// The buffer file of a process in the runtime directory is mapped by its forked children as well,
// which record there. In these maps, the process whose directory it is in; 0: there is none.
int buffer_owner_in(std::string_view maps, const std::string& runtime);
// Of process `pid`: the process that it records with. 0: none, or itself.
int records_with(int pid, const std::string& runtime);

// The buffer file of a process in the maps of others. The directory DIR/PID becomes DIR/PID.N when
// the process executes another program, and may be removed.
struct MappedBuffer {
  uint64_t inode = 0;     // 0: there is none
  std::string directory;  // "PID"
  bool is_in(std::string_view maps_line) const;
};
MappedBuffer mapped_buffer(const std::string& directory);
// What all processes but this one share with others by files: lines of their maps.
struct SharedMaps {
  int pid = 0;
  std::vector<std::string> lines;
};
std::vector<SharedMaps> shared_maps();
// Those of them that have the file mapped for writing, and live.
std::vector<RunningProcess> writers_of(const MappedBuffer& file,
                                       const std::vector<SharedMaps>& maps);

}  // namespace patchbay::cmd
