// SPDX-License-Identifier: MIT
//
// /proc/self/task/TID/syscall shows the user program counter of a blocked thread, schedstat the
// time it has run. A blocked thread may also be inside a signal handler that interrupted the bytes
// in question: the saved program counter is then a word on its stack, which is looked through.

#include "patch/thread_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/raw_syscall.h"
#include "patch/site_table.h"

namespace patchbay {
namespace {

constexpr size_t kStackWords = 4096;  // 32 KiB above the stack pointer

struct DirEntry {  // linux_dirent64
  uint64_t inode, offset;
  uint16_t length;
  uint8_t type;
  char name[];
};

// Bytes read, or -errno.
long read_task_file(pid_t tid, const char* file, char* out, size_t size) {
  char path[64];
  std::snprintf(path, sizeof(path), "/proc/self/task/%d/%s", tid, file);
  const long fd = raw_syscall(SYS_openat, AT_FDCWD, raw_pointer(path), O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) return fd;
  const long n = raw_syscall(SYS_read, fd, raw_pointer(out), static_cast<long>(size - 1));
  raw_syscall(SYS_close, fd);
  out[n > 0 ? n : 0] = 0;
  return n;
}

// Nanoseconds on a CPU; 0 when unknown.
uint64_t run_time(pid_t tid) {
  char text[128];
  if (read_task_file(tid, "schedstat", text, sizeof(text)) <= 0) return 0;
  return std::strtoull(text, nullptr, 10);
}

std::vector<pid_t> other_threads() {
  std::vector<pid_t> tids;
  static const char kPath[] = "/proc/self/task";
  const long fd =
      raw_syscall(SYS_openat, AT_FDCWD, raw_pointer(kPath), O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
  if (fd < 0) return tids;
  const pid_t self = static_cast<pid_t>(raw_syscall(SYS_gettid));
  alignas(8) char buffer[8192];
  for (;;) {
    const long n = raw_syscall(SYS_getdents64, fd, raw_pointer(buffer), sizeof(buffer));
    if (n <= 0) break;
    for (long at = 0; at < n;) {
      const auto* entry = reinterpret_cast<const DirEntry*>(buffer + at);
      const pid_t tid = std::atoi(entry->name);
      if (tid > 0 && tid != self) tids.push_back(tid);
      at += entry->length;
    }
  }
  raw_syscall(SYS_close, fd);
  return tids;
}

uint64_t now_us() {
  timespec now{};
  raw_syscall(SYS_clock_gettime, CLOCK_MONOTONIC, raw_pointer(&now));
  return static_cast<uint64_t>(now.tv_sec) * 1000000 + static_cast<uint64_t>(now.tv_nsec) / 1000;
}

const Site* inside_by_stack(uint64_t stack_pointer) {
  // One transaction at a time (patcher.h). Not thread-local: static TLS of a preloaded library
  // comes out of every thread's stack, and programs ask for stacks of 16 KB.
  static uint64_t words[kStackWords];
  const long pid = raw_syscall(SYS_getpid);
  // In pages, because the stack may end anywhere.
  for (size_t done = 0; done < kStackWords; done += 512) {
    struct {
      uint64_t base, length;
    } local{reinterpret_cast<uint64_t>(words), 4096}, remote{stack_pointer + done * 8, 4096};
    const long n =
        raw_syscall(SYS_process_vm_readv, pid, raw_pointer(&local), 1, raw_pointer(&remote), 1, 0);
    for (long i = 0; i < n / 8; i++) {
      if (words[i] < 0x10000) continue;
      if (const Site* site = watched_around(words[i])) return site;
    }
    if (n < 4096) break;
  }
  return nullptr;
}

}  // namespace

void ThreadWatch::start() {
  threads_.clear();
  for (pid_t tid : other_threads()) threads_.push_back({tid, run_time(tid), false});
}

void ThreadWatch::check(Thread* thread) {
  char text[256];
  const long n = read_task_file(thread->tid, "syscall", text, sizeof(text));
  if (n == -ENOENT || n == -ESRCH) {
    thread->done = true;
    return;
  }
  if (n <= 0 || std::strncmp(text, "running", 7) == 0) {
    thread->done = run_time(thread->tid) != thread->run_time;
    if (!thread->done) unknown_ = true;
    return;
  }
  // "NR args… sp pc" or "-1 sp pc"
  char* pc_text = std::strrchr(text, ' ');
  if (!pc_text) return;
  const uint64_t pc = std::strtoull(pc_text + 1, nullptr, 16);
  *pc_text = 0;
  const char* sp_text = std::strrchr(text, ' ');
  const uint64_t sp = sp_text ? std::strtoull(sp_text + 1, nullptr, 16) : 0;
  const Site* site = watched_around(pc);
  if (!site && sp) site = inside_by_stack(sp & ~uint64_t{7});
  thread->done = site == nullptr;
  if (site) occupied_.push_back(site->address);
}

bool ThreadWatch::wait(uint64_t limit_us) {
  const uint64_t begin = now_us();
  long pause_ns = 50000;
  for (;;) {
    occupied_.clear();
    unknown_ = false;
    bool all = true;
    for (Thread& thread : threads_) {
      if (!thread.done) check(&thread);
      all &= thread.done;
    }
    waited_us_ = now_us() - begin;
    if (all || waited_us_ >= limit_us) return all;
    timespec pause{0, pause_ns};
    raw_syscall(SYS_nanosleep, raw_pointer(&pause), 0);
    if (pause_ns < 1000000) pause_ns *= 2;
  }
}

}  // namespace patchbay
