// SPDX-License-Identifier: MIT
// Making a buffer file: layout, mapping, memory; switching; the clock table and the meta log. None
// of this is hot.
#include "ring_buffer/ring_buffer.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <unordered_map>

#include "base/agreed.h"
#include "base/check.h"
#include "base/memory_room.h"
#include "base/raw_syscall.h"
#include "base/shared_memory.h"
#include "base/text.h"
#include "ring_buffer/ring_state.h"
#include "ring_buffer/ring_write_hot.h"

namespace patchbay {

using abi::BufferHeader;
using abi::ClockTable;
using abi::RingControl;

namespace {

constexpr uint64_t kFilePage = 4096;
constexpr int kNoReplace = 0x100000;         // MAP_FIXED_NOREPLACE; before Linux 4.17 a hint
constexpr uint64_t kWorthALook = 128 << 10;  // at what a control group leaves
constexpr uint64_t kLockPatienceNs = 300'000'000, kStuckPatienceNs = 1'000'000;
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

// Offsets of all parts; returns where the meta log begins (= the file's size without it). With a
// side: behind the data comes as much room again as PageMeta and data have, which is a hole in the
// file until hits can ask for snapshots (ring_cut.h). No reader of the file knows of it.
uint64_t lay_out(BufferHeader* h, const std::vector<uint32_t>& nr_subbufs, bool with_side) {
  uint64_t at = kFilePage;
  auto part = [&at](uint64_t size) {
    uint64_t offset = at;
    at += page_align(size);
    return offset;
  };
  uint64_t rings = h->nr_rings, subbufs = 0;
  PB_CHECK_VALUES(nr_subbufs.size() == rings, nr_subbufs.size(), rings);
  for (uint32_t count : nr_subbufs) subbufs += count;
  h->nr_subbufs = *std::max_element(nr_subbufs.begin(), nr_subbufs.end());
  h->clock_offset = part(sizeof(ClockTable));
  h->comm_offset = part(sizeof(abi::CommTable));
  h->printk_offset = part(sizeof(abi::PrintkTable));
  h->reader_offset = part(rings * sizeof(abi::ReaderState));
  h->ring_offset = part(rings * abi::kRingControlStride);
  h->page_meta_offset = part(subbufs * sizeof(abi::PageMeta));
  h->data_offset = part(subbufs * h->subbuf_size);
  if (with_side) part(at - h->page_meta_offset);
  h->meta_offset = at;
  return at;
}

Status check_options(const RingBufferOptions& o) {
  if (!std::has_single_bit(o.subbuf_size) || o.subbuf_size < abi::kMinSubbufSize ||
      o.subbuf_size > abi::kMaxSubbufSize)
    return user_error(EINVAL, "sub-buffer size must be a power of two from 4096 to 524288");
  if (o.nr_cpus == 0 || o.nr_cpus + 1 > abi::kMaxRings)
    return user_error(EINVAL, "bad number of CPUs");
  if (o.bytes_per_cpu == 0 || subbufs_for(o.bytes_per_cpu, o.subbuf_size) * o.subbuf_size >> 32)
    return user_error(EINVAL, "the buffer size of one CPU must be between 1 KB and 4 GB");
  return {};
}

BufferHeader make_header(const RingBufferOptions& o) {
  BufferHeader h{};
  h.magic = abi::kBufferMagic;
  h.version = abi::kBufferVersion;
  h.header_size = sizeof h;
  h.subbuf_size = o.subbuf_size;
  h.nr_cpus = o.nr_cpus;
  h.nr_rings = o.nr_cpus + 1;
  h.clock = choose_clock();
  h.flags = o.overwrite ? uint32_t{abi::kBufferOverwrite} : 0;
  h.pid = getpid();
  h.start_realtime_ns = clock_ns(CLOCK_REALTIME);
  return h;
}

// A file of a file system that has nothing but memory.
bool is_memory(int fd) {
  struct statfs status;
  return ::fstatfs(fd, &status) == 0 &&
         (status.f_type == TMPFS_MAGIC || status.f_type == RAMFS_MAGIC);
}

// Empty rings, switched off.
void init_controls(uint8_t* base, const std::vector<uint32_t>& nr_subbufs) {
  auto* h = reinterpret_cast<BufferHeader*>(base);
  uint64_t page_meta = h->page_meta_offset, data = h->data_offset;
  for (uint32_t ring = 0; ring < h->nr_rings; ring++) {
    uint64_t at = h->ring_offset + ring * abi::kRingControlStride;
    auto* rc = reinterpret_cast<RingControl*>(base + at);
    // The offset in a ring is the low half of `publish`.
    PB_CHECK_VALUES(nr_subbufs[ring] >= abi::kMinSubbufs, nr_subbufs[ring], ring);
    PB_CHECK_VALUES(uint64_t{nr_subbufs[ring]} * h->subbuf_size <= UINT32_MAX, nr_subbufs[ring],
                    h->subbuf_size);
    rc->nr_subbufs = nr_subbufs[ring];
    rc->overwrite = h->flags & abi::kBufferOverwrite ? 1 : 0;
    rc->page_meta_delta = page_meta - at;
    rc->data_delta = data - at;
    rc->publish = abi::kPageHeaderSize;
    page_meta += uint64_t{nr_subbufs[ring]} * sizeof(abi::PageMeta);
    data += uint64_t{nr_subbufs[ring]} * h->subbuf_size;
  }
  PB_CHECK_VALUES(page_meta <= h->data_offset, page_meta, h->data_offset);
  PB_CHECK_VALUES(data <= h->meta_offset, data, h->meta_offset);
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

// Where membarrier has no RSEQ command: a thread that runs on every CPU once has preempted whatever
// ran there, and a thread that is preempted inside a restartable sequence begins it again.
void visit_every_cpu() {
  cpu_set_t before, one;
  if (sched_getaffinity(0, sizeof before, &before) != 0) return;
  long cpus = std::min<long>(sysconf(_SC_NPROCESSORS_CONF), CPU_SETSIZE);
  for (int cpu = 0; cpu < cpus; cpu++) {
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    // A CPU that this thread may not run on is refused: the process is confined in the same way.
    sched_setaffinity(0, sizeof one, &one);
  }
  sched_setaffinity(0, sizeof before, &before);
}

void restart_sequences() {
  if (!pb_rseq_offset) return;  // nobody is in any
  if (raw_syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ, 0, 0) == 0) return;
  if (raw_syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ, 0, 0) == 0 &&
      raw_syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ, 0, 0) == 0)
    return;
  visit_every_cpu();
}

