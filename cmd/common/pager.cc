// SPDX-License-Identifier: MIT
#include "cmd/common/pager.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "base/text.h"

namespace patchbay::cmd {
namespace {

bool is_installed(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::string_view folders = path ? path : "/usr/bin:/bin";
  while (!folders.empty()) {
    const std::string folder(cut_at(&folders, ':'));
    if (::access((folder + "/" + program).c_str(), X_OK) == 0) return true;
  }
  return false;
}

// The child: reads what we print. What the user has in $LESS stands behind our -R.
[[noreturn]] void become_pager(const std::string& command, int input, bool colors) {
  ::dup2(input, STDIN_FILENO);
  const char* less = std::getenv("LESS");
  if (less && colors) ::setenv("LESS", (std::string("-R ") + less).c_str(), 1);
  ::setenv("LESS", "FRX", 0);
  ::setenv("LV", "-c", 0);
  ::execl("/bin/sh", "sh", "-c", command.c_str(), static_cast<char*>(nullptr));
  ::_exit(127);
}

}  // namespace

std::string pager_command() {
  for (const char* name : {"PATCHBAY_PAGER", "PAGER"}) {
    const char* command = std::getenv(name);
    if (command) return std::string_view(command) == "cat" ? "" : command;
  }
  return is_installed("less") ? "less" : "";
}

// Ctrl-C is the pager's: it stops a search, say. Who leaves it closes the pipe, and so ends us.
void Pager::start(bool colors) {
  if (!::isatty(STDOUT_FILENO)) return;
  const std::string command = pager_command();
  int ends[2];
  if (command.empty() || ::pipe2(ends, O_CLOEXEC) != 0) return;
  std::fflush(stdout);
  pid_ = ::fork();
  if (pid_ == 0) become_pager(command, ends[0], colors);
  if (pid_ > 0) {
    stderr_ = UniqueFd(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3));
    ::dup2(ends[1], STDOUT_FILENO);
    if (::isatty(STDERR_FILENO)) ::dup2(ends[1], STDERR_FILENO);
    ::signal(SIGPIPE, SIG_IGN);
    ::signal(SIGINT, SIG_IGN);
    ::signal(SIGQUIT, SIG_IGN);
  }
  ::close(ends[0]);
  ::close(ends[1]);
}

bool Pager::finish() {
  if (pid_ <= 0) return true;
  std::fflush(stdout);
  std::fflush(stderr);
  ::close(STDOUT_FILENO);
  ::dup2(stderr_.get(), STDERR_FILENO);
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return !WIFEXITED(status) || (WEXITSTATUS(status) != 126 && WEXITSTATUS(status) != 127);
}

}  // namespace patchbay::cmd
