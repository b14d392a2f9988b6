// SPDX-License-Identifier: MIT
//
// One process with an agent, and its series:
//
//   (pid, start time, exe)     who it is: a number is given out again, a program executes another
//     histograms               hist_series.h, those that others have set up, in all instances
//     probes                   kprobe_profile, uprobe_profile
//     functions                debug/profile_image, while the profiler is on
//     buffers                  recorded, overwritten, dropped; missed, of the buffer file
//
// Nothing is switched on, and nothing is written to the process. What there is to read is searched
// every 10 s; a look reads it. A program that ends leaves its histograms in its directory; those of
// a program that is killed are as they were at the last look, its losses are in the buffer file.
//
// A directory may be hostile: nothing in it is followed (O_NOFOLLOW), waited for (O_NONBLOCK) or
// read that is no ordinary file, and no more than 16 MiB of a text. The agent may be, too: it gets
// 5 s for a look, and answers of the client's bounds, one at a time.
//
// A look may be going on while show() and nr_series() are called: they do not wait for the agent.
// All else is not called meanwhile.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cmd/measure/hist_sum.h"
#include "cmd/serve/families.h"
#include "cmd/serve/hist_series.h"
#include "serve/client.h"

namespace patchbay::cmd {

struct SeriesBounds {
  size_t most_keys = 1000;      // of a histogram
  size_t most_series = 500000;  // of all
};

// Whether the agent of a process answers.
void show_up(const Labels& labels, bool is_up, Families* families);

class AgentSeries {
 public:
  AgentSeries(int pid, std::string start, std::string exe, std::string directory);

  int pid() const { return pid_; }
  const std::string& start() const { return start_; }
  const std::string& exe() const { return exe_; }
  const std::string& directory() const { return directory_; }
  bool is_alive() const { return client_ != nullptr; }
  // Whether the last look has read all, or none was made yet.
  bool answers() const { return answers_; }
  serve::Client* client() { return client_.get(); }

  // Counts through this client from here on; what was counted before stays.
  void join(std::unique_ptr<serve::Client> client);
  // The process is gone, or answers no more: its last counts.
  void leave();
  // Reads all there is. An error: nothing was read, or not all; is_gone() says whether it has gone.
  // `nr_series`: of all processes.
  Status look(const SeriesBounds& bounds, size_t nr_series);
  void show(Families* families) const;
  size_t nr_series() const;

 private:
  // What a process counts by names: functions, probes.
  struct Named {
    Labels labels;
    Steady hits, other;  // time in ns of a function, misses of a probe
  };
  struct Buffer {
    Labels labels;
    Steady recorded, dropped, overwritten, missed, recursion, unhooked;
  };
  struct Histogram {
    HistPlace place;
    size_t most_keys = 0;
    std::unique_ptr<HistSeries> series;  // null: it was never seen
    bool is_there = true;
  };

  using NamedCounts = std::map<std::string, std::pair<uint64_t, uint64_t>>;

  struct Unlocked;
  template <typename T, typename Ask>
  Result<T> ask(const Ask& ask);
  Result<std::string> read(const std::string& path, serve::Most most = serve::kMostText);
  Result<std::vector<std::string>> list(const std::string& path);
  void take(Histogram* one, const HistImagePtr& image);
  Status look_locked(const SeriesBounds& bounds, size_t nr_series);
  Status search(const SeriesBounds& bounds, size_t nr_series);
  Status search_instance(const std::string& instance, const SeriesBounds& bounds,
                         size_t* nr_series);
  void add_histogram(HistPlace place, size_t most_keys);
  Status look_at_histograms();
  Status look_at_profiles(const SeriesBounds& bounds);
  Status look_at_functions(const SeriesBounds& bounds);
  void look_at_named(const NamedCounts& counts, std::map<std::string, Named>* all,
                     const char* label, size_t most);
  void look_at_buffer(const std::string& instance);
  Named& named(std::map<std::string, Named>* all, const char* label, const std::string& name,
               size_t most);

  const int pid_;
  const std::string start_, exe_;
  std::string directory_;
  Labels labels_;
  std::unique_ptr<serve::Client> client_;
  std::atomic<bool> answers_ = true;
  mutable std::mutex lock_;     // of what follows; not held while we wait for the agent
  std::optional<Error> fault_;  // of this look
  int64_t searched_ms_ = 0;
  std::vector<std::string> instances_;  // "" first
  std::vector<Histogram> histograms_;
  std::map<std::string, Named> functions_, probes_;
  std::map<std::string, Buffer> buffers_;
  bool has_probes_ = false, has_profile_ = false;
};

}  // namespace patchbay::cmd
