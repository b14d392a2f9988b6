// SPDX-License-Identifier: MIT
//
// The buffer file: one per instance, mapped shared by the traced program (the writer, and its
// forked children) and read-only by readers, also after the program's death.
//
//   +------------+  0            written once, except the words marked (live)
//   | header     |  BufferHeader
//   +------------+  clock_offset    ClockTable      (TSC, CLOCK_MONOTONIC) pairs     control thread
//   +------------+  comm_offset     CommTable       thread id -> comm                 slow path
//   +------------+  printk_offset   PrintkTable     texts that records name by address   printk
//   +------------+  reader_offset   ReaderState[nr_rings]      the only thing that readers write
//   +------------+  ring_offset     RingControl[nr_rings]                             writers
//   +------------+  page_meta_offset PageMeta[nr_subbufs] of ring 0, of ring 1, …     writers
//   +------------+  data_offset     sub-buffers [nr_subbufs][subbuf_size] of each     writers
//   :            :                  a hole, or the writers' own room (ring_buffer/ring_cut.h)
//   +------------+  meta_offset     the meta log: MetaRecord, MetaRecord, …    control thread
//   :            :                  it grows at the end of the file; header.meta_used bytes of it
//                                   are published
//
// What holds, of every file at every moment (docs/ring_buffer.md says why, and the tests that would
// fail without it cite it):
//
//   G1  An event is visible from one store on: `publish`, the last of a restartable sequence.
//   G2  A reader takes whole events only. Time never runs back in a ring.
//   G3  Losses are exact: full rings overwrite or drop, and either is counted.
//   G4  A reader that stops, dies or lies costs the writer nothing: no writer ever waits for one.
//   G5  After SIGKILL every published event can be read, with all that is needed to decode it.
//   G6  No bytes in a file make a reader crash, hang or read beyond them.
//   G7  Memory is fixed when the instance is sized, and reserved before the first record.
//   G8  Without rseq a slower path keeps G2 to G7.
//
// Ring r < nr_cpus belongs to CPU r and is written only inside restartable sequences on that CPU,
// by every process that inherited the mapping. Ring nr_cpus is for threads without rseq (old
// kernel, valgrind, vfork child) and is written under RingControl.lock.
//
// A sub-buffer is a kernel ring buffer page (kernel/trace/ring_buffer.c, struct buffer_data_page):
//   u64 time of its first event | u64 commit: bytes of data used | events (event_abi below)
// While a sub-buffer is the one being written, its commit word is not valid: the length is in
// `publish`. Times are raw TSC ticks (or nanoseconds, see clock), also in the event's deltas.
//
// publish, the one store that makes an event visible:
//   bits  0..31  offset in this ring's data at which the next event goes; offset % subbuf_size == 0
//                means that the sub-buffer before that offset is exactly full
//   bit   32     which of slot[0..1] belongs to this publish value
//   bits  33..63 lap: how often the ring has wrapped
// Number of the current sub-buffer: seq = lap * nr_subbufs + (offset - 1) / subbuf_size.
//
// A writer that needs a new sub-buffer (number seq + 1) sets the old one's commit, prepares header
// and PageMeta of slot (seq + 1) % nr_subbufs, and only then publishes. So a reader may use
// sub-buffer s if  seq + 1 - nr_subbufs < s <= seq  both before and after it has copied it
// (G2, G4: the copy is checked). In drop mode the writer does not start
// number n while n - read_seq > nr_subbufs - 2; it counts the event in `dropped` instead.
//
// Each ring has its own nr_subbufs, in RingControl. No part of a file ever moves or changes its
// size but the meta log: another size is another file of the same name, and the old one's state
// becomes kStateReplaced. Forked children that still have the old one mapped record no more: its
// rings are closed.
//
// Losses are exact (G3): events lost to overwriting between two sub-buffers a < b that a reader got
// = PageMeta[b].entries_before - (PageMeta[a].entries_before + events in a).
#pragma once

#include <cstddef>
#include <cstdint>

