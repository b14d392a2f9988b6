// SPDX-License-Identifier: MIT
#include "trace_dat/merge_streams.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace patchbay {

namespace {

constexpr size_t kAllChunks = 64 << 20;  // of all streams together
constexpr size_t kLargestChunk = 256 << 10;

}  // namespace

uint32_t MergedFiles::add(const std::string& path, uint64_t device, uint64_t inode) {
  files_.push_back({path, device, inode, {}});
  return uint32_t(files_.size() - 1);
}

bool MergedFiles::read(uint32_t index, uint64_t offset, void* to, size_t size) {
  File& file = files_[index];
  if (!file.fd.valid()) {
    if (open_.size() < most_open_) {
      open_.push_back(index);
    } else {
      files_[std::exchange(open_[oldest_], index)].fd.reset();
      oldest_ = (oldest_ + 1) % open_.size();
    }
    file.fd.reset(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat status {};
    if (!file.fd.valid() || ::fstat(file.fd.get(), &status) != 0 || status.st_dev != file.device ||
        status.st_ino != file.inode)
      return false;
  }
  return read_exactly(file.fd.get(), offset, to, size);
}

struct MergedStreams::Stream {
  MergedArea area;
  uint32_t index = 0;
  std::vector<uint8_t> chunk;
  size_t chunk_at = 0;  // of the next page in it
  PageImage page;
  EventIterator events{{}, 0};
  EventView event{};
  uint64_t lost = 0;
  bool has_page = false, has_begun = false;
};

MergedStreams::MergedStreams(MergedFiles* files, const std::vector<MergedArea>& areas)
    : files_(files), streams_(areas.size()) {
  for (uint32_t i = 0; i < areas.size(); i++) {
    Stream& stream = streams_[i];
    stream.area = areas[i];
    stream.index = i;
    uint64_t time = 0;
    if (stream.area.size == 0) continue;
    if (!files_->read(stream.area.file, stream.area.offset, &time, sizeof time)) {
      unread_.push_back(i);
      continue;
    }
    heap_.push_back({time, i});
  }
  std::make_heap(heap_.begin(), heap_.end(), [](const Key& a, const Key& b) { return b < a; });
}

MergedStreams::~MergedStreams() = default;

bool MergedStreams::next_page(Stream* stream) {
  MergedArea& area = stream->area;
  if (stream->chunk_at >= stream->chunk.size()) {
    const size_t share = std::min(kLargestChunk, kAllChunks / std::max<size_t>(1, nr_begun_));
    const size_t pages = std::max<size_t>(1, share / area.page_size);
    const size_t size = size_t(std::min<uint64_t>(area.size, pages * area.page_size));
    stream->chunk.resize(size);
    stream->chunk_at = 0;
    if (size == 0) return false;
    if (!files_->read(area.file, area.offset, stream->chunk.data(), size)) {
      unread_.push_back(stream->index);
      area.size = 0;
      stream->chunk.clear();
      return false;
    }
    area.offset += size;
    area.size -= size;
  }
  const uint8_t* begin = stream->chunk.data() + stream->chunk_at;
  stream->page.bytes.assign(begin, begin + area.page_size);
  stream->chunk_at += area.page_size;
  read_commit(&stream->page);
  return true;
}

bool MergedStreams::advance(Stream* stream) {
  for (;;) {
    if (stream->has_page && stream->events.next(&stream->event)) return true;
    if (stream->has_page && stream->events.malformed()) damaged_pages_++;
    stream->has_page = next_page(stream);
    if (!stream->has_page) {
      stream->chunk = {};
      stream->page = {};
      nr_begun_--;
      return false;
    }
    const uint64_t lost = stream->page.lost_before;
    const bool is_unknown = lost == kLostUnknown || stream->lost == kLostUnknown;
    stream->lost = is_unknown ? kLostUnknown : stream->lost + lost;
    stream->events = EventIterator(stream->page.bytes, stream->page.used);
  }
}

void MergedStreams::sift_down() {
  const Key moved = heap_[0];
  size_t at = 0;
  for (;;) {
    size_t child = 2 * at + 1;
    if (child >= heap_.size()) break;
    if (child + 1 < heap_.size() && heap_[child + 1] < heap_[child]) child++;
    if (!(heap_[child] < moved)) break;
    heap_[at] = heap_[child];
    at = child;
  }
  heap_[at] = moved;
}

bool MergedStreams::is_first() const {
  return (heap_.size() < 2 || heap_[0] < heap_[1]) && (heap_.size() < 3 || heap_[0] < heap_[2]);
}

bool MergedStreams::next(MergedRecord* out) {
  for (;;) {
    if (heap_.empty()) return false;
    Stream& stream = streams_[heap_[0].stream];
    if (pending_ || !stream.has_begun) {
      pending_ = false;
      if (!std::exchange(stream.has_begun, true)) nr_begun_++;
      if (advance(&stream)) {
        // A ring's times do not go back. If a damaged file's do, its order stays.
        heap_[0].time = std::max(heap_[0].time, stream.event.time);
      } else {
        heap_[0] = heap_.back();
        heap_.pop_back();
        if (heap_.empty()) return false;
      }
      if (!is_first()) {
        sift_down();
        continue;  // it may be one that was not begun
      }
      if (&stream != &streams_[heap_[0].stream]) continue;
    }
    *out = {heap_[0].time, std::exchange(stream.lost, 0), stream.event.record, stream.index};
    return pending_ = true;
  }
}

}  // namespace patchbay
