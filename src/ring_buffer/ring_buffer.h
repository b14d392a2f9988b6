// SPDX-License-Identifier: MIT
// The writer's side of a buffer file: making and sizing it, and the meta log. The hot part is
// ring_write_hot.h.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "abi/buffer_abi.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "ring_buffer/ring_set.h"

namespace patchbay {

struct RingBufferOptions {
  std::string path;      // file to make (0600, O_EXCL)
  uint32_t nr_cpus = 1;  // possible CPUs
  uint32_t subbuf_size = 4096;
  uint64_t bytes_per_cpu = 1408 * 1024;
  bool overwrite = true;
};

class RingBuffer {
 public:
  // Makes the file at its full (sparse) size and maps it. Memory is reserved (posix_fallocate) for
  // the rings at enable(); ENOSPC is reported there, never as a SIGBUS in a traced thread.
  static Result<std::unique_ptr<RingBuffer>> create(const RingBufferOptions& options);
  ~RingBuffer();

  RingSet* rings() { return &set_; }
  abi::BufferHeader* header() { return set_.header; }
  // Reserves the memory of all rings and lets them take events / sends writers to the slow path.
  Status enable();
  void disable();
  bool enabled() const { return enabled_; }

  void add_clock_pair();
  Status append_meta(uint32_t type, std::string_view payload);  // published when it returns
  // The owning process ends. Recording goes on: other exit handlers and threads may still run.
  void close_cleanly();
  const std::string& path() const { return path_; }
  // Between calls the file is not kept open, so that the program's descriptor numbers stay its own.
  // A thread with a descriptor table of its own may keep it (it then survives a chroot of the
  // program).
  void hold_file();

 private:
  RingBuffer() = default;
  Result<int> file();  // fd_, or opened until release_file()
  void release_file();
  RingSet set_{};
  Mapping mapping_;
  UniqueFd fd_;
  bool held_ = false;
  std::string path_;
  uint64_t meta_used_ = 0;
  bool allocated_ = false;
  bool enabled_ = false;
};

}  // namespace patchbay
