// SPDX-License-Identifier: MIT
//
// The trigger `mirror`, as a hit does it: the record is shown to whoever listens to a probe of
// ours, which is a nop that the kernel's uprobes can stand on (docs/mirror.md).
//
//   hit ── *listeners ─┬─ 0: nothing, not even the trigger's filter
//                      '─ > 0: filter, count, then call(record, texts, size) ──> nop; ret
//                                                                                 |
//                              a breakpoint of the kernel's: perf, ftrace, BPF <--'
//
// The kernel counts `listeners` up and down in each process that has the file mapped.
#pragma once

#include <cstdint>

namespace patchbay {

// A field that the probe gives as a pointer. Its number is its place in `texts`.
struct MirrorText {
  enum class Kind : uint8_t {
    kDataLoc,  // a word of offset and length in the record
    kRelLoc,   // the same; the offset counts from behind the word
    kInPlace,  // it stands there
    kFixed,    // characters that may fill all `size` bytes: copied where no NUL is among them
  };
  uint32_t offset;
  uint32_t size;
  Kind kind;
  uint8_t reserved[7];
};

// Immutable once published, and never freed.
struct MirrorStub {
  const uint32_t* listeners;  // atomic; the semaphore, and two bytes that stay 0
  void (*call)(const void* record, const uint64_t* texts, uint64_t size);
  uint32_t nr_texts;
  uint32_t nr_copied;  // bytes that all of kFixed take when they are copied
  const MirrorText* texts;
};

inline bool mirror_has_listeners(const MirrorStub* stub) {
  return __atomic_load_n(stub->listeners, __ATOMIC_RELAXED) != 0;
}

// Somebody listens.
void mirror_show(const MirrorStub* stub, const uint8_t* record, uint32_t size);

}  // namespace patchbay