// Takes the lock of the ring for threads without rseq once. A holder that was stopped or killed in
// there is not waited for without end, and the next time hardly: `stuck` is who it was.
bool pass_lock(RingControl* rc, uint32_t* stuck) {
  const uint32_t owner = uint32_t(raw_syscall(SYS_gettid)) | 0x80000000u;
  const uint64_t start = raw_monotonic_ns();
  uint32_t holder = 0;
  while (!__atomic_compare_exchange_n(&rc->lock, &holder, owner, false, __ATOMIC_SEQ_CST,
                                      __ATOMIC_RELAXED)) {
    const uint64_t patience = holder == *stuck ? kStuckPatienceNs : kLockPatienceNs;
    if (holder == owner || raw_monotonic_ns() - start > patience) {
      *stuck = holder;
      return false;
    }
    holder = 0;
    raw_sched_yield();
  }
  __atomic_store_n(&rc->lock, 0, __ATOMIC_RELEASE);
  *stuck = 0;
  return true;
}

// Address ranges where buffers were, by size. The next buffer of the size is mapped there, so that
// a program that makes and removes instances without end does not use up its mappings.
struct FreeRanges {
  std::mutex lock;
  std::unordered_multimap<size_t, uint8_t*> by_size;
};
FreeRanges& free_ranges() {
  static auto* const ranges = new FreeRanges;  // never freed: threads may run to the very end
  return *ranges;
}

// Null: there is none.
uint8_t* take_free_range(size_t size) {
  FreeRanges& ranges = free_ranges();
  std::lock_guard guard(ranges.lock);
  auto found = ranges.by_size.find(size);
  if (found == ranges.by_size.end()) return nullptr;
  uint8_t* base = found->second;
  ranges.by_size.erase(found);
  return base;
}

