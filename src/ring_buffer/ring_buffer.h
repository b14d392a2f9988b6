// SPDX-License-Identifier: MIT
// The writer's side of a buffer file: making and sizing it, and the meta log. The hot part is
// ring_write_hot.h.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "abi/buffer_abi.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "ring_buffer/ring_position.h"
#include "ring_buffer/ring_set.h"

namespace patchbay {

struct RingBufferOptions {
  std::string path;      // file to make (0600, O_EXCL); empty: none, see in_memory()
  uint32_t nr_cpus = 1;  // possible CPUs
  uint32_t subbuf_size = 4096;
  uint64_t bytes_per_cpu = 1408 * 1024;
  bool overwrite = true;
  abi::CommTable* comms = nullptr;  // of the top instance; null: this buffer's own
};

// Counts of one ring since the last clear, as per_cpu/cpuN/stats shows them.
struct RingCounts {
  uint64_t entries = 0;                    // that a reader still finds
  uint64_t overrun = 0;                    // overwritten unread
  uint64_t bytes = 0;                      // of the sub-buffers that a reader still finds
  uint64_t oldest_time = 0, now_time = 0;  // raw clock; oldest 0: empty
  uint64_t dropped = 0;
  uint64_t read = 0;  // consumed
};

class BufferFile;
class RingFill;
struct CutTimes;

class RingBuffer {
 public:
  // Makes the file at its full (sparse) size and maps it. Memory is reserved (posix_fallocate) for
  // the rings at expand(); ENOSPC is reported there, never as a SIGBUS in a traced thread.
  static Result<std::unique_ptr<RingBuffer>> create(const RingBufferOptions& options);
  ~RingBuffer();

  // What programs write to. Changes with resize(): the owner of the programs then points them to
  // the new one (old sets stay mapped, with their memory given back, because a thread may be late).
  const RingSet* rings() const { return set_; }
  const RingSet* const* rings_word() const { return &set_; }  // as long as the buffer
  // A set that takes nothing: EventProgram.rings of an event that is switched off.
  static const RingSet* dead_rings();
  abi::BufferHeader* header() { return set_->header; }

  // Reserves the memory of all rings ("expanded"). Until then the buffer shows its minimal size.
  Status expand();
  bool expanded() const { return expanded_; }
  uint64_t wanted_bytes() const { return wanted_bytes_; }  // per CPU, as asked for
  // tracing_on: one word, which traced threads switch too (ring_set.h). On in a new buffer; another
  // size does not change it.
  void switch_recording(bool on);
  bool is_recording() const;
  // Pauses and tracing_cpumask: which rings take events while tracing_on is 1. The ring for threads
  // without rseq takes them while any CPU does. enable() expands.
  Status enable();
  void disable();
  bool enabled() const { return enabled_; }
  void set_cpus(const std::vector<bool>& cpus);  // missing ones: off

  // Waits until no thread is inside a publish that began before the call: membarrier RSEQ (where
  // the kernel lacks it: a visit to every CPU, which preempts whoever runs there), then the locked
  // ring's lock. Threads of this process only: forked children obey enable/disable, and stop for
  // good at resize(), but may finish the one event they are at.
  // False: the lock's holder was stopped or killed in there, 300 ms were not enough.
  bool quiesce();
  // After resize() or set_subbuf_size(), when every program points to rings(): what late threads
  // have dropped in the old rings is counted in the file from here on.
  void settle();

  // --- size. The records stay: the newest that fit. `cpu` empty: all. ENOMEM, EINVAL as the
  // kernel. EBUSY rules are the caller's. After success rings() is another one, in another file of
  // the same name. What comes until the programs write there is counted as dropped.
  Status resize(std::optional<uint32_t> cpu, uint64_t bytes);
  Status set_subbuf_size(uint32_t bytes);  // a power of two; clears
  // Another file, or memory without one (""), in place of this one, which is removed; clears. The
  // meta log of the new one is empty: its owner writes it again. The thread that holds the file
  // (hold_file) does it, or nobody holds it. No thread is on its way to the rings meanwhile.
  Status move_to(const std::string& path, uint64_t bytes);
  // Of useful data: nr_subbufs - 1 sub-buffers' data, as the kernel; the minimum until expanded.
  uint64_t bytes_of(uint32_t cpu) const;
  void set_overwrite(bool on);

