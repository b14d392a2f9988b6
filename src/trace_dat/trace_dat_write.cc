// SPDX-License-Identifier: MIT
#include "trace_dat/trace_dat_write.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "output/graph_times.h"
#include "trace_dat/trace_dat_layout.h"

namespace patchbay {

namespace {

constexpr size_t kCopyChunk = 1 << 20;
constexpr size_t kMostWaiting = 128 << 10;
constexpr size_t kGiveUp = 64 << 10;

// `written`, where given, says how much arrived, also after an error.
Status write_fully(int fd, uint64_t offset, const void* bytes, size_t size, const std::string& name,
                   size_t* written = nullptr) {
  const char* at = static_cast<const char*>(bytes);
  while (size > 0) {
    ssize_t count = ::pwrite(fd, at, size, off_t(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return sys_error("write " + name, count < 0 ? errno : ENOSPC);
    at += count;
    offset += uint64_t(count);
    size -= size_t(count);
    if (written) *written += size_t(count);
  }
  return {};
}

bool read_fully(int fd, uint64_t offset, char* to, size_t size) {
  while (size > 0) {
    ssize_t count = ::pread(fd, to, size, off_t(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    to += count;
    offset += uint64_t(count);
    size -= size_t(count);
  }
  return true;
}

Status check_version(const TraceDatOptions& options) {
  if (options.version == 6 || options.version == 7) return {};
  return user_error(EINVAL,
                    "trace.dat has versions 6 and 7, not " + std::to_string(options.version) + ".");
}

}  // namespace

Result<std::unique_ptr<TraceDatWriter>> TraceDatWriter::open(const std::string& path,
                                                             const TraceDatOptions& options) {
  PB_TRY(check_version(options));
  PB_ASSIGN(OutputFile file, OutputFile::open(path, O_RDWR | O_TRUNC, 0644));
  return open(std::move(file), options);
}

Result<std::unique_ptr<TraceDatWriter>> TraceDatWriter::open(OutputFile file,
                                                             const TraceDatOptions& options) {
  PB_TRY(check_version(options));
  if (!file.is_regular())
    return user_error(EINVAL,
                      file.path() +
                          ": a trace.dat must be a regular file, since what stands in front "
                          "is known at the end; name one that can be removed afterwards.");
  std::unique_ptr<TraceDatWriter> writer(new TraceDatWriter());
  writer->options_ = options;
  writer->file_ = std::move(file);
  for (size_t buffer = 0; buffer <= options.instances.size(); buffer++) {
    std::vector<Spool>& rings = writer->spools_.emplace_back(options.nr_cpus);
    for (Spool& spool : rings)
      spool.page_size = buffer == 0 ? options.page_size : options.instances[buffer - 1].page_size;
  }
  return writer;
}

TraceDatWriter::~TraceDatWriter() = default;

Status TraceDatWriter::make_spool(Spool* spool) {
  PB_ASSIGN(spool->fd, file_.make_spool());
  return {};
}

Status TraceDatWriter::append_page(uint32_t buffer, uint32_t cpu, const PageImage& page) {
  if (buffer >= spools_.size() || cpu >= spools_[buffer].size() ||
      page.bytes.size() != spools_[buffer][cpu].page_size)
    return sys_error("append a page to " + file_.path(), EINVAL);
  Spool& spool = spools_[buffer][cpu];
  spool.waiting.append(reinterpret_cast<const char*>(page.bytes.data()), page.bytes.size());
  spool.events.push_back(uint32_t(page.entries));
  spool.pages++;
  pages_++;
  bytes_ += spool.page_size;
  return spool.waiting.size() < kMostWaiting ? Status() : flush(&spool);
}

Status TraceDatWriter::flush(Spool* spool) {
  if (spool->waiting.empty()) return {};
  Status status;
  size_t written = 0;
  if (!spool->fd.valid()) status = make_spool(spool);
  const uint64_t before = spool->pages - spool->waiting.size() / spool->page_size;
  if (status.ok())
    status = write_fully(spool->fd.get(), before * spool->page_size, spool->waiting.data(),
                         spool->waiting.size(), "a temporary file beside " + file_.path(),
                         &written);
  spool->waiting.clear();
  if (status.ok()) return status;
  refused_error_ = status.error().errno_value;
  for (const uint64_t kept = before + written / spool->page_size; spool->pages > kept;) {
    spool->pages--;
    pages_--;
    bytes_ -= spool->page_size;
    refused_pages_++;
    refused_events_ += spool->events.back();
    spool->events.pop_back();
  }
  return status;
}

// The disk is full before the metadata could be written: gives up a little of the longest spool.
bool TraceDatWriter::drop_last_pages(TraceDatResult* result, int error) {
  Spool* longest = nullptr;
  for (std::vector<Spool>& rings : spools_) {
    for (Spool& spool : rings) {
      if (!longest || spool.pages > longest->pages) longest = &spool;
    }
  }
  if (!longest || longest->pages == 0) return false;
  uint64_t count =
      std::min<uint64_t>(longest->pages, std::max<uint64_t>(1, kGiveUp / longest->page_size));
  for (uint64_t i = 0; i < count; i++) {
    result->events_lost += longest->events.back();
    longest->events.pop_back();
  }
  longest->pages -= count;
  result->pages_lost += count;
  result->error = error;
  return ::ftruncate(longest->fd.get(), off_t(longest->pages * longest->page_size)) == 0;
}

// Durations are nanoseconds for every reader; the pages' own times stay ticks.
void TraceDatWriter::convert_chunk(char* chunk, size_t size, uint32_t page_size) const {
  if (!tsc_) return;
  for (size_t at = 0; at + page_size <= size; at += page_size)
    convert_graph_times_of_page({reinterpret_cast<uint8_t*>(chunk) + at, page_size},
                                [this](uint64_t ticks) { return clock_line_.to_ns(ticks); });
}

// Moves a spool to `offset` of the file; returns the pages that arrived. Each chunk's space is
// given back before it is written again.
uint64_t TraceDatWriter::copy_spool(Spool* spool, uint64_t offset, TraceDatResult* result) {
  uint64_t total = spool->pages * spool->page_size, done = 0;
  std::vector<char> chunk(std::max<size_t>(kCopyChunk, spool->page_size));
  while (done < total) {
    size_t size = size_t(std::min<uint64_t>(chunk.size(), total - done));
    bool read = read_fully(spool->fd.get(), done, chunk.data(), size);
    size_t written = 0;
    int error = read ? 0 : EIO;
    if (read) {
      convert_chunk(chunk.data(), size, spool->page_size);
      ::fallocate(spool->fd.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, off_t(done),
                  off_t(size));
      Status status =
          write_fully(file_.fd(), offset + done, chunk.data(), size, file_.path(), &written);
      if (!status.ok()) error = status.error().errno_value;
    }
    done += written;
    if (error) {
      result->error = error;
      break;
    }
  }
  uint64_t kept = done / spool->page_size;
  for (uint64_t page = kept; page < spool->pages; page++)
    result->events_lost += spool->events[page];
  result->pages_lost += spool->pages - kept;
  return kept;
}

// What the spools hold. The last ring, of threads without a CPU's, is left out where it is empty
// everywhere.
std::vector<TraceDatArea> TraceDatWriter::areas() const {
  auto last_is_empty = [](const std::vector<Spool>& rings) { return rings.back().pages == 0; };
  bool drop_last = !options_.merged && options_.nr_cpus > 1 &&
                   std::all_of(spools_.begin(), spools_.end(), last_is_empty);
  std::vector<TraceDatArea> areas(spools_.size());
  for (size_t i = 0; i < areas.size(); i++) {
    if (i > 0) areas[i].name = options_.instances[i - 1].name;
    areas[i].page_size = spools_[i].front().page_size;
    for (const Spool& spool : spools_[i]) areas[i].reserved.push_back(spool.pages);
    if (drop_last) areas[i].reserved.pop_back();
    areas[i].present = areas[i].reserved;
  }
  return areas;
}

Status TraceDatWriter::write_parts(const TraceDatMetadata& metadata,
                                   std::vector<TraceDatArea>* areas) {
  for (const TraceDatPart& part : trace_dat_layout(options_, metadata, areas))
    PB_TRY(
        write_fully(file_.fd(), part.offset, part.bytes.data(), part.bytes.size(), file_.path()));
  return {};
}

Result<TraceDatResult> TraceDatWriter::finish(const TraceDatMetadata& metadata) {
  for (std::vector<Spool>& rings : spools_)
    for (Spool& spool : rings) (void)flush(&spool);  // what fails is counted
  TraceDatResult result{0, 0, refused_pages_, refused_events_, refused_error_, false, ""};
  result.was_removed = file_.is_gone();
  if (result.was_removed) {
    PB_ASSIGN(const bool is_same, file_.renew());
    if (!is_same) result.moved_to = file_.path();
  }
  tsc_ = metadata.tsc && !options_.merged;
  clock_line_ = metadata.clock_line;
  std::vector<TraceDatArea> areas;
  for (;;) {
    areas = this->areas();
    Status status = write_parts(metadata, &areas);
    if (status.ok()) break;
    int error = status.error().errno_value;
    if ((error != ENOSPC && error != EDQUOT) || !drop_last_pages(&result, error))
      return status.error();
  }
  // From here on the file is valid but for pages that are not yet there.
  bool all_kept = true;
  for (size_t i = 0; i < areas.size(); i++) {
    for (size_t cpu = 0; cpu < areas[i].present.size(); cpu++) {
      uint64_t kept = copy_spool(&spools_[i][cpu], areas[i].offsets[cpu], &result);
      all_kept = all_kept && kept == areas[i].present[cpu];
      areas[i].present[cpu] = kept;
      result.pages += kept;
      spools_[i][cpu].fd.reset();
    }
  }
  if (!all_kept) PB_TRY(write_parts(metadata, &areas));
  struct stat file;
  if (::fstat(file_.fd(), &file) == 0) result.bytes = uint64_t(file.st_size);
  PB_TRY(file_.finish());
  return result;
}

}  // namespace patchbay
