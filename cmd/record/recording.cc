// SPDX-License-Identifier: MIT
#include "cmd/record/recording.h"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace patchbay::cmd {
namespace {

constexpr uint32_t kPagesATurn = 512;
constexpr int kSizesATurn = 4;  // changes of a buffer's size that are followed in one turn

Status not_followed(const RecordedBuffer& buffer, const std::string& why) {
  return user_error(
      EIO, (buffer.instance.empty() ? "the buffer" : "the buffer of instance " + buffer.instance) +
               " got another size and could not be followed: " + why);
}

constexpr uint32_t kKernelPageSize = 8192;  // of the file: every record of the kernel's fits

// Version 6 has one page size for all.
uint32_t kernel_page_size(const TraceDatOptions& options) {
  return options.version == 6 ? options.page_size : kKernelPageSize;
}

// An instance of the program may have the name.
std::string kernel_buffer_name(const TraceDatOptions& options) {
  std::string name = kKernelBufferName;
  const auto has_it = [&](const TraceDatOptions::Instance& one) { return one.name == name; };
  while (std::any_of(options.instances.begin(), options.instances.end(), has_it)) name += '_';
  return name;
}

}  // namespace

Result<std::unique_ptr<Recording>> Recording::open(std::vector<RecordedBuffer> buffers,
                                                   const std::string& path, int version,
                                                   KernelPart kernel) {
  PB_ASSIGN(OutputFile file, OutputFile::open(path, O_RDWR | O_TRUNC, 0644));
  return open(std::move(buffers), std::move(file), version, std::move(kernel));
}

Result<std::unique_ptr<Recording>> Recording::open(std::vector<RecordedBuffer> buffers,
                                                   OutputFile file, int version,
                                                   KernelPart kernel) {
  const BufferFile& top = *buffers.front().file;
  TraceDatOptions options;
  options.version = version;
  options.page_size = top.header().subbuf_size;
  options.nr_cpus = top.nr_rings();
  std::vector<uint32_t> output(1);
  for (size_t i = 1; i < buffers.size(); i++) {
    const bool stands_in = buffers[i].instance.empty();
    if (stands_in) options.page_size = buffers[i].file->header().subbuf_size;
    // Version 6 has one page size for all.
    uint32_t size = version == 6 ? options.page_size : buffers[i].file->header().subbuf_size;
    if (!stands_in) options.instances.push_back({buffers[i].instance, size});
    output.push_back(uint32_t(options.instances.size()));
    options.nr_cpus = std::max(options.nr_cpus, buffers[i].file->nr_rings());
  }
  if (kernel.events) {
    options.instances.push_back({kernel_buffer_name(options), kernel_page_size(options)});
    options.nr_cpus = std::max(options.nr_cpus, kernel.events->nr_cpus());
  }
  PB_ASSIGN(std::unique_ptr<TraceDatWriter> writer, TraceDatWriter::open(std::move(file), options));
  std::unique_ptr<Recording> recording(new Recording());
  recording->counts_.resize(options.nr_cpus);
  recording->by_buffer_.assign(buffers.size(), std::vector<RingCounts>(options.nr_cpus));
  for (const RecordedBuffer& buffer : buffers) {
    const uint32_t index = output[recording->page_size_.size()];
    recording->page_size_.push_back(index == 0 ? options.page_size
                                               : options.instances[index - 1].page_size);
    std::vector<uint64_t>& early = recording->early_dropped_.emplace_back();
    for (uint32_t ring = 0; ring < buffer.file->nr_rings(); ring++) {
      RingStats stats = buffer.file->stats(ring);
      early.push_back(ring < buffer.dropped_before.size() ? buffer.dropped_before[ring]
                                                          : stats.dropped_ever - stats.dropped);
    }
  }
  recording->output_ = std::move(output);
  recording->buffers_ = std::move(buffers);
  recording->writer_ = std::move(writer);
  if (kernel.events)
    PB_TRY(recording->open_kernel(std::move(kernel), uint32_t(options.instances.size()),
                                  options.instances.back().page_size));
  recording->refresh_events();
  return recording;
}

Status Recording::open_kernel(KernelPart kernel, uint32_t buffer, uint32_t page_size) {
  kernel_ = std::move(kernel.events);
  const bool ticks = this->buffer().header().clock == abi::kClockTsc;
  return kernel_->set_up(ticks, kernel.buffer_kb, kernel.overwrite, page_size,
                         [this, buffer](uint32_t cpu, const PageImage& page) {
                           Status status = writer_->append_page(buffer, cpu, page);
                           if (!status.ok() && disk_.ok()) disk_ = status;
                         });
}

