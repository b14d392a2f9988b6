// SPDX-License-Identifier: MIT
//
// Where processes with an agent meet the tool:
//
//   DIR             $PATCHBAY_DIR, else $XDG_RUNTIME_DIR/patchbay, else /run/patchbay (root), else
//                   patchbay-UID in /tmp, /dev/shm or /var/tmp; 0700, ours, not a symbolic link
//   DIR/PID         one process, 0700
//   DIR/PID/ctl.sock  the agent's socket    DIR/PID/buffer  its buffer file, which outlives it
//   DIR/PID.N       what an earlier process (or program) with that id has left
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace patchbay::serve {

inline constexpr const char* kSocketName = "ctl.sock";
inline constexpr const char* kBufferName = "buffer";

// The runtime directory's absolute path. Makes it when it is missing and `make` is set. EPERM with
// a sentence when it belongs to somebody else (root may use anybody's that it was told in
// $PATCHBAY_DIR), is a symbolic link, or others may write to it.
Result<std::string> runtime_directory(bool make);
// $PATCHBAY_DIR says where it is.
bool directory_is_chosen();
// Checks (and makes) one given directory by the same rules.
Status check_directory(const std::string& path, bool make);

// DIR/PID, new and empty: what an earlier process has left there is renamed to PID.N.
// Who calls this for another process says with `same_program` whether that still runs the program
// that it is called for; otherwise what is there may belong to the next one, and ESRCH is said.
Result<std::string> make_process_directory(
    const std::string& directory, int pid,
    const std::function<bool()>& same_program = [] { return true; });

enum class ProcessState : uint8_t {
  kAlive,    // its agent listens
  kStopped,  // it does, but the process is stopped, by a signal or a debugger
  kFrozen,   // it does, but the process's control group is frozen
  kNoAgent,  // the process lives, its agent does not listen (it has exec'ed, is somebody else's id,
             // or another process listens in its name)
  kDead,     // no such process
};
const char* process_state_name(ProcessState state);  // "alive" "stopped" "frozen" "no-agent" "dead"

struct ProcessEntry {
  int pid = 0;
  std::string directory;  // DIR/PID or DIR/PID.N
  ProcessState state = ProcessState::kDead;
  bool has_buffer = false;
  uint64_t buffer_bytes = 0;  // on disk
  bool has_agent() const {
    return state == ProcessState::kAlive || state == ProcessState::kStopped ||
           state == ProcessState::kFrozen;
  }
};
// All processes of a runtime directory, by pid. An unreadable directory is an error, a missing one
// is an empty list.
Result<std::vector<ProcessEntry>> list_processes(const std::string& directory);

// A unix SOCK_SEQPACKET socket bound or connected to DIRECTORY/ctl.sock, whatever the path's
// length. A connection is waited for no longer than `wait_ms` (EAGAIN: the listener's queue is
// full).
Result<UniqueFd> listen_socket(const std::string& directory);
Result<UniqueFd> connect_socket(const std::string& directory, int wait_ms = 1000);

}  // namespace patchbay::serve
