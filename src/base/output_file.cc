// SPDX-License-Identifier: MIT
#include "base/output_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/random.h>
#include <sys/statfs.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

namespace patchbay {
namespace {

constexpr int kMostLinks = 40, kMostTries = 100;
constexpr size_t kMostOfName = 200;  // of the output's own, where something stands behind it
constexpr mode_t kPermissions = 0777;

// Root, the user, and whoever owns "/": where root is not mapped it is root who seems to be another
// one.
bool is_trusted(uid_t user) {
  struct stat top {};
  return user == 0 || user == ::geteuid() || (::stat("/", &top) == 0 && user == top.st_uid);
}

bool others_may_write(const struct stat& directory) {
  return (directory.st_mode & (S_IWGRP | S_IWOTH)) != 0 || !is_trusted(directory.st_uid);
}

// As /tmp. In a directory of a group its members write each other's files.
bool is_of_all(const struct stat& directory) {
  return (directory.st_mode & S_IWOTH) != 0 ||
         ((directory.st_mode & S_ISVTX) != 0 && (directory.st_mode & S_IWGRP) != 0);
}

// R3. Devices are root's.
bool may_be_taken(const struct stat& directory, const struct stat& file) {
  if (S_ISCHR(file.st_mode) || S_ISBLK(file.st_mode) || S_ISDIR(file.st_mode)) return true;
  if (is_of_all(directory) && !is_trusted(file.st_uid) && file.st_uid != directory.st_uid)
    return false;
  return !S_ISREG(file.st_mode) || file.st_nlink < 2 || !others_may_write(directory);
}

std::string random_text() {
  static constexpr char kLetters[] = "abcdefghijklmnopqrstuvwxyz234567";
  uint8_t bytes[10] = {};
  if (::getrandom(bytes, sizeof bytes, 0) != sizeof bytes) return "";
  std::string text;
  for (const uint8_t byte : bytes) text += kLetters[byte % 32];
  return text;
}

std::string temporary_directory() {
  const char* named = ::secure_getenv("TMPDIR");
  return named && *named ? named : "/tmp";
}

std::string in_directory_of(const std::string& path, const std::string& name) {
  const size_t slash = path.rfind('/');
  return slash == path.npos ? name : path.substr(0, slash + 1) + name;
}

}  // namespace

// --- the way to it

// One component after the other, as the kernel does, but for R2.
class PathWalk {
 public:
  PathWalk(const std::string& path, bool make_parents) : rest_(path), makes_(make_parents) {
    place_.path_ = path;
  }
  Result<OutputPlace> walk() {
    if (rest_.empty()) return sys_error("open a file without a name", ENOENT);
    PB_TRY(start());
    for (bool is_there = false; !is_there;) PB_TRY(step(&is_there));
    place_.directory_ = std::make_shared<UniqueFd>(std::move(at_));
    return std::move(place_);
  }

