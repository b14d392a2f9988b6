// SPDX-License-Identifier: MIT
//
// One client of the agent: decodes a request, checks it, does it on the tree, and makes the reply.
// It knows no socket, so that tests and the fuzzer can drive it with bytes.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "serve/journal.h"
#include "serve/protocol.h"
#include "tracefs/tree.h"

namespace patchbay::serve {

inline constexpr size_t kMaxHandles = 4096;  // per client
inline constexpr size_t kMaxPath = 4096;

struct SessionHooks {
  std::function<void()> resume;                   // kResume
  std::function<Result<UniqueFd>()> open_buffer;  // a descriptor of the buffer file, to be sent
  std::string exe;                                // for kHello; empty: what /proc/self/exe says
  bool attached = false;                          // for kHello: the agent came late
  OperationJournal* journal = nullptr;            // what forked children repeat; null: nothing
};

struct SessionReply {
  std::string message;  // Reply, then its text or bytes; empty: the request was no request, hang up
  UniqueFd descriptor;  // to be passed along
};

class Session {
 public:
  Session(tracefs::Directory& root, const SessionHooks& hooks) : root_(root), hooks_(hooks) {}
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  // Never throws; an allocation that fails is answered with ENOMEM.
  SessionReply handle(std::string_view untrusted_message);

 private:
  struct Handle {
    std::unique_ptr<tracefs::File> file;  // null for the buffer
    uint32_t flags = 0;
    bool flushed = false;   // nothing was written since the last kFlush
    uint64_t number = 0;    // OpenFiles
    bool repeated = false;  // by forked children
    std::string path;       // of a file that is repeated
    ~Handle() {
      if (number) OpenFiles::leave(number);
    }
  };
  struct Answer {
    uint32_t handle = 0;
    uint64_t value = 0;
    std::string text;
    UniqueFd descriptor;
  };
  Result<Answer> dispatch(const Request& request, std::string_view data);
  Result<Answer> dispatch_noted(const Request& request, std::string_view data);
  Operation operation_of(const Request& request, std::string_view data);
  bool has_journal() const { return hooks_.journal && hooks_.journal->wanted(); }
  Status close_handle(std::unique_ptr<Handle> handle);
  Result<Answer> hello(const Request& request);
  Result<Answer> open(const Request& request, std::string_view path);
  Result<Answer> open_buffer(uint32_t handle);
  Result<Answer> read(const Request& request);
  Result<Answer> write(const Request& request, std::string_view bytes);
  Result<Answer> close(const Request& request);
  Result<Answer> write_file(const Request& request, std::string_view data);
  Result<Answer> list(const Request& request, std::string_view path);
  Result<Answer> stat(std::string_view path);
  Result<Answer> change_directory_entry(Call call, std::string_view path);
  Result<Answer> act_on_open(const Request& request);  // kFlush, kPoll, kIoctl
  Result<std::unique_ptr<tracefs::File>> open_file(const Request& request, std::string_view path);
  Result<uint32_t> free_handle() const;  // index in handles_
  uint32_t take_handle(uint32_t index, std::unique_ptr<Handle> handle);
  Result<Handle*> find_handle(uint32_t handle);

  tracefs::Directory& root_;
  const SessionHooks& hooks_;
  std::vector<std::unique_ptr<Handle>> handles_;  // handle number - 1; null: free
};

}  // namespace patchbay::serve
