// SPDX-License-Identifier: MIT
#include "serve/peer.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>

#include "base/text.h"
#include "base/unique_fd.h"

namespace patchbay::serve {
namespace {

ucred credentials_of(int fd) {
  ucred peer{0, uid_t(-1), gid_t(-1)};
  socklen_t size = sizeof peer;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || size != sizeof peer)
    return {0, uid_t(-1), gid_t(-1)};
  return peer;
}

std::string proc_text(const std::string& name) {
  Result<std::string> text = read_file("/proc/" + name);
  return text.ok() ? std::move(*text) : "";
}

bool is_here(int pid) { return ::kill(pid, 0) == 0 || errno == EPERM; }

// The last number of "NSpid:\t4711\t12\t1": that in the process's own namespace.
int innermost_number(int pid) {
  const std::string status = proc_text(std::to_string(pid) + "/status");
  const size_t line = status.find("\nNSpid:");
  if (line == status.npos) return pid;
  const std::string_view text(status.data() + line + 1, status.find('\n', line + 1) - line - 1);
  int number = pid;
  (void)to_number(text.substr(text.find_last_of(" \t") + 1), &number);
  return number;
}

}  // namespace

int pid_of_directory(const std::string& directory) {
  return std::atoi(directory.c_str() + directory.rfind('/') + 1);
}

int peer_pid(int fd) { return credentials_of(fd).pid; }

bool is_process_itself(int peer, int number) {
  return peer == number || (!is_here(number) && is_process_of_directory(peer, number));
}

bool is_process_of_directory(int peer, int number) {
  if (number == 0 || peer == number) return true;
  return peer == 0 ? !is_here(number) : innermost_number(peer) == number;
}

Error foreign_peer(int peer, const std::string& directory) {
  return user_error(EPERM, "In " + directory + " another process answers" +
                               (peer ? ", " + std::to_string(peer) : "") +
                               ", not the one whose directory it is: it is not believed.");
}

// --- the agent's side

bool leaves_ids_out(const std::string& map) {
  uint64_t mapped = 0;
  for (const std::string& line : split_lines(map)) {
    const std::vector<std::string_view> words = split_words(line);
    uint64_t count = 0;
    if (words.size() == 3 && to_number(words[2], &count)) mapped += count;
  }
  constexpr uint64_t kAll = 0xffffffff;
  return !map.empty() && mapped < kAll;
}

// The owner and root. Inside a user namespace only those ids have a number that are mapped into it;
// all others, and among them the root who has attached us, are the one overflow id, which may be
// mapped as well and be somebody's inside. By number they cannot be told apart. The file system
// tells them apart: its check of the socket's file goes by the host's ids, and the file is the
// owner's and closed to all others (0600). So who has come through and is neither the owner nor our
// root has the capability to pass over modes in a user namespace that knows the owner: he is root
// of ours or of one around it, and may do with this process whatever he likes. Where everything is
// mapped, as on the host itself, the overflow id is the user nobody, who has no business here; and
// where the file is not closed any more, nobody can be told from others and the id is refused.
bool peer_is_allowed(int fd, uid_t owner, const std::string& socket) {
  const uid_t peer = credentials_of(fd).uid;
  if (peer == uid_t(-1)) return false;
  if (peer == owner || peer == 0) return true;
  uid_t overflow = 65534;
  (void)to_number(trim(proc_text("sys/kernel/overflowuid")), &overflow);
  struct stat file;
  return peer == overflow && leaves_ids_out(proc_text("self/uid_map")) &&
         ::lstat(socket.c_str(), &file) == 0 && S_ISSOCK(file.st_mode) && file.st_uid == owner &&
         (file.st_mode & 07777) == 0600;
}

}  // namespace patchbay::serve
