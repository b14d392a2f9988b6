// SPDX-License-Identifier: MIT
// What `record` says while it records and afterwards, whoever started the program.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "cmd/record/followed.h"
#include "cmd/record/record.h"
#include "cmd/record/recording.h"
#include "cmd/target/trace_request.h"

namespace patchbay::cmd {

// A line on standard error that is written over once a second while that is a terminal. It is not
// for a program that writes to the same terminal: its text would stand behind ours.
class Progress {
 public:
  explicit Progress(bool wanted);
  ~Progress() { clear(); }
  void show(const Recording& recording);
  void show(uint64_t events, uint64_t bytes, uint64_t lost);
  void clear();

 private:
  bool on_, shown_ = false;
  int64_t next_;
};

void note(const std::string& text);
// "cc1 (4), as (4), /usr/bin/sudo": the most frequent first.
std::string counted(const std::vector<std::string>& texts);
// "[ patchbay record: 12 events, 4.0 KB in FILE; lost 0 (cpu0 0, cpu1 0) ]", and how to lose less.
struct SummaryFigures {
  std::vector<RingCounts> by_ring;
  uint32_t nr_cpus = 0;     // rings behind them are those of threads without rseq
  uint64_t ring_bytes = 0;  // of one CPU
};
void print_figures(const SummaryFigures& figures, const TraceDatResult& result,
                   const std::string& output);
void print_summary(const Recording& recording, const TraceDatResult& result,
                   const std::string& output);
// The same of a recording of several programs, whose first one `recording` is.
void print_summary(const Recording& recording, const FollowedTotals& totals,
                   const TraceDatResult& result, const std::string& output);
// Says where the file is, if that is not where it was to be. True: it is there.
bool report_place(std::string_view command, const TraceDatResult& result,
                  const std::string& output);
// Says this, and what is lost when the disk is full or fails. True when everything is saved.
bool report_disk(std::string_view command, const TraceDatResult& result, const Recording& recording,
                 const std::string& output);
// Why nothing was recorded, or nothing of a function or probe that was asked for: a note for each.
// `off`: instances whose tracing_on is 0.
void say_why_nothing(const TraceRequest& request, const Recording& recording,
                     const std::vector<std::string>& off = {});
// The same of the first of several programs, which have `events` together. `recorded`: the texts of
// -e that others have records of.
void say_why_nothing(const TraceRequest& request, const Recording& recording, uint64_t events,
                     const std::set<std::string>& recorded);
// The texts of -e that there are records of.
std::vector<std::string> recorded_texts(const TraceRequest& request, const Recording& recording);
int print_report(const RecordOptions& options);

// The time to sleep after a turn that found the rings `filled` percent full: none while they fill
// fast, and ever more while they are quiet.
int next_wait_ms(unsigned filled, int wait_ms);

}  // namespace patchbay::cmd
