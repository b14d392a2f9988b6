// SPDX-License-Identifier: MIT
//
// backtrace() and _Unwind_Backtrace() as the program knows them: without the frames of return
// trampolines, which unwinders see between a function whose return is hooked and its caller
// (return_hook.h), and without those of stubs (unwind_frames.cc), where the traced function
// follows. Exceptions and forced unwinding are left alone: they go through those frames, which have
// nothing to clean up.
//
// _Unwind_Backtrace has the version that libgcc gives it: our own libgcc, which is in the agent,
// has an unversioned one, and programs ask for this version.
#include <alloca.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <unwind.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "agent/next_function.h"
#include "agent/stand_ins.h"
#include "patch/stub_views.h"
#include "probe/returns/return_hook.h"

namespace patchbay {
namespace {

// A longer list is made in the program's own array, and may end earlier than it would.
constexpr int kMaxFrames = 2048;

bool is_our_frame(uint64_t ip) {
  StubPlace place;
  return is_return_trampoline(ip) || stub_place(ip, &place);
}

// Without the first one, which is in here, and without ours. Returns how many are left.
int drop_our_frames(void** frames, int count) {
  int kept = 0;
  for (int i = 1; i < count; i++)
    if (!is_our_frame(reinterpret_cast<uint64_t>(frames[i]))) frames[kept++] = frames[i];
  return kept;
}

// The program's unwinder, and what reads its contexts: both of one library.
struct Unwinder {
  decltype(&_Unwind_Backtrace) backtrace = nullptr;
  decltype(&_Unwind_GetIP) get_ip = nullptr;
};

void find_in(void* library, Unwinder* found) {
  found->backtrace =
      reinterpret_cast<decltype(&_Unwind_Backtrace)>(::dlsym(library, "_Unwind_Backtrace"));
  found->get_ip = reinterpret_cast<decltype(&_Unwind_GetIP)>(::dlsym(library, "_Unwind_GetIP"));
}

// Found once: dlsym() takes locks and allocates. A library that was loaded for itself only
// (dlopen) is not behind us in the order of symbols.
Unwinder find_unwinder() {
  static std::atomic<void*> backtrace, get_ip;
  Unwinder found;
  found.get_ip = reinterpret_cast<decltype(&_Unwind_GetIP)>(get_ip.load(std::memory_order_acquire));
  if (found.get_ip) {
    found.backtrace =
        reinterpret_cast<decltype(&_Unwind_Backtrace)>(backtrace.load(std::memory_order_relaxed));
    return found;
  }
  find_in(RTLD_NEXT, &found);
  if (!found.backtrace || !found.get_ip) {
    if (void* library = ::dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_NOLOAD)) find_in(library, &found);
  }
  if (!found.backtrace || !found.get_ip) return {};
  backtrace.store(reinterpret_cast<void*>(found.backtrace), std::memory_order_relaxed);
  get_ip.store(reinterpret_cast<void*>(found.get_ip), std::memory_order_release);
  return found;
}

struct Filtered {
  _Unwind_Trace_Fn wanted;
  void* argument;
  decltype(&_Unwind_GetIP) get_ip;
  bool is_first;  // the frame of the call in here
};

_Unwind_Reason_Code pass_on(_Unwind_Context* context, void* argument) {
  auto* filtered = static_cast<Filtered*>(argument);
  if (filtered->is_first) {
    filtered->is_first = false;
    return _URC_NO_REASON;
  }
  if (is_our_frame(filtered->get_ip(context))) return _URC_NO_REASON;
  return filtered->wanted(context, filtered->argument);
}

}  // namespace
}  // namespace patchbay

#pragma GCC visibility push(default)
extern "C" {

PB_STAND_IN __attribute__((noinline)) int backtrace(void** frames, int size) {
  using namespace patchbay;
  using Backtrace = int (*)(void**, int);
  const auto real = next_function<Backtrace>(Next::kBacktrace);
  if (!real || size <= 0) return 0;
  if (size > kMaxFrames) return drop_our_frames(frames, real(frames, size));
  // Every frame of the program brings one of ours at most.
  const int room = 2 * size + 1;
  auto** all = static_cast<void**>(alloca(size_t(room) * sizeof(void*)));
  const int count = std::min(drop_our_frames(all, real(all, room)), size);
  std::copy_n(all, count, frames);
  return count;
}

PB_STAND_IN __attribute__((noinline)) _Unwind_Reason_Code patchbay_unwind_backtrace(
    _Unwind_Trace_Fn trace, void* argument) {
  using namespace patchbay;
  Unwinder real = find_unwinder();
  if (const auto next = next_function<decltype(&_Unwind_Backtrace)>(Next::kUnwindBacktrace))
    real.backtrace = next;  // where its entry is hooked
  if (!real.backtrace) return _URC_FATAL_PHASE1_ERROR;
  Filtered filtered = {trace, argument, real.get_ip, true};
  const _Unwind_Reason_Code code = real.backtrace(pass_on, &filtered);
  __asm__ volatile("");  // no tail call: the first frame is this one
  return code;
}
__asm__(".symver patchbay_unwind_backtrace, _Unwind_Backtrace@GCC_3.3, remove");

}  // extern "C"
#pragma GCC visibility pop
