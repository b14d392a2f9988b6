// SPDX-License-Identifier: MIT
//
// backtrace(), _Unwind_Backtrace() and _Unwind_GetIP() as the program knows them: without the
// frames of return trampolines, which unwinders see between a function whose return is hooked and
// its caller (return_hook.h), and without those of stubs (unwind_frames.cc), where the traced
// function follows. Exceptions and forced unwinding are left alone: they go through those frames,
// which have nothing to clean up.
//
// These have the versions that libgcc gives them: our own libgcc, which is in the agent, has
// unversioned ones, and programs ask for these versions.
#include <alloca.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <unwind.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "agent/next_function.h"
#include "agent/stand_ins.h"
#include "hot/safe_load.h"
#include "patch/stub_views.h"
#include "probe/returns/return_hook.h"

namespace patchbay {
namespace {

// A longer list is made in the program's own array, and may end earlier than it would.
constexpr int kMaxFrames = 2048;

// What has to be added to the address that the frame of ours leads to, so that it is as without us.
struct OurFrame {
  bool is_ours;
  int64_t add_to_next;
};
OurFrame our_frame(uint64_t ip) {
  if (is_in_return_trampolines(ip)) return {true, 1};  // return_hook.S
  StubPlace place;
  if (!stub_place(ip, &place)) return {false, 0};
  return {true, place.moved ? 0 : -1};  // unwind_frames.cc
}

// Without the first one, which is in here, and without ours. Returns how many are left.
int drop_our_frames(void** frames, int count) {
  int kept = 0;
  int64_t add = 0;
  for (int i = 1; i < count; i++) {
    const auto ip = reinterpret_cast<uint64_t>(frames[i]);
    const OurFrame ours = our_frame(ip);
    if (!ours.is_ours) frames[kept++] = reinterpret_cast<void*>(ip + uint64_t(add));
    add = ours.add_to_next;
  }
  return kept;
}

// The program's unwinder, and what reads its contexts: both of one library.
struct Unwinder {
  decltype(&_Unwind_Backtrace) backtrace = nullptr;
  decltype(&_Unwind_GetIP) get_ip = nullptr;
  decltype(&_Unwind_GetCFA) get_cfa = nullptr;
};

void find_in(void* library, Unwinder* found) {
  const auto find = [library]<typename Function>(const char* name, Function* function) {
    *function = reinterpret_cast<Function>(::dlsym(library, name));
  };
  find("_Unwind_Backtrace", &found->backtrace);
  find("_Unwind_GetIP", &found->get_ip);
  find("_Unwind_GetCFA", &found->get_cfa);
}

// Found once: dlsym() takes locks and allocates. A library that was loaded for itself only
// (dlopen) is not behind us in the order of symbols.
Unwinder find_unwinder() {
  static Unwinder known;
  static std::atomic<bool> is_known, is_written;
  if (is_known.load(std::memory_order_acquire)) return known;
  Unwinder found;
  find_in(RTLD_NEXT, &found);
  if (!found.backtrace || !found.get_ip) {
    if (void* library = ::dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_NOLOAD)) find_in(library, &found);
  }
  if (!found.backtrace || !found.get_ip || !found.get_cfa) return {};
  if (is_written.exchange(true)) return found;
  known = found;
  is_known.store(true, std::memory_order_release);
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
  if (our_frame(filtered->get_ip(context)).is_ours) return _URC_NO_REASON;
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

// The address is one less behind a trampoline (return_hook.S). The stack pointer says whether the
// frame is there.
_Unwind_Ptr patchbay_unwind_get_ip(_Unwind_Context* context) {
  using namespace patchbay;
  const Unwinder real = find_unwinder();
  if (!real.get_ip) return 0;
  const _Unwind_Ptr ip = real.get_ip(context);
  uint64_t word;
  if (!try_load8(real.get_cfa(context) - 8, &word) || !is_return_trampoline(word)) return ip;
  return real_return_address(word) == ip + 1 ? ip + 1 : ip;
}
__asm__(".symver patchbay_unwind_get_ip, _Unwind_GetIP@GCC_3.0, remove");

}  // extern "C"
#pragma GCC visibility pop
