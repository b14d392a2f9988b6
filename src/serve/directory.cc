// SPDX-License-Identifier: MIT
#include "serve/directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>

#include "base/text.h"
#include "serve/peer.h"
#include "serve/peer_watch.h"

namespace patchbay::serve {
namespace {

constexpr int kMaxEarlier = 1000;  // PID.1 … PID.1000

struct CloseDir {
  void operator()(DIR* stream) const { ::closedir(stream); }
};

std::string environment(const char* name) {
  const char* value = ::secure_getenv(name);  // a set-user-id program does not listen to it
  return value ? value : "";
}

Result<std::string> absolute(const std::string& path) {
  if (path.front() == '/') return path;
  char here[4096];
  if (!::getcwd(here, sizeof here)) return sys_error("getcwd", errno);
  return std::string(here) + "/" + path;
}

bool is_own_directory(const std::string& path) {
  struct stat status;
  return ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
         status.st_uid == ::geteuid();
}

// The place when PATCHBAY_DIR names none, best first. $XDG_RUNTIME_DIR counts only when it is ours:
// su and sudo leave another user's behind.
std::string default_directory() {
  std::string xdg = environment("XDG_RUNTIME_DIR");
  if (!xdg.empty() && xdg.front() == '/' && is_own_directory(xdg)) return xdg + "/patchbay";
  if (::geteuid() == 0 && ::access("/run", W_OK) == 0) return "/run/patchbay";
  const std::string own = "/patchbay-" + std::to_string(::geteuid());
  for (const char* parent : {"/tmp", "/dev/shm", "/var/tmp"})
    if (::access(parent, W_OK) == 0) return parent + own;
  return "/tmp" + own;
}

std::string belongs_to(uid_t owner) { return "belongs to user " + std::to_string(owner); }

Error refused(const std::string& path, const char* reason) {
  return user_error(EPERM, "The runtime directory " + path + " " + reason +
                               "; set PATCHBAY_DIR to a directory of your own.");
}

Status check_attributes(const std::string& path, bool any_owner) {
  struct stat status;
  if (::lstat(path.c_str(), &status) != 0) return sys_error("look at " + path, errno);
  if (S_ISLNK(status.st_mode)) return refused(path, "is a symbolic link");
  if (!S_ISDIR(status.st_mode)) return refused(path, "is not a directory");
  if (status.st_uid != ::geteuid() && !any_owner)
    return refused(path, belongs_to(status.st_uid).c_str());
  if (status.st_mode & (S_IWGRP | S_IWOTH)) return refused(path, "can be written to by others");
  return {};
}

Status check(const std::string& path, bool make, bool any_owner) {
  if (make && ::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    return sys_error("make " + path, errno);
  return check_attributes(path, any_owner);
}

bool exists(const std::string& path) {
  struct stat status;
  return ::lstat(path.c_str(), &status) == 0;
}

// Removes what can be made again (a dead socket), keeps what was recorded. `same_program` is asked
// before and after: where it says no, the directory may be that of a program that the process has
// executed since, and stays or comes back.
Status move_away(const std::string& path, const std::function<bool()>& same_program) {
  const auto another = [&] {
    return user_error(ESRCH, "The process of " + path + " has executed another program.");
  };
  if (!same_program()) return another();
  ::unlink((path + "/" + kSocketName).c_str());
  if (::rmdir(path.c_str()) == 0) return {};
  for (int n = 1; n <= kMaxEarlier; n++) {
    std::string earlier = path + "." + std::to_string(n);
    if (exists(earlier)) continue;
    if (::rename(path.c_str(), earlier.c_str()) != 0) {
      if (errno == ENOENT) return {};  // a tool has taken the directory away meanwhile
      if (errno == ENOTEMPTY || errno == EEXIST) continue;
      return sys_error("rename " + path + " to " + earlier, errno);
    }
    if (same_program()) return {};
    ::renameat2(AT_FDCWD, earlier.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE);
    return another();
  }
  return user_error(EEXIST, "There are too many old recordings " + path + ".N; remove some.");
}

// "123" or "123.4": the process id. 0 for any other name.
int pid_of_name(std::string_view name) {
  std::string_view digits = name.substr(0, name.find('.'));
  std::string_view rest = name.substr(digits.size());
  int pid = 0, number = 0;
  auto whole = [](std::string_view text, int* value) {
    return to_number(text, value) && *value > 0;
  };
  if (!whole(digits, &pid)) return 0;
  return rest.empty() || whole(rest.substr(1), &number) ? pid : 0;
}

ProcessState state_of(int pid, const std::string& directory, bool is_current) {
  if (is_current) {
    Result<UniqueFd> fd = connect_socket(directory, 0);
    // A full queue of connections: somebody listens.
    const bool is_full = !fd.ok() && fd.error().errno_value == EAGAIN;
    if (const int peer = fd.ok() ? peer_pid(fd->get()) : pid;
        is_full || (fd.ok() && is_process_of_directory(peer, pid))) {
      PeerWatch watch(peer);
      return watch.is_frozen()    ? ProcessState::kFrozen
             : watch.is_stopped() ? ProcessState::kStopped
                                  : ProcessState::kAlive;
    }
  }
  bool lives = is_current && (::kill(pid, 0) == 0 || errno == EPERM);
  return lives ? ProcessState::kNoAgent : ProcessState::kDead;
}

ProcessEntry make_entry(const std::string& directory, std::string_view name, int pid) {
  ProcessEntry entry;
  entry.pid = pid;
  entry.directory = directory + "/" + std::string(name);
  entry.state = state_of(pid, entry.directory, name.find('.') == name.npos);
  struct stat status;
  std::string buffer = entry.directory + "/" + kBufferName;
  if (::lstat(buffer.c_str(), &status) == 0 && S_ISREG(status.st_mode)) {
    entry.has_buffer = true;
    entry.buffer_bytes = uint64_t(status.st_blocks) * 512;
  }
  return entry;
}

// The address of DIRECTORY/ctl.sock. A path that does not fit is reached through a descriptor of
// its directory, which has to stay open while the address is used.
struct SocketAddress {
  sockaddr_un address{};
  UniqueFd directory;
};
Result<SocketAddress> socket_address(const std::string& directory) {
  SocketAddress result;
  result.address.sun_family = AF_UNIX;
  std::string path = directory + "/" + kSocketName;
  if (path.size() >= sizeof result.address.sun_path) {
    result.directory.reset(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!result.directory.valid()) return sys_error("open " + directory, errno);
    path = "/proc/self/fd/" + std::to_string(result.directory.get()) + "/" + kSocketName;
    // A thread with descriptors of its own has another table than /proc/self shows.
    if (::access("/proc/thread-self/fd", F_OK) == 0) path.replace(0, 10, "/proc/thread-self");
  }
  std::memcpy(result.address.sun_path, path.c_str(), path.size() + 1);
  return result;
}

}  // namespace

const char* process_state_name(ProcessState state) {
  switch (state) {
    case ProcessState::kAlive:
      return "alive";
    case ProcessState::kStopped:
      return "stopped";
    case ProcessState::kFrozen:
      return "frozen";
    case ProcessState::kNoAgent:
      return "no-agent";
    case ProcessState::kDead:
      return "dead";
  }
  return "?";
}

Status check_directory(const std::string& path, bool make) { return check(path, make, false); }

bool directory_is_chosen() { return !environment("PATCHBAY_DIR").empty(); }

Result<std::string> runtime_directory(bool make) {
  std::string chosen = environment("PATCHBAY_DIR");
  // Root may look into a directory of another user that PATCHBAY_DIR names. It makes nothing there:
  // the owner could put a symbolic link in the place of what root is about to write.
  bool any_owner = !chosen.empty() && ::geteuid() == 0 && !make;
  Result<std::string> path = absolute(chosen.empty() ? default_directory() : chosen);
  if (!path.ok()) return path;
  if (!make && !exists(*path)) return path;
  PB_TRY(check(*path, make, any_owner));
  return path;
}

[[gnu::cold]] Result<std::string> make_process_directory(
    const std::string& directory, int pid, const std::function<bool()>& same_program) {
  std::string path = directory + "/" + std::to_string(pid);
  if (::mkdir(path.c_str(), 0700) == 0) return path;
  if (errno != EEXIST) return sys_error("make " + path, errno);
  PB_TRY(move_away(path, same_program));
  if (::mkdir(path.c_str(), 0700) != 0) return sys_error("make " + path, errno);
  return path;
}

Result<std::vector<ProcessEntry>> list_processes(const std::string& directory) {
  std::vector<ProcessEntry> entries;
  std::unique_ptr<DIR, CloseDir> stream(::opendir(directory.c_str()));
  if (!stream && errno == ENOENT) return entries;
  if (!stream) return sys_error("read " + directory, errno);
  while (const dirent* entry = ::readdir(stream.get())) {
    int pid = pid_of_name(entry->d_name);
    if (pid != 0) entries.push_back(make_entry(directory, entry->d_name, pid));
  }
  std::sort(entries.begin(), entries.end(), [](const ProcessEntry& a, const ProcessEntry& b) {
    return a.pid != b.pid ? a.pid < b.pid : a.directory < b.directory;
  });
  return entries;
}

Result<UniqueFd> listen_socket(const std::string& directory) {
  UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return sys_error("make a unix socket", errno);
  std::string path = directory + "/" + kSocketName;
  ::unlink(path.c_str());
  PB_ASSIGN(SocketAddress target, socket_address(directory));
  ::fchmod(fd.get(), 0600);  // the file gets this mode at bind(), whatever the program's umask is
  if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&target.address), sizeof target.address) != 0) {
    return sys_error("bind " + path, errno);
  }
  if (::chmod(path.c_str(), 0600) != 0) return sys_error("chmod " + path, errno);
  if (::listen(fd.get(), 16) != 0) return sys_error("listen on " + path, errno);
  return fd;
}

Result<UniqueFd> connect_socket(const std::string& directory, int wait_ms) {
  UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return sys_error("make a unix socket", errno);
  PB_ASSIGN(SocketAddress target, socket_address(directory));
  // connect() waits when the listener's queue is full: not for longer than this.
  timeval limit{wait_ms / 1000, std::max(wait_ms % 1000 * 1000, wait_ms < 1000 ? 1 : 0)};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&target.address), sizeof target.address) !=
      0) {
    return sys_error("connect to " + directory + "/" + kSocketName, errno);
  }
  return fd;
}

}  // namespace patchbay::serve
