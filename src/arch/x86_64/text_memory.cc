// SPDX-License-Identifier: MIT
//
// Raw system calls only: libc's own mprotect or pwrite may be among the functions that change.

#include "arch/x86_64/text_memory.h"

#include <fcntl.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "base/raw_syscall.h"

namespace patchbay {
namespace {

constexpr uint64_t kPage = 4096;

// Kernels before 4.16: every core is made to run this thread once, which takes whatever ran there
// through the scheduler and back by iret.
void visit_every_core() {
  alignas(8) uint8_t allowed[1024] = {};
  const long bytes = raw_syscall(SYS_sched_getaffinity, 0, sizeof(allowed), raw_pointer(allowed));
  if (bytes <= 0) return;
  for (long cpu = 0; cpu < bytes * 8; cpu++) {
    if (!(allowed[cpu / 8] & (1 << (cpu % 8)))) continue;
    alignas(8) uint8_t one[1024] = {};
    one[cpu / 8] = static_cast<uint8_t>(1 << (cpu % 8));
    raw_syscall(SYS_sched_setaffinity, 0, bytes, raw_pointer(one));
  }
  raw_syscall(SYS_sched_setaffinity, 0, bytes, raw_pointer(allowed));
}

}  // namespace

TextMemory::TextMemory() {
  static const char kPath[] = "/proc/self/mem";
  fd_ = static_cast<int>(
      raw_syscall(SYS_openat, AT_FDCWD, raw_pointer(kPath), O_RDWR | O_CLOEXEC, 0));
}

TextMemory::~TextMemory() {
  if (fd_ >= 0) raw_syscall(SYS_close, fd_);
}

bool TextMemory::read(uint64_t address, uint8_t* out, size_t size) const {
  if (fd_ < 0) {
    // Without /proc: the kernel still checks the source when asked to copy from ourselves.
    struct {
      uint64_t base, length;
    } local{reinterpret_cast<uint64_t>(out), size}, remote{address, size};
    const long pid = raw_syscall(SYS_getpid);
    return raw_syscall(SYS_process_vm_readv, pid, raw_pointer(&local), 1, raw_pointer(&remote), 1,
                       0) == static_cast<long>(size);
  }
  size_t done = 0;
  while (done < size) {
    const long n = raw_syscall(SYS_pread64, fd_, raw_pointer(out + done),
                               static_cast<long>(size - done), static_cast<long>(address + done));
    if (n <= 0) return false;
    done += static_cast<size_t>(n);
  }
  return true;
}

bool TextMemory::write(uint64_t address, const uint8_t* data, size_t size) {
  size_t done = 0;
  while (fd_ >= 0 && done < size) {
    const long n = raw_syscall(SYS_pwrite64, fd_, raw_pointer(data + done),
                               static_cast<long>(size - done), static_cast<long>(address + done));
    if (n <= 0) break;
    done += static_cast<size_t>(n);
  }
  return done == size || write_by_mprotect(address + done, data + done, size - done);
}

bool TextMemory::write_by_mprotect(uint64_t address, const uint8_t* data, size_t size) {
  const uint64_t first = address & ~(kPage - 1);
  const long length = static_cast<long>(((address + size + kPage - 1) & ~(kPage - 1)) - first);
  const long start = static_cast<long>(first);
  // Executable all the while: other threads run on these pages.
  if (raw_syscall(SYS_mprotect, start, length, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) {
    return false;
  }
  // By the kernel, for which it is no fault if the object is being unloaded at this moment.
  struct {
    uint64_t base, length;
  } local{reinterpret_cast<uint64_t>(data), size}, remote{address, size};
  const long written = raw_syscall(SYS_process_vm_writev, raw_syscall(SYS_getpid),
                                   raw_pointer(&local), 1, raw_pointer(&remote), 1, 0);
  raw_syscall(SYS_mprotect, start, length, PROT_READ | PROT_EXEC);
  return written == static_cast<long>(size);
}

size_t copy_of_memory(uint64_t address, void* out, size_t size) {
  struct {
    uint64_t base, length;
  } local{reinterpret_cast<uint64_t>(out), size}, remote{address, size};
  const long n = raw_syscall(SYS_process_vm_readv, raw_syscall(SYS_getpid), raw_pointer(&local), 1,
                             raw_pointer(&remote), 1, 0);
  return n > 0 ? static_cast<size_t>(n) : 0;
}

bool sync_all_cores() {
  long rc = raw_syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0);
  if (rc == 0) return true;
  // Not registered yet (also: a forked child of a registered process before its first call).
  raw_syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0);
  rc = raw_syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0);
  if (rc == 0) return true;
  visit_every_core();
  return false;
}

}  // namespace patchbay
