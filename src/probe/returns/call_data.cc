// SPDX-License-Identifier: MIT
#include "probe/returns/call_data.h"

#include <sys/mman.h>

#include <cerrno>

#include "probe/returns/return_hook.h"

namespace patchbay {

// Private memory: a forked child goes on with the calls that it was born in, on its own copy. A
// program that has said mlockall(MCL_FUTURE) gets no page that no call has used: what cannot be
// accessed is not filled, and what is unlocked stays so.
bool call_data_reserve() {
  if (pb_call_data) return true;
  const size_t bytes = size_t{kReturnSlots} * kCallDataBytes;
  void* rooms =
      ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (rooms == MAP_FAILED) return false;
  (void)::munlock(rooms, bytes);
  if (::mprotect(rooms, bytes, PROT_READ | PROT_WRITE) != 0) {
    const int error = errno;
    ::munmap(rooms, bytes);
    errno = error;
    return false;
  }
  __atomic_store_n(&pb_call_data, static_cast<uint8_t*>(rooms), __ATOMIC_RELEASE);
  return true;
}

}  // namespace patchbay
