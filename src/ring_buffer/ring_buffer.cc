// SPDX-License-Identifier: MIT
// Making a buffer file: layout, mapping, memory; the clock table and the meta log. None of this is
// hot.
#include "ring_buffer/ring_buffer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include <bit>
#include <cerrno>
#include <cstring>

#include "base/check.h"
#include "base/raw_syscall.h"

namespace patchbay {

using abi::BufferHeader;
using abi::ClockTable;
using abi::RingControl;

namespace {

constexpr uint64_t kFilePage = 4096;
uint64_t page_align(uint64_t size) { return (size + kFilePage - 1) & ~(kFilePage - 1); }

uint64_t clock_ns(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return uint64_t(now.tv_sec) * 1000000000u + uint64_t(now.tv_nsec);
}

// The kernel trusts the TSC itself as its clock source: then it is invariant and synchronised.
uint32_t choose_clock() {
  auto source = read_file("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  if (source.ok()) return source->starts_with("tsc") ? abi::kClockTsc : abi::kClockMonotonic;
  auto cpuinfo = read_file("/proc/cpuinfo");
  bool invariant = cpuinfo.ok() && cpuinfo->find("nonstop_tsc") != std::string::npos;
  return invariant ? abi::kClockTsc : abi::kClockMonotonic;
}

// Offsets of all parts; returns where the meta log begins (= the file's size without it).
uint64_t lay_out(BufferHeader* h) {
  uint64_t at = kFilePage;
  auto part = [&at](uint64_t size) {
    uint64_t offset = at;
    at += page_align(size);
    return offset;
  };
  uint64_t rings = h->nr_rings;
  h->clock_offset = part(sizeof(ClockTable));
  h->comm_offset = part(sizeof(abi::CommTable));
  h->reader_offset = part(rings * sizeof(uint64_t));
  h->ring_offset = part(rings * abi::kRingControlStride);
  h->page_meta_offset = part(rings * h->nr_subbufs * sizeof(abi::PageMeta));
  h->data_offset = part(rings * h->nr_subbufs * uint64_t(h->subbuf_size));
  h->meta_offset = at;
  return at;
}

Status check_options(const RingBufferOptions& o) {
  if (!std::has_single_bit(o.subbuf_size) || o.subbuf_size < abi::kMinSubbufSize ||
      o.subbuf_size > abi::kMaxSubbufSize)
    return user_error(EINVAL, "sub-buffer size must be a power of two from 4096 to 524288");
  if (o.nr_cpus == 0 || o.nr_cpus + 1 > abi::kMaxRings)
    return user_error(EINVAL, "bad number of CPUs");
  if (o.bytes_per_cpu == 0 || o.bytes_per_cpu >= (uint64_t{1} << 32) - 2 * uint64_t(o.subbuf_size))
    return user_error(EINVAL, "the buffer size of one CPU must be between 1 KB and 4 GB");
  return {};
}

BufferHeader make_header(const RingBufferOptions& o) {
  BufferHeader h{};
  h.magic = abi::kBufferMagic;
  h.version = abi::kBufferVersion;
  h.header_size = sizeof h;
  h.subbuf_size = o.subbuf_size;
  uint64_t count =
      (o.bytes_per_cpu + o.subbuf_size - 1) / o.subbuf_size + 1;  // one is always being replaced
  h.nr_subbufs = uint32_t(count < abi::kMinSubbufs ? abi::kMinSubbufs : count);
  h.nr_cpus = o.nr_cpus;
  h.nr_rings = o.nr_cpus + 1;
  h.clock = choose_clock();
  h.flags = o.overwrite ? uint32_t{abi::kBufferOverwrite} : 0;
  h.pid = getpid();
  h.start_realtime_ns = clock_ns(CLOCK_REALTIME);
  return h;
}

RingSet make_ring_set(uint8_t* base) {
  RingSet set{};
  auto* h = reinterpret_cast<BufferHeader*>(base);
  set.header = h;
  set.controls = base + h->ring_offset;
  set.data = base + h->data_offset;
  set.page_meta = reinterpret_cast<abi::PageMeta*>(base + h->page_meta_offset);
  set.read_seq = reinterpret_cast<uint64_t*>(base + h->reader_offset);
  set.comms = reinterpret_cast<abi::CommTable*>(base + h->comm_offset);
  set.subbuf_size = h->subbuf_size;
  set.subbuf_shift = uint32_t(std::countr_zero(h->subbuf_size));
  set.nr_subbufs = h->nr_subbufs;
  set.ring_bytes = uint64_t(h->nr_subbufs) * h->subbuf_size;
  set.nr_cpus = h->nr_cpus;
  set.overwrite = h->flags & abi::kBufferOverwrite ? 1 : 0;
  set.clock = h->clock;
  return set;
}

Status write_at(int fd, std::string_view bytes, uint64_t offset) {
  while (!bytes.empty()) {
    ssize_t count = ::pwrite(fd, bytes.data(), bytes.size(), off_t(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return sys_error("write the buffer file", count < 0 ? errno : ENOSPC);
    bytes.remove_prefix(size_t(count));
    offset += uint64_t(count);
  }
  return {};
}

RingControl* control(const RingSet& set, uint32_t ring) {
  return reinterpret_cast<RingControl*>(set.controls + uint64_t(ring) * abi::kRingControlStride);
}

}  // namespace

Result<std::unique_ptr<RingBuffer>> RingBuffer::create(const RingBufferOptions& options) {
  PB_TRY(check_options(options));
  std::unique_ptr<RingBuffer> buffer(new RingBuffer());
  buffer->path_ = options.path;
  buffer->fd_ = UniqueFd(::open(options.path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!buffer->fd_.valid()) return sys_error("create " + options.path, errno);
  BufferHeader header = make_header(options);
  uint64_t size = lay_out(&header);
  if (::ftruncate(buffer->fd_.get(), off_t(size)) != 0)
    return sys_error("size " + options.path, errno);
  // What is written before any ring is enabled: header, clock, comms, reader page, ring controls.
  int error = ::posix_fallocate(buffer->fd_.get(), 0, off_t(header.page_meta_offset));
  if (error) return sys_error("reserve memory for " + options.path, error);
  void* base = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, buffer->fd_.get(), 0);
  if (base == MAP_FAILED) return sys_error("map " + options.path, errno);
  buffer->mapping_ = Mapping(base, size);
  std::memcpy(base, &header, sizeof header);
  buffer->set_ = make_ring_set(static_cast<uint8_t*>(base));
  for (uint32_t ring = 0; ring < header.nr_rings; ring++) {
    RingControl* rc = control(buffer->set_, ring);
    rc->data_delta = uint64_t(buffer->set_.data + ring * buffer->set_.ring_bytes -
                              reinterpret_cast<uint8_t*>(rc));
    rc->publish = abi::kPageHeaderSize;
  }
  buffer->add_clock_pair();
  buffer->release_file();
  return buffer;
}

Result<int> RingBuffer::file() {
  if (!fd_.valid()) fd_ = UniqueFd(::open(path_.c_str(), O_RDWR | O_CLOEXEC));
  if (!fd_.valid()) return sys_error("open " + path_, errno);
  return fd_.get();
}

void RingBuffer::release_file() {
  if (!held_) fd_.reset();
}

void RingBuffer::hold_file() { held_ = file().ok(); }

RingBuffer::~RingBuffer() = default;

Status RingBuffer::enable() {
  if (!allocated_) {
    const BufferHeader& h = *set_.header;
    auto fd = file();
    if (!fd.ok()) return fd.error();
    int error = ::posix_fallocate(*fd, off_t(h.page_meta_offset),
                                  off_t(h.meta_offset - h.page_meta_offset));
    release_file();
    if (error) return sys_error("reserve memory for the rings in " + path_, error);
    allocated_ = true;
  }
  for (uint32_t ring = 0; ring < set_.header->nr_rings; ring++)
    __atomic_store_n(&control(set_, ring)->space_mask, set_.subbuf_size - 1, __ATOMIC_RELEASE);
  enabled_ = true;
  return {};
}

void RingBuffer::disable() {
  for (uint32_t ring = 0; ring < set_.header->nr_rings; ring++)
    __atomic_store_n(&control(set_, ring)->space_mask, 0, __ATOMIC_RELEASE);
  enabled_ = false;
}

// The pair is the narrowest of a few tries: TSC before and after the clock, the middle counts.
void RingBuffer::add_clock_pair() {
  auto* table = reinterpret_cast<ClockTable*>(mapping_.data() + set_.header->clock_offset);
  abi::ClockPair best{};
  uint64_t best_width = ~uint64_t{0};
  for (int i = 0; i < 8; i++) {
    uint64_t before = __builtin_ia32_rdtsc();
    uint64_t mono = clock_ns(CLOCK_MONOTONIC);
    uint64_t after = __builtin_ia32_rdtsc();
    if (after - before >= best_width) continue;
    best_width = after - before;
    best = {before + (after - before) / 2, mono, clock_ns(CLOCK_REALTIME)};
  }
  uint64_t n = table->count;
  table->pair[n == 0 ? 0 : 1 + (n - 1) % (abi::kClockPairs - 1)] = best;
  __atomic_store_n(&table->count, n + 1, __ATOMIC_RELEASE);
}

Status RingBuffer::append_meta(uint32_t type, std::string_view payload) {
  std::string bytes(sizeof(abi::MetaRecord), '\0');
  abi::MetaRecord record{type, uint32_t(payload.size())};
  std::memcpy(bytes.data(), &record, sizeof record);
  bytes.append(payload);
  bytes.resize((bytes.size() + 7) & ~size_t{7}, '\0');
  auto fd = file();
  if (!fd.ok()) return fd.error();
  Status status = write_at(*fd, bytes, set_.header->meta_offset + meta_used_);
  release_file();
  PB_TRY(status);
  meta_used_ += bytes.size();
  __atomic_store_n(&set_.header->meta_used, meta_used_,
                   __ATOMIC_RELEASE);  // pairs with BufferFile::meta
  return {};
}

void RingBuffer::close_cleanly() {
  add_clock_pair();
  __atomic_store_n(&set_.header->state, abi::kStateClosed, __ATOMIC_RELEASE);
}

}  // namespace patchbay
