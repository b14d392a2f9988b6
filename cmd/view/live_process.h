// SPDX-License-Identifier: MIT
//
// What a live page shows of a process: the functions that its profiler counts, the histograms of
// all its instances, its buffers, as one JSON object a look; and its newest events as the data of a
// page.
//
//   events, a tracer, histograms of the command line  ->  an instance of our own (tool_uses.h)
//   functions, or nothing at all                      ->  the function profiler, as `top` has it
//   histograms that others have made                  ->  found, and shown, too
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cmd/measure/top_profile.h"
#include "cmd/measure/top_table.h"
#include "cmd/target/apply_request.h"
#include "cmd/target/tool_uses.h"
#include "cmd/target/trace_request.h"
#include "cmd/target/watched_program.h"
#include "cmd/view/recording_page.h"

namespace patchbay::cmd {

struct LiveChoice {
  TraceRequest request;                 // events and a tracer
  std::vector<std::string> functions;   // for the profiler: globs
  std::vector<std::string> histograms;  // "EVENT keys=FIELD[:PART…] [if FILTER]"
  size_t rows = 1000000;
};

class LiveProcess {
 public:
  // `target` is attached, and outlives us.
  LiveProcess(LiveChoice choice, WatchedProgram& target);
  // Takes back what it has set up.
  ~LiveProcess();
  LiveProcess(const LiveProcess&) = delete;

  Status start();
  // {"pid": …, "exe": …, "ended": false, "seconds": 12.5, "top": …, "histograms": […],
  // "buffers": […]}. Not looked at more often than every 200 ms.
  const std::string& state();
  // The newest events. Of a process that has ended: those of the look before.
  Result<RecordingPage> page();
  std::string name() const;  // "process 1234 (nginx)"

 private:
  struct Histogram {
    std::string instance, event, listing;  // "instances/NAME/" or "", "SYSTEM:EVENT"
  };
  Status set_up();
  Status add_histogram(const std::string& text);
  Status start_profile();
  void find_histograms();
  std::string top_json() const;
  std::string histograms_json();
  std::string buffers_json();

  const LiveChoice choice_;
  WatchedProgram& target_;
  TraceRequest request_;
  std::unique_ptr<ToolUses> uses_;
  AppliedRequest applied_;
  std::string instance_;  // our own, "instances/NAME/"; empty: there is none
  std::unique_ptr<TopProfile> profile_;
  TopTable table_;
  std::vector<Histogram> histograms_;
  std::string state_;
  uint64_t started_ns_ = 0;
  int64_t looked_ms_ = 0, searched_ms_ = 0;
  bool has_ended_ = false;
  RecordingPage last_page_;
};

}  // namespace patchbay::cmd