  // --- reading (ring_reader.h)
  RingPosition position(uint32_t ring) const;             // readers begin here
  void consume(uint32_t ring, const RingPosition& upto);  // never backwards
  void clear(std::optional<uint32_t> cpu = {});           // consumes everything, resets the counts
  RingCounts counts(uint32_t ring) const;
  bool has_data(uint32_t ring) const;  // something behind position()
  uint64_t unread_percent(
      uint32_t ring) const;  // for buffer_percent: 0..100 of the ring's sub-buffers

  // Publishes a record from the control side (markers, inject): on the CPU the caller runs on,
  // under rseq like any other writer. A RingWriteStatus; kRingOff also before the first enable().
  int publish(const uint8_t* record, uint32_t size);

  void add_clock_pair();
  Status append_meta(uint32_t type, std::string_view payload);  // published when it returns
  // While one lives the file stays open, for several append_meta() one after the other and nothing
  // else.
  class OpenFile {
   public:
    explicit OpenFile(RingBuffer* buffer) : buffer_(buffer) { buffer_->is_held_open_ = true; }
    ~OpenFile() {
      buffer_->is_held_open_ = false;
      buffer_->release_file();
    }
    OpenFile(const OpenFile&) = delete;
    OpenFile& operator=(const OpenFile&) = delete;

   private:
    RingBuffer* buffer_;
  };
  // A thread's comm, when it was learned elsewhere (the writer of a marker, a task that a thread
  // plays). Nothing is entered twice in a row.
  void add_comm(uint32_t tid, uint32_t tgid, std::string_view comm);
  void set_record_comms(bool on);  // option record-cmd
  // The table that printk enters its texts into, at an address that stays; null until its memory is
  // reserved, and in a buffer whose tables are another's. While a file is being replaced nothing
  // may be entered: pb_printk_closed (ring_resize.cc).
  Status reserve_printk_table();
  abi::PrintkTable* printk_table();
  // The owning process ends. Recording goes on: other exit handlers and threads may still run.
  void close_cleanly();
  const std::string& path() const { return path_; }
  // There is no file: the same layout in memory that forked children share, and nobody else. It has
  // no meta log, which only readers of files want.
  bool in_memory() const { return path_.empty(); }
  // Between calls the file is not kept open, so that the program's descriptor numbers stay its own.
  // A thread with a descriptor table of its own may keep it (it then survives a chroot of the
  // program).
  void hold_file();

  // The spare buffer of `snapshot`: a file of the same form beside this one. take_snapshot() moves
  // everything that a reader would find now into it (copied page by page like any reader, so
  // writers are not disturbed) and clears this buffer; what was overwritten while copying is
  // counted as lost there.
  Status take_snapshot(std::unique_ptr<RingBuffer>* spare, std::optional<uint32_t> cpu);
  // Makes it, empty, if there is none, and the room aside: from now on a hit can ask for a snapshot
  // of its moment (ring_cut.h), which take_cut() carries out. ENOMEM.
  Status allocate_spare(std::unique_ptr<RingBuffer>* spare);
  bool has_pending_cut() const;
  Status take_cut(std::unique_ptr<RingBuffer>* spare);
  // The spare goes: no hit can ask any more, what is pending is forgotten.
  void forget_cuts();
  // The name goes; the memory when nobody maps it any more. For instances and snapshots that are
  // freed; everything else stays for readers of the dead.
  void remove_file();

  // --- in a forked child (base/agreed.h). The parent makes the files, and changes what is in them;
  // here create() and resize() map what it has made, at the same address, and what else would
  // change them does nothing. EEXIST: something else is at that address here.
  void abandon();  // from now on nothing of this process comes into it
  // The child goes its own way: instead of the parent's file it has rings of the same form in
  // memory, empty, with the names and texts that the parent has had. rings() is another one.
  Status leave_parent();

  // For readers in this process: the whole mapping, and a number that changes with it.
  std::span<const uint8_t> bytes() const { return mapping_; }
  uint64_t generation() const { return parked_.size() + moved_; }

