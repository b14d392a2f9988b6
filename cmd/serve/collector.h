// SPDX-License-Identifier: MIT
//
// All agents of a host, for `patchbay serve`:
//
//   sweep()   once a second: who has come (a readdir, and a connection to each that is new)
//   scrape()  looks at each, and writes what is there; looks are shared by scrapes within 500 ms
//
// All processes are connected to and looked at side by side, each by a thread that ends (with an
// error, if it must) after 5 s. A scrape waits for them for a second: one that has not answered by
// then is shown as it was, and is taken at the next scrape. What goes wrong with one, memory that
// is missing, too, is its own error.
//
//   comes ──> alive ──its connection ends──> gone, shown until each scraper has had it once
//     ^         │ ETIMEDOUT (stopped, hangs)      │
//     │         v                                 v the process still lives (it was detached, or
//     │   silent: shown as it was with up 0,      │ executes another program): kept, not shown, so
//     │   asked again 1, 2, 4 … 60 s later        │ that its counters go on when it comes back
//     └───────────────────────────────────────────┘
//
// Who may be read: a directory DIR/PID that is ours. Root also reads one that belongs to the user
// as whom the process runs. Others, symbolic links, and sockets that are none are passed over.
//
// Threads: any may call any of these.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "cmd/serve/agent_series.h"
#include "cmd/serve/metrics.h"

namespace patchbay::cmd {

class Collector {
 public:
  Collector(std::string runtime, SeriesBounds bounds)
      : runtime_(std::move(runtime)), bounds_(bounds) {}
  ~Collector();

  // Not while somebody scrapes, who does it himself.
  void sweep();
  // `scraper`: who asks, so that each gets the last counts of a process.
  std::shared_ptr<const std::string> scrape(const std::string& scraper, Format format);

  struct Agent {
    int pid = 0;
    std::string start, exe, directory;
  };
  std::vector<Agent> agents();  // that are alive
  // "{"agents": 3, "scrapes": 12, …}": what `patchbay status` shows of the daemon. While somebody
  // scrapes, as it was before.
  std::string state_json();

 private:
  // What a thread does for one process. Its result is taken under tasks_lock_.
  struct Task {
    bool is_done = false;
    Status status;
    std::unique_ptr<serve::Client> client;  // of one that has come
    std::string start;
  };
  struct Member {
    std::unique_ptr<AgentSeries> series;
    std::shared_ptr<Task> look;  // null: none is going on
    int64_t began_ms = 0, next_try_ms = 0, pause_ms = 1000;
    int64_t gone_ms = 0;             // 0 while it is alive
    std::set<std::string> shown_to;  // since it has gone
    bool is_hidden = false;          // all have had it
  };
  // A directory that is being connected to, or cannot be.
  struct Newcomer {
    int64_t next_try_ms = 0, pause_ms = 1000;
    uint64_t inode = 0;
    std::shared_ptr<Task> task;  // null: nobody tries
    Labels labels;               // empty: it has not failed
  };

  void run(const std::shared_ptr<Task>& task, std::function<Status()> work);
  bool has_room();
  size_t nr_ended();
  bool is_through(const std::shared_ptr<Task>& task);
  void sweep_locked();
  void begin_to_meet(int pid, Newcomer* newcomer);
  void meet_those_who_came();
  void meet(int pid, Task* task);
  void note_failure(int pid, Newcomer* newcomer);
  void begin_looks(int64_t since_ms);
  void end_looks();
  void look_at_all(int64_t until_ms);
  void note_shown(const std::string& scraper);
  void forget();
  Exposition exposition();
  void show_own(Families* families);

  const std::string runtime_;
  const SeriesBounds bounds_;
  std::mutex lock_;
  std::vector<Member> members_;
  std::map<int, Newcomer> newcomers_;  // by pid
  std::map<std::string, int64_t> scraper_ms_;
  std::map<Format, std::shared_ptr<const std::string>> written_;
  int64_t looked_ms_ = 0;
  uint64_t nr_scrapes_ = 0, nr_failed_looks_ = 0, nr_refused_ = 0, took_ns_ = 0, nr_series_ = 0;
  Labels none_;
  std::string state_;
  std::mutex tasks_lock_;  // of the tasks and of what follows; taken behind lock_
  std::condition_variable task_ends_;
  size_t nr_running_ = 0, nr_ended_ = 0;
};

}  // namespace patchbay::cmd
