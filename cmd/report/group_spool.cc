// SPDX-License-Identifier: MIT
#include "cmd/report/group_spool.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace patchbay::cmd {
namespace {

std::string directory() {
  const char* named = std::getenv("TMPDIR");
  return named && *named ? named : "/tmp";
}

Error no_room(const char* what, int error) {
  return user_error(error, std::string(what) + " the temporary file of --group in " + directory() +
                               ": " + std::strerror(error) +
                               "; TMPDIR can name another directory.");
}

// Not all file systems have files that never had a name.
UniqueFd temporary_file() {
  UniqueFd fd(::open(directory().c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (fd.valid()) return fd;
  std::string name = directory() + "/patchbay-report-XXXXXX";
  UniqueFd named(::mkostemp(name.data(), O_CLOEXEC));
  if (named.valid()) ::unlink(name.c_str());
  return named;
}

bool write_at(int fd, const void* from, size_t size, uint64_t at) {
  const char* bytes = static_cast<const char*>(from);
  while (size > 0) {
    const ssize_t count = ::pwrite(fd, bytes, size, off_t(at));
    if (count < 0 && errno == EINTR) continue;
    if (count == 0) errno = ENOSPC;
    if (count <= 0) return false;
    bytes += count;
    size -= size_t(count);
    at += uint64_t(count);
  }
  return true;
}

bool read_at(int fd, void* to, size_t size, uint64_t at) {
  char* bytes = static_cast<char*>(to);
  while (size > 0) {
    const ssize_t count = ::pread(fd, bytes, size, off_t(at));
    if (count < 0 && errno == EINTR) continue;
    if (count == 0) errno = EIO;
    if (count <= 0) return false;
    bytes += count;
    size -= size_t(count);
    at += uint64_t(count);
  }
  return true;
}

}  // namespace

Status GroupSpool::append(size_t group, std::string_view text) {
  if (group >= groups_.size()) groups_.resize(group + 1);
  groups_[group].text += text;
  kept_ += text.size();
  return kept_ < memory_ ? Status{} : flush();
}

Status GroupSpool::flush() {
  if (!file_.valid()) file_ = temporary_file();
  if (!file_.valid()) return no_room("make", errno);
  for (Group& group : groups_)
    if (!group.text.empty()) PB_TRY(write_extent(&group));
  kept_ = 0;
  return {};
}

Status GroupSpool::write_extent(Group* group) {
  const uint64_t at = file_size_;
  const Extent extent{kNone, group->text.size()};
  file_size_ += sizeof extent + extent.size;
  const bool is_written =
      write_at(file_.get(), &extent, sizeof extent, at) &&
      write_at(file_.get(), group->text.data(), extent.size, at + sizeof extent) &&
      (group->last == kNone || write_at(file_.get(), &at, sizeof at, group->last));
  if (!is_written) return no_room("write", errno);
  if (group->first == kNone) group->first = at;
  group->last = at;
  std::string().swap(group->text);  // its memory, too: a group may have been the only busy one
  return {};
}

Status GroupSpool::read(size_t group, const Out& out) {
  if (group >= groups_.size()) return {};
  constexpr size_t kPiece = 1 << 18;
  std::string piece;
  Extent extent;
  for (uint64_t at = groups_[group].first; at != kNone; at = extent.next) {
    if (!read_at(file_.get(), &extent, sizeof extent, at)) return no_room("read", errno);
    for (uint64_t done = 0; done < extent.size; done += piece.size()) {
      piece.resize(size_t(std::min<uint64_t>(kPiece, extent.size - done)));
      const size_t size = piece.size();
      if (!read_at(file_.get(), piece.data(), size, at + sizeof extent + done))
        return no_room("read", errno);
      if (!out(&piece)) return {};
      piece.resize(size);
    }
  }
  piece = groups_[group].text;
  if (!piece.empty()) (void)out(&piece);
  return {};
}

}  // namespace patchbay::cmd
