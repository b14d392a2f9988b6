// SPDX-License-Identifier: MIT
//
// Reading a buffer file while its writers go on (abi/buffer_abi.h). The writer never waits for us
// (G4), so a sub-buffer is used like a seqlock: where does publish stand, copy, where does publish
// stand now?
//
//     sub-buffers       seq-5   seq-4   seq-3   seq-2   seq-1    seq     (nr_subbufs = 6)
//                       being                                  being
//                       reused  <------- complete ------->     written
//                       (seq+1)
//
// A copy of s is good if s > seq + 1 - nr_subbufs also holds for the publish value read after the
// copy. Which events are missing between two good copies is then plain arithmetic on PageMeta (G3).
#include "ring_buffer/buffer_file.h"
#include "base/hex_bytes.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

namespace patchbay {

using abi::BufferHeader;
using abi::ClockPair;
using abi::CommEntry;
using abi::PageMeta;

namespace {

constexpr uint64_t kMaxSubbufsTotal = uint64_t{1} << 26;  // 256 GiB of 4 KiB sub-buffers
constexpr uint64_t kMaxMetaBytes = uint64_t{256} << 20;
constexpr int kCopyTries = 64;

bool inside(uint64_t offset, uint64_t size, uint64_t end) {
  return offset <= end && size <= end - offset;
}

// Null when every part that the header names lies inside the file, else what is wrong.
const char* check_geometry(const BufferHeader& h, uint64_t file_size) {
  if (!std::has_single_bit(h.subbuf_size) || h.subbuf_size < abi::kMinSubbufSize ||
      h.subbuf_size > abi::kMaxSubbufSize)
    return "its sub-buffer size is not a power of two from 4096 to 524288";
  if (h.nr_cpus == 0 || h.nr_cpus >= abi::kMaxRings || h.nr_rings != h.nr_cpus + 1)
    return "its numbers of CPUs and rings do not agree";
  uint64_t ring_bytes = uint64_t(h.nr_subbufs) * h.subbuf_size;
  if (h.nr_subbufs < abi::kMinSubbufs || ring_bytes >= uint64_t{1} << 32)
    return "its number of sub-buffers is out of range";
  uint64_t subbufs = uint64_t(h.nr_rings) * h.nr_subbufs;
  if (subbufs > kMaxSubbufsTotal) return "it claims more than 256 GiB of sub-buffers";
  if (h.clock > abi::kClockMonotonic) return "its clock is unknown";
  const uint64_t parts[][2] = {
      {h.clock_offset, sizeof(abi::ClockTable)},
      {h.comm_offset, sizeof(abi::CommTable)},
      {h.reader_offset, uint64_t(h.nr_rings) * 8},
      {h.ring_offset, uint64_t(h.nr_rings) * abi::kRingControlStride},
      {h.page_meta_offset, subbufs * sizeof(PageMeta)},
      {h.data_offset, uint64_t(h.nr_rings) * ring_bytes},
      {h.meta_offset, 0},
  };
  for (const auto& part : parts) {
    if (part[0] % 8 != 0 || part[0] < sizeof(BufferHeader)) return "one of its parts is misplaced";
    if (!inside(part[0], part[1], file_size))
      return "the file is cut short: a part ends behind its end";
  }
  return nullptr;
}

}  // namespace

// What a publish value says.
struct BufferFile::Current {
  bool any = false;  // false: this ring has never recorded, or publish is nonsense
  uint64_t seq = 0;
  uint64_t oldest = 0;  // lowest sub-buffer number that is not being reused
  uint32_t used = 0;    // bytes of events in the sub-buffer seq
};

Result<std::unique_ptr<BufferFile>> BufferFile::open(const std::string& path, bool consume) {
  // O_NONBLOCK: a FIFO of that name must not hang us; it is refused below.
  UniqueFd fd(::open(path.c_str(), (consume ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return sys_error("open " + path, errno);
  std::unique_ptr<BufferFile> file(new BufferFile());
  file->fd_ = std::move(fd);
  file->consume_ = consume;
  PB_TRY(file->load_header(path));
  return file;
}

Result<std::unique_ptr<BufferFile>> BufferFile::from_fd(UniqueFd fd, bool consume) {
  std::unique_ptr<BufferFile> file(new BufferFile());
  file->fd_ = std::move(fd);
  file->consume_ = consume;
  PB_TRY(file->load_header("the agent's buffer"));
  return file;
}

BufferFile::~BufferFile() = default;

Status BufferFile::load_header(const std::string& name) {
  struct stat status;
  if (::fstat(fd_.get(), &status) != 0) return sys_error("stat " + name, errno);
  if (!S_ISREG(status.st_mode)) return user_error(EINVAL, name + ": not a regular file");
  file_size_ = uint64_t(status.st_size);
  uint8_t start[8] = {};
  read_at(0, start, std::min<uint64_t>(8, file_size_));
  if (std::memcmp(start, &abi::kBufferMagic, 8) != 0)
    return user_error(EINVAL,
                      name + ": not a buffer file (it starts with " + hex_bytes(start, 8) + ")");
  if (!read_at(0, &header_, sizeof header_))
    return user_error(EINVAL, name + ": damaged buffer file: shorter than its header");
  if (header_.version != abi::kBufferVersion || header_.header_size != sizeof header_)
    return user_error(EINVAL,
                      name + ": a buffer file of version " + std::to_string(header_.version) +
                          "; this program reads version " + std::to_string(abi::kBufferVersion));
  if (const char* wrong = check_geometry(header_, file_size_))
    return user_error(EINVAL, name + ": damaged buffer file: " + wrong);
  rings_.resize(header_.nr_rings);
  return {};
}

bool BufferFile::read_at(uint64_t offset, void* to, size_t size) const {
  return read_exactly(fd_.get(), offset, to, size);
}

bool BufferFile::read_current(uint32_t ring, Current* out) const {
  uint64_t publish = 0;
  *out = {};
  // Pairs with the release store of publish: what was written before it is seen by later preads.
  if (!read_at(header_.ring_offset + uint64_t(ring) * abi::kRingControlStride, &publish, 8))
    return false;
  uint64_t offset = uint32_t(publish);
  uint64_t ring_bytes = uint64_t(header_.nr_subbufs) * header_.subbuf_size;
  if (offset == 0 || offset > ring_bytes) return false;
  uint64_t index = (offset - 1) / header_.subbuf_size;
  uint64_t within = offset - index * header_.subbuf_size;
  out->any = true;
  out->seq = (publish >> abi::kLapShift) * header_.nr_subbufs + index;
  out->oldest = out->seq + 2 > header_.nr_subbufs ? out->seq + 2 - header_.nr_subbufs : 0;
  out->used = within > abi::kPageHeaderSize ? uint32_t(within - abi::kPageHeaderSize) : 0;
  return true;
}

uint64_t BufferFile::subbuf_offset(uint32_t ring, uint64_t seq) const {
  uint64_t slot = uint64_t(ring) * header_.nr_subbufs + seq % header_.nr_subbufs;
  return header_.data_offset + slot * header_.subbuf_size;
}

// Where reading begins: with everything that is there, or, consuming in drop mode, where the last
// consumer stopped.
void BufferFile::start_ring(uint32_t ring, const Current& current) {
  Ring& r = rings_[ring];
  if (r.started || r.next_seq > 0 || !consume_ || (header_.flags & abi::kBufferOverwrite)) return;
  uint64_t read_seq = 0;
  if (!read_at(header_.reader_offset + uint64_t(ring) * 8, &read_seq, 8)) return;
  if (read_seq == 0 || read_seq > current.seq) return;
  PageMeta meta{};
  uint64_t slot = uint64_t(ring) * header_.nr_subbufs + read_seq % header_.nr_subbufs;
  if (!read_at(header_.page_meta_offset + slot * sizeof meta, &meta, sizeof meta)) return;
  if (meta.seq != read_seq) return;
  r.next_seq = read_seq;
  r.entries = meta.entries_before;  // what the last consumer has had is not lost
}

BufferFile::Copy BufferFile::copy_subbuf(uint32_t ring, uint64_t seq, PageImage* out,
                                         PageMeta* meta) const {
  uint64_t slot = uint64_t(ring) * header_.nr_subbufs + seq % header_.nr_subbufs;
  out->bytes.resize(header_.subbuf_size);
  bool read = read_at(header_.page_meta_offset + slot * sizeof *meta, meta, sizeof *meta) &&
              read_at(subbuf_offset(ring, seq), out->bytes.data(), header_.subbuf_size);
  Current after;
  if (!read || !read_current(ring, &after)) return Copy::kDamaged;
  if (seq < after.oldest) return Copy::kOverrun;
  return meta->seq == seq && seq <= after.seq ? Copy::kCopied : Copy::kDamaged;
}

bool BufferFile::next_page(uint32_t ring, bool include_current, PageImage* out) {
  Current current;
  if (ring >= header_.nr_rings || !read_current(ring, &current)) return false;
  start_ring(ring, current);
  Ring& r = rings_[ring];
  int tries = 0;
  for (uint32_t skipped = 0; skipped <= header_.nr_subbufs;) {
    uint64_t seq = std::max(r.next_seq, current.oldest);
    if (tries > 0 &&
        seq == current.oldest)  // the writer is faster than the copy: leave it some distance
      seq = std::min(current.seq, seq + uint64_t(tries));
    if (seq != r.next_seq) r.next_offset = 0;
    if (seq > current.seq || (seq == current.seq && !include_current)) return false;
    PageMeta meta{};
    Copy copy = copy_subbuf(ring, seq, out, &meta);
    if (copy == Copy::kOverrun && ++tries < kCopyTries && read_current(ring, &current)) continue;
    if (copy == Copy::kOverrun) return false;
    bool complete = seq < current.seq;
    uint32_t used = current.used;
    if (complete) {
      uint64_t commit;
      std::memcpy(&commit, out->bytes.data() + 8, 8);
      used = uint32_t(std::min<uint64_t>(commit & ((1u << 27) - 1), header_.subbuf_size));
    }
    r.next_seq = seq;
    if (copy == Copy::kCopied && deliver(ring, seq, used, complete, meta, out)) return true;
    if (!complete) return false;  // nothing new in the current one
    r.next_seq = seq + 1;
    r.next_offset = 0;
    skipped++;
  }
  return false;
}

// Turns the raw copy into an image of the events not yet delivered, and moves on. False: there are
// none.
bool BufferFile::deliver(uint32_t ring, uint64_t seq, uint32_t used, bool complete,
                         const PageMeta& meta, PageImage* out) {
  Ring& r = rings_[ring];
  uint8_t* page = out->bytes.data();
  EventIterator events(out->bytes, used);
  EventView event;
  uint64_t before = 0;                    // events delivered earlier …
  uint32_t start = abi::kPageHeaderSize;  // … and where they end
  uint64_t start_time = 0;
  std::memcpy(&start_time, page, 8);
  out->entries = 0;
  while (events.next(&event)) {
    if (events.position() <= abi::kPageHeaderSize + r.next_offset) {
      before++;
      start = events.position();
      start_time = event.time;
    } else {
      out->entries++;
    }
  }
  uint32_t end = events.position();
  if (end > abi::kPageHeaderSize) r.next_offset = end - abi::kPageHeaderSize;
  uint64_t first = meta.entries_before + before;
  if (out->entries == 0) return false;
  out->seq = seq;
  out->lost_before = first > r.entries ? first - r.entries : 0;
  out->used = end - start;
  std::memmove(page + abi::kPageHeaderSize, page + start, out->used);
  std::memset(page + abi::kPageHeaderSize + out->used, 0,
              header_.subbuf_size - abi::kPageHeaderSize - out->used);
  std::memcpy(page, &start_time, 8);
  store_commit(out->bytes, out->used, out->lost_before);
  r.entries = first + out->entries;
  r.started = true;
  if (complete) {
    r.next_seq = seq + 1;
    r.next_offset = 0;
  }
  if (consume_) publish_progress(ring);
  return true;
}

void BufferFile::publish_progress(uint32_t ring) const {
  uint64_t value = rings_[ring].next_seq;
  // A failure costs the writer nothing but space in drop mode; the events then count as dropped.
  ssize_t ignored =
      ::pwrite(fd_.get(), &value, 8, off_t(header_.reader_offset + uint64_t(ring) * 8));
  (void)ignored;
}

RingStats BufferFile::stats(uint32_t ring) const {
  RingStats stats;
  abi::RingControl control{};
  Current current;
  if (ring >= header_.nr_rings || !read_current(ring, &current)) return stats;
  if (!read_at(header_.ring_offset + uint64_t(ring) * abi::kRingControlStride, &control,
               sizeof control))
    return stats;
  stats.entries = control.slot[(control.publish & abi::kParityBit) ? 1 : 0].entries;
  stats.dropped = control.dropped;
  stats.current_seq = current.seq;
  stats.oldest_seq = current.oldest;
  return stats;
}

uint64_t BufferFile::recursion() const {
  uint64_t value = 0;
  read_at(offsetof(BufferHeader, recursion), &value, 8);
  return value;
}

uint64_t BufferFile::missed() const {
  uint64_t value = 0;
  read_at(offsetof(BufferHeader, missed), &value, 8);
  return value;
}

std::vector<ClockPair> BufferFile::clock_pairs() const {
  abi::ClockTable table{};
  std::vector<ClockPair> pairs;
  if (!read_at(header_.clock_offset, &table, sizeof table) || table.count == 0) return pairs;
  pairs.push_back(table.pair[0]);
  constexpr uint64_t kRing = abi::kClockPairs - 1;
  uint64_t others = table.count - 1;
  uint64_t oldest = others > kRing ? others - kRing : 0;
  // The oldest of a full ring may be being replaced: leave it out.
  if (others > kRing) oldest++;
  for (uint64_t n = oldest; n < others; n++) pairs.push_back(table.pair[1 + n % kRing]);
  return pairs;
}

std::vector<CommEntry> BufferFile::comms() const {
  auto table = std::make_unique<abi::CommTable>();
  std::vector<CommEntry> comms;
  if (!read_at(header_.comm_offset, table.get(), sizeof *table)) return comms;
  uint32_t count = std::min(table->used, abi::kCommEntries);
  for (uint32_t i = 0; i < count; i++) {
    if (table->entry[i].tid == 0) continue;
    comms.push_back(table->entry[i]);
    comms.back().comm[sizeof comms.back().comm - 1] = '\0';
  }
  return comms;
}

Result<std::vector<BufferFile::Meta>> BufferFile::meta() const {
  uint64_t used = 0;
  std::vector<Meta> records;
  struct stat status;
  if (::fstat(fd_.get(), &status) != 0) return sys_error("stat the buffer file", errno);
  if (!read_at(offsetof(BufferHeader, meta_used), &used, 8))
    return sys_error("read the buffer file", EIO);
  uint64_t size = uint64_t(status.st_size);
  uint64_t there = size > header_.meta_offset ? size - header_.meta_offset : 0;
  used = std::min(used, there);  // a file cut short: read what is left
  if (used > kMaxMetaBytes)
    return user_error(EINVAL, "damaged buffer file: its meta log exceeds 256 MiB");
  std::string log(used, '\0');
  if (used && !read_at(header_.meta_offset, log.data(), used))
    return sys_error("read the meta log", EIO);
  for (uint64_t at = 0; used - at >= sizeof(abi::MetaRecord);) {
    abi::MetaRecord record;
    std::memcpy(&record, log.data() + at, sizeof record);
    at += sizeof record;
    if (record.length > used - at) break;
    records.push_back({record.type, log.substr(at, record.length)});
    at += std::min<uint64_t>((uint64_t(record.length) + 7) & ~uint64_t{7}, used - at);
  }
  return records;
}

}  // namespace patchbay
