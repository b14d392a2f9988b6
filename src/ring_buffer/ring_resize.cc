// SPDX-License-Identifier: MIT
//
// Another size is another file. Threads hold no reference to a ring between two events, only the
// word EventProgram.rings, so the way is:
//
//   control thread                                       traced threads
//   1. make FILE.new at its full size, reserve its       write to the old rings
//      memory; copy the meta log
//   2. old rings: closed = 1, space_mask = 0; quiesce    count as dropped from here on, also the
//                                                        one event that a stopped holder of the
//                                                        lock, or a forked child, is at
//   3. copy what readers have not had, clock, comms
//   4. rename FILE.new to FILE; old state = replaced
//   5. the owner of the programs points them to rings()  write to the new rings
//
// Up to 4 a failure leaves everything as it was. The old header and controls stay mapped for
// threads that are late at 5 (their drops are counted in the new file, fold_dropped) and for forked
// children, which never learn of the new file; the old data goes at once.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/agreed.h"
#include "base/raw_syscall.h"
#include "ring_buffer/ring_fill.h"
#include "ring_buffer/ring_write_hot.h"

namespace patchbay {

using abi::BufferHeader;
using abi::CommTable;
using abi::RingControl;

namespace {

constexpr uint32_t kCommGap = 64;  // slots for threads that enter while the table moves

// Closes every ring that takes events: what comes now is a loss.
void close_rings(const RingSet& set) {
  for (uint32_t ring = 0; ring <= set.nr_cpus; ring++) {
    RingControl* rc = set.control(ring);
    __atomic_store_n(&rc->closed, rc->space_mask ? 1 : 0, __ATOMIC_RELEASE);
    __atomic_store_n(&rc->space_mask, 0, __ATOMIC_RELEASE);
  }
}

void open_rings(const RingSet& set) {
  for (uint32_t ring = 0; ring <= set.nr_cpus; ring++)
    __atomic_store_n(&set.control(ring)->closed, 0, __ATOMIC_RELEASE);
}

// Fields that threads write at any time: what one of them wrote into the old table before it was
// unmapped is there now, and what it writes later goes into the new one.
void merge_comms(const CommTable& from, CommTable* to) {
  uint32_t used = std::min(from.used, abi::kCommEntries);
  for (uint32_t i = 0; i < used; i++) {
    if (to->entry[i].comm[0] == '\0')
      std::memcpy(to->entry[i].comm, from.entry[i].comm, sizeof from.entry[i].comm);
    if (to->entry[i].tgid == 0) to->entry[i].tgid = from.entry[i].tgid;
    if (to->entry[i].tid == 0) to->entry[i].tid = from.entry[i].tid;
  }
}

// Nothing is entered into the table of printk's texts until it is open again: what is used for the
// first time meanwhile is written out in its record. Who is entering a text is waited for, but not
// without end: it may have been killed there.
void close_printk_table() {
  constexpr int kTries = 1000;
  __atomic_store_n(&pb_printk_closed, 1, __ATOMIC_SEQ_CST);
  for (int i = 0; i < kTries && __atomic_load_n(&pb_printk_entering, __ATOMIC_SEQ_CST); i++)
    raw_sched_yield();
}

void open_printk_table() { __atomic_store_n(&pb_printk_closed, 0, __ATOMIC_RELEASE); }

// Everything of a ring but its records.
void copy_reader_state(const RingSet& from, const RingSet& to, uint32_t ring,
                       const RingPosition& position, uint64_t dropped) {
  store_position(to, ring, {0, 0, 0, position.entries, position.lost});
  const abi::ReaderState& old = from.readers[ring];
  to.readers[ring].base_entries = old.base_entries;
  to.readers[ring].base_dropped = old.base_dropped;
  to.readers[ring].extra_dropped = old.extra_dropped + dropped;
}

}  // namespace

Status RingBuffer::resize(std::optional<uint32_t> cpu, uint64_t bytes) {
  if (cpu && *cpu >= set_->nr_cpus) return user_error(EINVAL, "there is no such CPU");
  if (bytes == 0) return user_error(EINVAL, "the buffer size of a CPU must be at least 1 KB");
  if (bytes >> 32 || subbufs_for(bytes, set_->subbuf_size) * set_->subbuf_size >> 32)
    return user_error(ENOMEM, "the buffer of one CPU must be smaller than 4 GB");
  std::vector<uint32_t> counts = subbuf_counts(), wanted = counts;
  uint32_t count = uint32_t(subbufs_for(bytes, set_->subbuf_size));
  for (uint32_t ring = 0; ring < wanted.size(); ring++)
    if (!cpu || *cpu == ring) wanted[ring] = count;
  if (!cpu) wanted.back() = shared_subbufs(*set_->header, count);
  if (is_forked_child()) {
    PB_TRY(follow_file());
  } else if (wanted == counts) {
    PB_TRY(expand());
  } else {
    PB_TRY(replace(*set_->header, wanted, true, path_));
  }
  if (!cpu) wanted_bytes_ = bytes;
  return {};
}

Status RingBuffer::set_subbuf_size(uint32_t bytes) {
  if (!std::has_single_bit(bytes) || bytes < abi::kMinSubbufSize || bytes > abi::kMaxSubbufSize)
    return user_error(EINVAL, "sub-buffer size must be a power of two from 4096 to 524288");
  if (is_forked_child()) return follow_file();
  if (bytes == set_->subbuf_size) return {};
  std::vector<uint32_t> counts;
  for (uint32_t count : subbuf_counts()) {
    uint64_t data = uint64_t{count - 1} * (set_->subbuf_size - abi::kPageHeaderSize);
    uint64_t made = subbufs_for(data, bytes);
    if (made * bytes >> 32) return user_error(ENOMEM, "the buffer of one CPU must be below 4 GB");
    counts.push_back(uint32_t(made));
  }
  BufferHeader header = *set_->header;
  header.subbuf_size = bytes;
  return replace(header, counts, false, path_);
}

Status RingBuffer::move_to(const std::string& path, uint64_t bytes) {
  if (is_forked_child()) return user_error(EBUSY, "a forked child has its parent's buffers");
  if (keeper_ == uint32_t(raw_syscall(SYS_gettid)) && kept_ >= 0) ::close(kept_);
  kept_ = -1;
  keeper_ = 0;
  meta_used_ = 0;  // what is written there is its owner's
  std::vector<uint32_t> counts(set_->nr_cpus + 1u, uint32_t(subbufs_for(bytes, set_->subbuf_size)));
  counts.back() = shared_subbufs(*set_->header, counts[0]);
  const uint32_t used_comms = set_->comms->used;
  nobody_is_late_ = true;
  const Status replaced = replace(*set_->header, counts, false, path);
  nobody_is_late_ = false;
  PB_TRY(replaced);
  wanted_bytes_ = bytes;
  set_->comms->used = used_comms;
  return {};
}

// Makes the new file, which is to be `path`, and brings everything into it; `keep` the records too.
Status RingBuffer::replace(BufferHeader header, const std::vector<uint32_t>& nr_subbufs, bool keep,
                           const std::string& path) {
  int old_fd = -1;
  if (meta_used_) {
    PB_ASSIGN(const int opened, file());
    old_fd = opened;
  }
  RingBuffer made;
  if (!path.empty()) made.path_ = path + ".new";
  made.remove_file();
  header.meta_used = 0;
  Status status = made.make_file(header, nr_subbufs, true);
  if (status.ok()) status = made.adopt(*this, old_fd);
  if (status.ok() && set_->cut.side_delta) status = made.make_side();
  if (!status.ok()) {
    made.remove_file();
    release_file();
    if (status.error().sentence) return status;  // why there is no room
    int error = status.error().errno_value == ENOSPC ? ENOMEM : status.error().errno_value;
    return sys_error("make room for the new size of " + called(), error);
  }
  PB_TRY(made.note_file(path));
  close_rings(*set_);
  bool quiet = quiesce();
  Parked parked = made.take_rings(*this, keep);
  if (!path.empty() && ::rename(made.path_.c_str(), path.c_str()) != 0) {
    int error = errno;
    open_rings(*set_);
    apply_enabled();
    made.remove_file();
    made.set_ = nullptr;  // nobody knows of it: it goes as a whole
    release_file();
    return sys_error("rename " + made.path_, error);
  }
  if (path_ != path) remove_file();
  path_ = path;
  commit(&made, std::move(parked), quiet);
  if (!keep) forget_pending_cut();
  if (!keep) clear();
  return {};
}

// The parts of a new file that do not change while it is being made.
Status RingBuffer::adopt(const RingBuffer& old, int old_fd) {
  const BufferHeader& h = *reinterpret_cast<BufferHeader*>(mapping_.data());
  const uint64_t first = old.table_mapping_.data() ? h.comm_offset : h.reader_offset;
  PB_TRY(reserve(fd_.get(), first, side_offset() - first));
  if (old.meta_used_)
    PB_TRY(copy_bytes(old_fd, fd_.get(), old.set_->header->meta_offset, h.meta_offset,
                      old.meta_used_));
  meta_used_ = old.meta_used_;
  set_ = make_ring_set(mapping_.data(), old.set_->comms);
  return {};
}

// With all rings of `old` closed and quiet. What threads still drop there is not in it yet.
RingBuffer::Parked RingBuffer::take_rings(const RingBuffer& old, bool keep) {
  BufferHeader* h = set_->header;
  const BufferHeader& from = *old.set_->header;
  h->meta_used = meta_used_;
  h->recursion = from.recursion;
  h->unhooked = from.unhooked;
  Parked parked{old.set_,
                old.mapping_.size(),
                old.is_recording(),
                __atomic_load_n(&from.missed, __ATOMIC_RELAXED),
                {}};
  switch_recording(parked.was_on);
  h->missed = parked.folded_missed;
  std::memcpy(mapping_.data() + h->clock_offset, old.mapping_.data() + from.clock_offset,
              sizeof(abi::ClockTable));
  auto source = BufferFile::over_memory(old.mapping_);
  for (uint32_t ring = 0; ring <= set_->nr_cpus; ring++) {
    abi::ReaderState state = load_reader_state(*old.set_, ring);
    RingNow now = ring_now(*old.set_, ring);
    RingPosition position = ring_position(state, now);
    RingFill fill(*set_, ring, 0);
    if (keep && source.ok()) {
      copy_ring(source->get(), now, ring, &fill);
    } else {
      position.entries = now.entries;
    }
    fill.finish(now.entries, now.time);
    const uint64_t dropped = __atomic_load_n(&old.set_->control(ring)->dropped, __ATOMIC_RELAXED);
    parked.folded.push_back(dropped + now.entries);
    copy_reader_state(*old.set_, *set_, ring, position, dropped);
  }
  return parked;
}

// With mapping_ the new file's, into which threads enter comms and texts as soon as it is mapped in
// place of the old one.
void RingBuffer::move_tables(const uint8_t* old) {
  const BufferHeader* h = reinterpret_cast<const BufferHeader*>(mapping_.data());
  auto* from = reinterpret_cast<const CommTable*>(old);
  auto* to = reinterpret_cast<CommTable*>(mapping_.data() + h->comm_offset);
  const size_t texts = h->printk_offset - h->comm_offset;
  std::memcpy(to, from, sizeof *to);
  to->used += kCommGap;  // entries without a thread id are none
  close_printk_table();
  if (has_printk_table_)
    std::memcpy(mapping_.data() + h->printk_offset, old + texts, sizeof(abi::PrintkTable));
  if (map_tables().ok()) merge_comms(*from, to);
  open_printk_table();
}

// From here on the new file is the buffer.
void RingBuffer::commit(RingBuffer* made, Parked parked, bool quiet) {
  __atomic_store_n(&set_->header->state, abi::kStateReplaced, __ATOMIC_RELEASE);
  const BufferHeader& old = *set_->header;
  kept_is_old_ = true;
  fd_ = std::move(made->fd_);
  size_t head = old.page_meta_offset, size = mapping_.size();
  uint8_t* base = mapping_.data();
  mapping_ = std::exchange(made->mapping_, {});
  if (table_mapping_.data()) move_tables(base + old.comm_offset);
  const RingSet* late = std::exchange(set_, std::exchange(made->set_, nullptr));
  inherit_cuts(*late);
  if (nobody_is_late_) {
    moved_ += 1 + parked_.size();
    for (const Parked& before : parked_)
      ::munmap(before.set->header, size_t(before.set->header->page_meta_offset));
    parked_.clear();
    head = 0;
  } else {
    parked_.push_back(std::move(parked));
  }
  expanded_ = true;
  apply_enabled();
  release_file();
  if (quiet) ::munmap(base + head, size - head);
}

}  // namespace patchbay
