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
#include "base/text.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

namespace patchbay {

using abi::BufferHeader;
using abi::ClockPair;
using abi::CommEntry;
using abi::PageMeta;
using abi::ReaderState;
using abi::RingControl;

namespace {

constexpr uint64_t kMaxSubbufsTotal = uint64_t{1} << 26;  // 256 GiB of 4 KiB sub-buffers
constexpr uint64_t kMaxMetaBytes = uint64_t{256} << 20;
constexpr int kCopyTries = 64;
constexpr int kStateTries = 16;
constexpr uint64_t kRunBytes = 128 * 1024;  // fits into a processor's own cache

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
  if (h.clock > abi::kClockMonotonic) return "its clock is unknown";
  const uint64_t parts[][2] = {
      {h.clock_offset, sizeof(abi::ClockTable)},
      {h.comm_offset, sizeof(abi::CommTable)},
      {h.printk_offset, sizeof(abi::PrintkTable)},
      {h.reader_offset, uint64_t(h.nr_rings) * sizeof(ReaderState)},
      {h.ring_offset, uint64_t(h.nr_rings) * abi::kRingControlStride},
      {h.page_meta_offset, 0},
      {h.data_offset, 0},
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
  // O_NONBLOCK: a FIFO of that name must not hang us; it is refused below. O_NOFOLLOW: the
  // directory may be of a user who wants us to read, or to consume, another one's.
  UniqueFd fd(
      ::open(path.c_str(), (consume ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
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

Result<std::unique_ptr<BufferFile>> BufferFile::over_memory(std::span<const uint8_t> bytes) {
  std::unique_ptr<BufferFile> file(new BufferFile());
  file->memory_ = bytes;
  PB_TRY(file->load_header("the buffer"));
  return file;
}

BufferFile::~BufferFile() {
  for (uint32_t ring = 0; consume_ && ring < rings_.size(); ring++) publish_progress(ring);
}

Status BufferFile::load_header(const std::string& name) {
  struct stat status = {};
  status.st_mode = S_IFREG;
  status.st_size = off_t(memory_.size());
  if (!memory_.data() && ::fstat(fd_.get(), &status) != 0) return sys_error("stat " + name, errno);
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
  const char* wrong = check_geometry(header_, file_size_);
  if (!wrong) wrong = load_rings();
  if (wrong) return user_error(EINVAL, name + ": damaged buffer file: " + wrong);
  return {};
}

// The parts of each ring. Null when they lie inside the file, else what is wrong.
const char* BufferFile::load_rings() {
  std::vector<RingControl> controls(header_.nr_rings);
  if (!read_at(header_.ring_offset, controls.data(), controls.size() * sizeof controls[0]))
    return "it cannot be read";
  rings_.resize(header_.nr_rings);
  uint64_t subbufs = 0;
  for (uint32_t i = 0; i < header_.nr_rings; i++) {
    const RingControl& rc = controls[i];
    uint64_t at = header_.ring_offset + i * abi::kRingControlStride;
    if (rc.nr_subbufs < abi::kMinSubbufs || rc.nr_subbufs > header_.nr_subbufs)
      return "a ring's number of sub-buffers is out of range";
    subbufs += rc.nr_subbufs;
    if (subbufs > kMaxSubbufsTotal) return "it claims more than 256 GiB of sub-buffers";
    Ring& ring = rings_[i];
    ring.nr_subbufs = rc.nr_subbufs;
    ring.page_meta_offset = at + rc.page_meta_delta;
    ring.data_offset = at + rc.data_delta;
    if (!inside(ring.page_meta_offset, rc.nr_subbufs * sizeof(PageMeta), file_size_) ||
        !inside(ring.data_offset, uint64_t{rc.nr_subbufs} * header_.subbuf_size, file_size_))
      return "the file is cut short: a part ends behind its end";
  }
  return nullptr;
}

bool BufferFile::read_at(uint64_t offset, void* to, size_t size) const {
  if (memory_.data()) {
    if (!inside(offset, size, memory_.size())) return false;
    std::memcpy(to, memory_.data() + offset, size);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return true;
  }
  return read_exactly(fd_.get(), offset, to, size);
}

bool BufferFile::read_current(uint32_t ring, Current* out) const {
  uint64_t publish = 0;
  *out = {};
  // Pairs with the release store of publish: what was written before it is seen by later preads.
  if (!read_at(header_.ring_offset + uint64_t(ring) * abi::kRingControlStride, &publish, 8))
    return false;
  uint64_t offset = uint32_t(publish);
  uint64_t nr_subbufs = rings_[ring].nr_subbufs;
  if (offset == 0 || offset > nr_subbufs * header_.subbuf_size) return false;
  uint64_t index = (offset - 1) / header_.subbuf_size;
  uint64_t within = offset - index * header_.subbuf_size;
  out->any = true;
  out->seq = (publish >> abi::kLapShift) * nr_subbufs + index;
  out->oldest = out->seq + 2 > nr_subbufs ? out->seq + 2 - nr_subbufs : 0;
  out->used = within > abi::kPageHeaderSize ? uint32_t(within - abi::kPageHeaderSize) : 0;
  return true;
}

ReaderState BufferFile::read_state(uint32_t ring) const {
  ReaderState state{}, again{};
  uint64_t at = header_.reader_offset + ring * sizeof state;
  for (int i = 0; i < kStateTries; i++) {
    if (!read_at(at, &state, sizeof state) || !read_at(at, &again, sizeof again)) return {};
    if (state.version % 2 == 0 && state.version == again.version) break;
  }
  return state;
}

// What was consumed or cleared meanwhile by somebody else is not ours to deliver, and is not lost.
// A position that cannot be is ignored. A run that is copied behind this is good as long as the
// version is the one that was read here.
void BufferFile::adopt_position(uint32_t ring, const Current& current) {
  Ring& r = rings_[ring];
  const ReaderState state = read_state(ring);
  r.run.version = state.version;
  RingPosition stored{state.seq, uint32_t(state.offset), state.time, state.entries, 0};
  bool possible = state.offset <= header_.subbuf_size && stored.seq <= current.seq &&
                  (stored.seq < current.seq || stored.offset <= current.used);
  if (possible && (!r.started || is_before(r.next, stored))) {
    stored.lost = r.next.lost;
    r.next = stored;
  }
  r.started = true;
}

BufferFile::Copy BufferFile::copy_subbuf(uint32_t ring, uint64_t seq, PageImage* out,
                                         PageMeta* meta) const {
  const Ring& r = rings_[ring];
  uint64_t slot = seq % r.nr_subbufs;
  out->bytes.resize(header_.subbuf_size);
  bool read =
      read_at(r.page_meta_offset + slot * sizeof *meta, meta, sizeof *meta) &&
      read_at(r.data_offset + slot * header_.subbuf_size, out->bytes.data(), header_.subbuf_size);
  Current after;
  if (!read || !read_current(ring, &after)) return Copy::kDamaged;
  if (seq < after.oldest) return Copy::kOverrun;
  return meta->seq == seq && seq <= after.seq ? Copy::kCopied : Copy::kDamaged;
}

// Copies the complete sub-buffers from `seq` on that stand behind each other in the file, and says
// which is the first good one. Nothing: there are fewer than two, or all are being reused.
std::optional<uint64_t> BufferFile::copy_run(uint32_t ring, uint64_t seq, const Current& current) {
  Ring& r = rings_[ring];
  r.run.metas.clear();
  if (memory_.data() || seq >= current.seq) return std::nullopt;
  const uint64_t slot = seq % r.nr_subbufs, size = header_.subbuf_size;
  const uint64_t count = std::min({kRunBytes / size, r.nr_subbufs - slot, current.seq - seq});
  if (count < 2) return std::nullopt;
  if (!r.run.bytes) r.run.bytes = std::make_unique_for_overwrite<uint8_t[]>(kRunBytes);
  std::vector<PageMeta> metas(count);
  Current after;
  if (!read_at(r.page_meta_offset + slot * sizeof metas[0], metas.data(),
               count * sizeof metas[0]) ||
      !read_at(r.data_offset + slot * size, r.run.bytes.get(), count * size) ||
      !read_current(ring, &after) || seq + count > after.seq || after.oldest >= seq + count)
    return std::nullopt;
  const uint64_t first = std::max(seq, after.oldest);
  uint64_t end = first;
  while (end < seq + count && metas[end - seq].seq == end) end++;
  metas.resize(end - seq);
  if (end == first) return std::nullopt;
  r.run.seq = seq;
  r.run.metas = std::move(metas);
  return first;
}

// The next page of what was copied, where nobody has consumed or cleared it since.
bool BufferFile::next_of_run(uint32_t ring, PageImage* out) {
  Ring& r = rings_[ring];
  while (r.run.has(r.next.seq)) {
    uint64_t version = 0, commit = 0;
    const uint64_t at = header_.reader_offset + ring * sizeof(ReaderState);
    if (!read_at(at + offsetof(ReaderState, version), &version, sizeof version)) break;
    if (version != r.run.version) break;
    const uint64_t seq = r.next.seq, index = seq - r.run.seq;
    const uint8_t* const page = r.run.bytes.get() + index * header_.subbuf_size;
    out->bytes.assign(page, page + header_.subbuf_size);
    std::memcpy(&commit, page + 8, sizeof commit);
    const uint64_t used = std::min<uint64_t>(commit & ((1u << 27) - 1), header_.subbuf_size);
    if (deliver(ring, seq, uint32_t(used), true, r.run.metas[index], out)) return true;
    r.next.seq = seq + 1;
    r.next.offset = 0;
  }
  r.run.metas.clear();
  return false;
}

bool BufferFile::next_page(uint32_t ring, bool include_current, PageImage* out) {
  if (ring >= header_.nr_rings) return false;
  if (next_of_run(ring, out)) return true;
  if (consume_) publish_progress(ring);
  Current current;
  if (!read_current(ring, &current)) return false;
  adopt_position(ring, current);
  RingPosition& next = rings_[ring].next;
  const std::optional<uint64_t> first =
      copy_run(ring, std::max(next.seq, current.oldest), current);
  if (first) {
    if (next.seq != *first) next = {*first, 0, 0, next.entries, next.lost};
    if (next_of_run(ring, out)) return true;
  }
  int tries = 0;
  for (uint32_t skipped = 0; skipped <= header_.nr_subbufs;) {
    uint64_t seq = std::max(next.seq, current.oldest);
    if (tries > 0 &&
        seq == current.oldest)  // the writer is faster than the copy: leave it some distance
      seq = std::min(current.seq, seq + uint64_t(tries));
    if (seq != next.seq) next.offset = 0;
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
    next.seq = seq;
    if (copy == Copy::kCopied && deliver(ring, seq, used, complete, meta, out)) return true;
    if (!complete) return false;  // nothing new in the current one
    next.seq = seq + 1;
    next.offset = 0;
    skipped++;
  }
  return false;
}

// Turns the raw copy into an image of the events not yet delivered, and moves on. False: there are
// none.
bool BufferFile::deliver(uint32_t ring, uint64_t seq, uint32_t used, bool complete,
                         const PageMeta& meta, PageImage* out) {
  RingPosition& next = rings_[ring].next;
  const uint64_t known = rings_[ring].known;
  uint8_t* page = out->bytes.data();
  EventIterator events(out->bytes, used);
  EventView event;
  uint64_t before = 0;                    // events delivered earlier …
  uint32_t start = abi::kPageHeaderSize;  // … and where they end
  uint64_t start_time = 0;
  std::memcpy(&start_time, page, 8);
  out->entries = 0;
  while (events.next(&event)) {
    bool had = events.position() <= abi::kPageHeaderSize + next.offset ||
               (out->entries == 0 && meta.entries_before + before < known);
    if (had) {
      before++;
      start = events.position();
      start_time = event.time;
    } else {
      out->entries++;
    }
  }
  uint32_t end = events.position();
  if (end > abi::kPageHeaderSize) next.offset = std::max(next.offset, end - abi::kPageHeaderSize);
  if (out->entries == 0) return false;
  out->seq = seq;
  out->first = meta.entries_before + before;
  out->offset = start - abi::kPageHeaderSize;
  uint64_t reached = std::max(next.entries, known);
  out->lost_before = out->first > reached ? out->first - reached : 0;
  out->used = end - start;
  std::memmove(page + abi::kPageHeaderSize, page + start, out->used);
  std::memset(page + abi::kPageHeaderSize + out->used, 0,
              header_.subbuf_size - abi::kPageHeaderSize - out->used);
  std::memcpy(page, &start_time, 8);
  store_commit(out->bytes, out->used, out->lost_before);
  next.entries = out->first + out->entries;
  next.lost += out->lost_before;
  next.time = events.time();
  if (complete) {
    next.seq = seq + 1;
    next.offset = 0;
  }
  Ring& r = rings_[ring];
  r.has_come_on = true;
  r.to_tell += out->lost_before;
  if (consume_ && !r.run.has(next.seq)) publish_progress(ring);
  return true;
}

// A failure costs the writer nothing but space in drop mode; the events then count as dropped.
void BufferFile::publish_progress(uint32_t ring) {
  if (!std::exchange(rings_[ring].has_come_on, false)) return;
  const uint64_t lost = std::exchange(rings_[ring].to_tell, 0);
  ReaderState state = read_state(ring);
  const RingPosition& next = rings_[ring].next;
  if (!is_before({state.seq, uint32_t(state.offset), 0, 0, 0}, next)) return;
  uint64_t at = header_.reader_offset + ring * sizeof state;
  auto write = [&](size_t from, size_t to) {
    const uint8_t* bytes = reinterpret_cast<const uint8_t*>(&state) + from;
    return ::pwrite(fd_.get(), bytes, to - from, off_t(at + from)) == ssize_t(to - from);
  };
  constexpr size_t kVersion = offsetof(ReaderState, version), kSeq = offsetof(ReaderState, seq);
  state.version |= 1;
  bool good = write(kVersion, kSeq);
  state.seq = next.seq;
  state.offset = next.offset;
  state.time = next.time;
  state.entries = next.entries;
  state.lost += lost;
  state.read_seq = next.seq;
  good = good && write(kSeq, offsetof(ReaderState, base_entries));
  good = good && write(0, kVersion);
  state.version++;
  if (good) write(kVersion, kSeq);
}

bool BufferFile::replaced() const {
  uint32_t state = 0;
  return read_at(offsetof(BufferHeader, state), &state, 4) && state == abi::kStateReplaced;
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
  ReaderState state = read_state(ring);
  uint64_t dropped = control.dropped + state.extra_dropped;
  stats.dropped = dropped - std::min(dropped, state.base_dropped);
  stats.dropped_ever = dropped;
  stats.current_seq = current.seq;
  stats.oldest_seq = current.oldest;
  return stats;
}

uint64_t BufferFile::recursion() const {
  uint64_t value = 0;
  read_at(offsetof(BufferHeader, recursion), &value, 8);
  return value;
}

uint64_t BufferFile::unhooked() const {
  uint64_t value = 0;
  read_at(offsetof(BufferHeader, unhooked), &value, 8);
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

std::vector<BufferFile::Text> BufferFile::printk_texts() const {
  std::vector<Text> texts;
  uint32_t used = 0;
  if (!read_at(header_.printk_offset, &used, sizeof used) || used == 0) return texts;
  auto table = std::make_unique<abi::PrintkTable>();
  if (!read_at(header_.printk_offset, table.get(), sizeof *table)) return texts;
  const uint32_t count = std::min(table->used, abi::kPrintkTexts);
  for (uint32_t i = 0; i < count; i++) {
    const abi::PrintkText& entry = table->entry[i];
    if (!entry.complete || !inside(entry.offset, entry.length, abi::kPrintkTextBytes)) continue;
    std::string text(table->text + entry.offset, entry.length);
    texts.push_back({entry.address, text.substr(0, text.find('\0'))});
  }
  return texts;
}

Result<std::vector<BufferFile::Meta>> BufferFile::meta() const {
  uint64_t used = 0;
  std::vector<Meta> records;
  struct stat status;
  if (memory_.data() || ::fstat(fd_.get(), &status) != 0)
    return sys_error("stat the buffer file", memory_.data() ? EBADF : errno);
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