// The numbers of the agent's events grow, and those of the kernel's are the last ones there are.
Status Recording::finish_kernel(TraceDatMetadata* metadata) {
  if (!kernel_) return {};
  for (const TraceDatMetadata::Format& format : metadata->formats) {
    Result<EventCall> call = parse_format(format.system, format.text);
    if (call.ok() && call->id >= kernel_->lowest_id())
      return user_error(E2BIG, "The program has so many events that " + format.system + ":" +
                                   format.name + " and one of the kernel's have one number.");
  }
  kernel_->add_to(metadata);
  return {};
}

void Recording::refresh_events() {
  Result<RecordedMeta> meta = read_recorded_meta(buffer());
  if (meta.ok()) addresses_.set_events(meta->events);
}

unsigned Recording::drain() {
  unsigned filled = 0;
  for (uint32_t i = 0; i < buffers_.size(); i++) {
    follow(i);
    if (!buffers_[i].wanted) continue;
    uint32_t most = 0;
    for (uint32_t ring = 0; ring < buffers_[i].file->nr_rings(); ring++)
      most = std::max(most, drain_ring(i, ring, false, kPagesATurn));
    uint32_t total = buffers_[i].file->header().nr_subbufs;
    if (most > 0) filled = std::max({filled, 1u, most * 100 / total});
  }
  if (kernel_) filled = std::max(filled, kernel_->drain());
  add_up();
  return filled;
}

// A buffer that was replaced gets no more events. We take what it holds, and go on with the new one
// at the event that comes next.
void Recording::follow(uint32_t index) {
  RecordedBuffer& buffer = buffers_[index];
  for (int i = 0; i < kSizesATurn && followed_.ok() && buffer.file->replaced(); i++) {
    const abi::BufferHeader& old = buffer.file->header();
    if (buffer.wanted) drain_all(index);
    Result<std::unique_ptr<BufferFile>> next = BufferFile::open(buffer.path, buffer.consume);
    if (!next.ok()) {
      followed_ = not_followed(buffer, next.error().message());
      return;
    }
    const abi::BufferHeader& now = (*next)->header();
    if (now.start_realtime_ns != old.start_realtime_ns || now.pid != old.pid ||
        now.nr_rings != old.nr_rings) {
      followed_ = not_followed(buffer, buffer.path + " is another one.");
      return;
    }
    for (uint32_t ring = 0; ring < now.nr_rings; ring++)
      (*next)->skip_to(ring, buffer.file->position(ring).entries);
    buffer.file = std::move(*next);
  }
}

// This also takes the sub-buffers that are being written. Forked processes may go on; as much as a
// full ring holds is enough.
void Recording::drain_all(uint32_t buffer) {
  const BufferFile& file = *buffers_[buffer].file;
  for (uint32_t ring = 0; ring < file.nr_rings(); ring++) {
    drain_ring(buffer, ring, false, file.header().nr_subbufs);
    drain_ring(buffer, ring, true, file.header().nr_subbufs);
  }
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
    if (page_.bytes.size() == page_size_[buffer])
      keep(buffer, ring, page_);
    else
      keep_in_pieces(buffer, ring, page_);
  }
  counts.dropped = file.stats(ring).dropped_ever - early_dropped_[buffer][ring];
  return pages;
}

void Recording::keep(uint32_t buffer, uint32_t ring, const PageImage& page) {
  Status status = writer_->append_page(output_[buffer], ring, page);
  if (!status.ok() && disk_.ok()) disk_ = status;
}

// The buffer's sub-buffers have another size than the pages of the output. So their events go into
// as many pages as they need. A page's time is that of the event before its first one, as all
// deltas are. An event that fits into no page is lost.
void Recording::keep_in_pieces(uint32_t buffer, uint32_t ring, const PageImage& page) {
  const uint32_t room = page_size_[buffer] - abi::kPageHeaderSize;
  EventIterator events(page.bytes, page.used);
  uint32_t start = abi::kPageHeaderSize, end = start;
  uint64_t time = 0, end_time = 0, entries = 0, lost = page.lost_before;
  std::memcpy(&time, page.bytes.data(), sizeof time);
  end_time = time;
  auto cut = [&] {
    if (entries > 0) {
      piece_ = {};
      piece_.bytes.resize(page_size_[buffer]);
      piece_.used = end - start;
      piece_.entries = entries;
      piece_.lost_before = std::exchange(lost, 0);
      std::memcpy(piece_.bytes.data(), &time, sizeof time);
      std::memcpy(piece_.bytes.data() + abi::kPageHeaderSize, page.bytes.data() + start,
                  piece_.used);
      store_commit(piece_.bytes, piece_.used, piece_.lost_before);
      keep(buffer, ring, piece_);
    }
    start = end, time = end_time, entries = 0;
  };
  for (EventView event; events.next(&event); end = events.position(), end_time = event.time) {
    if (events.position() - start > room) cut();
    if (events.position() - start <= room) {
      entries++;
      continue;
    }
    end = events.position(), end_time = event.time;
    cut();
    lost++;
    by_buffer_[buffer][ring].events--;
    by_buffer_[buffer][ring].overwritten++;
  }
  cut();
}

