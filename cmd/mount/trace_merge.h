// SPDX-License-Identifier: MIT
//
// The traces of several processes as one, in the order of their times. What one process gives stays
// in its order; processes of one machine have the same clocks.
//
//   trace:      each source is read until it has a record, or has ended; then the earliest record
//               goes out, and its source is read on
//   trace_pipe: all sources are asked in rounds
//
//     round 1   A: 10 14        B: 12          nothing goes out: B may have recorded 11 meanwhile
//     round 2   A: 17           B: 11 16       what was recorded before 14 was read is here now:
//                                              10 11 12 14 go out, in order
//     round 3   A: -            B: -           16 17
//
//     So a record waits for one more round of all that answer, and the order is exact. A process
//     that did not answer (stopped) holds nobody up; what it gives later is late.
//
// A record is a line with a time, the lines before it that tell of losses, and the lines behind it
// that have no time (stacks). Records without times (function_graph) cannot be ordered: `trace`
// shows one process after the other, trace_pipe as they come, each under "# PID NAME".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace patchbay::cmd {

// The time of a line of `trace`, in the clock's smallest digit; none: the line has no time.
std::optional<uint64_t> line_time(std::string_view untrusted_line);

class TraceMerge {
 public:
  enum class Of { kTrace, kPipe };
  explicit TraceMerge(Of of) : of_(of) {}

  // A process, from here on known by the number returned. In a trace_pipe it may be the number of
  // one that has ended.
  size_t add_source(int pid, std::string_view name);
  // What it has given. `more`: there may be more right now.
  void feed(size_t source, std::string_view untrusted_bytes, bool more);
  void end(size_t source);  // it will give no more
  // trace: it has to be read before anything can go out. trace_pipe: there is room for more.
  bool wants_more(size_t source) const;

  // trace: everything that is in order while no source wants more.
  std::string take();
  // trace_pipe: all sources that answer were asked.
  std::string end_round();
  // Whether there is something that waits for a round.
  bool holds_something() const;
  bool all_ended() const;

 private:
  struct Source {
    int pid = 0;
    std::string name;
    std::string buffer;
    size_t at = 0;         // where the next record begins in it
    size_t old_until = 0;  // what was there when the last round ended
    bool more = true, ended = false;
    bool has_head = false;  // the next record is whole, and these are its:
    size_t length = 0;
    uint64_t time = 0;
    bool timed = false;
    // trace: the comment that it begins with
    std::string comment;
    bool has_comment = false;
  };
  std::string_view rest(const Source& source) const;
  void find_head(Source& source);
  void find_comment(Source& source);
  bool is_dry(const Source& source) const;
  std::optional<size_t> earliest() const;
  void put_record(std::string* out, size_t source);
  std::string merged_comment();
  std::string take_sections();

  Of of_;
  std::vector<Source> sources_;
  bool begun_ = false, in_sections_ = false;
  size_t section_ = 0;
  bool section_named_ = false;
  size_t last_source_ = SIZE_MAX;  // whose records without times went out last
};

}  // namespace patchbay::cmd
