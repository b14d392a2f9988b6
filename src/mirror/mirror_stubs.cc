// SPDX-License-Identifier: MIT
#include "mirror/mirror_stubs.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/agreed.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "mirror/mirror_elf.h"

namespace patchbay {

struct MirrorStubs::Mapped {
  std::string path;
  std::vector<uint8_t> bytes;
  dev_t device = 0;
  ino_t inode = 0;
  std::vector<MirrorText> texts;
  MirrorStub stub = {};
  uint8_t* at = nullptr;  // null: memory of our own by now
};

namespace {

constexpr size_t kLongestName = 200;
const uint32_t kNobody = 0;

void do_nothing(const void*, const uint64_t*, uint64_t) {}

Status write_all(int fd, const std::vector<uint8_t>& bytes) {
  for (size_t at = 0; at < bytes.size();) {
    const ssize_t count = ::write(fd, bytes.data() + at, bytes.size() - at);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return sys_error("write the mirror's file", count ? errno : ENOSPC);
    at += size_t(count);
  }
  return {};
}

bool has_bytes(int fd, const std::vector<uint8_t>& bytes) {
  std::vector<uint8_t> found(bytes.size() + 1);
  const ssize_t count = ::pread(fd, found.data(), found.size(), 0);
  return count == ssize_t(bytes.size()) && std::equal(bytes.begin(), bytes.end(), found.begin());
}

// It stands at its name when it is whole. What has the name and is another one goes.
Status make_file(const std::string& directory, const std::string& path,
                 const std::vector<uint8_t>& bytes) {
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST)
    return sys_error("make " + directory, errno);
  const std::string fresh = path + ".new";
  ::unlink(fresh.c_str());
  const UniqueFd file(
      ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0700));
  if (!file.valid()) return sys_error("make " + fresh, errno);
  Status written = write_all(file.get(), bytes);
  if (written.ok() && ::rename(fresh.c_str(), path.c_str()) != 0)
    written = sys_error("rename " + fresh, errno);
  if (!written.ok()) ::unlink(fresh.c_str());
  return written;
}

Error not_mapped(const std::string& path, int error) {
  if (error == EPERM || error == EACCES)
    return user_error(error, "A mirror is code that is mapped from a file, and " + path +
                                 " may not be executed: its file system is mounted noexec, or the "
                                 "system forbids it. PATCHBAY_DIR names another directory.");
  return sys_error("map " + path, error);
}

// The two pages, one behind the other as the file has them.
Result<uint8_t*> map_pages(int fd, const std::string& path) {
  void* room = ::mmap(nullptr, 2 * kMirrorPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) return sys_error("map " + path, errno);
  auto* at = static_cast<uint8_t*>(room);
  const bool is_mapped =
      ::mmap(at, kMirrorPage, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, 0) !=
          MAP_FAILED &&
      ::mmap(at + kMirrorPage, kMirrorPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd,
             off_t(kMirrorSemaphoreAt)) != MAP_FAILED;
  if (is_mapped) return at;
  const int error = errno;
  ::munmap(room, 2 * kMirrorPage);
  return not_mapped(path, error);
}

// Puts memory of ours in the place of a mapping. mremap() does it in one step for other threads.
void replace_pages(uint8_t* at, const std::vector<uint8_t>& bytes) {
  void* made =
      ::mmap(nullptr, 2 * kMirrorPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (made == MAP_FAILED) return;
  auto* pages = static_cast<uint8_t*>(made);
  std::copy_n(bytes.begin(), std::min(bytes.size(), kMirrorPage), pages);
  const bool is_code = ::mprotect(pages, kMirrorPage, PROT_READ | PROT_EXEC) == 0;
  constexpr int kHow = MREMAP_MAYMOVE | MREMAP_FIXED;
  for (size_t page : {size_t{0}, kMirrorPage})
    if (!is_code || ::mremap(pages + page, kMirrorPage, kMirrorPage, kHow, at + page) == MAP_FAILED)
      ::munmap(pages + page, kMirrorPage);
}

}  // namespace

std::string mirror_file_name(std::string_view system, std::string_view event) {
  std::string name = std::string(system) + "." + std::string(event);
  uint32_t hash = 2166136261;
  for (char c : name) hash = (hash ^ uint8_t(c)) * 16777619;
  bool is_same = name.size() <= kLongestName;
  name.resize(std::min(name.size(), kLongestName));
  for (char& c : name) {
    if (is_name_char(c) || c == '.' || c == '-') continue;
    c = '_';
    is_same = false;
  }
  return is_same ? name : name + "." + hex_number(hash);
}

MirrorStubs::MirrorStubs() = default;
MirrorStubs::~MirrorStubs() = default;

const MirrorStub* MirrorStubs::nobody_listens() {
  static const MirrorStub kNone = {&kNobody, do_nothing, 0, 0, nullptr};
  return &kNone;
}

Result<const MirrorStub*> MirrorStubs::map(const std::string& path, MirrorLayout layout,
                                           const std::vector<uint8_t>& bytes) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat about = {};
  if (!file.valid() || ::fstat(file.get(), &about) != 0) return sys_error("open " + path, errno);
  for (const auto& known : mapped_)
    if (known->at && known->device == about.st_dev && known->inode == about.st_ino &&
        known->bytes == bytes && known->path == path)
      return &known->stub;
  if (!has_bytes(file.get(), bytes)) return sys_error("open " + path, ESTALE);
  PB_ASSIGN(uint8_t * at, map_pages(file.get(), path));
  auto made = std::make_unique<Mapped>();
  made->path = path;
  made->bytes = bytes;
  made->device = about.st_dev;
  made->inode = about.st_ino;
  made->texts = std::move(layout.texts);
  made->at = at;
  made->stub.listeners = reinterpret_cast<const uint32_t*>(at + kMirrorSemaphoreAt);
  made->stub.call = reinterpret_cast<decltype(made->stub.call)>(at + kMirrorStubAt);
  made->stub.nr_texts = uint32_t(made->texts.size());
  made->stub.nr_copied = layout.nr_copied;
  made->stub.texts = made->texts.data();
  mapped_.push_back(std::move(made));
  return &mapped_.back()->stub;
}

[[gnu::cold]] Result<const MirrorStub*> MirrorStubs::stub_of(const EventCall& call,
                                                             const std::string& directory) {
  MirrorLayout layout = mirror_layout(call);
  PB_ASSIGN(const std::vector<uint8_t> bytes,
            mirror_elf(call.system, call.name, layout.usdt_arguments()));
  const std::string path = directory + "/" + mirror_file_name(call.system, call.name);
  Result<const MirrorStub*> found = map(path, layout, bytes);
  if (found.ok()) return found;
  if (is_forked_child()) return nobody_listens();
  const int error = found.error().errno_value;
  if (error != ENOENT && error != ENOTDIR && error != ESTALE && error != ELOOP) return found;
  PB_TRY(make_file(directory, path, bytes));
  return map(path, std::move(layout), bytes);
}

void MirrorStubs::leave() {
  for (const auto& one : mapped_) {
    if (!one->at) continue;
    struct stat about = {};
    const bool is_ours = !is_forked_child() && ::lstat(one->path.c_str(), &about) == 0 &&
                         about.st_dev == one->device && about.st_ino == one->inode;
    if (is_ours) ::unlink(one->path.c_str());
    ::rmdir(one->path.substr(0, one->path.rfind('/')).c_str());  // when it was the last one
    replace_pages(std::exchange(one->at, nullptr), one->bytes);
  }
}

}  // namespace patchbay