// True: it was there, and is the caller's.
bool take_this_range(size_t size, uint8_t* base) {
  FreeRanges& ranges = free_ranges();
  std::lock_guard guard(ranges.lock);
  const auto [first, last] = ranges.by_size.equal_range(size);
  for (auto at = first; at != last; at++) {
    if (at->second != base) continue;
    ranges.by_size.erase(at);
    return true;
  }
  return false;
}

// Where nobody else maps anything: a child that was forked before a buffer was made can then map it
// at the same address. Whatever is in the way makes mmap choose.
uint8_t* take_far_range(size_t size) {
  constexpr uint64_t kFirst = 0x2a0000000000, kSpread = 0x040000000000;
  static uint64_t next = 0;
  if (!next) {
    uint64_t random = 0;
    (void)!::getrandom(&random, sizeof random, GRND_NONBLOCK);
    next = kFirst + random % kSpread / kFilePage * kFilePage;
  }
  auto* at = reinterpret_cast<uint8_t*>(next);
  next += page_align(size) + kFilePage;
  return at;
}

// Leaves zero pages, of no memory, where a buffer was: a late thread finds every ring off. None
// publishes any more, which is what quiesce() was for; a late one looks at the header at most.
void retire(uint8_t* base, size_t size) {
  void* made = ::mmap(base, size, PROT_READ | PROT_WRITE,
                      MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (made == MAP_FAILED) return;
  FreeRanges& ranges = free_ranges();
  std::lock_guard guard(ranges.lock);
  ranges.by_size.emplace(size, base);
}

// The same for one that was replaced: its head stayed, and what was behind it has been free since.
// Where nobody else is there now, the next buffer of its size fits again.
void retire_replaced(const RingSet& set, size_t size) {
  auto* const base = reinterpret_cast<uint8_t*>(set.header);
  const auto head = size_t(set.header->page_meta_offset);
  void* const rest = ::mmap(base + head, size - head, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | kNoReplace, -1, 0);
  if (rest != MAP_FAILED && rest != base + head) ::munmap(rest, size - head);
  retire(base, rest == base + head ? size : head);
}

uint32_t thread_id() { return uint32_t(raw_syscall(SYS_gettid)); }

}  // namespace

int reserve_bytes(int fd, off_t offset, off_t size) {
  int error;
  do error = ::posix_fallocate(fd, offset, size);
  while (error == EINTR);
  return error;
}

const RingSet* make_ring_set(uint8_t* base, abi::CommTable* comms) {
  auto* h = reinterpret_cast<BufferHeader*>(base);
  bool fresh = false;
  // A thread may be late with it: never freed.
  auto* set = agreed_shared<RingSet>("rings", hex_number(reinterpret_cast<uint64_t>(base)), &fresh);
  // Where rings of before have stood, which a process has moved elsewhere, it is made anew.
  if (!fresh && is_forked_child()) return set;
  set->header = h;
  set->home = set->controls = base + h->ring_offset;
  set->off = RingBuffer::dead_rings()->off;
  set->readers = reinterpret_cast<abi::ReaderState*>(base + h->reader_offset);
  set->comms = comms;
  set->subbuf_size = h->subbuf_size;
  set->subbuf_shift = uint32_t(std::countr_zero(h->subbuf_size));
  set->nr_cpus = h->nr_cpus;
  set->clock = h->clock;
  return set;
}

Status copy_bytes(int from, int to, uint64_t from_offset, uint64_t to_offset, uint64_t size) {
  char block[65536];
  while (size) {
    ssize_t got = ::pread(from, block, std::min<uint64_t>(size, sizeof block), off_t(from_offset));
    if (got <= 0) return sys_error("read the buffer file", got < 0 ? errno : EIO);
    ssize_t put = ::pwrite(to, block, size_t(got), off_t(to_offset));
    if (put != got) return sys_error("write the buffer file", put < 0 ? errno : ENOSPC);
    from_offset += uint64_t(got);
    to_offset += uint64_t(got);
    size -= uint64_t(got);
  }
  return {};
}

uint64_t subbufs_for(uint64_t bytes, uint32_t subbuf_size) {
  uint64_t data = subbuf_size - abi::kPageHeaderSize;
  return std::max<uint64_t>((bytes + data - 1) / data, 2) + 1;
}

