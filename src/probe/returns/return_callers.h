// SPDX-License-Identifier: MIT
//
// Whose calls may have their returns hooked. Some code walks its own stack by the return addresses
// that it has put there: machine code that a virtual machine makes while it runs, V8's builtins,
// OCaml, Go. It would find a trampoline and give up. So the return address of a call decides:
//
//   return address ── it has a trampoline in pb_quick_trampolines ──────> hooked, the quick way
//      │
//      ├── its page is among pb_return_pages ───────────────────────────> hooked
//      │
//      ├── in a range of `walked` (symbol/symbol.h, Module::walked_code) ─> left alone
//      ├── in a loaded object, by `objects` or else _dl_find_object ──────> hooked, and noted
//      └── elsewhere: made while the program runs ────────────────────────> left alone
//
// A page is never one of the trampolines'. Calls that are left alone are counted in each instance's
// BufferHeader.unhooked.
//
// When objects come or go, set_return_callers() (return_caller_ranges.h) stores the new ranges,
// counts `version` up and forgets all pages and quick trampolines, in this order. A thread that has
// looked at the old ranges notes its page and then looks whether `version` is what it was before;
// else it takes the page away again.
#pragma once

#include <cstddef>
#include <cstdint>

namespace patchbay {

inline constexpr uint32_t kReturnPages = 4096;
inline constexpr uint32_t kReturnPageLog = 12;

struct CallerRange {
  uint64_t start, end;
};
struct CallerRanges {
  uint32_t nr_walked, nr_objects;
  CallerRange range[];  // sorted: first those of `walked`, then those of `objects`
};

extern "C" {
// Numbers of pages whose code may call hooked functions, each at its number % kReturnPages; 0: none
extern uint64_t pb_return_pages[kReturnPages] __attribute__((visibility("hidden")));
extern const CallerRanges* pb_caller_ranges __attribute__((visibility("hidden")));  // atomic
extern uint32_t pb_callers_version __attribute__((visibility("hidden")));           // atomic
// _dl_find_object of the C library; null: there is none, and everything else is an object.
extern void* pb_find_object __attribute__((visibility("hidden")));
}

// SLOW PATH: the page is not noted.
bool look_at_caller(uint64_t return_address);

inline bool may_hook_return_to(uint64_t return_address) {
  const uint64_t page = return_address >> kReturnPageLog;
  const uint64_t noted = __atomic_load_n(&pb_return_pages[page % kReturnPages], __ATOMIC_RELAXED);
  return __builtin_expect(noted == page, 1) || look_at_caller(return_address);
}

}  // namespace patchbay
