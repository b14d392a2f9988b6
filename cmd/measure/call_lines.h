// SPDX-License-Identifier: MIT
//
// The lines of `patchbay calls`, and the table that stands in their place with -c.
//
//   plain            inner(2) = 3 <0.012 ms>          a line when a call returns
//                    outer(1) = 4 <0.113 ms>
//   indented         outer(1) {                       a call that makes others has two
//                      inner(2) = 3 <0.012 ms>
//                    } = 4 <0.113 ms>  /* outer */
//
// From the second thread on, each line begins with the thread: "[1234] ".
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cmd/measure/call_text.h"
#include "cmd/measure/caught_exceptions.h"
#include "cmd/measure/open_calls.h"

namespace patchbay::cmd {

struct CallLineOptions {
  bool indented = false, errors_only = false, table = false, stacks = false, color = false;
  uint64_t longer_ns = 0;
};

// What the lines of one program after the other have in common.
struct CallTotals {
  struct Sum {
    uint64_t entered = 0, calls = 0, errors = 0, returned = 0, max_ns = 0;
    uint64_t total_ns = 0;  // not of calls within one of the same function
    uint64_t all_ns = 0;    // of all calls
  };
  struct Function {
    std::string name;
    Sum sum;
  };
  std::deque<Function> functions;
  // The functions of a program, by their names: overloads have the same one.
  std::vector<Sum*> sums_of(const std::vector<CallText>& texts);
  uint64_t calls = 0;    // that are shown, or stand in the table
  uint64_t entered = 0;  // all of them
  bool has_entered(const std::string& name) const;  // a function that texts call so
  int32_t first_tid = 0;
  bool has_threads = false;

  // Calls, errors and times by function, those with most time first.
  std::string table() const;

 private:
  std::map<std::pair<std::string, size_t>, Sum*> places_;  // by name, and which of that name
};

class CallLines : public OpenCallSink {
 public:
  // `caught`: what the records of calls that were left say; null: nothing.
  CallLines(const CallLineOptions& options, const std::vector<CallText>& functions,
            const CallTextContext& context, const CaughtExceptions* caught, CallTotals* totals);

  void enter(CallThread* thread) override;
  void leave(CallThread* thread, LiveCallEnd how, uint64_t end_ns,
             std::span<const uint8_t> returned) override;
  void lost(uint64_t events);  // kLostUnknown: some

  // What is to be written; the caller empties it.
  std::string* out() { return &out_; }

 private:
  // Lines of calls that are left out would leave braces without their ends.
  bool has_braces() const {
    return options_.indented && !options_.errors_only && options_.longer_ns == 0;
  }
  void begin_line(const CallThread& thread, size_t depth);
  void append_call(const CallThread& thread, const LiveCall& call);
  void append_end(const CallThread& thread, const LiveCall& call, LiveCallEnd how, uint64_t ns,
                  std::span<const uint8_t> returned, bool failed);
  void append_left(std::span<const uint8_t> record);
  void append_stack(const LiveCall& call);
  void count(const LiveCall& call, LiveCallEnd how, uint64_t ns, bool failed);

  const CallLineOptions options_;
  const std::vector<CallText>& functions_;
  const CallTextContext& context_;
  const CaughtExceptions* const caught_;
  CallTotals& totals_;
  std::vector<CallTotals::Sum*> sums_;  // by function
  std::string out_;
};

}  // namespace patchbay::cmd