uint32_t shared_subbufs(const BufferHeader& header, uint32_t count) {
  bool exception = pb_rseq_offset && header.clock == abi::kClockTsc;
  return exception ? std::max(count / 4, abi::kMinSubbufs) : count;
}

const RingSet* RingBuffer::dead_rings() {
  // All zero, never touched: no memory. Every ring of every CPU there can be is off.
  static uint8_t controls[abi::kMaxRings * abi::kRingControlStride];
  static BufferHeader header;
  static abi::ReaderState reader;
  static RingSet dead = {&header,
                         controls,
                         &reader,
                         nullptr,
                         abi::kMinSubbufSize,
                         uint32_t(std::countr_zero(abi::kMinSubbufSize)),
                         abi::kMaxRings - 1,
                         abi::kClockTsc,
                         controls,
                         controls};
  return &dead;
}

Result<std::unique_ptr<RingBuffer>> RingBuffer::create(const RingBufferOptions& options) {
  PB_TRY(check_options(options));
  if (is_forked_child()) return create_in_child(options);
  // Registering costs nothing while nobody is in a sequence.
  raw_syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ, 0, 0);
  std::unique_ptr<RingBuffer> buffer(new RingBuffer());
  buffer->path_ = options.path;
  buffer->wanted_bytes_ = options.bytes_per_cpu;
  BufferHeader header = make_header(options);
  uint32_t count = uint32_t(subbufs_for(options.bytes_per_cpu, options.subbuf_size));
  std::vector<uint32_t> counts(header.nr_rings, count);
  counts.back() = shared_subbufs(header, count);
  Status made = buffer->make_file(header, counts, true);
  if (made.ok() && !options.comms) made = buffer->map_tables();
  if (!made.ok()) {  // with a limit of its size, or a full disk
    if (buffer->fd_.valid()) buffer->remove_file();
    return made.error();
  }
  abi::CommTable* comms = options.comms
                              ? options.comms
                              : reinterpret_cast<abi::CommTable*>(buffer->table_mapping_.data());
  buffer->set_ = make_ring_set(buffer->mapping_.data(), comms);
  buffer->add_clock_pair();
  PB_TRY(buffer->note_file(options.path));
  buffer->release_file();
  return buffer;
}

std::string RingBuffer::called() const { return in_memory() ? "a buffer in memory" : path_; }

// Without a file the kernel gives pages when they are touched, by traced threads: the control group
// must have room for all of them before. So it is for files that are memory.
Status RingBuffer::reserve(int fd, uint64_t offset, uint64_t size, std::string_view what) {
  if (is_forked_child()) return {};
  if (size >= kWorthALook && (in_memory() || is_memory(fd)))
    PB_TRY(check_memory_room(memory_room_of(0), size, "A buffer of this size",
                             "Make it smaller: -b, buffer_size_kb."));
  if (in_memory()) return {};
  const int error = reserve_bytes(fd, off_t(offset), off_t(size));
  if (!error) return {};
  Error refused = sys_error("reserve memory for " + std::string(what) + path_, error);
  if (error != ENOSPC) return refused;
  return user_error(error, refused.message() +
                               "; make the buffer smaller (-b, buffer_size_kb), or set "
                               "PATCHBAY_DIR to a directory with more room");
}

// Makes and maps the file path_. Leaves it open.
Status RingBuffer::make_file(BufferHeader header, const std::vector<uint32_t>& nr_subbufs,
                             bool with_side) {
  const uint64_t size = lay_out(&header, nr_subbufs, with_side);
  if (!in_memory()) {
    // With SIGXFSZ a larger file would end the program.
    rlimit limit{};
    if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && size > limit.rlim_cur)
      return sys_error("size " + path_, EFBIG);
    fd_ = UniqueFd(::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!fd_.valid()) return sys_error("create " + path_, errno);
    if (::ftruncate(fd_.get(), off_t(size)) != 0) return sys_error("size " + path_, errno);
  }
  // What is written before any ring is enabled: header, clock, reader states, ring controls.
  PB_TRY(reserve(fd_.get(), 0, header.comm_offset));
  PB_TRY(reserve(fd_.get(), header.reader_offset, header.page_meta_offset - header.reader_offset));
  PB_TRY(map_whole(size));
  std::memcpy(mapping_.data(), &header, sizeof header);
  init_controls(mapping_.data(), nr_subbufs);
  return {};
}

