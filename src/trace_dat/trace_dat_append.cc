// SPDX-License-Identifier: MIT
#include "trace_dat/trace_dat_append.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace patchbay {

namespace {

constexpr size_t kChunk = 1 << 20;

uint64_t round_up(uint64_t at, uint64_t unit) { return (at + unit - 1) / unit * unit; }

// How much of it was written; errno says what stopped it.
size_t write_some(int fd, uint64_t offset, const char* bytes, size_t size) {
  size_t done = 0;
  while (done < size) {
    const ssize_t count = ::pwrite(fd, bytes + done, size - done, off_t(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    done += size_t(count);
  }
  return done;
}

}  // namespace

Status TraceDatAppender::write(uint64_t offset, const std::string& bytes) {
  errno = ENOSPC;
  if (write_some(file_->fd(), offset, bytes.data(), bytes.size()) == bytes.size()) return {};
  return sys_error("write " + file_->path(), errno);
}

Status TraceDatAppender::reserve(uint64_t from, uint64_t size) {
  const std::string zeros(size_t(std::min<uint64_t>(size, kChunk)), '\0');
  for (uint64_t at = from; at < from + size; at += zeros.size())
    PB_TRY(write(at, zeros.substr(0, size_t(std::min<uint64_t>(zeros.size(), from + size - at)))));
  return {};
}

Result<std::unique_ptr<TraceDatAppender>> TraceDatAppender::open(OutputFile* file,
                                                                 const TraceDatOptions& options,
                                                                 const TraceDatMetadata& metadata,
                                                                 uint64_t more) {
  if (options.version != 6 && options.version != 7)
    return user_error(
        EINVAL, "trace.dat has versions 6 and 7, not " + std::to_string(options.version) + ".");
  std::unique_ptr<TraceDatAppender> made(new TraceDatAppender());
  made->file_ = file;
  made->options_ = options;
  if (!file->is_regular())
    return user_error(EINVAL, file->path() + ": a trace.dat must be a regular file.");
  if (::ftruncate(file->fd(), 0) != 0) return sys_error("empty " + file->path(), errno);
  for (size_t i = 0; i <= options.instances.size(); i++) {
    TraceDatArea& area = made->areas_.emplace_back();
    if (i > 0) area.name = options.instances[i - 1].name;
    area.page_size = i > 0 ? options.instances[i - 1].page_size : options.page_size;
    area.present.assign(options.nr_cpus, 0);
    area.offsets.assign(options.nr_cpus, 0);
  }
  const std::string head = trace_dat_head(options, metadata, &made->areas_);
  made->room_ = round_up(head.size() + more, made->areas_[0].page_size);
  PB_TRY(made->reserve(0, made->room_));
  made->end_ = made->room_;
  made->areas_[0].offsets[0] = made->end_;
  return made;
}

// The lead's length is nearly always the same.
uint64_t TraceDatAppender::lead_room(const TraceDatArea& area) const {
  return round_up(trace_dat_lead(options_, {}, area).size() + 64, area.page_size);
}

// Each CPU begins where the one before it ends.
void TraceDatAppender::go_to(uint32_t buffer, uint32_t cpu) {
  while (buffer_ < buffer || cpu_ < cpu) {
    flush();
    if (++cpu_ == options_.nr_cpus) {
      cpu_ = 0;
      TraceDatArea& area = areas_[++buffer_];
      area.section = end_;
      const uint64_t begin = round_up(end_ + lead_room(area), area.page_size);
      if (Status status = reserve(end_, begin - end_); !status.ok())
        result_.error = status.error().errno_value;
      end_ = begin;
    }
    areas_[buffer_].offsets[cpu_] = end_;
  }
}

void TraceDatAppender::append_page(uint32_t buffer, uint32_t cpu, const PageImage& page) {
  go_to(buffer, cpu);
  chunk_.append(reinterpret_cast<const char*>(page.bytes.data()), page.bytes.size());
  events_.push_back(uint32_t(page.entries));
  if (chunk_.size() >= kChunk) flush();
}

void TraceDatAppender::flush() {
  if (chunk_.empty()) return;
  TraceDatArea& area = areas_[buffer_];
  errno = ENOSPC;
  const size_t done = write_some(file_->fd(), end_, chunk_.data(), chunk_.size());
  const size_t pages = done / area.page_size;
  if (done < chunk_.size()) {
    result_.error = errno;
    result_.pages_lost += events_.size() - pages;
    for (size_t i = pages; i < events_.size(); i++) result_.events_lost += events_[i];
  }
  area.present[cpu_] += pages;
  result_.pages += pages;
  end_ += pages * area.page_size;
  chunk_.clear();
  events_.clear();
}

// The last ones, to make room on a full disk for what decodes the others.
Status TraceDatAppender::drop_pages(uint64_t bytes) {
  PageImage page;
  for (size_t i = 1; i < areas_.size(); i++) bytes += lead_room(areas_[i]);
  for (size_t i = areas_.size(); i-- > 0 && bytes > 0;) {
    TraceDatArea& area = areas_[i];
    for (size_t cpu = area.present.size(); cpu-- > 0 && bytes > 0;) {
      for (; area.present[cpu] > 0 && bytes > 0;
           bytes -= std::min<uint64_t>(bytes, area.page_size)) {
        end_ = area.offsets[cpu] + --area.present[cpu] * area.page_size;
        page.bytes.resize(area.page_size);
        if (read_exactly(file_->fd(), end_, page.bytes.data(), page.bytes.size())) {
          read_commit(&page);
          result_.events_lost += page.entries;
        }
        result_.pages--;
        result_.pages_lost++;
      }
    }
  }
  result_.error = ENOSPC;
  if (bytes > 0) return sys_error("write " + file_->path(), ENOSPC);
  // A buffer that has lost all its pages stands behind those that are left.
  for (size_t i = 1; i < areas_.size(); i++) {
    if (areas_[i].section < end_) continue;
    areas_[i].section = end_;
    end_ += lead_room(areas_[i]);
  }
  return ::ftruncate(file_->fd(), off_t(end_)) == 0 ? Status{}
                                                    : sys_error("write " + file_->path(), errno);
}

// Moves everything behind the head, the last piece first.
Status TraceDatAppender::make_room(uint64_t more) {
  uint64_t unit = 1;
  for (const TraceDatArea& area : areas_) unit = std::max<uint64_t>(unit, area.page_size);
  more = round_up(more, unit);
  if (!reserve(end_, more).ok()) PB_TRY(drop_pages(more));
  std::string piece;
  for (uint64_t at = end_; at > room_;) {
    const uint64_t size = std::min<uint64_t>(kChunk, at - room_);
    at -= size;
    piece.resize(size_t(size));
    if (!read_exactly(file_->fd(), at, piece.data(), piece.size()))
      return sys_error("read " + file_->path(), EIO);
    PB_TRY(write(at + more, piece));
  }
  for (TraceDatArea& area : areas_) {
    area.section += more;
    for (uint64_t& offset : area.offsets) offset += more;
  }
  room_ += more;
  end_ += more;
  return {};
}

Result<TraceDatResult> TraceDatAppender::finish(const TraceDatMetadata& metadata) {
  go_to(uint32_t(areas_.size() - 1), options_.nr_cpus - 1);
  flush();
  std::string head = trace_dat_head(options_, metadata, &areas_);
  if (head.size() > room_) {
    PB_TRY(make_room(head.size() - room_));
    head = trace_dat_head(options_, metadata, &areas_);
  }
  PB_TRY(write(0, head));
  for (size_t i = 1; i < areas_.size(); i++)
    PB_TRY(write(areas_[i].section, trace_dat_lead(options_, metadata, areas_[i])));
  // What a write that did not fit has left behind the last page.
  if (::ftruncate(file_->fd(), off_t(end_)) != 0) return sys_error("write " + file_->path(), errno);
  result_.bytes = end_;
  PB_TRY(file_->finish());
  return result_;
}

}  // namespace patchbay
