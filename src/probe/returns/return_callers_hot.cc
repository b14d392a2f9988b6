// SPDX-License-Identifier: MIT
#include "probe/callbacks/callback_hot.h"
#include "probe/returns/return_callers.h"
#include "probe/returns/return_hook.h"
#include "ring_buffer/ring_set.h"

namespace patchbay {

extern "C" {
uint64_t pb_return_pages[kReturnPages];
const CallerRanges* pb_caller_ranges;
uint32_t pb_callers_version;
void* pb_find_object;
}

namespace {

constexpr uint64_t kPageSize = uint64_t{1} << kReturnPageLog;

// struct dl_find_object, and more room than it may ever need.
struct FoundObject {
  uint64_t flags, start, end;
  uint64_t others[29];
};

// Some range holds an address in [first, last).
bool overlaps(const CallerRange* range, uint32_t count, uint64_t first, uint64_t last) {
  uint32_t low = 0, high = count;
  while (low < high) {
    const uint32_t middle = (low + high) / 2;
    if (range[middle].end <= first)
      low = middle + 1;
    else
      high = middle;
  }
  return low < count && range[low].start < last;
}

// The dynamic linker's answer, for objects that are younger than the ranges. It takes no lock and
// is made for signal handlers; its vector registers are its own business.
bool is_in_object(uint64_t address) {
  if (!pb_find_object) return true;
  FoundObject found = {};
  ProbeThread* thread = &pb_thread;
  const uint32_t fast_tid = thread->fast_tid;
  thread->in_agent++;
  thread->fast_tid = 0;
  callback_call_all(address, reinterpret_cast<uint64_t>(&found), 0, 0,
                    reinterpret_cast<uint64_t>(pb_find_object));
  thread->fast_tid = fast_tid;
  thread->in_agent--;
  return found.start <= address && address < found.end;
}

// A trampoline is no caller: behind a tail call it stands for one.
bool has_trampolines(uint64_t first) {
  const uint64_t start = reinterpret_cast<uint64_t>(pb_return_trampolines);
  const uint64_t end = start + uint64_t{kReturnTrampolines} * kReturnTrampolineSize;
  return first < end && first + kPageSize > start;
}

// Against set_return_callers(), see return_callers.h.
void note_page(uint64_t page, uint32_t version) {
  uint64_t* place = &pb_return_pages[page % kReturnPages];
  __atomic_store_n(place, page, __ATOMIC_SEQ_CST);
  if (__atomic_load_n(&pb_callers_version, __ATOMIC_SEQ_CST) != version)
    __atomic_store_n(place, 0, __ATOMIC_RELAXED);
}

}  // namespace

// The call is the instruction before.
__attribute__((noinline, cold)) bool look_at_caller(uint64_t return_address) {
  const uint32_t version = __atomic_load_n(&pb_callers_version, __ATOMIC_ACQUIRE);
  const CallerRanges* ranges = __atomic_load_n(&pb_caller_ranges, __ATOMIC_ACQUIRE);
  const uint64_t page = return_address >> kReturnPageLog, first = page << kReturnPageLog;
  const uint64_t call = return_address - 1;
  bool is_known = false, is_mixed = false;
  if (ranges) {
    const uint32_t walked = ranges->nr_walked;
    if (overlaps(ranges->range, walked, call, return_address)) return false;
    is_known = overlaps(ranges->range + walked, ranges->nr_objects, call, return_address);
    is_mixed = overlaps(ranges->range, walked, first - 1, first + kPageSize);
  }
  if (!is_known && !is_in_object(call)) return false;
  if (!is_mixed && !has_trampolines(first)) note_page(page, version);
  return true;
}

}  // namespace patchbay