Status RingBuffer::map_whole(uint64_t size) {
  uint8_t* const free_range = take_free_range(size);
  int flags = MAP_SHARED | (free_range ? MAP_FIXED : 0);
  if (in_memory()) flags |= MAP_ANONYMOUS;
  uint8_t* const place = free_range ? free_range : take_far_range(size);
  void* base = ::mmap(place, size, PROT_READ | PROT_WRITE, flags, fd_.get(), 0);
  if (base == MAP_FAILED) return sys_error("map " + called(), errno);
  mapping_ = {static_cast<uint8_t*>(base), size};
  return {};
}

// The tables of comms and of printk's texts, at an address of their own: it stays when the file is
// replaced.
Status RingBuffer::map_tables() {
  auto* h = reinterpret_cast<BufferHeader*>(mapping_.data());
  const size_t comms = page_align(sizeof(abi::CommTable));
  const size_t size = comms + page_align(sizeof(abi::PrintkTable));
  PB_TRY(reserve(fd_.get(), h->comm_offset, has_printk_table_ ? size : comms));
  void* at = table_mapping_.data();
  void* table = map_tables_at(at, size);
  if (table == MAP_FAILED) return sys_error("map " + called(), errno);
  if (!at) table_mapping_ = Mapping(table, size);
  return {};
}

// A second mapping of what is in mapping_. Of memory without a file mremap() makes it: of shared
// pages, when their old size is said to be 0, the old mapping stays.
void* RingBuffer::map_tables_at(void* at, size_t size) {
  const uint64_t offset = reinterpret_cast<BufferHeader*>(mapping_.data())->comm_offset;
  if (!in_memory()) {
    const int flags = MAP_SHARED | (at ? MAP_FIXED : 0);
    return ::mmap(at, size, PROT_READ | PROT_WRITE, flags, fd_.get(), off_t(offset));
  }
  const int flags = MREMAP_MAYMOVE | (at ? MREMAP_FIXED : 0);
  return ::mremap(mapping_.data() + offset, 0, size, flags, at);
}

Status RingBuffer::reserve_printk_table() {
  if (has_printk_table_ || !table_mapping_.data()) return {};
  if (is_forked_child()) {
    has_printk_table_ = true;
    return {};
  }
  PB_ASSIGN(auto fd, file());
  Status status = reserve(fd, set_->header->printk_offset, page_align(sizeof(abi::PrintkTable)),
                          "the formats in ");
  release_file();
  has_printk_table_ = status.ok();
  return status;
}

abi::PrintkTable* RingBuffer::printk_table() {
  if (!has_printk_table_) return nullptr;
  return reinterpret_cast<abi::PrintkTable*>(table_mapping_.data() +
                                             page_align(sizeof(abi::CommTable)));
}

Result<int> RingBuffer::file() {
  if (fd_.valid() || in_memory()) return fd_.get();
  if (keeper_ == thread_id()) {
    if (kept_is_old_) keep(UniqueFd(::open(path_.c_str(), O_RDWR | O_CLOEXEC)));
    if (kept_ >= 0) return kept_;
  }
  fd_ = UniqueFd(::open(path_.c_str(), O_RDWR | O_CLOEXEC));
  if (!fd_.valid()) return sys_error("open " + path_, errno);
  return fd_.get();
}

void RingBuffer::release_file() { fd_.reset(); }

// Only the keeper can do it: the number means something in its table alone.
void RingBuffer::keep(UniqueFd fd) {
  if (kept_ >= 0) ::close(kept_);
  kept_ = fd.release();
  kept_is_old_ = false;
}

void RingBuffer::hold_file() {
  if (in_memory()) return;
  keeper_ = thread_id();
  keep(UniqueFd(::open(path_.c_str(), O_RDWR | O_CLOEXEC)));
}

void RingBuffer::remove_file() {
  if (!in_memory() && !is_forked_child()) ::unlink(path_.c_str());
}