void Recording::add_up() {
  for (size_t ring = 0; ring < counts_.size(); ring++) {
    counts_[ring] = {};
    for (const std::vector<RingCounts>& counts : by_buffer_) {
      counts_[ring].events += counts[ring].events;
      counts_[ring].overwritten += counts[ring].overwritten;
      counts_[ring].dropped += counts[ring].dropped;
    }
    if (!kernel_ || ring >= kernel_->counts().size()) continue;
    counts_[ring].events += kernel_->counts()[ring].events;
    counts_[ring].overwritten += kernel_->counts()[ring].lost;
  }
}

Result<TraceDatResult> Recording::finish() {
  follow(0);
  refresh_events();
  for (uint32_t i = 0; i < buffers_.size(); i++) {
    follow(i);
    if (buffers_[i].wanted) drain_all(i);
  }
  if (kernel_) kernel_left_ = kernel_->finish();
  add_up();
  PB_ASSIGN(TraceDatMetadata metadata, collect_metadata(buffer(), addresses_));
  PB_TRY(finish_kernel(&metadata));
  metadata.cpu_stats.clear();
  for (const RingCounts& counts : counts_)
    metadata.cpu_stats.push_back("entries: " + std::to_string(counts.events) +
                                 "\noverrun: " + std::to_string(counts.overwritten) +
                                 "\ndropped events: " + std::to_string(counts.dropped) + "\n");
  return writer_->finish(metadata);
}

std::vector<RecordedBuffer> Recording::take_buffers() {
  for (size_t i = 0; i < buffers_.size(); i++) {
    RecordedBuffer& buffer = buffers_[i];
    buffer.dropped_before.clear();
    for (uint32_t ring = 0; ring < buffer.file->nr_rings(); ring++)
      buffer.dropped_before.push_back(early_dropped_[i][ring] + by_buffer_[i][ring].dropped);
  }
  return std::move(buffers_);
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
  if (kernel_) sum += kernel_->nr_events();
  return sum;
}

uint64_t Recording::missed() const {
  uint64_t sum = 0;
  for (const RecordedBuffer& buffer : buffers_) sum += buffer.wanted ? buffer.file->missed() : 0;
  return sum;
}

uint64_t Recording::unhooked() const {
  uint64_t sum = 0;
  for (const RecordedBuffer& buffer : buffers_) sum += buffer.wanted ? buffer.file->unhooked() : 0;
  return sum;
}

uint64_t Recording::recursion() const {
  uint64_t sum = 0;
  for (const RecordedBuffer& buffer : buffers_) sum += buffer.wanted ? buffer.file->recursion() : 0;
  return sum;
}

uint64_t Recording::ring_bytes() const {
  uint64_t smallest = UINT64_MAX;
  for (const RecordedBuffer& buffer : buffers_) {
    const abi::BufferHeader& header = buffer.file->header();
    if (buffer.wanted)
      smallest = std::min(smallest, uint64_t{header.nr_subbufs} * header.subbuf_size);
  }
  return smallest == UINT64_MAX ? 0 : smallest;
}

uint64_t Recording::lost() const {
  uint64_t sum = 0;
  for (const RingCounts& counts : counts_) sum += counts.overwritten + counts.dropped;
  return sum;
}

Result<std::unique_ptr<OutputLock>> OutputLock::take(const std::string& path) {
  if (path == "-")
    return user_error(EINVAL,
                      "A trace.dat cannot be written to standard output (-o -): its head is "
                      "completed at the end. Choose a file; ./- is one of that name.");
  std::unique_ptr<OutputLock> lock(new OutputLock());
  // O_NONBLOCK: a FIFO of that name must not hang us.
  PB_ASSIGN(lock->file_, OutputFile::open(path, O_RDWR | O_NONBLOCK, 0644));
  lock->remove_ = lock->file_.is_made();
  // A file system may have no locks (Lustre, some NFS): then nobody is told of another recording.
  if (::flock(lock->file_.fd(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    lock->remove_ = false;
    return user_error(
        EBUSY, path + " is being written by another recording; choose another file with -o.");
  }
  return lock;
}

OutputLock::~OutputLock() {
  if (remove_) file_.remove();
}

}  // namespace patchbay::cmd
