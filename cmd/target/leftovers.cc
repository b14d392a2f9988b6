// SPDX-License-Identifier: MIT
#include "cmd/target/leftovers.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "abi/follow_abi.h"
#include "base/unique_fd.h"
#include "cmd/common/buffer_source.h"
#include "ring_buffer/buffer_file.h"
#include "serve/directory.h"
#include "serve/held_directory.h"

namespace patchbay::cmd {
namespace {

constexpr char kMark[] = "/recovered";
constexpr time_t kYoungSeconds = 60;  // one that is being made is not taken away

// The kernel gives a read lease only on a file that nobody has open, or mapped, for writing.
bool is_written(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd.valid()) return true;
  if (::fcntl(fd.get(), F_SETLEASE, F_RDLCK) != 0) return true;
  (void)::fcntl(fd.get(), F_SETLEASE, F_UNLCK);
  return false;
}

bool has_recorded(const std::string& path) {
  auto file = BufferFile::open(path, false);
  if (!file.ok()) return true;
  for (uint32_t ring = 0; ring < (*file)->nr_rings(); ring++) {
    const RingStats stats = (*file)->stats(ring);
    if (stats.entries + stats.dropped_ever > 0) return true;
  }
  return false;
}

Leftover::Kind kind_of(const std::string& directory) {
  const BufferSource source = source_of_directory(directory);
  bool recorded = false;
  for (const BufferPart& part : source.parts) {
    if (is_written(part.path)) return Leftover::Kind::kInUse;
    recorded |= has_recorded(part.path);
  }
  const bool is_saved = ::access((directory + kMark).c_str(), F_OK) == 0;
  if (recorded && !is_saved) return Leftover::Kind::kUnsaved;
  for (const char* kept : {"/hist", "/trace_stat"})
    if (::access((directory + kept).c_str(), F_OK) == 0) return Leftover::Kind::kTexts;
  return is_saved ? Leftover::Kind::kRecovered : Leftover::Kind::kEmpty;
}

bool is_young(const std::string& directory) {
  struct stat status;
  return ::lstat(directory.c_str(), &status) != 0 ||
         ::time(nullptr) - status.st_mtime < kYoungSeconds;
}

Result<std::vector<serve::ProcessEntry>> dead_processes(const std::string& runtime_directory) {
  PB_ASSIGN(std::vector<serve::ProcessEntry> entries, serve::list_processes(runtime_directory));
  std::erase_if(entries, [](const serve::ProcessEntry& entry) {
    return entry.state != serve::ProcessState::kDead;
  });
  return entries;
}

}  // namespace

Result<std::vector<Leftover>> find_leftovers(const std::string& runtime_directory) {
  PB_ASSIGN(std::vector<serve::ProcessEntry> entries, dead_processes(runtime_directory));
  std::vector<Leftover> found;
  for (const serve::ProcessEntry& entry : entries) {
    // Without a buffer it may belong to a process that begins, where we do not see it.
    if (entry.has_buffer || !is_young(entry.directory))
      found.push_back({entry.directory, kind_of(entry.directory)});
  }
  return found;
}

uint64_t bytes_of(const Leftover& leftover) {
  uint64_t bytes = 0;
  std::error_code none;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(leftover.directory, none)) {
    struct stat status;
    if (::lstat(entry.path().c_str(), &status) == 0) bytes += uint64_t(status.st_blocks) * 512;
  }
  return bytes;
}

Status remove_leftover(const Leftover& leftover) {
  serve::HeldDirectory::open(leftover.directory).remove();
  struct stat status;
  if (::lstat(leftover.directory.c_str(), &status) != 0) return {};
  return sys_error("remove " + leftover.directory, EBUSY);
}

void remove_empty_leftovers(const std::string& runtime_directory) {
  if (!serve::check_directory(runtime_directory, false).ok()) return;
  Result<std::vector<serve::ProcessEntry>> entries = dead_processes(runtime_directory);
  if (!entries.ok()) return;
  for (const serve::ProcessEntry& entry : *entries) {
    // Its age is known without a look into its buffers.
    if (is_young(entry.directory)) continue;
    const Leftover one{entry.directory, kind_of(entry.directory)};
    if (one.kind == Leftover::Kind::kEmpty) (void)remove_leftover(one);
  }
}

void note_recovered(const std::string& process_directory) {
  const BufferSource source = source_of_directory(process_directory);
  for (const BufferPart& part : source.parts)
    if (is_written(part.path) || !BufferFile::open(part.path, false).ok()) return;
  // We make nothing in a directory of another user, who could have put links there.
  UniqueFd directory(
      ::open(process_directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status;
  if (!directory.valid() || ::fstat(directory.get(), &status) != 0 || status.st_uid != ::geteuid())
    return;
  UniqueFd mark(::openat(directory.get(), kMark + 1,
                         O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
}

std::vector<std::string> remove_stale_trees(const std::string& runtime_directory, bool dry_run) {
  std::vector<std::string> stale;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(runtime_directory, error)) {
    const std::string path = entry.path().string();
    if (!entry.path().filename().string().starts_with(abi::kFollowPrefix) || is_young(path))
      continue;
    UniqueFd log(::open((path + "/" + abi::kFollowLog).c_str(),
                        O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (log.valid() && ::flock(log.get(), LOCK_SH | LOCK_NB) != 0) continue;
    if (!dry_run) serve::HeldDirectory::open(path).remove();
    stale.push_back(path);
  }
  return stale;
}

}  // namespace patchbay::cmd