// Threads may still be on their way to these rings, having read EventProgram.rings before it was
// changed. They find them off, in memory that stays.
RingBuffer::~RingBuffer() {
  if (keeper_ == thread_id() && kept_ >= 0) ::close(kept_);
  if (!set_ && mapping_.data()) ::munmap(mapping_.data(), mapping_.size());
  if (!set_ || set_ == dead_rings()) return;
  if (!is_forked_child()) {
    __atomic_store_n(&cut()->side_delta, 0, __ATOMIC_RELEASE);
    disable();
  }
  if (quiesce()) retire(mapping_.data(), mapping_.size());
  for (const Parked& parked : parked_) retire_replaced(*parked.set, parked.size);
}

// --- switching

Status RingBuffer::expand() {
  if (expanded_) return {};
  if (is_forked_child()) {
    expanded_ = true;
    return {};
  }
  const BufferHeader& h = *set_->header;
  PB_ASSIGN(auto fd, file());
  Status status =
      reserve(fd, h.page_meta_offset, side_offset() - h.page_meta_offset, "the rings in ");
  release_file();
  expanded_ = status.ok();
  return status;
}

Status RingBuffer::enable() {
  PB_TRY(expand());
  enabled_ = true;
  if (!is_forked_child()) apply_enabled();
  return {};
}

void RingBuffer::disable() {
  enabled_ = false;
  apply_enabled();
}

void RingBuffer::set_cpus(const std::vector<bool>& cpus) {
  cpus_ = cpus;
  cpus_.resize(set_->nr_cpus);
  apply_enabled();
}

void RingBuffer::apply_enabled() {
  PB_CHECK(!enabled_ || expanded_);  // no thread may write where no memory is reserved
  bool any = false;
  for (uint32_t ring = 0; ring <= set_->nr_cpus; ring++) {
    bool wanted = ring == set_->nr_cpus ? any : cpus_.empty() || cpus_[ring];
    any |= wanted;
    __atomic_store_n(&set_->control(ring)->space_mask,
                     enabled_ && wanted ? set_->subbuf_size - 1 : 0, __ATOMIC_RELEASE);
  }
}

bool RingBuffer::quiesce() {
  restart_sequences();
  return pass_lock(set_->control(set_->nr_cpus), &stuck_holder_);
}

void RingBuffer::settle() {
  quiesce();
  if (is_forked_child()) return;
  if (!parked_.empty()) {
    // Switched by a thread that still had the old set, after its state was taken over.
    Parked& last = parked_.back();
    const bool is_on = ring_is_on(last.set);
    if (is_on != last.was_on) switch_recording(is_on);
    last.was_on = is_on;
    inherit_cuts(*last.set);
  }
  fold_dropped();
}

void RingBuffer::switch_recording(bool on) { ring_switch(set_, on); }
bool RingBuffer::is_recording() const { return ring_is_on(set_); }

void RingBuffer::set_overwrite(bool on) {
  if (is_forked_child()) return;
  uint32_t flags = set_->header->flags & ~uint32_t{abi::kBufferOverwrite};
  if (on) flags |= abi::kBufferOverwrite;
  __atomic_store_n(&set_->header->flags, flags, __ATOMIC_RELEASE);
  for (uint32_t ring = 0; ring <= set_->nr_cpus; ring++)
    __atomic_store_n(&set_->control(ring)->overwrite, on ? 1 : 0, __ATOMIC_RELEASE);
}

uint64_t RingBuffer::bytes_of(uint32_t cpu) const {
  uint64_t subbufs = expanded_ ? set_->control(cpu)->nr_subbufs - 1 : 2;
  return subbufs * (set_->subbuf_size - abi::kPageHeaderSize);
}

std::vector<uint32_t> RingBuffer::subbuf_counts() const {
  std::vector<uint32_t> counts;
  for (uint32_t ring = 0; ring <= set_->nr_cpus; ring++)
    counts.push_back(set_->control(ring)->nr_subbufs);
  return counts;
}

int RingBuffer::publish(const uint8_t* record, uint32_t size) {
  return ring_publish(&set_, record, size);
}

// --- clock, comms, meta log

void RingBuffer::set_record_comms(bool on) {
  if (is_forked_child()) return;
  if (set_->comms) __atomic_store_n(&set_->comms->off, on ? 0 : 1, __ATOMIC_RELAXED);
}

