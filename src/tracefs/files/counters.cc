// SPDX-License-Identifier: MIT
// debug/counters: hits that belong to no CPU's ring and were not recorded; those of instances
// where there are any. Of all instances together: whole calls that have ended without a return, and
// returns that were recorded already or whose call was given up (docs/returns.md).
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

#include "probe/returns/return_hook.h"
#include "tracefs/files/files.h"

namespace patchbay::tracefs {

namespace {

// Where it cannot be read for another reason it may be there.
bool is_gone(uint64_t address, uint64_t value) {
  uint64_t found = value;
  const iovec to{&found, sizeof found};
  const iovec from{reinterpret_cast<void*>(address), sizeof found};
  if (::process_vm_readv(::getpid(), &to, 1, &from, 1, 0) < 0) return errno == EFAULT;
  return found != value;
}

}  // namespace

FilePtr make_counters(const Place& place) {
  return make_text_file(place, [](TraceArray& top, const Place& here) -> Result<std::string> {
    std::string text;
    auto add = [&text](const TraceArray& array, const std::string& prefix) {
      const abi::BufferHeader& header = *array.buffer->header();
      const uint64_t recursion = __atomic_load_n(&header.recursion, __ATOMIC_RELAXED);
      const uint64_t missed = __atomic_load_n(&header.missed, __ATOMIC_RELAXED);
      const uint64_t unhooked = __atomic_load_n(&header.unhooked, __ATOMIC_RELAXED);
      if (!prefix.empty() && !recursion && !missed && !unhooked) return;
      text += prefix + "recursion: " + std::to_string(recursion) + "\n";
      text += prefix + "missed: " + std::to_string(missed) + "\n";
      text += prefix + "unhooked: " + std::to_string(unhooked) + "\n";
    };
    add(top, "");
    for (const TraceArray* array : here.registry().arrays())
      add(*array, "instances/" + array->name + " ");
    if (const uint64_t left = left_calls(is_gone)) text += "left: " + std::to_string(left) + "\n";
    if (const uint64_t unknown = return_hook_counts().unknown)
      text += "unknown_returns: " + std::to_string(unknown) + "\n";
    const auto& more = here.tree->context.more_counters;
    if (more) text += more();
    return text;
  });
}

}  // namespace patchbay::tracefs
