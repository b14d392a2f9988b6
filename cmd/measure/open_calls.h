// SPDX-License-Identifier: MIT
//
// From the events of entries and returns to calls: each thread has a stack of open calls.
//
//   events of a thread        open calls
//   entry main                main
//   entry f                   main f
//   entry f                   main f f          recursion
//   return f                  main f            the inner one: it has the same caller
//   entry throws              main f throws
//   return f                  main              throws has ended without a return: an exception, a
//                                               longjmp, or its return is lost
//   return g                  main              its entry is lost, or it was called before we came
//   (end)                                       main is open: unfinished
//
// A return belongs to the innermost open call of its function that goes back to the same place.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace patchbay::cmd {

struct LiveCall {
  uint32_t function = 0;  // the caller's number for it
  uint64_t start_ns = 0;
  uint64_t caller = 0;          // where it returns to
  uint64_t stack_place = 0;     // where its return address stands; 0: that is not known
  std::string record;           // the bytes of its entry
  std::vector<uint64_t> stack;  // behind it
  bool is_opened = false;       // the sink's: it has shown the entry by itself
  bool is_inner = false;        // an outer call of the same function is open
};

struct CallThread {
  int32_t tid = 0;
  size_t depth = 0;  // of the open ones
  std::vector<LiveCall>
      calls;  // the outermost first; those behind `depth` are kept for their memory
  std::vector<uint32_t> open_of;  // by function: how many are open
  struct Thrown {
    uint64_t object, stack_place, ns;
  };
  std::vector<Thrown> thrown;  // exceptions that are not caught yet
};

// kNotHooked: returns of this function are not seen, so that it ends as it begins. kLeft: by an
// exception that was caught outside of it.
enum class LiveCallEnd : uint8_t { kReturned, kNoReturn, kUnfinished, kNotHooked, kLeft };

class OpenCallSink {
 public:
  virtual ~OpenCallSink() = default;
  // The call is thread->calls[thread->depth - 1].
  virtual void enter(CallThread* thread) = 0;
  // The same. `returned` is the record of its return, or of what has caught it; else empty.
  // `end_ns`: of the event that showed its end.
  virtual void leave(CallThread* thread, LiveCallEnd how, uint64_t end_ns,
                     std::span<const uint8_t> returned) = 0;
};

class OpenCalls {
 public:
  // So many of one thread; of more, the outer half is taken for calls without a return.
  static constexpr size_t kMostOpen = 1 << 16;
  static constexpr size_t kMostThrown = 64;  // of one thread

  explicit OpenCalls(OpenCallSink* sink) : sink_(sink) {}
  // Events of a thread come in order of time.
  void enter(int32_t tid, uint64_t ns, uint32_t function, uint64_t caller, uint64_t stack,
             std::span<const uint8_t> record);
  // A call that is known as a whole, when it has returned.
  void whole(int32_t tid, uint64_t end_ns, uint64_t duration_ns, uint32_t function,
             std::span<const uint8_t> record);
  // An exception was thrown by a function whose stack ends at `stack`.
  void throw_at(int32_t tid, uint64_t ns, uint64_t stack, uint64_t object);
  // An exception was caught by a function whose stack ends at `stack`. Where it was thrown is known
  // by its object, or not at all.
  void catch_at(int32_t tid, uint64_t ns, uint64_t stack, uint64_t object,
                std::span<const uint8_t> record);
  // Ends the innermost call, whose return cannot come.
  void end_not_hooked(int32_t tid, uint64_t ns);
  // Events before this time are lost. A call that was open then may have returned since, and the
  // return that seems to be its own may be a later call's.
  void lose(uint64_t before_ns) { lost_ns_ = before_ns > lost_ns_ ? before_ns : lost_ns_; }
  // False: there is no call that this ends.
  bool leave(int32_t tid, uint64_t ns, uint32_t function, uint64_t caller,
             std::span<const uint8_t> record);
  // The innermost open call of a thread; null when there is none.
  LiveCall* innermost(int32_t tid);
  // Ends what is open; of all threads, or of those that `has_ended` says.
  void finish(uint64_t end_ns, const std::function<bool(int32_t tid)>& has_ended = {});

  size_t threads() const { return threads_.size(); }
  uint64_t without_return() const { return without_return_; }
  uint64_t without_entry() const { return without_entry_; }

 private:
  CallThread& thread_of(int32_t tid);
  void end_innermost(CallThread* thread, LiveCallEnd how, uint64_t ns,
                     std::span<const uint8_t> record);

  OpenCallSink* sink_;
  std::unordered_map<int32_t, CallThread> threads_;
  CallThread* last_ = nullptr;
  uint64_t lost_ns_ = 0;
  uint64_t without_return_ = 0, without_entry_ = 0;
};

}  // namespace patchbay::cmd
