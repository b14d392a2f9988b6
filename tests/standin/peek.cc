// SPDX-License-Identifier: MIT
#include "peek.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>

namespace standin {
namespace {

constexpr unsigned long kPage = 4096;

void read_link(const char* link, char* to, size_t room) {
  const ssize_t length = readlink(link, to, room - 1);
  to[length > 0 ? length : 0] = 0;
}

}  // namespace

size_t peek_bytes(pid_t pid, unsigned long address, char* to, size_t size) {
  iovec ours = {to, size};
  iovec theirs = {reinterpret_cast<void*>(address), size};
  const ssize_t got = process_vm_readv(pid, &ours, 1, &theirs, 1, 0);
  return got > 0 ? size_t(got) : 0;
}

// Page by page: the one behind the text's end may not be there.
void peek_string(pid_t pid, unsigned long address, char* to, size_t room) {
  size_t length = 0;
  while (length < room - 1) {
    size_t piece = kPage - (address + length) % kPage;
    if (piece > room - 1 - length) piece = room - 1 - length;
    const size_t got = peek_bytes(pid, address + length, to + length, piece);
    if (memchr(to + length, 0, got)) return;
    length += got;
    if (got < piece) length = 0;
    if (!length) break;
  }
  to[length] = 0;
}

void peek_file_name(pid_t pid, unsigned fd, char* to, size_t room) {
  char link[64];
  snprintf(link, sizeof(link), "/proc/%d/fd/%u", pid, fd);
  read_link(link, to, room);
}

void peek_program(pid_t pid, char* to, size_t room) {
  char link[64];
  snprintf(link, sizeof(link), "/proc/%d/exe", pid);
  read_link(link, to, room);
}

bool peek_comm(pid_t pid, char (&comm)[16]) {
  char file[64], text[sizeof(comm) + 1];
  snprintf(file, sizeof(file), "/proc/%d/comm", pid);
  const int fd = open(file, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t length = read(fd, text, sizeof(text) - 1);
  close(fd);
  if (length <= 0) return false;
  text[length] = 0;
  text[strcspn(text, "\n")] = 0;
  memcpy(comm, text, sizeof(comm));
  comm[sizeof(comm) - 1] = 0;
  return true;
}

int peek_priority(pid_t pid) {
  const int policy = sched_getscheduler(pid);
  sched_param parameter = {};
  if ((policy == SCHED_FIFO || policy == SCHED_RR) && sched_getparam(pid, &parameter) == 0)
    return 99 - parameter.sched_priority;
  errno = 0;
  const int nice = getpriority(PRIO_PROCESS, id_t(pid));
  return errno ? 120 : 120 + nice;
}

}  // namespace standin
