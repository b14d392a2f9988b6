// SPDX-License-Identifier: MIT
//
// The calls of one program, from its rings (call_rings.h) by way of those that are open
// (open_calls.h) to lines (call_lines.h).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <unordered_map>

#include "cmd/measure/call_lines.h"
#include "cmd/measure/call_rings.h"
#include "cmd/measure/call_session.h"
#include "output/address_names.h"
#include "output/address_text.h"

namespace patchbay::cmd {

class CallWatch {
 public:
  // All of these have to live on.
  CallWatch(const CallLineOptions& options, CallSession* session, CallRings* rings,
            CallTotals* totals);

  // What is known by now, piece by piece. `is_end`: nothing more comes.
  using Write = std::function<Status(std::string* lines)>;
  Status take_events(bool is_end, const Write& write);
  // Calls of threads that have ended do not return.
  Status finish(const std::function<bool(int32_t tid)>& has_ended, const Write& write);

  uint64_t lost() const { return lost_; }
  bool lost_some() const { return lost_some_; }

 private:
  void take(const MergedEvent& event);
  void take_stack(int32_t tid, std::span<const uint8_t> record);
  void take_whole(int32_t tid, uint64_t ns, uint32_t function, std::span<const uint8_t> record);
  void end_if_not_hooked(int32_t tid);
  bool is_other_name(int32_t tid, uint32_t function, uint64_t caller,
                     std::span<const uint8_t> record);

  CallSession& session_;
  CallRings& rings_;
  AddressNames names_;
  AddressText addresses_;
  const CallTextContext context_;
  CaughtExceptions caught_;
  CallLines lines_;
  OpenCalls calls_;
  std::unordered_map<int32_t, bool> at_entry_;  // by thread: its last event was an entry
  struct WholeCall {
    uint32_t function;
    uint64_t place, duration;
  };
  std::unordered_map<int32_t, WholeCall> last_whole_;  // by thread
  uint64_t last_ns_ = 0, lost_ = 0;
  bool lost_some_ = false;
};

}  // namespace patchbay::cmd
