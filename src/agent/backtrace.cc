// SPDX-License-Identifier: MIT
//
// backtrace() as the program knows it: without the frames of return trampolines, which unwinders
// see between a function whose return is hooked and its caller (probe/return_hook.h).
#include <alloca.h>
#include <dlfcn.h>
#include <execinfo.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "probe/return_hook.h"

namespace patchbay {
namespace {

using Backtrace = int (*)(void**, int);

// A longer list is made in the program's own array, and may end earlier than it would.
constexpr int kMaxFrames = 2048;

Backtrace next_backtrace() {
  static std::atomic<void*> next;
  void* found = next.load(std::memory_order_acquire);
  if (!found) {
    found = ::dlsym(RTLD_NEXT, "backtrace");
    next.store(found, std::memory_order_release);
  }
  return reinterpret_cast<Backtrace>(found);
}

// Without the first one, which is in here, and without trampolines. Returns how many are left.
int drop_our_frames(void** frames, int count) {
  int kept = 0;
  for (int i = 1; i < count; i++)
    if (!is_return_trampoline(reinterpret_cast<uint64_t>(frames[i]))) frames[kept++] = frames[i];
  return kept;
}

}  // namespace
}  // namespace patchbay

extern "C" __attribute__((visibility("default"), noinline)) int backtrace(void** frames, int size) {
  using namespace patchbay;
  const Backtrace real = next_backtrace();
  if (!real || size <= 0) return 0;
  if (size > kMaxFrames) return drop_our_frames(frames, real(frames, size));
  // Every frame of the program brings one of ours at most.
  const int room = 2 * size + 1;
  auto** found = static_cast<void**>(alloca(size_t(room) * sizeof(void*)));
  const int count = std::min(drop_our_frames(found, real(found, room)), size);
  std::copy_n(found, count, frames);
  return count;
}
