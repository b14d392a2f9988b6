// SPDX-License-Identifier: MIT
//
// The stubs as signal handlers and the probe path look at them: chunks in no order, the records of
// each in order of address. Storage is reserved once, records are appended, counts are published
// last; nothing ever goes away.
#pragma once

#include <cstddef>
#include <cstdint>

#include "arch/x86_64/relocate.h"

namespace patchbay {

// Where the stack is while a thread is in the prologue of a stub, for unwinders. A row holds from
// its offset in the prologue on.
struct StackRow {
  uint16_t at = 0;
  uint16_t moved = 0;    // bytes from the stack pointer up to the program's
  uint8_t is_saved = 0;  // rax rcx rdx r9 r10 r11 stand below it, in words; their own are spent
  bool operator==(const StackRow&) const = default;
};
constexpr size_t kMaxStackRows = 31;
struct StackShape {
  uint32_t count = 0;  // 0: the stack pointer is the program's
  StackRow row[kMaxStackRows];
  bool operator==(const StackShape&) const = default;
};
// Prologues are made of few templates, so there are few shapes. Appended by the control thread,
// never changed; number 0 is the empty one, which also stands for what does not fit.
inline constexpr size_t kMaxStackShapes = 256;
extern StackShape g_stack_shapes[kMaxStackShapes] __attribute__((visibility("hidden")));
uint16_t stack_shape_number(const StackShape& shape);

// One stub: prologue, relocated instructions, jump back. Immutable once published. The jump of a
// key has a record, too, which is no stub: its address is where the program's own code goes on.
struct StubRecord {
  uint64_t address = 0;
  uint64_t original = 0;  // patch_address of its site
  uint16_t size = 0;
  uint16_t body = 0;  // offset of the relocated run
  uint8_t displaced = 0;
  uint8_t count = 0;
  bool comes_back = true;
  bool is_plain = false;  // a prologue, what was displaced, the jump: nothing stands inside
  // Instruction starts at the original place, and in the stub: where a thread goes that was to run
  // the instruction (the prologue of a probe inside, if there is one), and the moved instruction.
  uint8_t offset[kMaxBoundaries] = {};
  uint16_t start[kMaxBoundaries] = {};
  uint16_t moved[kMaxBoundaries] = {};
  uint16_t shape[kMaxBoundaries] = {};  // of the prologue in front of the instruction
  uint16_t jump_back = 0;               // offset; size: there is none
  uint16_t called = 0;          // offset behind the push that stands for a call's; 0: there is none
  StubRecord* older = nullptr;  // another, parked stub of the same site

  // Where a thread that was to run the instruction at original + `at` continues; 0: no boundary.
  uint64_t continue_at(uint64_t at) const;
  // Where execution goes on at the original place, behind the displaced instructions; 0: nowhere.
  uint64_t exit() const { return comes_back ? original + displaced : 0; }
  bool is_key() const { return count == 0; }
};

struct ChunkView {
  uint64_t base, size;
  const StubRecord* records;
  const uint32_t* count;  // atomic
};
inline constexpr size_t kMaxChunks = 4096;

extern ChunkView g_chunk_views[kMaxChunks] __attribute__((visibility("hidden")));
extern size_t g_chunk_view_count __attribute__((visibility("hidden")));  // atomic

// The stub that `ip` lies in, or null. Any thread, also in a signal handler.
const StubRecord* stub_at(uint64_t ip);
// If `ip` lies in relocated instructions of a stub, the original address of that instruction, which
// is what the program's handler of a fault must see; else 0.
uint64_t patch_original_ip(uint64_t ip);

// True if `ip` is the label in the prologue of a stub that a fault of its loads has brought the
// thread to (hot/fault.h).
bool is_stub_load_abort(uint64_t ip);
// That label, for a load at `ip` that the kernel has left in its sequence: under a debugger that
// has forgotten it. 0: `ip` is in no such prologue.
uint64_t stub_load_abort(uint64_t ip);

// What a thread in a stub stands for: a thread that is about to execute the instruction at
// `original`, with a stack pointer that is `moved` higher. Behind the push of a call that is the
// call, which has not been done.
struct StubPlace {
  uint64_t original = 0;
  uint16_t moved = 0;
  bool is_saved = false;  // StackRow
};
bool stub_place(uint64_t ip, StubPlace* place);  // false: `ip` lies in no stub
// The same for the jump that a short jump goes to, in the padding in front of the function.
bool padding_place(uint64_t ip, StubPlace* place);

}  // namespace patchbay
