// SPDX-License-Identifier: MIT
#include "cmd/measure/call_watch.h"

#include <sys/uio.h>

#include <algorithm>
#include <cstring>

#include "abi/ftrace_records.h"

namespace patchbay::cmd {
namespace {

constexpr size_t kPiece = 1 << 16;  // is written when so much is there

// Whether a byte of a thread's memory can be read.
bool can_read(int32_t tid, uint64_t address) {
  char byte = 0;
  const iovec to{&byte, 1};
  const iovec from{reinterpret_cast<void*>(address), 1};
  return ::process_vm_readv(tid, &to, 1, &from, 1, 0) == 1;
}

}  // namespace

CallWatch::CallWatch(const CallLineOptions& options, CallSession* session, CallRings* rings,
                     CallTotals* totals)
    : session_(*session),
      rings_(*rings),
      names_(session->names()),
      addresses_(&names_, true),
      context_{&addresses_,
               [session](int32_t tid, uint64_t address) {
                 // What a program that has ended had in its files is known.
                 return session->is_in_module(address) || can_read(tid, address);
               }},
      lines_(options, session->texts(), context_, &caught_, totals),
      calls_(&lines_) {
  caught_.use(session->caught());
}

// A stack ends with its record, with a word of ones, or with a 0 behind its first frame.
void CallWatch::take_stack(int32_t tid, std::span<const uint8_t> record) {
  LiveCall* const call = calls_.innermost(tid);
  if (!call || !std::exchange(at_entry_[tid], false)) return;
  constexpr size_t kCount = 8, kFrames = 16;
  uint32_t most = 0;
  if (record.size() >= kFrames) std::memcpy(&most, record.data() + kCount, sizeof most);
  for (size_t at = kFrames; at + 8 <= record.size() && most > 0; at += 8, most--) {
    uint64_t frame = 0;
    std::memcpy(&frame, record.data() + at, sizeof frame);
    if (frame == ~uint64_t{0} || frame == 0) break;
    call->stack.push_back(frame);
  }
  // The first is the function itself.
  if (!call->stack.empty()) call->stack.erase(call->stack.begin());
  end_if_not_hooked(tid);
}

// A call whose return is not seen ends as it begins, with its stack if there is one.
void CallWatch::end_if_not_hooked(int32_t tid) {
  const LiveCall* const call = calls_.innermost(tid);
  if (call && !session_.texts()[call->function].has_return())
    calls_.end_not_hooked(tid, call->start_ns);
}

// One call of a function that has several names (open, open64) has an entry for each that was asked
// for. The first one counts; the returns of the others find no call.
bool CallWatch::is_other_name(int32_t tid, uint32_t function, uint64_t caller,
                              std::span<const uint8_t> record) {
  const LiveCall* const call = calls_.innermost(tid);
  if (!call || call->function == function || call->caller != caller) return false;
  const std::span<const uint8_t> first(reinterpret_cast<const uint8_t*>(call->record.data()),
                                       call->record.size());
  return session_.texts()[call->function].place_of_entry(first) ==
         session_.texts()[function].place_of_entry(record);
}

// Here, too, a function may have several names; the events of one call have the same duration.
void CallWatch::take_whole(int32_t tid, uint64_t ns, uint32_t function,
                           std::span<const uint8_t> record) {
  const CallText& text = session_.texts()[function];
  const WholeCall call{function, text.place_of_entry(record), text.duration_of_whole(record)};
  const auto [last, is_new] = last_whole_.try_emplace(tid, call);
  const bool is_other_name = !is_new && last->second.function != function &&
                             last->second.place == call.place &&
                             last->second.duration == call.duration;
  if (is_other_name) return;
  last->second = call;
  calls_.whole(tid, ns, call.duration, function, record);
}

void CallWatch::take(const MergedEvent& event) {
  if (event.lost_before != 0) {
    lines_.lost(event.lost_before);
    lost_some_ |= event.lost_before == kLostUnknown;
    if (event.lost_before != kLostUnknown) lost_ += event.lost_before;
    calls_.lose(event.ns);
  }
  last_ns_ = std::max(last_ns_, event.ns);
  if (event.record.size() < sizeof(abi::RecordHeader)) return;
  abi::RecordHeader header{};
  std::memcpy(&header, event.record.data(), sizeof header);
  const CallSession::EventKind kind = session_.kind_of(header.common_type);
  const int32_t tid = header.common_pid;
  using What = CallSession::EventKind::What;
  if (kind.what == What::kStack) return take_stack(tid, event.record);
  if (kind.what == What::kOther) return;
  // A stack that does not come is lost.
  if (session_.has_stacks() && std::exchange(at_entry_[tid], false)) end_if_not_hooked(tid);
  if (kind.what == What::kCaught)
    return calls_.catch_at(tid, event.ns, caught_.stack_of(event.record),
                           caught_.object_of(event.record), event.record);
  if (kind.what == What::kThrown) {
    const auto [stack, object] = session_.thrown(event.record);
    return calls_.throw_at(tid, event.ns, stack, object);
  }
  if (kind.what == What::kWhole) return take_whole(tid, event.ns, kind.function, event.record);
  const CallText& text = session_.texts()[kind.function];
  const bool is_entry = kind.what == What::kEntry;
  if (!is_entry) {
    (void)calls_.leave(tid, event.ns, kind.function, text.caller_of_return(event.record),
                       event.record);
    return;
  }
  const uint64_t caller = text.caller_of_entry(event.record);
  if (is_other_name(tid, kind.function, caller, event.record)) return;
  calls_.enter(tid, event.ns, kind.function, caller, text.stack_of_entry(event.record),
               event.record);
  if (session_.has_stacks())
    at_entry_[tid] = true;
  else
    end_if_not_hooked(tid);
}

Status CallWatch::take_events(bool is_end, const Write& write) {
  rings_.look(is_end);
  MergedEvent event;
  while (rings_.next(&event)) {
    take(event);
    if (lines_.out()->size() >= kPiece) PB_TRY(write(lines_.out()));
  }
  return lines_.out()->empty() ? Status() : write(lines_.out());
}

Status CallWatch::finish(const std::function<bool(int32_t tid)>& has_ended, const Write& write) {
  calls_.finish(last_ns_, has_ended);
  return lines_.out()->empty() ? Status() : write(lines_.out());
}

}  // namespace patchbay::cmd