 private:
  Error failed(int error) const { return sys_error("open " + place_.path_, error); }
  Status start() {
    if (rest_[0] != '/' && at_.valid()) return {};
    at_.reset(::open(rest_[0] == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
    return at_.valid() ? Status() : failed(errno);
  }

  Status step(bool* is_there) {
    rest_.erase(0, std::min(rest_.find_first_not_of('/'), rest_.size()));
    const size_t slash = rest_.find('/');
    const std::string name = rest_.substr(0, slash);
    if (name.empty()) return failed(EISDIR);
    const bool is_last = slash == rest_.npos;
    if (!is_last && enter(name, O_NOFOLLOW)) return {};
    if (!is_last && errno == ENOENT && makes_) {
      if (::mkdirat(at_.get(), name.c_str(), 0777) != 0 && errno != EEXIST) return failed(errno);
      return enter(name, O_NOFOLLOW) ? Status() : failed(errno);
    }
    if (!is_last && errno != ENOTDIR && errno != ELOOP) return failed(errno);
    return follow(name, is_last, is_there);
  }

  bool enter(const std::string& name, int how) {
    UniqueFd next(::openat(at_.get(), name.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC | how));
    if (!next.valid()) return false;
    at_ = std::move(next);
    rest_.erase(0, name.size());
    return true;
  }

  // `name` may be a link, or is the last one.
  Status follow(const std::string& name, bool is_last, bool* is_there) {
    const UniqueFd link(::openat(at_.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat status {};
    const bool is_link =
        link.valid() && ::fstat(link.get(), &status) == 0 && S_ISLNK(status.st_mode);
    struct statfs system {};
    const bool is_kernels =
        is_link && ::fstatfs(link.get(), &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
    if (is_last && (!is_link || is_kernels)) {
      place_.name_ = name;
      place_.is_kernels_ = is_kernels;
      *is_there = true;
      return {};
    }
    if (is_kernels) return enter(name, 0) ? Status() : failed(errno);
    if (!is_link) return failed(link.valid() ? ENOTDIR : errno);
    return go_where(link, status, name, is_last);
  }

  Status go_where(const UniqueFd& link, const struct stat& status, const std::string& name,
                  bool is_last) {
    struct stat directory {};
    if (::fstat(at_.get(), &directory) != 0) return failed(errno);
    if (!is_trusted(status.st_uid) && others_may_write(directory))
      return user_error(EACCES, place_.path_ + ": " + name + " is a link of user " +
                                    std::to_string(status.st_uid) +
                                    " where others may write, and is not followed: name the file "
                                    "that it leads to.");
    if (++links_ > kMostLinks) return failed(ELOOP);
    char text[4096];
    const ssize_t size = ::readlinkat(link.get(), "", text, sizeof text);
    if (size <= 0 || size == sizeof text) return failed(size < 0 ? errno : ENAMETOOLONG);
    const std::string target(text, size_t(size));
    rest_ = target + rest_.substr(name.size());
    if (is_last) place_.path_ = target[0] == '/' ? target : in_directory_of(place_.path_, target);
    return start();
  }

  std::string rest_;
  bool makes_;
  int links_ = 0;
  UniqueFd at_;
  OutputPlace place_;
};

Result<OutputPlace> OutputPlace::of(const std::string& path, bool make_parents) {
  return PathWalk(path, make_parents).walk();
}

Result<bool> OutputPlace::make_directory(const std::string& path) {
  PB_ASSIGN(const OutputPlace place, of(std::string(path, 0, path.find_last_not_of('/') + 1)));
  if (::mkdirat(place.directory_->get(), place.name_.c_str(), 0755) == 0) return true;
  if (errno == EEXIST) return false;
  return sys_error("make the directory " + path, errno);
}

// --- the file

OutputFile OutputFile::of(UniqueFd fd, OutputPlace place) {
  OutputFile file;
  struct stat status {};
  (void)::fstat(fd.get(), &status);
  file.fd_ = std::move(fd);
  file.place_ = std::move(place);
  file.is_regular_ = S_ISREG(status.st_mode);
  file.id_ = {status.st_dev, status.st_ino};
  return file;
}

OutputFile OutputFile::of_stdout() {
  std::fflush(stdout);
  OutputFile file = of(UniqueFd(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0)), OutputPlace());
  file.place_.path_ = "standard output";
  return file;
}

OutputFile::~OutputFile() {
  if (fd_.valid() && is_aside_) remove();
}

Status OutputFile::check_existing() const {
  struct stat directory {
  }, file{};
  if (::fstat(this->directory(), &directory) != 0 ||
      (fd_.valid()
           ? ::fstat(fd_.get(), &file)
           : ::fstatat(this->directory(), place_.name_.c_str(), &file, AT_SYMLINK_NOFOLLOW)) != 0)
    return sys_error("look at " + path(), errno);
  if (place_.is_kernels_ || may_be_taken(directory, file)) return {};
  return user_error(EACCES,
                    path() + " is there already, and " +
                        (file.st_nlink > 1 ? "has a second name"
                                           : "belongs to user " + std::to_string(file.st_uid)) +
                        ", where others may write: remove it, or give another name.");
}

Result<OutputFile> OutputFile::make_new(const OutputPlace& place, const std::string& name,
                                        mode_t mode) {
  UniqueFd fd(::openat(place.directory_->get(), name.c_str(),
                       O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
  OutputPlace own = place;
  own.name_ = name;
  own.path_ = name == place.name_ ? place.path_ : in_directory_of(place.path_, name);
  if (!fd.valid()) return sys_error("create " + own.path_, errno);
  OutputFile file = of(std::move(fd), std::move(own));
  file.is_made_ = true;
  return file;
}

Result<OutputFile> OutputFile::open(OutputPlace place, int flags, mode_t mode) {
  const int how = (flags & ~(O_CREAT | O_EXCL | O_TRUNC)) | O_CLOEXEC;
  for (int i = 0; i < kMostTries; i++) {
    const char* const name = place.name_.c_str();
    UniqueFd fd(place.is_kernels_ ? -1
                                  : ::openat(place.directory_->get(), name,
                                             how | O_CREAT | O_EXCL | O_NOFOLLOW, mode));
    if (fd.valid()) {
      OutputFile made = of(std::move(fd), std::move(place));
      made.is_made_ = true;
      return made;
    }
    if (!place.is_kernels_ && errno != EEXIST) return sys_error("create " + place.path_, errno);
    OutputFile file;
    file.place_ = place;
    if (!place.is_kernels_) {  // first of all: a FIFO of another one would hold us
      if (Status status = file.check_existing(); !status.ok()) {
        if (status.error().errno_value == ENOENT) continue;
        return status.error();
      }
    }
    fd.reset(::openat(place.directory_->get(), name, how | (place.is_kernels_ ? 0 : O_NOFOLLOW)));
    if (!fd.valid() && errno == ENOENT) continue;  // it was removed at this moment
    if (!fd.valid()) return sys_error("open " + place.path_, errno);
    file = of(std::move(fd), std::move(place));
    PB_TRY(file.check_existing());
    if ((flags & O_TRUNC) && file.is_regular_ && ::ftruncate(file.fd(), 0) != 0)
      return sys_error("empty " + file.path(), errno);
    return file;
  }
  return sys_error("open " + place.path_, ENOENT);
}

Result<OutputFile> OutputFile::open(const std::string& path, int flags, mode_t mode) {
  PB_ASSIGN(OutputPlace place, OutputPlace::of(path));
  return open(std::move(place), flags, mode);
}

Result<OutputFile> OutputFile::open_again(const std::string& path, int flags, Id id) {
  PB_ASSIGN(OutputPlace place, OutputPlace::of(path));
  UniqueFd fd(::openat(place.directory_->get(), place.name_.c_str(),
                       flags | O_CLOEXEC | (place.is_kernels_ ? 0 : O_NOFOLLOW)));
  if (!fd.valid()) return sys_error("open " + path, errno);
  OutputFile file = of(std::move(fd), std::move(place));
  if (file.id_ != id)
    return user_error(ENOENT, "Somebody has put another file in the place of " + path + ".");
  return file;
}

// Of a name that is not there.
Result<OutputFile> OutputFile::make_random(const OutputPlace& place, const std::string& about,
                                           const std::string& suffix, mode_t mode) {
  for (int i = 0; i < kMostTries; i++) {
    const std::string text = random_text();
    if (text.empty()) break;
    Result<OutputFile> file =
        make_new(place, place.name_.substr(0, kMostOfName) + about + "." + text + suffix, mode);
    if (file.ok() || file.error().errno_value != EEXIST) return file;
  }
  return sys_error("make a file beside " + place.path_, EEXIST);
}

// Where there is an output nobody may read what comes in its place before it has its mode.
Result<OutputFile> OutputFile::beside(const OutputPlace& place, const std::string& suffix,
                                      mode_t mode, const std::string& about) {
  struct stat there {};
  const bool is_there =
      ::fstatat(place.directory_->get(), place.name_.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0;
  PB_ASSIGN(OutputFile file, make_random(place, about, suffix, is_there ? 0600 : mode));
  file.target_ = place.name_;
  file.is_aside_ = true;
  return file;
}

Result<OutputFile> OutputFile::elsewhere(const OutputPlace& place) {
  Result<OutputFile> made = sys_error("create " + place.path_, ENOENT);
  for (const std::string& other : {std::string("."), temporary_directory()}) {
    Result<OutputPlace> there = OutputPlace::of(other + "/" + place.name_);
    if (there.ok()) made = make_random(*there, "", "", 0600);
    if (made.ok()) break;
  }
  return made;
}

Result<OutputFile> OutputFile::replacement(const std::string& path, const std::string& suffix) {
  PB_ASSIGN(OutputPlace place, OutputPlace::of(path));
  struct stat there {};
  const bool is_there =
      ::fstatat(place.directory_->get(), place.name_.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0;
  if (is_there && !S_ISREG(there.st_mode)) return open(std::move(place), O_WRONLY | O_TRUNC);
  return beside(place, suffix);
}

Status OutputFile::write(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return sys_error("write " + path(), count ? errno : EIO);
    bytes.remove_prefix(size_t(count));
  }
  return {};
}

Status OutputFile::finish() const {
  const int copy = ::fcntl(fd(), F_DUPFD_CLOEXEC, 0);
  if (copy >= 0 && ::close(copy) != 0 && errno != EINTR) return sys_error("close " + path(), errno);
  if (is_gone())
    return user_error(ENOENT, path() + " was removed while it was written: it is lost.");
  return {};
}

// The owner first: a change of it may take bits of the mode away. Where we may not give the group,
// what it may do is no more than what all may.
void OutputFile::take_attributes(const struct stat& from) const {
  struct stat own {};
  if (::fstat(fd(), &own) != 0) return;
  mode_t mode = from.st_mode & kPermissions;
  const bool is_same = own.st_uid == from.st_uid && own.st_gid == from.st_gid;
  if (!is_same && ::fchown(fd(), from.st_uid, from.st_gid) != 0 &&
      ::fchown(fd(), uid_t(-1), from.st_gid) != 0)
    mode = (mode & ~mode_t{S_IRWXG}) | (mode & (mode & S_IRWXO) << 3);
  (void)::fchmod(fd(), mode);
}

Status OutputFile::take_place() {
  if (target_.empty()) return {};
  struct stat there {
  }, directory{};
  if (::fstatat(this->directory(), target_.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 &&
      ::fstat(this->directory(), &directory) == 0 && S_ISREG(there.st_mode) &&
      may_be_taken(directory, there))
    take_attributes(there);
  if (::renameat(this->directory(), place_.name_.c_str(), this->directory(), target_.c_str()) != 0)
    return sys_error("rename " + path(), errno);
  place_.path_ = in_directory_of(place_.path_, target_);
  place_.name_ = std::exchange(target_, "");
  keep();
  return {};
}

bool OutputFile::has_its_name() const {
  struct stat there {};
  return ::fstatat(directory(), place_.name_.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 &&
         Id{there.st_dev, there.st_ino} == id_;
}

void OutputFile::remove() const {
  if (has_its_name()) (void)::unlinkat(directory(), place_.name_.c_str(), 0);
}

// There are file systems that count no names.
bool OutputFile::is_gone() const {
  struct stat status {};
  return is_regular_ && ::fstat(fd(), &status) == 0 && status.st_nlink == 0 && !has_its_name();
}

Result<bool> OutputFile::renew() {
  struct stat old {};
  if (::fstat(fd(), &old) != 0) return sys_error("look at " + path(), errno);
  Result<OutputFile> made = make_new(place_, place_.name_, 0600);
  if (!made.ok()) made = make_random(place_, "", "", 0600);
  if (!made.ok()) made = elsewhere(place_);
  if (!made.ok())
    return user_error(ENOENT,
                      path() + " was removed, and cannot be made again: " + made.error().message());
  made->take_attributes(old);
  const bool is_same = made->path() == path();
  *this = std::move(*made);
  return is_same;
}

Result<UniqueFd> OutputFile::make_spool() const {
  UniqueFd fd(::openat(directory(), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (fd.valid()) return fd;
  Result<OutputFile> named = make_random(place_, "", "", 0600);  // a file system without O_TMPFILE
  if (!named.ok() && named.error().errno_value == ENOENT) {      // the directory has been removed
    named = elsewhere(place_);
  }
  if (!named.ok()) return named.error();
  named->remove();
  return UniqueFd(named->release());
}

std::string OutputFile::real_path() const {
  char text[4096];
  const std::string link = "/proc/self/fd/" + std::to_string(directory());
  const ssize_t size = ::readlink(link.c_str(), text, sizeof text);
  if (size <= 0 || size == sizeof text) return path();
  return std::string(text, size_t(size)) + "/" + place_.name_;
}

Status write_output(const std::string& path, std::string_view text) {
  if (path.empty()) return OutputFile::of_stdout().write(text);
  PB_ASSIGN(const OutputFile file, OutputFile::open(path, O_WRONLY | O_TRUNC));
  PB_TRY(file.write(text));
  return file.finish();
}

// --- as a stream

Result<std::FILE*> open_output_stream(const std::string& path) {
  PB_ASSIGN(OutputFile file, OutputFile::open(path, O_WRONLY | O_TRUNC));
  std::FILE* const stream = ::fdopen(file.fd(), "w");
  if (!stream) return sys_error("open " + path, errno);
  (void)file.release();
  return stream;
}

Status finish_output_stream(std::FILE* stream, const std::string& path) {
  if (std::fflush(stream) != 0) return sys_error("write " + path, errno);
  struct stat status {
  }, there{};
  const bool is_gone = ::fstat(::fileno(stream), &status) == 0 && S_ISREG(status.st_mode) &&
                       status.st_nlink == 0 && ::stat(path.c_str(), &there) != 0;
  if (is_gone) return user_error(ENOENT, path + " was removed while it was written: it is lost.");
  return {};
}

}  // namespace patchbay
