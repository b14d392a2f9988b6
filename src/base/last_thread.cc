// SPDX-License-Identifier: MIT
#include "base/last_thread.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/raw_syscall.h"
#include "base/unique_fd.h"

namespace patchbay {
namespace {

constinit std::atomic<std::atomic<int>*> g_first_thread{nullptr};  // its id, cleared by the kernel

constexpr size_t kLineSize = 1024;  // of a stat file: 52 numbers and a name

// /proc/self/task/TID/stat behind the thread's name, which may hold anything but a NUL. Empty: it
// cannot be read.
std::string_view stat_of(const char* tid, char (&line)[kLineSize]) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/task/%s/stat", tid);
  UniqueFd file(::open(path, O_RDONLY | O_CLOEXEC));
  const ssize_t count = file.valid() ? ::read(file.get(), line, sizeof line) : -1;
  const std::string_view text(line, count > 0 ? size_t(count) : 0);
  const size_t name_end = text.rfind(") ");
  return name_end == text.npos ? std::string_view() : text.substr(name_end + 2);
}

bool has_ended(const char* tid) {
  char line[kLineSize];
  const std::string_view stat = stat_of(tid, line);
  return !stat.empty() && (stat[0] == 'Z' || stat[0] == 'X');
}

// The first thread stays a zombie while others live: its number is the process's.
const char* first_thread(char (&name)[16]) {
  std::snprintf(name, sizeof name, "%d", int(::getpid()));
  return name;
}

struct DirectoryEntry {  // linux_dirent64
  uint64_t inode;
  int64_t offset;
  uint16_t size;
  uint8_t type;
  char name[];
};

// A thread that ends meanwhile is found as ended, or is not found.
bool all_others_have_ended(int directory, long self) {
  alignas(DirectoryEntry) char buffer[4096];
  for (;;) {
    const long count = raw_syscall(SYS_getdents64, directory, raw_pointer(buffer), sizeof buffer);
    if (count <= 0) return count == 0;
    for (long at = 0; at < count;) {
      const auto* entry = reinterpret_cast<const DirectoryEntry*>(buffer + at);
      at += entry->size;
      const long tid = std::strtol(entry->name, nullptr, 10);
      if (tid <= 0 || tid == self || has_ended(entry->name)) continue;
      return false;
    }
  }
}

}  // namespace

void remember_first_thread() {
  std::atomic<int>* word = nullptr;
  if (raw_syscall(SYS_gettid) != raw_syscall(SYS_getpid)) return;
  if (::prctl(PR_GET_TID_ADDRESS, &word) != 0 || !word) return;
  if (word->load(std::memory_order_relaxed) == raw_syscall(SYS_gettid))  // as glibc has it
    g_first_thread.store(word, std::memory_order_relaxed);
}

void forget_first_thread() { g_first_thread.store(nullptr, std::memory_order_relaxed); }

bool is_last_thread() {
  const std::atomic<int>* word = g_first_thread.load(std::memory_order_relaxed);
  if (word && word->load(std::memory_order_relaxed)) return false;
  char first[16];
  if (!has_ended(first_thread(first))) return false;
  UniqueFd directory(::open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return directory.valid() && all_others_have_ended(directory.get(), raw_syscall(SYS_gettid));
}

bool is_only_thread() {
  struct stat tasks;
  constexpr nlink_t kDots = 2;
  return ::stat("/proc/self/task", &tasks) == 0 && tasks.st_nlink == kDots + 1;
}

int first_thread_status() {
  char first[16], line[kLineSize];
  const std::string_view stat = stat_of(first_thread(first), line);
  const size_t blank = stat.rfind(' ');  // exit_code is the last number
  if (blank == stat.npos || (stat[0] != 'Z' && stat[0] != 'X')) return 0;
  return std::atoi(line + (stat.data() - line) + blank + 1) >> 8 & 0xff;
}

}  // namespace patchbay
