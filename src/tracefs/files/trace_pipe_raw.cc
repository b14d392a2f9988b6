// SPDX-License-Identifier: MIT
// per_cpu/cpuN/trace_pipe_raw: sub-buffers as they are, in the instance's clock, consumed.
//
//   read(n)  (kAny)       the next page, also the one being written as far as it is; a shorter read
//                         goes on in the same page
//   splice   (kWholePage) only complete pages; the one being written when recording is off, or when
//                         buffer_percent is 0 and there is no other
//
// While one is open, the instance keeps its tracer (EBUSY), as with trace_pipe.
//
// Nothing there: EAGAIN, and once the end, when recording was switched off or ioctl(0) came while
// somebody waited. (A carrier does not give that end to a splice: docs/files.md,
// "Splice in a mount".)
// snapshot_raw: the same of the snapshot buffer; it never waits.
#include <algorithm>

#include "output/raw_page.h"
#include "registry/snapshots.h"
#include "ring_buffer/ring_reader.h"
#include "tracefs/files/files.h"

namespace patchbay::tracefs {
namespace {

constexpr size_t kPageCacheUnit = 4096;        // what splice asks for, over FUSE
constexpr uint64_t kHugeSize = 1000000000000;  // splice stops at the size that stat shows

// The bytes of one page on their way to the reader.
class PageBytes {
 public:
  bool empty() const { return position_ >= bytes_.size(); }
  bool on_unit() const { return position_ % kPageCacheUnit == 0; }
  void set(std::vector<uint8_t> bytes) {
    bytes_ = std::move(bytes);
    position_ = 0;
  }
  std::string take(size_t size) {
    size = std::min(size, bytes_.size() - position_);
    std::string part(reinterpret_cast<const char*>(bytes_.data()) + position_, size);
    position_ += size;
    return part;
  }

 private:
  std::vector<uint8_t> bytes_;
  size_t position_ = 0;
};

Error nothing_now() { return sys_error("read trace_pipe_raw", EAGAIN); }

class RawFile : public ArrayFile {
 public:
  using ArrayFile::ArrayFile;
  ~RawFile() override {
    if (held()) drop_user(&held()->raw_readers);
  }

 protected:
  Status opened(TraceArray& array, uint32_t) override {
    array.raw_readers++;
    return {};
  }
};

class TracePipeRawFile : public RawFile {
 public:
  using RawFile::RawFile;
  uint32_t mode() const override { return kReadable; }
  uint64_t size() const override { return kHugeSize; }

  Result<std::string> read_next(size_t size, ReadMode mode) override {
    if (!held()) return user_error(EBADF, "The file is not open.");
    if (mode == ReadMode::kWholePage) return read_whole(size);
    if (size == 0) return std::string();
    if (!bytes_.empty() || next_page(true)) return bytes_.take(size);
    return nothing_there();
  }

  bool readable() override {
    if (!held()) return false;
    if (!bytes_.empty() || woken_ || (was_on_ && !held()->tracing_on())) return true;
    const RingBuffer& buffer = *held()->buffer;
    if (!buffer.has_data(ring())) return false;
    if (held()->buffer_percent == 0 || !held()->tracing_on()) return true;
    return buffer.unread_percent(ring()) >= held()->buffer_percent;
  }

  Status ioctl(uint32_t command) override {
    if (command != 0) return ArrayFile::ioctl(command);
    woken_ = waits_;
    return {};
  }

 private:
  uint32_t ring() const { return uint32_t(place_.cpu); }

  // A page that was read in part by read() cannot be continued here: it is left to read(), as in
  // the kernel.
  Result<std::string> read_whole(size_t size) {
    size -= size % kPageCacheUnit;
    if (size == 0) return user_error(EINVAL, "A splice takes whole pages.");
    if (!bytes_.empty() && bytes_.on_unit()) return bytes_.take(size);
    bool also_current = !held()->tracing_on() || held()->buffer_percent == 0;
    if (!bytes_.empty()) return nothing_now();
    if (next_page(false) || (also_current && next_page(true))) return bytes_.take(size);
    return nothing_there();
  }

  Result<std::string> nothing_there() {
    bool switched_off = was_on_ && !held()->tracing_on();
    was_on_ = held()->tracing_on();
    waits_ = !woken_ && !switched_off;
    woken_ = false;
    if (waits_) return nothing_now();
    return std::string();
  }

  bool next_page(bool also_current) {
    if (!reader_) reader_ = std::make_unique<RingReader>(held()->buffer.get(), true);
    if (!reader_->next_page(ring(), also_current, &page_)) return false;
    convert_raw_page(page_.bytes, place_.tree->clock(held()->clock));
    bytes_.set(page_.bytes);
    was_on_ = true;  // or was, when this was recorded
    waits_ = woken_ = false;
    return true;
  }

  std::unique_ptr<RingReader> reader_;
  PageImage page_;
  PageBytes bytes_;
  bool was_on_ = false;  // recording was seen on: that it is off now is the end of what is read
  bool waits_ = false;   // the last answer was EAGAIN
  bool woken_ = false;   // and then ioctl(0) came
};

// A reader is made for each page: the snapshot buffer may be replaced between two reads, and where
// the reader stands is kept with the buffer.
class SnapshotRawFile : public RawFile {
 public:
  using RawFile::RawFile;
  uint32_t mode() const override { return kReadable; }
  uint64_t size() const override { return kHugeSize; }

  Result<std::string> read_next(size_t size, ReadMode mode) override {
    if (!held()) return user_error(EBADF, "The file is not open.");
    if (mode == ReadMode::kWholePage) size -= size % kPageCacheUnit;
    if (size == 0) return std::string();
    if (bytes_.empty() && !next_page()) return sys_error("read snapshot_raw", EAGAIN);
    return bytes_.take(size);
  }
  bool readable() override { return true; }

 private:
  bool next_page() {
    registry().snapshots().take_cut(*held());
    RingBuffer* snapshot = held()->snapshot.get();
    PageImage page;
    if (!snapshot || !RingReader(snapshot, true).next_page(uint32_t(place_.cpu), true, &page)) {
      return false;
    }
    convert_raw_page(page.bytes, place_.tree->clock(held()->clock));
    bytes_.set(std::move(page.bytes));
    return true;
  }

  PageBytes bytes_;
};

}  // namespace

FilePtr make_trace_pipe_raw(const Place& place) {
  return std::make_unique<TracePipeRawFile>(place);
}

FilePtr make_snapshot_raw(const Place& place) { return std::make_unique<SnapshotRawFile>(place); }

}  // namespace patchbay::tracefs
