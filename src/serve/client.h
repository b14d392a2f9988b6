// SPDX-License-Identifier: MIT
//
// The tool's end of the socket (protocol.h). Errors carry the agent's own sentence. One thread at a
// time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "serve/protocol.h"
#include "tracefs/tree.h"

namespace patchbay::serve {

// Whether an error of a Client means that the agent has gone away.
bool is_gone(const Error& error);

class Client {
 public:
  // The agent of a process, in the runtime directory (directory.h). ESRCH with what to do when the
  // process has no agent or does not exist.
  static Result<std::unique_ptr<Client>> connect(int pid);
  // The agent whose socket is DIR/PID/ctl.sock, for `process_directory` = DIR/PID.
  static Result<std::unique_ptr<Client>> connect_directory(const std::string& process_directory);

  int pid() const { return pid_; }  // as the agent says
  const std::string& exe() const { return exe_; }
  int descriptor() const { return fd_.get(); }  // readable at end of file when the agent is gone

  // Whether the agent has gone away (the program has ended, or executed another one).
  bool gone() const;

  Result<std::vector<std::string>> list(std::string_view path);
  struct FileStatus {
    uint32_t mode = 0;  // with S_IFREG or S_IFDIR
    uint64_t size = 0;
  };
  Result<FileStatus> stat(std::string_view path);
  Status make_directory(std::string_view path);
  Status remove_directory(std::string_view path);

  Result<uint32_t> open(std::string_view path, uint32_t flags);
  // Empty at the end of the file; EAGAIN while there is nothing yet.
  Result<std::string> read(uint32_t handle, size_t size,
                           tracefs::ReadMode mode = tracefs::ReadMode::kAny);
  // Waits while there is nothing yet, asking again after 1 ms, then ever less often. The end of the
  // file when the agent goes away. `stop` is called before each wait: true ends with EINTR.
  Result<std::string> read_waiting(uint32_t handle, size_t size, const std::function<bool()>& stop);
  // At most kMaxWrite bytes. `caller`: the thread on whose behalf we call; 0: our own.
  Result<size_t> write(uint32_t handle, std::string_view bytes, uint32_t caller = 0);
  Status flush(uint32_t handle);           // close(2) of one descriptor
  Result<bool> readable(uint32_t handle);  // poll(2)
  Status ioctl(uint32_t handle, uint32_t command);
  Status close(uint32_t handle);

  // What there is now: a file that would wait ends there.
  Result<std::string> read_all(std::string_view path);
  // Open, write everything (again from where a short write ended, as a shell does), close.
  // `truncate` is the shell's `>`, else `>>`. Text longer than one message is split behind a
  // newline.
  Status write_all(std::string_view path, std::string_view text, bool truncate);
  // The buffer file of the process.
  Result<UniqueFd> open_buffer();
  Status resume();  // lets a program that waits in the agent's constructor run

  static constexpr size_t kMaxWrite = kMaxMessage - sizeof(Request);

 private:
  struct Answer {
    Reply reply{};
    std::string text;
    UniqueFd descriptor;
  };
  Client() = default;
  static Status done(const Result<Answer>& answer);
  Result<Answer> call(Request request, std::string_view data);
  Result<Answer> call(Call call, uint32_t handle, uint64_t value, std::string_view data = "");
  Status send(const Request& request, std::string_view data);
  Status write_pieces(std::string_view path, std::string_view text, uint32_t flags);
  Status hello();

  UniqueFd fd_;
  std::vector<char> input_;  // the last answer
  int pid_ = 0;
  std::string exe_;
};

}  // namespace patchbay::serve