void RingBuffer::add_comm(uint32_t tid, uint32_t tgid, std::string_view comm) {
  abi::CommTable* table = set_->comms;
  if (!table || tid == 0 || __atomic_load_n(&table->off, __ATOMIC_RELAXED)) return;
  abi::CommEntry made{0, tgid, {}};
  comm.copy(made.comm, sizeof made.comm - 1);
  uint32_t used = std::min(__atomic_load_n(&table->used, __ATOMIC_RELAXED), abi::kCommEntries);
  for (uint32_t i = used; i-- > 0;) {
    const abi::CommEntry& entry = table->entry[i];
    if (__atomic_load_n(&entry.tid, __ATOMIC_ACQUIRE) != tid) continue;
    if (std::memcmp(entry.comm, made.comm, sizeof made.comm) == 0) return;
    break;
  }
  uint32_t slot = __atomic_fetch_add(&table->used, 1, __ATOMIC_RELAXED);
  if (slot >= abi::kCommEntries) return;
  table->entry[slot].tgid = made.tgid;
  std::memcpy(table->entry[slot].comm, made.comm, sizeof made.comm);
  __atomic_store_n(&table->entry[slot].tid, tid, __ATOMIC_RELEASE);  // pairs with BufferFile::comms
}

// The pair is the narrowest of a few tries: TSC before and after the clock, the middle counts.
void RingBuffer::add_clock_pair() {
  if (is_forked_child()) return;
  auto* table = reinterpret_cast<ClockTable*>(mapping_.data() + set_->header->clock_offset);
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
  if (in_memory() || is_forked_child()) return {};
  std::string bytes(sizeof(abi::MetaRecord), '\0');
  abi::MetaRecord record{type, uint32_t(payload.size())};
  std::memcpy(bytes.data(), &record, sizeof record);
  bytes.append(payload);
  bytes.resize((bytes.size() + 7) & ~size_t{7}, '\0');
  PB_ASSIGN(auto fd, file());
  Status status = write_at(fd, bytes, set_->header->meta_offset + meta_used_);
  if (!is_held_open_) release_file();
  PB_TRY(status);
  meta_used_ += bytes.size();
  __atomic_store_n(&set_->header->meta_used, meta_used_,
                   __ATOMIC_RELEASE);  // pairs with BufferFile::meta
  return {};
}

// --- in a forked child

// What a child needs to find the file that was made or put in the place of another one.
Status RingBuffer::note_file(const std::string& path) {
  if (in_memory()) return {};
  struct stat status;
  if (::fstat(fd_.get(), &status) != 0) return sys_error("look at " + path_, errno);
  const uint64_t key = note_key("buffer", path);
  note(key, reinterpret_cast<uint64_t>(mapping_.data()));
  note(key, mapping_.size());
  note(key, status.st_ino);
  return {};
}

// Maps it where the parent has it, and leaves it open. ESTALE: it has been replaced again since.
Status RingBuffer::take_noted_file() {
  const uint64_t key = note_key("buffer", path_);
  const auto address = noted(key), size = noted(key), number = noted(key);
  if (!address || !size || !number) return sys_error("find " + path_, ESRCH);
  fd_ = UniqueFd(::open(path_.c_str(), O_RDWR | O_CLOEXEC));
  if (!fd_.valid()) return sys_error("open " + path_, errno);
  struct stat status;
  if (::fstat(fd_.get(), &status) != 0) return sys_error("look at " + path_, errno);
  if (status.st_ino != *number || uint64_t(status.st_size) < *size)
    return sys_error("find " + path_, ESTALE);
  auto* const place = reinterpret_cast<uint8_t*>(*address);
  const bool was_buffer = take_this_range(*size, place);
  void* base = ::mmap(place, *size, PROT_READ | PROT_WRITE,
                      MAP_SHARED | (was_buffer ? MAP_FIXED : kNoReplace), fd_.get(), 0);
  if (base == MAP_FAILED) return sys_error("map " + path_, errno);
  if (base != place) {
    ::munmap(base, *size);
    return sys_error("map " + path_, EEXIST);
  }
  mapping_ = {place, *size};
  return {};
}

