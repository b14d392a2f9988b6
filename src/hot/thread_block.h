// SPDX-License-Identifier: MIT
//
// What a thread has beside its thread-local data. That of the agent has to stay small: it is static
// (found by one load, from code that no linker sees), and for an agent that comes into a running
// process libc has a small rest of static room. So only what a hit reads stands there. What few
// threads ever need, on slow ways, is in a block, and the thread has a pointer to it. Most threads
// never take one. probe/thread_blocks.h gives them out.
#pragma once

#include <cstddef>
#include <cstdint>

namespace patchbay {

// The task that the thread plays (patchbay_set_current).
struct PlayedTask {
  // 0: itself. Whoever sets it zeroes ProbeThread.fast_tid behind it, and enters the task's comm
  // (RingBuffer::add_comm).
  uint32_t id;
  uint32_t has_comm;  // `comm` is that of `id`
  char comm[16];      // NUL-terminated
};

// Unwind tables of single addresses (agent/unwind_frames.cc).
inline constexpr size_t kUnwindTableSize = 128;
struct BriefTables {
  static constexpr uint32_t kTables = 3;
  uint32_t next;
  alignas(8) uint8_t table[kTables][kUnwindTableSize];
};

// Of the five signals of ours, bit sig - 1: what the child that runs on the thread's storage has
// set for the program that it will execute (agent/signal_hooks.cc).
struct ChildSignals {
  int32_t pid;    // of the child of a vfork; 0: nothing is set
  bool is_spawn;  // a child of libc's own: the rest is set before it begins, for any pid
  bool has_mask;
  uint16_t blocked, given, ignored;  // `ignored` counts for those that are `given`
};

struct alignas(64) ThreadBlock {
  uint64_t owner;          // atomic; probe/thread_blocks.cc says what it means
  uint64_t exceptions[2];  // the C++ library's, of exceptions in the agent's own code
  uint64_t halted_at;      // where a fault was that may have come from a hlt that is gone; 0: the
                           // last one was not (agent/signal_hooks.cc)
  PlayedTask played;
  ChildSignals child;
  BriefTables tables;
};

extern "C" {
// Null: the thread has none, and all in it would be 0.
extern __thread ThreadBlock* pb_thread_block
    __attribute__((tls_model("initial-exec"), visibility("hidden")));
}

inline uint32_t played_task() {
  const ThreadBlock* block = pb_thread_block;
  return block ? block->played.id : 0;
}
// Null: that of the thread itself, which the kernel knows.
inline const char* played_comm() {
  const ThreadBlock* block = pb_thread_block;
  return block && block->played.has_comm ? block->played.comm : nullptr;
}

}  // namespace patchbay
