// SPDX-License-Identifier: MIT
//
// What the tool and its few instructions in the other process (loader_code.S) tell each other: a
// block of memory there, which the tool fills, reads and writes while the instructions run.
//
//   tool                      stopped thread               loader thread
//    |-- mmap, block, code --->|
//    |-- it goes on in our     |  socketpair
//    |   code, on our stack -->|  pthread_create ---------->|  files: who is first
//    |<-- stage kSockets ------|                            |  unshare, unshared
//    |   pidfd_getfd           |<-- (a futex) --------------|  recvmsg …
//    |-- taken --------------->|  close of both sockets
//    |<-- stage kFinished -----|  waits, at most 2 s; then it restores itself
//    |-- it is restored ------>|
//    |-- left, a packet with the library's descriptor ----->|  state kReceived
//    |-- paths, a packet ---------------------------------->|  dlopen, dlsym, the call
//    |<-- state kCalled or kNotLoaded, result, text --------|
//    |-- seen --------------------------------------------->|  munmap of block and code
//
// A tool that is killed says nothing more: each wait here has an end, after which the stopped
// thread restores itself, closes what it has opened, and the loader ends.
#pragma once

#include <cstddef>
#include <cstdint>

namespace patchbay::attach {

enum class Stage : uint32_t {
  kNone = 0,
  kSockets = 1,   // sockets[0] is there to be taken
  kFinished = 2,  // `error` says how it went
};

enum class LoaderState : uint32_t {
  kWaiting = 0,
  kReceived = 1,   // the first packet; library_fd says what came with it
  kLoading = 2,    // in dlopen() or dlsym()
  kCalling = 3,    // in the library's function
  kCalled = 4,     // result is what it has answered
  kNotLoaded = 5,  // text is the dynamic linker's sentence
};

// LoaderBlock::files. Who changes it from 0 decides.
inline constexpr uint32_t kFilesPrivate = 1;  // the loader unshares the table of descriptors
inline constexpr uint32_t kFilesShared = 2;   // it was too late for that
// LoaderBlock::unshared
inline constexpr uint32_t kUnshared = 1, kUnshareRefused = 2;

struct LoaderBlock {
  // Functions of the process.
  uint64_t pthread_create, pthread_detach, dlopen, dlsym, dlerror, dlclose;
  uint64_t syscall_return;  // `syscall; ret` of its libc: there it unmaps this code
  uint64_t code, code_size, data_size;
  uint64_t frame;  // a signal frame with which the stopped thread restores itself
  uint64_t entry;  // not 0: it is called, nothing is loaded
  uint64_t thread;
  Stage stage;
  int32_t error;       // 0, -errno of socketpair, or what pthread_create has answered
  int32_t sockets[2];  // the tool's end, the loader's
  uint32_t taken, files, unshared;
  int32_t socket;      // the loader's end under the number that it has now
  int32_t high_fd;     // the lowest number for it when it has to stay in the program's table
  uint32_t is_shared;  // it had to
  uint32_t abandoned;  // nobody comes for the stopped thread: it restores itself when it has done
  uint32_t left;       // it is out of our code
  LoaderState state;
  int32_t result;
  uint32_t version;  // second argument of the function
  uint32_t seen;     // the tool has seen the last state: all of this can go
  uint32_t cancel;   // whatever has been loaded is not to be called
  int32_t loader;    // its thread, as its process numbers it
  int32_t library_fd;
  uint32_t from_directory;  // library_fd is a directory with the library, where `path` begins
  char loader_name[16];     // of that thread; the library's constructor looks at it
  char name[32];            // the function
  char text[512];
  char other_path[64];  // of the same library, when the first one does not load; empty: none
  char path[4096];
};

inline constexpr uint64_t kBlockSize = 8192;
inline constexpr uint64_t kStackSize = 64 * 1024;
inline constexpr uint64_t kDataSize = kBlockSize + kStackSize;
inline constexpr uint64_t kCodeSize = 4096;
static_assert(sizeof(LoaderBlock) <= kBlockSize);

}  // namespace patchbay::attach
