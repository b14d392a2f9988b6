// SPDX-License-Identifier: MIT
//
// The virtual tree: every tracefs file is one object here, whatever carries the calls (the socket,
// and FUSE over it). Called under the agent's lock; nothing blocks: a file that has nothing to give
// yet answers EAGAIN, and the carrier waits.
#pragma once

#include <cerrno>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace patchbay::tracefs {

// The caller's thread, as far as the carrier knows it (FUSE: the request's pid). 0: unknown.
struct Caller {
  uint32_t tid = 0;
};

enum class ReadMode : uint8_t {
  kAny,        // as much as there is
  kWholePage,  // splice of trace_pipe_raw: a whole page or EAGAIN
};

// One open file. The destructor is the last close(2) (RELEASE).
class File {
 public:
  virtual ~File() = default;
  virtual uint32_t mode() const = 0;  // 0644 …
  // What O_TRUNC and exclusive opens mean happens here; an error makes open(2) fail.
  virtual Status open(uint32_t flags) {
    (void)flags;
    return {};
  }
  // The whole text of a file that is a text: read once per open, at the first read_next().
  virtual Result<std::string> read() { return user_error(EINVAL, "This file cannot be read."); }
  // The next at most `size` bytes; "" is the end of the file; EAGAIN: nothing yet. The default
  // serves read().
  virtual Result<std::string> read_next(size_t size, ReadMode mode);
  // One write(2), one command. Returns the bytes consumed.
  virtual Result<size_t> write(std::string_view bytes) {
    (void)bytes;
    return user_error(EINVAL, "This file cannot be written.");
  }
  virtual Result<size_t> write_as(std::string_view bytes, const Caller& caller) {
    (void)caller;
    return write(bytes);
  }
  virtual Status flush() { return {}; }     // close(2) of one descriptor: its error is shown
  virtual bool readable() { return true; }  // poll: POLLIN
  // poll: POLLPRI, since it was told last (`tell`: it is now).
  virtual bool changed(bool tell) {
    (void)tell;
    return false;
  }
  virtual Status ioctl(uint32_t command) {  // ENOTTY
    (void)command;
    return user_error(ENOTTY, "This file has no such ioctl.");
  }
  virtual uint64_t size() const { return 0; }  // as stat(2) shows it

 private:
  std::optional<std::string> text_;
  size_t position_ = 0;
};

// A directory whose entries may come and go.
class Directory {
 public:
  virtual ~Directory() = default;
  virtual uint32_t mode() const { return 0750; }
  virtual std::vector<std::string> list() = 0;                    // sub-directories end in '/'
  virtual std::unique_ptr<File> file(std::string_view name) = 0;  // null: no such file
  virtual std::unique_ptr<Directory> directory(
      std::string_view name) = 0;  // null: no such directory
  virtual Status make_directory(std::string_view name) {
    (void)name;
    return user_error(EPERM, "A directory cannot be made here, only in instances/.");
  }
  virtual Status remove_directory(std::string_view name) {
    (void)name;
    return user_error(EPERM, "This directory cannot be removed.");
  }
};

struct Node {
  std::unique_ptr<File> file;
  std::unique_ptr<Directory> directory;
};
// Walks a path below `root` ("" is the root itself). ENOENT when there is none; ".." is refused.
Result<Node> lookup(Directory& root, std::string_view path);

}  // namespace patchbay::tracefs
