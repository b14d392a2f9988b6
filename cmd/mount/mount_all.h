// SPDX-License-Identifier: MIT
//
// The directory `all` of `patchbay mount --all DIR`: the files of every process as one tree.
//
//   echo 1 > DIR/all/events/a/b/enable
//      |
//      |  under one lock: who is there now; the write goes into the list of kept writes
//      v
//   4711's thread   4712's thread   4713's thread      one connection each, all at the same time
//    has taken it    EBUSY           ENOENT: has no such event
//      \               |               /
//       the last one to answer: some have taken it, so it stays in the list; one has refused, so
//       write(2) fails with EBUSY, and DIR/all/error_log says who and why
//
//   4720 comes:  its first job is the list of kept writes, in order
//
// What a write means:
//   - It goes to each process that has the file, as write(2) of a shell would; text that a file
//     takes word by word goes on until the end. It has succeeded when all have taken it.
//   - Who lacks the file, or the event, is passed over (ENOENT) as long as one has taken it. In
//     files that define and name events EINVAL is the same: the text is right when one has taken
//     it. It is not in filters of function tracers: who has no filter traces all functions.
//   - Otherwise it fails with the errno of the first, by pid, that has refused. Those that have
//     taken it keep it, as after a shell's loop.
//   - A process that is stopped is waited for as long as Client waits. It counts as one that has
//     refused (ETIMEDOUT), and the write is not repeated when it goes on.
//
// What a read shows: trace and trace_pipe by time (trace_merge.h), other texts as merged_text.h
// says. A process that does not answer is left out, and error_log says so. Files of raw pages are
// not there: a page belongs to one process.
#pragma once

#include <functional>
#include <future>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cmd/mount/all_log.h"
#include "cmd/mount/kept_writes.h"
#include "cmd/mount/mount_processes.h"

namespace patchbay::cmd {

inline constexpr std::string_view kAllName = "all";

// What one process has answered.
template <typename T>
struct ProcessAnswer {
  MountedProcess process;
  Result<T> result;
};
template <typename T>
using ProcessAnswers = std::vector<ProcessAnswer<T>>;
// Asks one process, in its thread; the client is not null.
template <typename T>
using AskProcess = std::function<Result<T>(serve::Client*, const MountedProcess&)>;

// Asks all at the same time. `done` is called with all answers, by the last one's thread.
template <typename T>
void ask_each(const std::vector<MountedProcess>& processes, AskProcess<T> ask,
              std::function<void(ProcessAnswers<T>)> done) {
  struct Round {
    std::mutex mutex;
    std::vector<std::optional<Result<T>>> results;
    size_t left = 0;
  };
  if (processes.empty()) return done({});
  auto round = std::make_shared<Round>();
  round->results.resize(processes.size());
  round->left = processes.size();
  const auto all = std::make_shared<const std::vector<MountedProcess>>(processes);
  for (size_t i = 0; i < processes.size(); i++) {
    processes[i].target->run([round, all, ask, done, i](serve::Client* client) {
      const MountedProcess& process = (*all)[i];
      Result<T> result = client
                             ? ask(client, process)
                             : Result<T>(sys_error("reach the process", process.target->absence()));
      {
        std::lock_guard held(round->mutex);
        round->results[i] = std::move(result);
        if (--round->left > 0) return;
      }
      ProcessAnswers<T> answers;
      for (size_t n = 0; n < all->size(); n++)
        answers.push_back({(*all)[n], std::move(*round->results[n])});
      done(std::move(answers));
    });
  }
}

// The same, and waits.
template <typename T>
ProcessAnswers<T> answers_of_each(const std::vector<MountedProcess>& processes, AskProcess<T> ask) {
  auto promise = std::make_shared<std::promise<ProcessAnswers<T>>>();
  std::future<ProcessAnswers<T>> answers = promise->get_future();
  ask_each<T>(processes, std::move(ask),
              [promise](ProcessAnswers<T> all) { promise->set_value(std::move(all)); });
  return answers.get();
}

class AllReader;

// An open file of the directory.
struct AllFile {
  std::string path;  // in the processes
  uint32_t flags = 0;
  bool writes = false, is_log = false;
  struct Handle {
    MountedProcess process;
    uint32_t handle = 0;
  };
  std::mutex mutex;
  std::vector<Handle> handles;        // of who has opened it for writing
  uint64_t kept = 0;                  // the entry that the next words belong to; the loop's thread
  std::shared_ptr<AllReader> reader;  // from the first read(2) or poll(2) on
};

class MountAll {
 public:
  // `says`: what goes wrong for a process that has come is said on stderr, too.
  MountAll(MountProcesses* processes, bool says);
  ~MountAll();
  // After the daemon's fork: looks for processes that come, until shut_down().
  void start();
  void shut_down();

  using FileStatus = serve::Client::FileStatus;
  void stat(const std::string& path, std::function<void(Result<FileStatus>)> done);
  void list(const std::string& path, std::function<void(Result<std::vector<std::string>>)> done);
  void make_directory(const std::string& path, std::function<void(Status)> done);
  void remove_directory(const std::string& path, std::function<void(Status)> done);
  void open(const std::string& path, uint32_t flags,
            std::function<void(Result<std::shared_ptr<AllFile>>)> done);
  void write(const std::shared_ptr<AllFile>& file, std::string text, uint32_t caller,
             std::function<void(Result<size_t>)> done);
  void flush(const std::shared_ptr<AllFile>& file, std::function<void(Status)> done);
  void release(const std::shared_ptr<AllFile>& file);
  // Answers the request, now or later.
  void read(const std::shared_ptr<AllFile>& file, const ReadRequest& request);
  void poll(const std::shared_ptr<AllFile>& file, fuse_req_t request, PollRequest polled);

  // For readers.
  std::vector<MountedProcess> processes();
  AllLog& log() { return log_; }
  std::string log_text();

 private:
  void greet(const MountedProcess& newcomer);
  std::vector<std::string> repeat(serve::Client* client, const MountedProcess& newcomer,
                                  const std::vector<KeptWrites::Entry>& entries);
  void watch();
  uint64_t keep(KeptWrites::Entry entry);
  uint64_t keep_text(const std::shared_ptr<AllFile>& file, const std::string& text);
  // How the processes have taken something, as one.
  struct Verdict {
    Status status;
    bool taken = false;   // one has, or there is none: it is kept for those that come
    bool proven = false;  // one has
  };
  // What has to be said is in error_log.
  Verdict judge(const AllLog::Command& command, std::vector<AllLog::Answer> answers);
  // `bytes`: of an entry with more text, those that the verdict is about.
  void settle(uint64_t kept, size_t bytes, const Verdict& verdict);
  std::shared_ptr<AllReader> reader_of(const std::shared_ptr<AllFile>& file);

  MountProcesses* processes_;
  const bool says_;
  AllLog log_;
  std::mutex kept_mutex_;
  KeptWrites kept_;

  UniqueFd stop_fd_;
  std::thread watcher_;
  std::mutex readers_mutex_;
  std::list<std::shared_ptr<AllReader>> readers_;
};

}  // namespace patchbay::cmd
