// SPDX-License-Identifier: MIT
//
// All agents of a host, for `patchbay serve`:
//
//   sweep()   once a second: who has come (a readdir, and a connection to each that is new)
//   scrape()  looks at each, and writes what is there; looks are shared by scrapes within 500 ms
//   watch()   a look at one process that takes 5 s has its connection shut down
//
//   comes ──> alive ──its connection ends──> gone, shown until each scraper has had it once
//     ^         │ ETIMEDOUT (stopped, hangs)      │
//     │         v                                 v the process still lives (it was detached, or
//     │   silent: shown as it was, asked again    │ executes another program): kept, not shown, so
//     │   1, 2, 4 … 60 s later                    │ that its counters go on when it comes back
//     └───────────────────────────────────────────┘
//
// Who may be read: a directory DIR/PID that is ours. Root also reads one that belongs to the user
// as whom the process runs. Others, symbolic links, and sockets that are none are passed over.
//
// Threads: any may call any of these.
#pragma once

#include <cstdint>
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

  void sweep();
  // `scraper`: who asks, so that each gets the last counts of a process.
  std::shared_ptr<const std::string> scrape(const std::string& scraper, Format format);
  void watch();

  struct Agent {
    int pid = 0;
    std::string start, exe, directory;
  };
  std::vector<Agent> agents();  // that are alive
  // "{"agents": 3, "scrapes": 12, …}": what `patchbay status` shows of the daemon.
  std::string state_json();

 private:
  struct Member {
    std::unique_ptr<AgentSeries> series;
    int64_t next_try_ms = 0, pause_ms = 1000, gone_ms = 0;  // gone_ms: 0 while it is alive
    std::set<std::string> shown_to;                         // since it has gone
    bool is_hidden = false;                                 // all have had it
  };
  // A directory that cannot be connected to.
  struct Failed {
    int64_t next_try_ms = 0, pause_ms = 1000;
    uint64_t inode = 0;
  };

  void sweep_locked();
  void meet(int pid);
  void look_at_all();
  void look_at(Member* member, size_t nr_series);
  void note_shown(const std::string& scraper);
  void forget();
  Exposition exposition();
  void show_own(Families* families);

  const std::string runtime_;
  const SeriesBounds bounds_;
  std::mutex lock_;
  std::vector<Member> members_;
  std::map<int, Failed> failed_;  // by pid
  std::map<std::string, int64_t> scraper_ms_;
  std::map<Format, std::shared_ptr<const std::string>> written_;
  int64_t looked_ms_ = 0;
  uint64_t nr_scrapes_ = 0, nr_failed_looks_ = 0, nr_refused_ = 0, took_ns_ = 0, nr_series_ = 0;
  Labels none_;
  std::mutex busy_lock_;  // of the two below; taken behind lock_
  int busy_fd_ = -1;
  int64_t busy_since_ms_ = 0;
};

}  // namespace patchbay::cmd
