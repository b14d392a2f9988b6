// SPDX-License-Identifier: MIT
#include "recording.h"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>

namespace patchbay::cmd {
namespace {

constexpr uint32_t kPagesATurn = 512;

}  // namespace

Result<std::unique_ptr<Recording>> Recording::open(std::unique_ptr<BufferFile> buffer,
                                                   const std::string& path, int version) {
  TraceDatOptions options;
  options.version = version;
  options.page_size = buffer->header().subbuf_size;
  options.nr_cpus = buffer->nr_rings();
  Result<std::unique_ptr<TraceDatWriter>> writer = TraceDatWriter::open(path, options);
  if (!writer.ok()) return writer.error();
  std::unique_ptr<Recording> recording(new Recording());
  recording->counts_.resize(buffer->nr_rings());
  recording->buffer_ = std::move(buffer);
  recording->writer_ = std::move(*writer);
  recording->refresh_events();
  return recording;
}

void Recording::refresh_events() {
  Result<RecordedMeta> meta = read_recorded_meta(*buffer_);
  if (meta.ok()) addresses_.set_events(meta->events);
}

unsigned Recording::drain() {
  uint32_t most = 0;
  for (uint32_t ring = 0; ring < buffer_->nr_rings(); ring++) {
    most = std::max(most, drain_ring(ring, false, kPagesATurn));
  }
  uint32_t total = buffer_->header().nr_subbufs;
  return most == 0 ? 0 : std::max(1u, most * 100 / total);
}

uint32_t Recording::drain_ring(uint32_t ring, bool include_current, uint32_t limit) {
  uint32_t pages = 0;
  while (pages < limit && buffer_->next_page(ring, include_current, &page_)) {
    pages++;
    counts_[ring].events += page_.entries;
    counts_[ring].overwritten += page_.lost_before;
    addresses_.add_page(page_);
    Status status = writer_->append_page(ring, page_);
    if (!status.ok() && disk_.ok()) disk_ = status;
  }
  counts_[ring].dropped = buffer_->stats(ring).dropped;
  return pages;
}

Result<TraceDatResult> Recording::finish() {
  refresh_events();
  // Forked processes may go on recording: what a full ring holds is enough.
  for (uint32_t ring = 0; ring < buffer_->nr_rings(); ring++) {
    drain_ring(ring, false, buffer_->header().nr_subbufs);
    drain_ring(ring, true, buffer_->header().nr_subbufs);
  }
  Result<TraceDatMetadata> metadata = collect_metadata(*buffer_, addresses_);
  if (!metadata.ok()) return metadata.error();
  return writer_->finish(*metadata);
}

uint64_t Recording::events() const {
  uint64_t sum = 0;
  for (const RingCounts& counts : counts_) sum += counts.events;
  return sum;
}

uint64_t Recording::published() const {
  uint64_t sum = 0;
  for (uint32_t ring = 0; ring < buffer_->nr_rings(); ring++) sum += buffer_->stats(ring).entries;
  return sum;
}

uint64_t Recording::lost() const {
  uint64_t sum = 0;
  for (const RingCounts& counts : counts_) sum += counts.overwritten + counts.dropped;
  return sum;
}

Result<std::unique_ptr<OutputLock>> OutputLock::take(const std::string& path) {
  std::unique_ptr<OutputLock> lock(new OutputLock());
  lock->path_ = path;
  lock->fd_.reset(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  lock->remove_ = lock->fd_.valid();
  // O_NONBLOCK: a FIFO of that name must not hang us.
  if (!lock->fd_.valid() && errno == EEXIST) {
    lock->fd_.reset(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
  }
  if (!lock->fd_.valid()) return sys_error("write " + path, errno);
  if (::flock(lock->fd_.get(), LOCK_EX | LOCK_NB) != 0) {
    lock->remove_ = false;
    return user_error(
        EBUSY, path + " is being written by another recording; choose another file with -o.");
  }
  return lock;
}

OutputLock::~OutputLock() {
  if (remove_) ::unlink(path_.c_str());
}

}  // namespace patchbay::cmd
