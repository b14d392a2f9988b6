// SPDX-License-Identifier: MIT
//
// The tool's end of the socket (protocol.h). Errors carry the agent's own sentence.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "serve/protocol.h"

namespace patchbay::serve {

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

  Result<std::vector<std::string>> list(std::string_view path);
  Result<uint32_t> open(std::string_view path, uint32_t flags);
  Result<std::string> read(uint32_t handle, size_t size);         // empty at the end
  Result<size_t> write(uint32_t handle, std::string_view bytes);  // at most kMaxWrite bytes
  Status close(uint32_t handle);

  Result<std::string> read_all(std::string_view path);
  // Open, write everything (again from where a short write ended, as a shell does), close.
  // `truncate` is the shell's `>`, else `>>`. Text longer than one message is split behind a
  // newline.
  Status write_all(std::string_view path, std::string_view text, bool truncate);
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
  Result<Answer> call(Request request, std::string_view data);
  Status hello();

  UniqueFd fd_;
  int pid_ = 0;
  std::string exe_;
};

}  // namespace patchbay::serve
