// SPDX-License-Identifier: MIT
//
// Takes the rings of running processes into segments of a spool, as fast as they fill and whatever
// the server does:
//
//   DIR/PID/…/buffer ── Recording (cmd/record) ──> SPOOL/NAME.part ──each SECONDS──> SPOOL/NAME
//
// The processes know nothing of it: their buffer files are read, nothing is consumed and nobody is
// asked. What a ring has overwritten before it was read is counted there. A process that has ended
// is read to its end.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cmd/record/recording.h"
#include "cmd/ship/ship_spool.h"
#include "serve/directory.h"

namespace patchbay::cmd {

struct RingChoice {
  std::string runtime;  // the directory of all processes
  std::set<int> pids;   // empty: all
  int64_t segment_ms = 5000;
  uint64_t segment_bytes = 64 << 20;
};

class RingTaker {
 public:
  using Say = std::function<void(const std::string&)>;
  RingTaker(RingChoice choice, ShipSpool* spool, Say say);
  ~RingTaker();

  // One turn: who has come, what is there of each. How full the fullest ring was, in percent.
  unsigned turn();
  // Closes the segments of all.
  void finish();
  // All that were named have ended, and were read to the end.
  bool is_over() const;
  size_t nr_processes() const { return members_.size(); }

 private:
  struct Member;
  void look();
  Status open(Member* member);
  Status begin_segment(Member* member);
  void start_again(Member* member, const Error& error);
  Status close_segment(Member* member, bool is_last);

  const RingChoice choice_;
  ShipSpool* spool_;
  Say say_;
  std::map<std::string, std::unique_ptr<Member>> members_;  // by directory
  std::set<std::string> ended_;                             // PID-START, read to the end
  std::set<std::string> refused_;                           // directories that cannot be read
  int64_t looked_ms_ = 0;
};

}  // namespace patchbay::cmd