Result<std::unique_ptr<RingBuffer>> RingBuffer::create_in_child(const RingBufferOptions& options) {
  std::unique_ptr<RingBuffer> buffer(new RingBuffer());
  buffer->path_ = options.path;
  buffer->wanted_bytes_ = options.bytes_per_cpu;
  Status status = buffer->take_noted_file();
  buffer->release_file();
  if (status.ok()) {
    buffer->set_ = make_ring_set(buffer->mapping_.data(), options.comms);
  } else if (status.error().errno_value == ESTALE || status.error().errno_value == ENOENT) {
    buffer->set_ = dead_rings();  // it is gone already, or another one comes
  } else {
    return status.error();
  }
  return buffer;
}

// resize() and set_subbuf_size(): the parent has closed the old rings, and what is dropped there is
// counted. Where the new file is not to be had, that is how it stays.
Status RingBuffer::follow_file() {
  if (abandoned_ || !has_note(note_key("buffer", path_))) return {};
  RingBuffer made;
  made.path_ = path_;
  Status status = made.take_noted_file();
  if (!status.ok()) {
    const int error = status.error().errno_value;
    if (error == ESTALE || error == ENOENT) return {};
    abandoned_ = true;
    return status;
  }
  Parked parked{set_, mapping_.size(), true, 0, std::vector<uint64_t>(set_->nr_cpus + 1)};
  for (uint32_t ring = 0; ring <= set_->nr_cpus; ring++)
    parked.folded[ring] = ring_now(*set_, ring).entries;
  const RingSet* const set = make_ring_set(made.mapping_.data(), set_->comms);
  const size_t head = set_->header->page_meta_offset;
  const std::span<uint8_t> old = std::exchange(mapping_, std::exchange(made.mapping_, {}));
  fd_ = std::move(made.fd_);
  if (table_mapping_.data()) status = map_tables();
  release_file();
  set_ = set;
  parked_.push_back(std::move(parked));
  expanded_ = true;
  if (quiesce()) ::munmap(old.data() + head, old.size() - head);
  return status;
}

// Closed rings stay where they are: what comes is a loss that is counted.
void RingBuffer::abandon() {
  if (!std::exchange(abandoned_, true)) set_ = dead_rings();
}

Status RingBuffer::leave_parent() {
  const std::span<uint8_t> old = mapping_;
  const auto& from = *reinterpret_cast<const BufferHeader*>(old.data());
  std::vector<uint32_t> counts;
  for (uint32_t ring = 0; ring < from.nr_rings; ring++)
    counts.push_back(reinterpret_cast<const RingControl*>(old.data() + from.ring_offset +
                                                          ring * abi::kRingControlStride)
                         ->nr_subbufs);
  RingBuffer made;
  PB_TRY(made.map_whole(old.size()));
  uint8_t* const to = made.mapping_.data();
  // The table of texts has no memory in the file before the first one: it must not be looked at.
  std::memcpy(to, old.data(), has_printk_table_ ? from.reader_offset : from.printk_offset);
  auto* const header = reinterpret_cast<BufferHeader*>(to);
  header->pid = ::getpid();
  header->state = abi::kStateLive;
  header->meta_used = header->recursion = header->unhooked = header->missed = 0;
  init_controls(to, counts);
  path_.clear();
  mapping_ = std::exchange(made.mapping_, {});
  const Status mapped = table_mapping_.data() ? map_tables() : Status();
  // Descriptors of the parent's thread, and rooms aside in the parent's file.
  kept_ = -1, keeper_ = 0, kept_is_old_ = false, wants_side_ = false;
  meta_used_ = 0, abandoned_ = false, expanded_ = true;
  auto* const own_comms = reinterpret_cast<abi::CommTable*>(table_mapping_.data());
  set_ = make_ring_set(to, own_comms ? own_comms : set_->comms);
  apply_enabled();
  if (!quiesce()) return mapped;
  retire(old.data(), old.size());
  for (const Parked& parked : parked_) retire_replaced(*parked.set, parked.size);
  moved_ += 1 + parked_.size();
  parked_.clear();
  return mapped;
}

void RingBuffer::close_cleanly() {
  fold_dropped();
  add_clock_pair();
  __atomic_store_n(&set_->header->state, abi::kStateClosed, __ATOMIC_RELEASE);
}

}  // namespace patchbay
