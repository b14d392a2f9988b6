// SPDX-License-Identifier: MIT
#include "probe/returns/return_callers.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "probe/callbacks/callbacks.h"
#include "probe/returns/return_caller_ranges.h"
#include "probe/returns/return_trampolines.h"

namespace patchbay {

namespace {

void put(const AddressRanges& from, CallerRange* to) {
  for (const auto& [start, end] : from) *to++ = {start, end};
}

// A thread may be on its way with the old ones: they stay.
const CallerRanges* make_ranges(const AddressRanges& walked, const AddressRanges& objects) {
  static auto& all = *new std::vector<std::unique_ptr<uint64_t[]>>;
  const size_t bytes =
      sizeof(CallerRanges) + (walked.size() + objects.size()) * sizeof(CallerRange);
  all.push_back(std::make_unique<uint64_t[]>(bytes / sizeof(uint64_t)));
  auto* made = reinterpret_cast<CallerRanges*>(all.back().get());
  made->nr_walked = uint32_t(walked.size());
  made->nr_objects = uint32_t(objects.size());
  put(walked, made->range);
  put(objects, made->range + walked.size());
  return made;
}

}  // namespace

void set_return_callers(AddressRanges walked, AddressRanges objects) {
  static AddressRanges& last_walked = *new AddressRanges;
  static AddressRanges& last_objects = *new AddressRanges;
  std::sort(walked.begin(), walked.end());
  std::sort(objects.begin(), objects.end());
  if (pb_caller_ranges && walked == last_walked && objects == last_objects) return;
  look_at_vector_registers();
  // Not ours (agent/unwind_frames.cc). Where its entry is hooked the agent has set it.
  if (!pb_find_object) pb_find_object = ::dlsym(RTLD_NEXT, "_dl_find_object");
  __atomic_store_n(&pb_caller_ranges, make_ranges(walked, objects), __ATOMIC_SEQ_CST);
  __atomic_fetch_add(&pb_callers_version, 1, __ATOMIC_SEQ_CST);
  for (uint64_t& page : pb_return_pages) __atomic_store_n(&page, 0, __ATOMIC_RELAXED);
  forget_quick_trampolines();
  last_walked = std::move(walked);
  last_objects = std::move(objects);
}

}  // namespace patchbay
