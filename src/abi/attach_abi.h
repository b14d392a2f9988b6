// SPDX-License-Identifier: MIT
//
// What tool and agent say to each other while the agent comes into a running program or leaves it
// (docs/attach.md). They have a socket pair, SOCK_SEQPACKET: each message is a packet, a header and
// what follows it.
//
//   attach                                         detach, over a connection to ctl.sock
//     tool            agent                          tool            agent
//      |-- kSettings -->|                             |-- "detach" --->|  all is switched off
//      |<-- kHooks -----|  or kFailed                 |<-- kHooks -----|  or kFailed
//      |  all threads are stopped                     |  all threads are stopped
//      |  hooks and masks are written                 |  the old bytes, the program's masks
//      |-- kHooked ---->|                             |-- kHooked ---->|
//      |<-- kInstalled -|  dispositions of signals    |<-- kInstalled -|
//      |  the threads go on                           |  the threads go on
//      |<-- kServing ---|  or kFailed                 |<-- kAsleep ----|  its thread ends
//
// Between kHooked and kInstalled the agent's thread runs while all others stand still: it takes no
// lock and no memory. A side that finds the other one gone (the end of the packets) goes on by
// itself: threads that were stopped by a tool go on when it dies.
#pragma once

#include <cstdint>

namespace patchbay::abi {

inline constexpr uint32_t kAttachVersion = 2;
inline constexpr uint32_t kMaxAttachMessage = 64 * 1024;
inline constexpr uint32_t kMaxHookBytes = 16;
// The name of the agent's function that takes the socket: int patchbay_attached(int socket, int
// version). It makes the agent's thread and returns 0, or an errno.
inline constexpr char kAttachEntry[] = "patchbay_attached";

enum class AttachMessage : uint32_t {
  kSettings = 1,   // NAME=VALUE, each with its NUL: what the environment says otherwise
  kHooks = 2,      // AttachHooks, then AttachHook …, then AttachRange …
  kHooked = 3,     // with a detach AttachHeld …, kMaxHeld at most
  kInstalled = 4,  // nothing follows
  kServing = 5,    // the directory of the process, DIR/PID
  kFailed = 6,     // a sentence
  kAsleep = 7,     // nothing follows
};

struct AttachHeader {
  uint32_t version;  // kAttachVersion
  AttachMessage kind;
};

// One place of the text. `old_bytes` have to be there; `new_bytes` are written in their place.
struct AttachHook {
  uint64_t address;
  uint32_t size;       // bytes to write
  uint32_t displaced;  // no thread may stand in [address + 1, address + displaced)
  uint8_t old_bytes[kMaxHookBytes];
  uint8_t new_bytes[kMaxHookBytes];
};

// Code in which no thread's program counter may be. When the hooks go: it could fault there, and
// then there is no handler of ours any more. When they come: it could change what is the agent's.
struct AttachRange {
  uint64_t start, end;
};

// What is to be done to each thread but the agent's own one. Offsets are from the thread pointer
// (fs_base), negative ones as two's complement.
//
// Attach: where the kernel's mask M of a thread has signals of `signals`, the thread's words become
// `blocked` = M & signals, `blocked_with` = M & others, and its mask M & ~signals.
// Detach: where `blocked` of a thread is not 0, its mask becomes M | blocked, and both words 0.
// A thread whose fs_base is 0 has no such words.
//
// Attach: each thread of libc's own making (its thread pointer's words 0 and 2 lead to itself) gets
// `key_value` for the agent's pthread_key_t, as by pthread_setspecific(), if it has none.
// Detach: `held` of each thread becomes 0; what was there goes with kHooked.
struct AttachHooks {
  uint32_t nr_hooks;
  uint32_t nr_ranges;
  uint64_t signals;  // a kernel's signal set
  uint64_t others;   // likewise
  int64_t blocked;   // offset of an uint64_t
  int64_t blocked_with;
  int64_t open;      // offset of an uint8_t that becomes 1 with an attach, 0 with a detach
  int64_t held;      // offset of an uint16_t, a set of signals; 0: there is no such word
  int64_t key_data;  // offset of libc's sequence number and value, 8 bytes each; 0: not known
  int64_t key_used;  // offset of libc's byte that says that a thread has values
  uint64_t key_sequence, key_value;
  uint32_t leaves;     // 0: attach, 1: detach
  int32_t own_thread;  // of the agent, as its process numbers it; it is not stopped
};

// Signals that came while the program had them blocked, and that the agent has kept for it.
struct AttachHeld {
  int32_t thread;  // as its process numbers it
  uint32_t signals;
};
inline constexpr uint32_t kMaxHeld = 64;  // of more threads they are lost

// The thread that loads the library has this name, by which the library's constructor knows that it
// is to do nothing.
inline constexpr char kLoaderName[] = "patchbay-load";

}  // namespace patchbay::abi
