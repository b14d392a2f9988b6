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

Result<std::unique_ptr<Recording>> Recording::open(std::vector<RecordedBuffer> buffers,
                                                   const std::string& path, int version) {
  const BufferFile& top = *buffers.front().file;
  TraceDatOptions options;
  options.version = version;
  options.page_size = top.header().subbuf_size;
  options.nr_cpus = top.nr_rings();
  for (size_t i = 1; i < buffers.size(); i++) {
    options.instances.push_back({buffers[i].instance, buffers[i].file->header().subbuf_size});
    options.nr_cpus = std::max(options.nr_cpus, buffers[i].file->nr_rings());
    if (version == 6 && options.instances.back().page_size != options.page_size)
      return user_error(EINVAL, "A trace.dat of version 6 has one page size; instance " +
                                    buffers[i].instance + " has another.");
  }
  Result<std::unique_ptr<TraceDatWriter>> writer = TraceDatWriter::open(path, options);
  if (!writer.ok()) return writer.error();
  std::unique_ptr<Recording> recording(new Recording());
  recording->counts_.resize(options.nr_cpus);
  recording->by_buffer_.assign(buffers.size(), std::vector<RingCounts>(options.nr_cpus));
  recording->buffers_ = std::move(buffers);
  recording->writer_ = std::move(*writer);
  recording->refresh_events();
  return recording;
}

void Recording::refresh_events() {
  Result<RecordedMeta> meta = read_recorded_meta(buffer());
  if (meta.ok()) addresses_.set_events(meta->events);
}

unsigned Recording::drain() {
  unsigned filled = 0;
  for (uint32_t i = 0; i < buffers_.size(); i++) {
    if (!buffers_[i].wanted) continue;
    uint32_t most = 0;
    for (uint32_t ring = 0; ring < buffers_[i].file->nr_rings(); ring++)
      most = std::max(most, drain_ring(i, ring, false, kPagesATurn));
    uint32_t total = buffers_[i].file->header().nr_subbufs;
    if (most > 0) filled = std::max({filled, 1u, most * 100 / total});
  }
  add_up();
  return filled;
}

uint32_t Recording::drain_ring(uint32_t buffer, uint32_t ring, bool include_current,
                               uint32_t limit) {
  BufferFile& file = *buffers_[buffer].file;
  RingCounts& counts = by_buffer_[buffer][ring];
  uint32_t pages = 0;
  while (pages < limit && file.next_page(ring, include_current, &page_)) {
    pages++;
    counts.events += page_.entries;
    counts.overwritten += page_.lost_before;
    addresses_.add_page(page_);
    Status status = writer_->append_page(buffer, ring, page_);
    if (!status.ok() && disk_.ok()) disk_ = status;
  }
  counts.dropped = file.stats(ring).dropped;
  return pages;
}

void Recording::add_up() {
  for (size_t ring = 0; ring < counts_.size(); ring++) {
    counts_[ring] = {};
    for (const std::vector<RingCounts>& counts : by_buffer_) {
      counts_[ring].events += counts[ring].events;
      counts_[ring].overwritten += counts[ring].overwritten;
      counts_[ring].dropped += counts[ring].dropped;
    }
  }
}

Result<TraceDatResult> Recording::finish() {
  refresh_events();
  // Forked processes may go on recording: what a full ring holds is enough.
  for (uint32_t i = 0; i < buffers_.size(); i++) {
    if (!buffers_[i].wanted) continue;
    uint32_t all = buffers_[i].file->header().nr_subbufs;
    for (uint32_t ring = 0; ring < buffers_[i].file->nr_rings(); ring++) {
      drain_ring(i, ring, false, all);
      drain_ring(i, ring, true, all);
    }
  }
  add_up();
  Result<TraceDatMetadata> metadata = collect_metadata(buffer(), addresses_);
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
  for (const RecordedBuffer& buffer : buffers_) {
    if (!buffer.wanted) continue;
    for (uint32_t ring = 0; ring < buffer.file->nr_rings(); ring++)
      sum += buffer.file->stats(ring).entries;
  }
  return sum;
}

uint64_t Recording::missed() const {
  uint64_t sum = 0;
  for (const RecordedBuffer& buffer : buffers_) sum += buffer.wanted ? buffer.file->missed() : 0;
  return sum;
}

uint64_t Recording::recursion() const {
  uint64_t sum = 0;
  for (const RecordedBuffer& buffer : buffers_) sum += buffer.wanted ? buffer.file->recursion() : 0;
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
