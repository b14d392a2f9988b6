// SPDX-License-Identifier: MIT
#include "registry/semaphore.h"

#include <sys/syscall.h>
#include <sys/uio.h>

#include "base/raw_syscall.h"

namespace patchbay {

// Through the kernel: the object may be unloaded at this moment. Only tracers write this word.
void count_semaphore(uint64_t address, int change) {
  uint16_t value = 0;
  iovec local = {&value, sizeof value};
  iovec remote = {reinterpret_cast<void*>(address), sizeof value};
  const long pid = raw_syscall(SYS_getpid);
  if (raw_syscall(SYS_process_vm_readv, pid, raw_pointer(&local), 1, raw_pointer(&remote), 1, 0) !=
      long(sizeof value))
    return;
  if (change < 0 && value == 0) return;
  value = uint16_t(value + change);
  raw_syscall(SYS_process_vm_writev, pid, raw_pointer(&local), 1, raw_pointer(&remote), 1, 0);
}

}  // namespace patchbay
