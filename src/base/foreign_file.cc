// SPDX-License-Identifier: MIT
#include "base/foreign_file.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/text.h"

namespace patchbay {
namespace {

constexpr int kRead = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

bool is_same(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// `place`: opened with O_PATH, which does nothing to a device and waits for no FIFO. Its link in
// /proc leads to it, whatever its name means by now. Where there is no /proc the name has to lead
// to the same file.
Result<UniqueFd> open_if_ordinary(const UniqueFd& place, const std::string& name, uint64_t most,
                                  uint64_t* size) {
  struct stat found = {}, opened = {};
  if (::fstat(place.get(), &found) != 0) return sys_error("look at " + name, errno);
  if (S_ISDIR(found.st_mode)) return sys_error("read " + name, EISDIR);
  if (S_ISLNK(found.st_mode)) return sys_error("open " + name, ELOOP);
  if (!S_ISREG(found.st_mode)) return user_error(EINVAL, name + " is no ordinary file.");
  UniqueFd file(::open(("/proc/thread-self/fd/" + std::to_string(place.get())).c_str(), kRead));
  const bool is_by_name = !file.valid();
  if (is_by_name) file.reset(::open(name.c_str(), kRead));
  if (!file.valid() || ::fstat(file.get(), &opened) != 0) return sys_error("open " + name, errno);
  if (is_by_name && !is_same(found, opened)) return sys_error("open " + name, ESTALE);
  if (uint64_t(opened.st_size) > most) return sys_error("read " + name, EFBIG);
  if (size) *size = uint64_t(opened.st_size);
  return file;
}

// Component by component: no link is followed, and there is no way up.
UniqueFd walk_without_links(UniqueFd at, const std::string& path) {
  for (std::string_view rest = path; !rest.empty();) {
    const std::string name(cut_at(&rest, '/'));
    if (name.empty() || name == ".") continue;
    if (name == "..") return errno = ELOOP, UniqueFd();
    at.reset(::openat(at.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!at.valid()) break;
  }
  return at;
}

}  // namespace

ProcessPath split_process_path(const std::string& path) {
  const size_t behind = path.starts_with("/proc/") ? path.find("//") : path.npos;
  if (behind == path.npos) return {"", path};
  return {path.substr(0, behind), path.substr(behind + 1)};
}

Result<UniqueFd> open_foreign_file(const std::string& path, uint64_t most, uint64_t* size,
                                   Links links) {
  const ProcessPath process = split_process_path(path);
  if (process.is_in_root()) return open_in_root(process.place, process.inside, most, size);
  if (!process.place.empty()) return open_foreign_file(process.place, most, size, Links::kFollow);
  const int follow = links == Links::kRefuse ? O_NOFOLLOW : 0;
  const UniqueFd place(::open(path.c_str(), O_PATH | O_CLOEXEC | follow));
  if (!place.valid()) return sys_error("open " + path, errno);
  return open_if_ordinary(place, path, most, size);
}

Result<UniqueFd> open_in_root(const std::string& root, const std::string& path, uint64_t most,
                              uint64_t* size) {
  UniqueFd top(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!top.valid()) return sys_error("open " + root, errno);
  open_how how = {};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  UniqueFd place(int(::syscall(SYS_openat2, top.get(), path.c_str(), &how, sizeof how)));
  if (!place.valid() && errno == ENOSYS) place = walk_without_links(std::move(top), path);
  if (!place.valid()) return sys_error("open " + path + " in " + root, errno);
  return open_if_ordinary(place, root + path, most, size);
}

// No more than it had: a file of /proc has no size, and reading some of them does something.
Result<std::string> read_foreign_file(const UniqueFd& file, const std::string& name,
                                      uint64_t size) {
  std::string text(size, '\0');
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t count = ::read(file.get(), text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return sys_error("read " + name, errno);
    if (count == 0) break;
    done += size_t(count);
  }
  text.resize(done);
  return text;
}

Result<std::string> read_foreign_file(const std::string& path, uint64_t most, Links links) {
  uint64_t size = 0;
  PB_ASSIGN(const UniqueFd file, open_foreign_file(path, most, &size, links));
  return read_foreign_file(file, path, size);
}

Result<std::string> read_in_root(const std::string& root, const std::string& path, uint64_t most) {
  uint64_t size = 0;
  PB_ASSIGN(const UniqueFd file, open_in_root(root, path, most, &size));
  return read_foreign_file(file, root + path, size);
}

bool is_first_page_at(const UniqueFd& file, const std::string& process, uint64_t address) {
  constexpr size_t kPage = 4096;
  uint8_t ours[kPage] = {}, theirs[kPage] = {};
  const UniqueFd memory(::open((process + "/mem").c_str(), O_RDONLY | O_CLOEXEC));
  return memory.valid() && ::pread(file.get(), ours, kPage, 0) > 0 &&
         ::pread(memory.get(), theirs, kPage, off_t(address)) == ssize_t(kPage) &&
         std::memcmp(ours, theirs, kPage) == 0;
}

}  // namespace patchbay
