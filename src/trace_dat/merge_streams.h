// SPDX-License-Identifier: MIT
//
// The events of one CPU of several files, in order of time. Of events of one time those of the file
// that was named first come first; within a file the order is that of its ring.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "ring_buffer/buffer_file.h"

namespace patchbay {

// Files that are read a piece at a time, with a bounded number of them open. What is read again is
// checked to be the file that was opened first.
class MergedFiles {
 public:
  explicit MergedFiles(size_t most_open) : most_open_(most_open) {}
  uint32_t add(const std::string& path, uint64_t device, uint64_t inode);
  // False: not all of it could be read.
  bool read(uint32_t file, uint64_t offset, void* to, size_t size);

 private:
  struct File {
    std::string path;
    uint64_t device = 0, inode = 0;
    UniqueFd fd;
  };
  const size_t most_open_;
  std::vector<File> files_;
  std::vector<uint32_t> open_;  // a ring: the oldest one is closed first
  size_t oldest_ = 0;
};

// The pages of one CPU of one file.
struct MergedArea {
  uint32_t file = 0;   // in MergedFiles
  uint32_t owner = 0;  // whatever the caller knows it by
  uint64_t offset = 0, size = 0;
  uint32_t page_size = 4096;
};

struct MergedRecord {
  uint64_t time = 0;
  uint64_t lost_before = 0;  // of its file, just before it
  std::span<const uint8_t> record;
  uint32_t area = 0;
};

class MergedStreams {
 public:
  MergedStreams(MergedFiles* files, const std::vector<MergedArea>& areas);
  ~MergedStreams();
  // What it points to is valid until the next call. False at the end.
  bool next(MergedRecord* out);
  uint32_t damaged_pages() const { return damaged_pages_; }
  // Files of which something could not be read, by area.
  const std::vector<uint32_t>& unread() const { return unread_; }

 private:
  struct Stream;
  struct Key {
    uint64_t time;
    uint32_t stream;
    bool operator<(const Key& other) const {
      return time != other.time ? time < other.time : stream < other.stream;
    }
  };
  bool advance(Stream* stream);
  bool next_page(Stream* stream);
  void sift_down();
  bool is_first() const;

  MergedFiles* files_;
  std::vector<Stream> streams_;
  std::vector<Key> heap_;  // the earliest first; of a stream that was not begun: its first page's
  size_t nr_begun_ = 0;    // streams that have a chunk
  bool pending_ = false;   // the first one's event was handed out
  uint32_t damaged_pages_ = 0;
  std::vector<uint32_t> unread_;
};

}  // namespace patchbay