namespace patchbay::abi {

inline constexpr uint64_t kBufferMagic = 0x3130465542425031;  // "1PBBUF01"
inline constexpr uint32_t kBufferVersion = 4;
inline constexpr uint32_t kMinSubbufSize = 4096;
inline constexpr uint32_t kMaxSubbufSize = 512 * 1024;
inline constexpr uint32_t kMinSubbufs = 3;
inline constexpr uint32_t kMaxRings = 8193;
inline constexpr size_t kRingControlStride = 128;

enum : uint32_t { kClockTsc = 0, kClockMonotonic = 1 };
enum : uint32_t { kBufferOverwrite = 1 };                                  // header.flags
enum : uint32_t { kStateLive = 0, kStateClosed = 1, kStateReplaced = 2 };  // header.state

struct BufferHeader {
  uint64_t magic;
  uint32_t version;
  uint32_t header_size;  // sizeof(BufferHeader)
  uint32_t subbuf_size;  // bytes, a power of two, kMinSubbufSize … kMaxSubbufSize
  uint32_t nr_subbufs;   // of the largest ring, >= kMinSubbufs; nr_subbufs * subbuf_size < 2^32
  uint32_t nr_rings;     // nr_cpus + 1
  uint32_t nr_cpus;
  uint32_t clock;  // kClock…
  uint32_t flags;  // (live) kBuffer…
  int32_t pid;     // process that made the file
  uint32_t state;  // (live) kState…
  uint64_t start_realtime_ns;
  uint64_t clock_offset;
  uint64_t comm_offset;
  uint64_t reader_offset;
  uint64_t ring_offset;
  uint64_t page_meta_offset;
  uint64_t data_offset;
  uint64_t meta_offset;
  uint64_t meta_used;  // (live) release-stored after the bytes are in the file
  uint64_t recursion;  // (live) hits of agent code itself, or nested too deeply: not followed
  uint64_t missed;     // (live) hits that were not recorded for another reason (too large …)
  uint64_t printk_offset;
  // (live) Calls whose return was left alone, because their caller walks its own stack by return
  // addresses (probe/returns/return_callers.h).
  uint64_t unhooked;
};
static_assert(sizeof(BufferHeader) == 152);

struct ClockPair {
  uint64_t tsc;      // ticks
  uint64_t mono_ns;  // CLOCK_MONOTONIC
  uint64_t real_ns;  // CLOCK_REALTIME
};
inline constexpr uint32_t kClockPairs = 168;
struct ClockTable {
  uint64_t count;  // pairs ever taken, release-stored
  // The first ever taken; then a ring of the others, the n-th (n >= 1) at
  // 1 + (n - 1) % (kClockPairs - 1).
  ClockPair pair[kClockPairs];
};
static_assert(sizeof(ClockTable) <= 4096);

// Appended once per thread, and again after a rename that the agent sees: the last one is valid.
struct CommEntry {
  uint32_t tid;  // stored last, release; 0 = not yet complete
  uint32_t tgid;
  char comm[16];  // NUL-terminated
};
inline constexpr uint32_t kCommEntries = 4096;
struct CommTable {
  uint32_t used;  // entries handed out, may exceed kCommEntries (the rest had no room)
  uint32_t off;   // 1: threads enter nothing (option record-cmd)
  CommEntry entry[kCommEntries];
};

// The formats and texts of ftrace:bprint and ftrace:bputs. A thread enters a text when it uses it
// for the first time, lock-free (printk_hot.h). No entry is ever changed or removed: a record keeps
// its text when the object of the text is unloaded, and after the program's death. The table of the
// top instance's file serves the records of all instances.
struct PrintkText {
  uint64_t address;  // as records have it: of `text`, in the program
  uint32_t offset;   // in PrintkTable.text
  uint32_t length;   // without its NUL
  uint32_t hash;
  uint32_t complete;  // stored last, release; 0 = not yet complete
};
inline constexpr uint32_t kPrintkTexts = 2048;
inline constexpr uint32_t kPrintkTextBytes = 128 * 1024;
struct PrintkTable {
  uint32_t used;        // entries handed out, may exceed kPrintkTexts (the rest had no room)
  uint32_t used_bytes;  // of `text`, may exceed kPrintkTextBytes
  PrintkText entry[kPrintkTexts];
  char text[kPrintkTextBytes];
};

// What readers have done with a ring. The consumer writes it: the agent's control thread or a
// recorder, one at a time. `version` is odd while it writes.
struct ReaderState {
  uint64_t read_seq;  // for the writer in drop mode: sub-buffers with seq < read_seq are consumed
  uint64_t version;
  // The position: what lies before it was consumed or cleared, and no reader delivers it again.
  uint64_t seq;      // sub-buffer
  uint64_t offset;   // bytes of its events that lie before the position
  uint64_t time;     // of the last event before the position, when offset > 0
  uint64_t entries;  // events of the ring before the position …
  uint64_t lost;     // … of them overwritten before a reader came, since the last clear
  // For counts since the last clear.
  uint64_t base_entries;   // RingSlot.entries then
  uint64_t base_dropped;   // RingControl.dropped + extra_dropped then
  uint64_t extra_dropped;  // events that came while the ring was being replaced
  uint64_t reserved[6];
};
static_assert(sizeof(ReaderState) == 128);

struct RingSlot {
  uint64_t time;     // of the last event
  uint64_t entries;  // events ever published in this ring
};
struct RingControl {
  uint64_t publish;
  uint32_t space_mask;  // subbuf_size - 1 while the ring takes events; 0 sends every writer to the
                        // slow path
  uint32_t lock;        // ring nr_cpus only: thread id of the holder, 0 = free
  RingSlot slot[2];
  uint64_t dropped;          // events not recorded because the ring was full (drop mode) or closed
  uint64_t data_delta;       // bytes from this RingControl to the ring's data, written once
  uint64_t page_meta_delta;  // and to its PageMeta
  uint32_t nr_subbufs;       // written once, kMinSubbufs … header.nr_subbufs
  uint32_t overwrite;        // 1, or 0: drop mode
  uint32_t closed;           // the file is being replaced: what comes now is dropped, not just off
  uint32_t reserved[11];
};
static_assert(sizeof(RingControl) == kRingControlStride);
static_assert(offsetof(RingControl, slot) == 16 && offsetof(RingControl, dropped) == 48);

struct PageMeta {
  uint64_t seq;             // number of the sub-buffer that stands in this slot
  uint64_t entries_before;  // RingSlot.entries when it was begun
};

inline constexpr uint32_t kPageHeaderSize = 16;
inline constexpr uint64_t kParityBit = uint64_t{1} << 32;
inline constexpr int kLapShift = 33;

// --- events in a sub-buffer (kernel: struct ring_buffer_event) ----------------------------------
// u32: type_len bits 0..4, time_delta bits 5..31. 1..28: 4 * type_len bytes of data; 0: a u32 with
// length + 4 follows.
inline constexpr uint32_t kTypeDataMax = 28;
inline constexpr uint32_t kTypePadding = 29;
inline constexpr uint32_t kTypeTimeExtend = 30;
inline constexpr uint32_t kTypeTimeStamp = 31;
inline constexpr int kDeltaBits = 27;
inline constexpr uint32_t kMaxSmallData = 4 * kTypeDataMax;

struct RecordHeader {  // the common fields, at the start of each record
  uint16_t common_type;
  uint8_t common_flags;
  uint8_t common_preempt_count;
  int32_t common_pid;
};
static_assert(sizeof(RecordHeader) == 8);

// --- meta log ------------------------------------------------------------------------------------
// Each record: MetaRecord, then `length` bytes, then zero bytes to a multiple of 8 (4: match_abi.h)
enum : uint32_t {
  kMetaEventFormat = 1,  // u32 id; then the system's name, NUL; then the text of the format file
  kMetaModule = 2,       // ModuleRecord, then build-id in hex, NUL, then path, NUL
  kMetaExe = 3,          // path of the executable, NUL, command line with NUL between words
};
struct MetaRecord {
  uint32_t type;
  uint32_t length;  // payload bytes, without padding
};
struct ModuleRecord {
  uint64_t start;  // first mapped address
  uint64_t end;
  uint64_t bias;  // load bias: run-time address - ELF address
};

}  // namespace patchbay::abi
