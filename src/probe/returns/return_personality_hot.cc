// SPDX-License-Identifier: MIT
//
// The personality routine of the trampolines: exceptions take them out of the stack. An exception
// goes over the stack twice. The first time it searches the frame that catches it:
//
//   search    thrower ── f ── trampoline k ── caller: catches
//                                  '── patchbay_return_personality: the word of k := real caller
//   clean up  thrower ── f ── caller
//
// Two reasons. The trampoline's frame has the CFA of the frame it leads to, since both are where f
// has returned; libgcc tells frames apart by their CFA, and calls abort() when the one that catches
// comes second to its like. And a call that the search has gone over is left, as nothing else says.
//
// An exception that nobody catches, whose thrower goes on, has taken these returns from us. Nothing
// else happens to the program.
//
// What unwinders call a context is their own affair. But it has the address that the frame goes on
// at and the stack pointer there: the word below that stack pointer holds this address. A pair like
// that is looked for. None is there for a frame that a signal has interrupted in a trampoline.
#include <unwind.h>

#include "hot/safe_load.h"
#include "probe/returns/return_hook.h"

namespace patchbay {
namespace {

constexpr uint32_t kContextWords = 32;         // of all that libgcc has made, and LLVM
constexpr uint64_t kLargestStack = 1ull << 32;  // from here up

void take_out(uint64_t word, uint64_t trampoline) {
  leave_returns_at(word, trampoline_number(trampoline));
  __atomic_store_n(reinterpret_cast<uint64_t*>(word), real_return_address(trampoline),
                   __ATOMIC_RELEASE);
}

void take_out_of(const uint64_t* context, uint64_t trampoline) {
  const auto here = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  for (uint32_t i = 0; i < kContextWords; i++) {
    const uint64_t word = context[i] - 8;
    uint64_t value;
    if (word - here >= kLargestStack || word % 8) continue;
    if (try_load8(word, &value) && value == trampoline) take_out(word, trampoline);
  }
}

}  // namespace

extern "C" __attribute__((visibility("hidden"))) _Unwind_Reason_Code patchbay_return_personality(
    int, _Unwind_Action, _Unwind_Exception_Class, _Unwind_Exception*, _Unwind_Context* context) {
  const auto* words = reinterpret_cast<const uint64_t*>(context);
  for (uint32_t i = 0; i < kContextWords; i++)
    if (is_return_trampoline(words[i]) && real_return_address(words[i]))
      take_out_of(words, words[i]);
  return _URC_CONTINUE_UNWIND;
}

}  // namespace patchbay
