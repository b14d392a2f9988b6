// SPDX-License-Identifier: MIT
//
// One traced process behind a mount: its client, its open files, and the reads that wait.
//
//   FUSE loop --run(job)--> client, one job at a time, in the order of the requests
//                             | nothing to read yet
//                             v
//                           parked request <-- asked again after 1 ms … 50 ms by our thread, until
//                                              there is data, or the reader is interrupted, or the
//                                              process is gone
//
// The order of the requests is kept per process: the kernel sends RELEASE without waiting for it,
// and a later rmdir or exclusive open counts on it. In a mount of one process jobs run in the
// loop's own thread. In a mount of all processes each has a thread, so that a process that hangs
// does not hold up the others.
//
// We wait a second for a process that is stopped. Then calls answer ETIMEDOUT, at once while it
// stays stopped, and work again when it goes on (client.h). Reads that wait go on waiting.
#pragma once

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "cmd/mount/mount_fuse_api.h"
#include "cmd/mount/text_window.h"
#include "serve/client.h"

namespace patchbay::cmd {

class MountTarget;
struct AllFile;

// The kernel asks twice for a page, by readahead and then by itself, before it ends a splice(2).
inline constexpr unsigned kRefusals = 2;

struct OpenFile {
  std::shared_ptr<MountTarget> target;  // null: `all` says what it is
  std::shared_ptr<AllFile> all;         // of the directory of all processes (mount_all.h)
  std::string path;
  uint32_t handle = 0;
  uint32_t flags = 0;      // as opened
  bool is_pages = false;   // trace_pipe_raw and the like: splice(2) takes whole pages of it
  bool is_stream = false;  // has no offset: what was read is gone
  // Of splice: how often EAGAIN was answered since the last page (see answer_read).
  unsigned refusals = kRefusals;
  TextWindow window;  // of a text
};
bool is_pages_file(std::string_view path);
bool is_stream_file(std::string_view path);

// One read(2) or splice(2) request.
struct ReadRequest {
  fuse_req_t request = nullptr;
  std::shared_ptr<OpenFile> file;
  size_t size = 0;
  uint64_t offset = 0;
  bool is_splice = false;
  bool nonblocking = false;
};

// What FUSE is to be told: our errno for an error of the client.
int mount_errno(const Error& error);

// A poll(2): the events that are wanted, and who is told when they come (null: nobody).
struct PollRequest {
  fuse_pollhandle* handle = nullptr;
  unsigned wanted = 0;
};

class MountTarget {
 public:
  // The only process of a mount: jobs run where run() is called.
  static std::shared_ptr<MountTarget> of_client(std::unique_ptr<serve::Client> client);
  // One of many: jobs run in a thread of its own, which also connects to DIRECTORY/ctl.sock.
  static std::shared_ptr<MountTarget> of_directory(int pid, const std::string& directory);
  ~MountTarget();
  int pid() const { return pid_; }
  bool gone();
  // The reason why a job has no client: ENODEV, or ETIMEDOUT for a process that is stopped.
  int absence() const { return silent_ ? ETIMEDOUT : ENODEV; }

  // Runs `job` with the client, or with null when the process is gone; here or in the target's
  // thread, after all earlier jobs.
  void run(std::function<void(serve::Client*)> job);

  // From inside a job. Answers the request now, or parks it.
  void read(serve::Client* client, ReadRequest request);
  // From inside a job. Answers a poll.
  void poll(serve::Client* client, fuse_req_t request, std::shared_ptr<OpenFile> file,
            PollRequest polled);
  void forget_polls(const OpenFile* file);
  // Answers everything that waits; the thread ends.
  void shut_down();

 private:
  using Clock = std::chrono::steady_clock;
  struct Waiter {
    ReadRequest read;                     // a read, or
    std::shared_ptr<OpenFile> poll_file;  // a poll
    PollRequest poll;
    std::chrono::milliseconds wait{1};
    Clock::time_point due;
  };
  MountTarget() = default;
  void start_thread();
  void thread_main();
  void run_now(const std::function<void(serve::Client*)>& job);
  bool run_one_job(std::unique_lock<std::mutex>& held);
  void ask_again(std::unique_lock<std::mutex>& held);
  void park(Waiter waiter);
  bool attempt(serve::Client* client, Waiter& waiter);  // true: answered
  Result<std::string> next_bytes(serve::Client* client, const ReadRequest& request);
  Result<std::string> text_at(serve::Client* client, OpenFile& file, size_t size, uint64_t offset);
  bool answer_read(serve::Client* client, const ReadRequest& request, bool first);

  int pid_ = 0;
  std::string directory_;
  bool own_thread_ = false;
  std::mutex client_mutex_;  // held while a job runs; never taken inside queue_mutex_
  std::unique_ptr<serve::Client> client_;
  bool gone_ = false, silent_ = false;

  std::mutex queue_mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void(serve::Client*)>> jobs_;  // with own_thread_
  std::vector<Waiter> waiters_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace patchbay::cmd