 private:
  // A file that was replaced. Its header and controls stay mapped for threads (and children) that
  // are late; what they drop is counted in the new one.
  struct Parked {
    const RingSet* set;
    size_t size;                   // of the mapping that it had
    bool was_on;                   // is_recording(), as the new set has it
    uint64_t folded_missed;        // of its counts, what the new file has already:
    std::vector<uint64_t> folded;  // missed, and lost_when_replaced() of each ring
  };
  RingBuffer() = default;
  Status make_file(abi::BufferHeader header, const std::vector<uint32_t>& nr_subbufs,
                   bool with_side);
  Status map_whole(uint64_t size);
  Status note_file(const std::string& path);
  Status take_noted_file();
  Status follow_file();
  static Result<std::unique_ptr<RingBuffer>> create_in_child(const RingBufferOptions& options);
  Status map_tables();
  void* map_tables_at(void* at, size_t size);  // MAP_FAILED: errno
  Status reserve(int fd, uint64_t offset, uint64_t size, std::string_view what = {});
  std::string called() const;  // in messages
  Result<int> file();          // until release_file()
  void keep(UniqueFd fd);
  void release_file();
  void apply_enabled();
  void fold_dropped();
  // Returns what was dropped since the last time.
  uint64_t restart_counts(uint32_t ring, const RingPosition& position);
  // ring_resize.cc
  Status replace(abi::BufferHeader header, const std::vector<uint32_t>& nr_subbufs, bool keep,
                 const std::string& path);
  Status adopt(const RingBuffer& old, int old_fd);
  Parked take_rings(const RingBuffer& old, bool keep);
  void move_tables(const uint8_t* old);
  void commit(RingBuffer* made, Parked parked, bool quiet);
  // ring_snapshot.cc
  Status prepare_spare(std::unique_ptr<RingBuffer>* spare);
  // ring_cut.cc
  RingCut* cut() { return const_cast<RingCut*>(&set_->cut); }
  Status make_side();
  uint64_t side_offset() const;
  void forget_pending_cut();
  void inherit_cuts(const RingSet& old);
  void move_cut_ring(const CutTimes& times, uint32_t ring, RingBuffer& spare);
  bool same_form(const RingBuffer& other) const;
  Status make_spare(std::unique_ptr<RingBuffer>* spare);
  Status copy_description(RingBuffer& from);
  void move_ring(BufferFile* source, uint32_t ring, RingBuffer& spare);
  void finish_ring(uint32_t ring, const RingPosition& start, RingPosition end,
                   abi::ReaderState state, RingBuffer& spare, RingFill* fill);
  std::vector<uint32_t> subbuf_counts() const;

  const RingSet* set_ = nullptr;
  std::span<uint8_t> mapping_;   // the file without its meta log; never goes as a whole
  uint32_t stuck_holder_ = 0;    // of the lock of threads without rseq: who was waited for in vain
  bool nobody_is_late_ = false;  // in move_to()
  uint64_t moved_ = 0;           // replaced sets that move_to() has forgotten
  std::vector<Parked> parked_;
  Mapping table_mapping_;  // comms, printk's texts; stays where it is. Empty: they are another's
  UniqueFd fd_;
  bool is_held_open_ = false;  // OpenFile
  // hold_file(): a number in the descriptor table of the thread keeper_, of no use to others.
  int kept_ = -1;
  uint32_t keeper_ = 0;
  bool kept_is_old_ = false;  // the file has been replaced since
  std::string path_;
  uint64_t meta_used_ = 0;
  uint64_t wanted_bytes_ = 0;
  bool expanded_ = false;
  bool enabled_ = false;
  bool abandoned_ = false;
  bool has_printk_table_ = false;  // its memory is reserved
  bool wants_side_ = false;        // hits may ask for snapshots, while there is a spare
  std::vector<bool> cpus_;         // empty: all
};

// For ring_resize.cc and ring_snapshot.cc: a set that lives forever; bytes from file to file.
const RingSet* make_ring_set(uint8_t* base, abi::CommTable* comms);
int reserve_bytes(int fd, off_t offset, off_t size);  // posix_fallocate(), whatever signals come
Status copy_bytes(int from, int to, uint64_t from_offset, uint64_t to_offset, uint64_t size);

// Sub-buffers of a ring for `bytes` of useful data: whole ones, at least two, and the one that is
// always being replaced.
uint64_t subbufs_for(uint64_t bytes, uint32_t subbuf_size);
// Of the ring that threads without rseq share: as many as the others have, or a quarter of that
// where such threads are the exception.
uint32_t shared_subbufs(const abi::BufferHeader& header, uint32_t count);

}  // namespace patchbay
