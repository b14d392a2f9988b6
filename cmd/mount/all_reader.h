// SPDX-License-Identifier: MIT
//
// What reads an open file of the directory of all processes. It has a thread of its own, which may
// wait for the processes' answers, and begins with the first request.
//
//   read(2)  -->  waiting requests --+
//   poll(2)  -->  waiting polls -----+--> our thread asks the processes, merges, and answers
//
// A trace_pipe is asked in rounds (trace_merge.h) while somebody waits: again after 1 ms … 50 ms. A
// process that has not answered within kRoundLimit is left out of the round; what it gives later
// is merged then.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "cmd/mount/mount_all.h"
#include "cmd/mount/trace_merge.h"

namespace patchbay::cmd {

class AllReader {
 public:
  AllReader(MountAll* all, std::string path, bool is_log);
  ~AllReader();
  void read(const ReadRequest& request);
  void poll(fuse_req_t request, PollRequest polled);
  // Answers everything that waits; the thread ends, and over() says when. The processes are told to
  // close before this returns, so that whoever asks them next finds it closed.
  void stop();
  bool over();
  void join();

 private:
  // One process of a trace or a trace_pipe. Its thread fills it in while `asked` is set.
  struct Member {
    MountedProcess process;
    size_t source = 0;
    bool asked = false, gone = false;
    bool has_handle = false, closed = false;  // these two and `handle`: its thread's alone
    uint32_t handle = 0;
    std::string bytes;
    bool more = false;    // it may give more right now
    bool ended = false;   // the end of the file
    bool silent = false;  // it does not answer
    std::optional<Error> error;
  };
  using Clock = std::chrono::steady_clock;

  void thread_main();
  bool serve_once();
  bool answer(const ReadRequest& request);
  void answer_polls();
  Result<std::string> text_at(uint64_t offset, size_t size);
  Status restart();
  Result<std::string> next_piece();
  Result<std::string> merged_text();
  Result<std::string> next_of_trace();
  Status open_members();
  void ask(const std::shared_ptr<Member>& member, size_t most);
  void await(Clock::time_point until);
  void take_answers();
  static void close(const std::shared_ptr<Member>& member);
  void close_members();
  void add_member(std::shared_ptr<Member> member);
  void look_for_members();
  void round();
  bool pipe_has_ended();
  std::optional<Error> refusal();
  void left_out(const MountedProcess& process, const std::string& why);

  MountAll* const all_;
  const std::string path_;
  const bool is_log_, is_pipe_, is_trace_;

  // Guards what follows, `members_` against stop(), and their answers.
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<ReadRequest> reads_;
  std::vector<std::pair<fuse_req_t, PollRequest>> new_polls_;
  std::vector<PollRequest> polls_;
  bool stop_ = false, over_ = false;

  // The thread's own.
  TextWindow window_;
  bool is_done_ = false;  // a text that is merged at once was given
  std::unique_ptr<TraceMerge> merge_;
  std::vector<std::shared_ptr<Member>> members_;
  std::string output_;   // of a trace_pipe
  std::set<int> named_;  // who was left out, and error_log says so
  std::thread thread_;
};

}  // namespace patchbay::cmd
