// SPDX-License-Identifier: MIT
//
// The spare buffer of `snapshot`. The kernel swaps two rings; here the pages are copied out like
// any reader does, so that no writer ever notices and every EventProgram stays as it is:
//
//   main     consumed |###### unread ######|      -> position moves behind it, counts begin again
//   spare             ... old snapshot ... |###### unread ######|
//
// The spare is a buffer file of its own beside the buffer, with everything that is needed to read
// it after kill -9. Its sub-buffer numbers go on from one snapshot to the next, so that whoever
// reads it meanwhile sees the old content overwritten, never mixed.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "ring_buffer/ring_fill.h"

namespace patchbay {

namespace {

std::string beside(const std::string& path) {
  return path.substr(0, path.rfind('/') + 1) + "snapshot";
}

// The sub-buffer that the next snapshot begins with.
uint64_t next_of_spare(const RingSet& spare, uint32_t ring) {
  RingNow now = ring_now(spare, ring);
  return now.entries ? now.seq + 1 : 0;
}

// The counts of the spare are those that the main buffer had.
void store_counts(const RingSet& spare, uint32_t ring, const abi::ReaderState& main,
                  uint64_t dropped) {
  abi::ReaderState& state = spare.readers[ring];
  state.base_entries = main.base_entries;
  state.base_dropped = 0;
  state.extra_dropped = dropped;
}

}  // namespace

Status RingBuffer::take_snapshot(std::unique_ptr<RingBuffer>* spare, std::optional<uint32_t> cpu) {
  if (cpu && *cpu > set_->nr_cpus) return user_error(EINVAL, "there is no such CPU");
  if (has_pending_cut()) PB_TRY(take_cut(spare));
  PB_TRY(prepare_spare(spare));
  PB_ASSIGN(auto source, BufferFile::over_memory(bytes()));
  for (uint32_t ring = 0; ring <= set_->nr_cpus; ring++)
    if (!cpu || *cpu == ring) move_ring(source.get(), ring, **spare);
  return {};
}

// Of this buffer's form, with what is needed to read it. What is in it stays where the form does.
Status RingBuffer::prepare_spare(std::unique_ptr<RingBuffer>* spare) {
  if (*spare && !same_form(**spare)) {
    (*spare)->remove_file();
    spare->reset();
  }
  if (!*spare) PB_TRY(make_spare(spare));
  if (wants_side_) PB_TRY(make_side());  // the spare was freed meanwhile
  return (*spare)->copy_description(*this);
}

Status RingBuffer::allocate_spare(std::unique_ptr<RingBuffer>* spare) {
  PB_TRY(make_side());
  if (*spare) return {};
  PB_TRY(make_spare(spare));
  return (*spare)->copy_description(*this);
}

bool RingBuffer::same_form(const RingBuffer& other) const {
  return other.set_->subbuf_size == set_->subbuf_size && other.subbuf_counts() == subbuf_counts();
}

Status RingBuffer::make_spare(std::unique_ptr<RingBuffer>* spare) {
  std::unique_ptr<RingBuffer> made(new RingBuffer());
  if (!in_memory()) made->path_ = beside(path_);
  made->remove_file();  // left by a process of the same id
  abi::BufferHeader header = *set_->header;
  header.meta_used = 0;
  header.state = abi::kStateLive;
  Status status = made->make_file(header, subbuf_counts(), false);
  if (status.ok())  // now, not in the middle of a copy
    status = made->reserve(made->fd_.get(), 0, made->mapping_.size());
  if (!status.ok()) {
    made->remove_file();
    int error = status.error().errno_value == ENOSPC ? ENOMEM : status.error().errno_value;
    return sys_error(status.error().what, error);
  }
  made->set_ = make_ring_set(made->mapping_.data(), nullptr);
  made->expanded_ = true;
  made->wanted_bytes_ = wanted_bytes_;
  made->release_file();
  *spare = std::move(made);
  return {};
}

// Clock, comms and what is new in the meta log.
Status RingBuffer::copy_description(RingBuffer& from) {
  const abi::BufferHeader& old = *from.set_->header;
  abi::BufferHeader* h = set_->header;
  const uint8_t* source = from.mapping_.data();
  std::memcpy(mapping_.data() + h->clock_offset, source + old.clock_offset,
              sizeof(abi::ClockTable));
  if (from.set_->comms)
    std::memcpy(mapping_.data() + h->comm_offset, from.set_->comms, sizeof(abi::CommTable));
  h->recursion = old.recursion;
  h->missed = old.missed;
  h->unhooked = old.unhooked;
  if (meta_used_ == from.meta_used_) return {};
  PB_ASSIGN(auto in, from.file());
  auto out = file();
  Status status = out.ok() ? copy_bytes(in, *out, old.meta_offset + meta_used_,
                                        h->meta_offset + meta_used_, from.meta_used_ - meta_used_)
                           : Status(out.error());
  from.release_file();
  release_file();
  PB_TRY(status);
  meta_used_ = from.meta_used_;
  __atomic_store_n(&h->meta_used, meta_used_, __ATOMIC_RELEASE);  // pairs with BufferFile::meta
  return {};
}

void RingBuffer::move_ring(BufferFile* source, uint32_t ring, RingBuffer& spare) {
  abi::ReaderState state = load_reader_state(*set_, ring);
  RingNow now = ring_now(*set_, ring);
  RingFill fill(*spare.set_, ring, next_of_spare(*spare.set_, ring));
  RingPosition end = copy_ring(source, now, ring, &fill);
  finish_ring(ring, ring_position(state, now), end, state, spare, &fill);
}

// `fill` has what is between the two positions. It becomes what the spare shows, and leaves this
// buffer. `state` is that of the ring before.
void RingBuffer::finish_ring(uint32_t ring, const RingPosition& start, RingPosition end,
                             abi::ReaderState state, RingBuffer& spare, RingFill* fill) {
  const RingSet& to = *spare.set_;
  RingNow spare_now = ring_now(to, ring);
  uint64_t first = next_of_spare(to, ring);
  end.entries = std::max(end.entries, start.entries);
  if (fill->empty()) first = spare_now.seq;
  uint32_t offset = fill->empty() && spare_now.entries ? spare_now.used : 0;
  fill->finish(end.entries, end.time);
  uint64_t before = fill->empty() ? end.entries : start.entries;
  store_position(to, ring, {first, offset, end.time, before, start.lost});
  // A reader may have consumed more meanwhile.
  if (const RingPosition reached = position(ring); is_before(end, reached)) end = reached;
  end.lost = 0;
  store_counts(to, ring, state, restart_counts(ring, end));
}

}  // namespace patchbay
