// SPDX-License-Identifier: MIT
//
// Calls as indented text, in uftrace's manner:
//
//   # DURATION     TID     FUNCTION
//               [ 18343] | main() {
//      1.152 us [ 18343] |   parse();
//     20.138 us [ 18343] | } /* main */
//
// With when threads were off the CPU there is a second time, on the CPU, and a line for each time
// that a thread came back:
//
//   # DURATION      ON-CPU        TID     FUNCTION
//                               [ 18343] | main() {
//                               [ 18343] |   /* off the CPU for  50.100 ms: S */
//    50.153 ms      53.010 us   [ 18343] | } /* main */
//
// Whether a line ends with "();" or "() {" is known later, from the next record of its thread.
// Until then it waits in a queue, and so do all lines behind it. The queue is bounded: when it is
// full, the oldest line is taken for "() {".
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <unordered_map>

#include "cmd/report/call_pairing.h"
#include "event/call_arguments.h"

namespace patchbay::cmd {

struct ReplayOptions {
  std::function<std::string(uint64_t)> name_of;
  // "f(n=1)"; null: "f()".
  std::function<std::string(uint64_t func, std::span<const uint8_t> args)> call_of;
  ArgumentsOf arguments_of;  // may be empty
  // Null: all functions, none. They are asked once for each address.
  std::function<bool(uint64_t)> only, without;
  uint32_t depth = UINT32_MAX;
  uint64_t least_ns = 0;  // shorter calls are left out
  bool retval = false;
  bool off_cpu = false;  // calls have the time that they were on the CPU
  // Objects of JSON instead, a line each: what kind (begin, end, call: both; event, remark), ts,
  // tid, depth; function of calls, and call with its arguments; text of the others. Off the CPU
  // (kind off_cpu) there are duration_ns, state, and whether that is not sure.
  bool json = false;
  std::string instance;  // of these objects
};

class ReplayLines : public CallSink {
 public:
  using Out = std::function<void(const std::string& line)>;
  ReplayLines(ReplayOptions options, Out out)
      : options_(std::move(options)), out_(std::move(out)) {}

  static const char* head(bool off_cpu) {
    return off_cpu ? "# DURATION      ON-CPU        TID     FUNCTION\n"
                   : "# DURATION     TID     FUNCTION\n";
  }
  void enter(const ThreadCalls& thread, OpenCall* call) override;
  void leave(const ThreadCalls& thread, const OpenCall& call, CallEnd how, uint64_t duration_ns,
             const GraphRecord* exit) override;
  // Something that happened in a thread, between its calls.
  void event(int32_t tid, uint64_t ns, const std::string& text);
  // A thread came back: since `ns` it was off the CPU, in this state.
  void off_cpu(int32_t tid, uint64_t ns, OffCpuShare share, const std::string& state);
  // Something about the whole recording.
  void remark(const std::string& text);
  void finish();

 private:
  struct Line {
    bool waits = false;
    std::string text;  // empty and no more waiting: it is left out
    std::string call;  // of an entry that waits: "f(n=1)"
  };
  struct Thread {
    uint32_t only = 0, without = 0, level = 0;
    std::vector<uint64_t> waiting;  // numbers of lines, the outermost first
  };
  bool is_meant(std::unordered_map<uint64_t, bool>* known, const std::function<bool(uint64_t)>& ask,
                uint64_t func);
  enum class Kind : uint8_t { kBegin, kEnd, kCall, kEvent, kRemark, kOffCpu };
  // What a line says. A call has its end, too.
  struct Shown {
    Kind kind = Kind::kBegin;
    int32_t tid = 0;
    uint32_t level = 0;
    uint64_t ns = 0;        // its begin, or when it was
    uint64_t func = 0;      // of a call
    std::string text;       // "f(n=1)"; of events and remarks: the text; of kOffCpu: the state
    bool has_time = false;  // of an end
    uint64_t duration_ns = 0;
    OffCpuShare off = {};  // of kOffCpu: how long, and whether that is sure
    CallEnd how = CallEnd::kReturned;
    const GraphRecord* exit = nullptr;
  };
  std::string render(const Shown& shown) const;
  std::string on_cpu_column(const Shown& shown) const;
  bool has_retval(const GraphRecord* exit) const;  // null: it has none
  std::string end_members(const Shown& shown) const;
  void aside(Shown shown);
  std::string text_of(const Shown& shown) const;
  std::string json_of(const Shown& shown) const;
  std::string remark_of(CallEnd how, const GraphRecord* exit) const;
  uint64_t push(std::string text, bool waits);
  void settle(Thread* thread);
  void flush(size_t most);
  Line* find(uint64_t number);

  ReplayOptions options_;
  Out out_;
  std::deque<Line> lines_;
  uint64_t first_ = 0;  // number of lines_.front()
  std::unordered_map<int32_t, Thread> threads_;
  std::unordered_map<uint64_t, bool> only_known_, without_known_;
};

}  // namespace patchbay::cmd
