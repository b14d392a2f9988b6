// SPDX-License-Identifier: MIT
//
// Phases A and B (docs/attach.md): a thread that the program's own libc makes in it, and a library
// that this thread loads while everything runs. loader_block.h has the drawing.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "attach/loader_block.h"
#include "attach/stopped_thread.h"
#include "attach/target.h"
#include "attach/target_process.h"
#include "attach/thread_choice.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace patchbay::attach {

struct Library {
  std::string path;      // as this process sees it
  uint64_t entry = 0;    // its function in the process, where it is there already; 0: it is loaded
  std::string function;  // int FUNCTION(int socket, int version)
  uint32_t version = 0;
};

class LibraryLoader {
 public:
  // Phase A: stops one thread of the process for a moment. It tries those that wait, again and
  // again, until one was good or the time is over. `is_interrupted`: true ends this wait, and those
  // of load(), with EINTR.
  static Result<std::unique_ptr<LibraryLoader>> make(const Target& target, const TargetLibc& libc,
                                                     int timeout_ms,
                                                     bool (*is_interrupted)() = nullptr);
  // What has not been loaded is not called any more, and the thread goes away.
  ~LibraryLoader();
  LibraryLoader(const LibraryLoader&) = delete;
  LibraryLoader& operator=(const LibraryLoader&) = delete;

  // Phase B: the library is in the process and its function has answered 0. ETIMEDOUT says who
  // holds the dynamic linker's lock, where that can be known. When it fails nothing stays.
  //
  // Where the loader was too late for a table of descriptors of its own, it closes its socket in
  // the program's: after library_has_started(), or with this object.
  Status load(const Library& library, int timeout_ms);

  // The function's work goes on in a thread that has taken the socket over.
  void library_has_started() { let_go(); }

  // The tool's end of the socket pair whose other end the function was given.
  UniqueFd take_socket() { return std::move(socket_); }
  // For how long the one thread was stopped.
  uint64_t stopped_ns() const { return stopped_ns_; }

 private:
  explicit LibraryLoader(const Target& target) : target_(target), pid_(target.pid()) {}
  static Result<std::unique_ptr<LibraryLoader>> make_in(const Target& target, pid_t tid,
                                                        const TargetLibc& libc,
                                                        const ThreadChoice& choice, int timeout_ms);
  Status stop_and_make(pid_t tid, const TargetLibc& libc, const ThreadChoice& choice,
                       int timeout_ms);
  Status map_block(StoppedThread& thread, const TargetLibc& libc);
  void unmap_block(StoppedThread& thread, const TargetLibc& libc);
  Status fill_block(const TargetLibc& libc, uint64_t frame);
  Status make_thread(StoppedThread& thread, int timeout_ms);
  Status abandon(StoppedThread& thread, const Status& why);
  Status wait_for_stage(StoppedThread& thread, Stage stage, int timeout_ms);
  Status take_our_end();

  Status send(int descriptor);
  Status send_library(const Library& library, int timeout_ms);
  bool sees(const std::string& path) const;
  Status write_paths(const Library& library, const std::string& path, bool is_seen);
  Result<LoaderState> wait_for_state(LoaderState state, int timeout_ms);
  Status outcome(const Library& library);
  std::string who_holds_the_lock() const;
  void let_go();

  uint64_t field(size_t offset) const { return data_ + offset; }
  Status set_word(size_t offset, uint32_t value);
  Result<LoaderBlock> read_block() const;

  const Target& target_;
  pid_t pid_;
  uint64_t data_ = 0, code_ = 0;
  UniqueFd socket_;
  bool has_loader_ = false;    // there is a thread that waits for us
  bool is_abandoned_ = false;  // the stopped one goes on with our code
  uint64_t stopped_ns_ = 0;
  bool (*is_interrupted_)() = nullptr;
};

}  // namespace patchbay::attach
