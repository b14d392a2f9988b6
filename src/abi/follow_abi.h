// SPDX-License-Identifier: MIT
//
// How a recording of a program goes on in the programs that it executes (agent/follow.h). The tool
// makes a directory of its own in the runtime directory, and names it in PATCHBAY_FOLLOW:
//
//   DIR/tree-N           N: the tool's process id
//   DIR/tree-N/wanted    what is to be recorded, as far as a program has to know it: lines
//                          buffer_size_kb N      of each CPU
//                          overwrite 0|1
//                          pid_namespace INODE   the tool's, of /proc/self/ns/pid
//                          only GLOB             programs: the path or its last part
//                          function PATTERN      a name or a glob; "ns::f" is a name
//                          event SYSTEM:EVENT    a static event, a USDT probe; globs
//                          library NAME          one that may be loaded later is waited for
//                          all                   anything is wanted of every program
//   DIR/tree-N/log       what the agents say: records, each appended by one write(2). The tool
//                        holds an exclusive flock(2) on it: without one it is gone, and nothing
//                        is followed any more.
//   DIR/PID/tree         of a program that was executed: a symbolic link to DIR/tree-N, whose tool
//                        removes DIR/PID when the program has ended
//   DIR/tree-N/slots     FollowSlots, which every agent has mapped: for a process that comes to the
//                        log no more (another user, another root directory, no descriptors)
#pragma once

#include <cstddef>
#include <cstdint>

namespace patchbay::abi {

inline constexpr char kFollowVariable[] = "PATCHBAY_FOLLOW";
inline constexpr char kFollowWanted[] = "wanted", kFollowLog[] = "log";
inline constexpr char kFollowSlots[] = "slots", kFollowTree[] = "tree";
inline constexpr char kFollowPrefix[] = "tree-";

enum class FollowKind : uint32_t {
  kWaits = 1,        // texts: exe, words. It has what is wanted, and waits for the tool in DIR/PID.
  kHasNothing = 2,   // the same. It has nothing of it, and runs.
  kNotFollowed = 3,  // texts: the program's path, the reason. It is going to run without an agent.
  kForked = 4,       // no texts: `pid` is a forked child of `parent`
  kSays = 5,         // texts: a sentence, exe, words. The agent's, which the program must not see.
  // Of FollowSlots::only_pid alone:
  kExecutes = 6,  // texts: the program's path. It is going to run, when `seen` is above `ticket`.
  kStays = 7,     // no texts. That has failed: the process goes on with the program that it had.
};

inline constexpr uint32_t kFollowNoCpu = ~uint32_t{0};
struct FollowRecord {
  uint32_t size;  // of all, with the texts behind it, each with its NUL
  FollowKind kind;
  int32_t pid, parent;
  uint64_t time_ns;  // CLOCK_MONOTONIC
  uint32_t cpu;      // that it was written on; or kFollowNoCpu
  uint32_t ticket;   // of kExecutes
  char comm[16];
};
static_assert(sizeof(FollowRecord) == 48);

inline constexpr size_t kMostFollowRecord = 4096;  // a longer command line is cut

// One kNotFollowed each; a longer path is cut.
struct FollowSlot {
  uint32_t is_written;  // atomic; 1: the rest is there
  int32_t pid, parent;
  uint32_t cpu;
  uint64_t time_ns;
  char comm[16];
  char path[136];
  char reason[80];
};
static_assert(sizeof(FollowSlot) == 256);
inline constexpr uint32_t kMostFollowSlots = 63;
struct FollowSlots {
  uint32_t is_over;  // atomic; 1: the tool wants nothing any more
  uint32_t taken;    // atomic; also those for which there was no slot
  // Not 0: this process alone is followed, and what counts inside it is looked at before it
  // executes anything: it takes a ticket, says so in the log, and waits until `seen` is above that.
  int32_t only_pid;
  uint32_t tickets;  // atomic; how many are taken
  uint32_t seen;     // atomic, a futex; how many the tool has seen
  uint8_t reserved[236];
  FollowSlot slot[kMostFollowSlots];
};
static_assert(sizeof(FollowSlots) == 16384);

}  // namespace patchbay::abi
