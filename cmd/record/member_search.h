// SPDX-License-Identifier: MIT
//
// A thread that finds the processes of a recording and sets them up, while the recording takes the
// sub-buffers of those that are set up already: an attach may take seconds, and a full ring loses
// events.
//
//   search                                         recording
//     look(): who is there?                          polls: signals, members, descriptor()
//       has an agent           connect  ─┐
//       takes one              attach   ─┼─ member ──> take(): drains it from now on
//       forked by a member     nothing: it records with that one
//       else                   a reason ─── refused ─> take()
//     leave(): takes back  <────────── member ───────  it has ended
//       writes its file    ─────────── part ─────────> take()
//     until stop()
//
// What crosses lies behind one mutex. The search waits on a condition, the recording on an eventfd,
// which keeps what it has been told: nobody is woken for nothing, nor waits for what has been.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/unique_fd.h"
#include "cmd/record/process_member.h"
#include "cmd/target/process_source.h"
#include "cmd/target/running_process.h"
#include "trace_dat/process_images.h"

namespace patchbay::cmd {

class MemberSearch {
 public:
  // `options` and `parts` have to live on.
  MemberSearch(const RecordOptions& options, const RecordingParts& parts, ProcessSource source,
               std::string runtime);
  ~MemberSearch() { stop(); }

  Status start();
  int descriptor() const { return told_.get(); }  // readable when there is something to take

  struct News {
    std::vector<std::unique_ptr<ProcessMember>> members;
    std::vector<RecordedPart> finished;  // of members that were left
    std::vector<NotFollowed> refused;
    bool has_looked = false;  // all who were there at the beginning are members, or refused
    bool may_grow = true;     // others may come
    bool is_empty = false;    // nobody is in the groups now
  };
  News take();
  // Of a member that has ended: its file is finished, which may be much to write, and the process
  // is left as it was. The part is there to take, sometime.
  void leave(std::unique_ptr<ProcessMember> member);
  // Nobody is looked for any more, and who has ended is finished, when this returns. What was found
  // before is there to take.
  void stop();

 private:
  struct Known {
    enum class State : uint8_t { kMember, kWithParent, kRefused, kTryAgain };
    RunningProcess process;
    State state = State::kRefused;
    int tries = 0;
    int64_t next_try = 0;  // ms
    std::string path;      // of its program, as long as it was to be seen
  };
  void run();
  void look();
  bool is_news(const RunningProcess& process);
  void forget_who_is_gone(const std::vector<int>& pids);
  bool is_with_a_member(int pid);
  void decide(const RunningProcess& process);
  void finish(std::unique_ptr<ProcessMember> member);
  void refuse(const RunningProcess& process, const Error& error);
  void list_refused(const Known& known, const std::string& reason);
  void tell();
  bool is_told_to_stop();
  bool wait();

  const RecordOptions& options_;
  const RecordingParts& parts_;
  const std::string runtime_;
  UniqueFd told_;
  std::thread thread_;

  // Of the thread alone.
  ProcessSource source_;
  std::map<int, Known> known_;
  size_t nr_made_ = 0;
  std::set<int> were_members_;
  std::chrono::milliseconds pause_{0};

  std::mutex mutex_;
  std::condition_variable changed_;
  News news_;
  std::deque<std::unique_ptr<ProcessMember>> to_leave_;
  bool is_stopping_ = false;
};

}  // namespace patchbay::cmd
