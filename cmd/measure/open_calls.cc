// SPDX-License-Identifier: MIT
#include "cmd/measure/open_calls.h"

#include <algorithm>

namespace patchbay::cmd {

CallThread& OpenCalls::thread_of(int32_t tid) {
  if (last_ && last_->tid == tid) return *last_;
  last_ = &threads_[tid];  // stays where it is
  last_->tid = tid;
  return *last_;
}

void OpenCalls::enter(int32_t tid, uint64_t ns, uint32_t function, uint64_t caller, uint64_t stack,
                      std::span<const uint8_t> record) {
  CallThread& thread = thread_of(tid);
  if (thread.depth == kMostOpen) {
    // The sink is shown them as the innermost, which is where it looks.
    constexpr ptrdiff_t kHalf = kMostOpen / 2;
    std::rotate(thread.calls.begin(), thread.calls.begin() + kHalf,
                thread.calls.begin() + ptrdiff_t(thread.depth));
    for (ptrdiff_t i = 0; i < kHalf; i++) end_innermost(&thread, LiveCallEnd::kNoReturn, ns, {});
  }
  if (thread.calls.size() == thread.depth) thread.calls.emplace_back();
  LiveCall& call = thread.calls[thread.depth++];
  call.function = function;
  call.start_ns = ns;
  call.caller = caller;
  call.stack_place = stack;
  call.record.assign(reinterpret_cast<const char*>(record.data()), record.size());
  call.stack.clear();
  call.is_opened = false;
  if (thread.open_of.size() <= function) thread.open_of.resize(function + 1);
  call.is_inner = thread.open_of[function]++ > 0;
  sink_->enter(&thread);
}

bool OpenCalls::leave(int32_t tid, uint64_t ns, uint32_t function, uint64_t caller,
                      std::span<const uint8_t> record) {
  CallThread& thread = thread_of(tid);
  size_t found = thread.depth;
  while (found > 0 &&
         (thread.calls[found - 1].function != function || thread.calls[found - 1].caller != caller))
    found--;
  if (found == 0) {
    without_entry_++;
    return false;
  }
  while (thread.depth > found) end_innermost(&thread, LiveCallEnd::kNoReturn, ns, {});
  const bool is_sure = thread.calls[found - 1].start_ns >= lost_ns_;
  if (is_sure)
    end_innermost(&thread, LiveCallEnd::kReturned, ns, record);
  else
    end_innermost(&thread, LiveCallEnd::kNoReturn, ns, {});
  return true;
}

void OpenCalls::whole(int32_t tid, uint64_t end_ns, uint64_t duration_ns, uint32_t function,
                      std::span<const uint8_t> record) {
  enter(tid, end_ns - std::min(end_ns, duration_ns), function, 0, 0, record);
  end_innermost(&thread_of(tid), LiveCallEnd::kReturned, end_ns, record);
}

void OpenCalls::throw_at(int32_t tid, uint64_t ns, uint64_t stack, uint64_t object) {
  auto& thrown = thread_of(tid).thrown;
  if (thrown.size() == kMostThrown) thrown.erase(thrown.begin());
  thrown.push_back({object, stack, ns});
}

namespace {

// Whether a call had ended, by longjmp(), before the one inside of it began: they stand at the same
// place of the stack, or the outer one below. A tail call stands where its caller did, and returns
// to the same place.
bool was_gone(const LiveCall& outer, const LiveCall& inner) {
  if (outer.stack_place != inner.stack_place) return outer.stack_place < inner.stack_place;
  return outer.caller != inner.caller || outer.function == inner.function;
}

}  // namespace

//   stack      open calls
//   0x…f80     outer          catches; the stack ends at 0x…f40 then
//   0x…f30     middle         is left
//   0x…e90     inner          is left: it throws, the stack ends at 0x…e70 then
//   0x…c20     waits          it is on another stack, or longjmp() has ended it
//
// Calls that began before an earlier exception that is still on its way are left by that one: a
// destructor throws and catches meanwhile. What is farther below is on another stack.
void OpenCalls::catch_at(int32_t tid, uint64_t ns, uint64_t stack, uint64_t object,
                         std::span<const uint8_t> record) {
  constexpr uint64_t kMostBytes = uint64_t{1} << 26;
  CallThread& thread = thread_of(tid);
  uint64_t lowest = 0, others_ns = 0;
  size_t at = thread.thrown.size();
  while (at > 0 && thread.thrown[at - 1].object != object) at--;
  if (at > 0) {
    lowest = thread.thrown[at - 1].stack_place;
    if (at > 1 && thread.thrown[at - 2].ns >= lost_ns_) others_ns = thread.thrown[at - 2].ns;
    thread.thrown.resize(at - 1);
  }
  size_t kept = thread.depth;
  for (size_t depth = thread.depth; depth > 0; depth--) {
    const LiveCall& call = thread.calls[depth - 1];
    const bool is_outside = call.stack_place == 0 || call.stack_place > stack ||
                            stack - call.stack_place > kMostBytes || call.start_ns < others_ns;
    if (is_outside) break;
    if (call.stack_place >= lowest) kept = depth - 1;
  }
  const LiveCall* inner = nullptr;
  while (thread.depth > kept) {
    const LiveCall& call = thread.calls[thread.depth - 1];
    const bool is_left = call.start_ns >= lost_ns_ && call.stack_place >= lowest &&
                         !(inner && was_gone(call, *inner));
    if (is_left) inner = &call;
    end_innermost(&thread, is_left ? LiveCallEnd::kLeft : LiveCallEnd::kNoReturn, ns,
                  is_left ? record : std::span<const uint8_t>());
  }
}

void OpenCalls::end_not_hooked(int32_t tid, uint64_t ns) {
  CallThread& thread = thread_of(tid);
  if (thread.depth > 0) end_innermost(&thread, LiveCallEnd::kNotHooked, ns, {});
}

LiveCall* OpenCalls::innermost(int32_t tid) {
  CallThread& thread = thread_of(tid);
  return thread.depth == 0 ? nullptr : &thread.calls[thread.depth - 1];
}

void OpenCalls::end_innermost(CallThread* thread, LiveCallEnd how, uint64_t ns,
                              std::span<const uint8_t> record) {
  without_return_ += how == LiveCallEnd::kNoReturn;
  sink_->leave(thread, how, ns, record);
  thread->depth--;
  thread->open_of[thread->calls[thread->depth].function]--;
}

void OpenCalls::finish(uint64_t end_ns, const std::function<bool(int32_t tid)>& has_ended) {
  std::vector<CallThread*> threads;
  for (auto& [tid, thread] : threads_)
    if (!has_ended || has_ended(tid)) threads.push_back(&thread);
  std::sort(threads.begin(), threads.end(),
            [](const CallThread* a, const CallThread* b) { return a->tid < b->tid; });
  for (CallThread* thread : threads) {
    while (thread->depth > 0) {
      const bool may_be_lost = thread->calls[thread->depth - 1].start_ns < lost_ns_;
      end_innermost(thread, may_be_lost ? LiveCallEnd::kNoReturn : LiveCallEnd::kUnfinished, end_ns,
                    {});
    }
  }
}

}  // namespace patchbay::cmd
