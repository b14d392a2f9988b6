// SPDX-License-Identifier: MIT
// Preloaded before the agent: from the FAIL_AFTER-th call on, its calls of malloc() fail, and
// nobody else's.
#define _GNU_SOURCE
#include <errno.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

extern void* __libc_malloc(size_t size);

static uintptr_t start, end;
static long allowed = -1;

static int find(struct dl_phdr_info* info, size_t size, void* unused) {
  (void)size, (void)unused;
  if (!info->dlpi_name || !strstr(info->dlpi_name, "/libpatchbay.so")) return 0;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr)* segment = &info->dlpi_phdr[i];
    if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X)) continue;
    // The decoder's code is a segment of its own, behind the agent's.
    if (!start) start = info->dlpi_addr + segment->p_vaddr;
    end = info->dlpi_addr + segment->p_vaddr + segment->p_memsz;
  }
  return 1;
}

__attribute__((visibility("default"))) void* malloc(size_t size) {
  const uintptr_t caller = (uintptr_t)__builtin_return_address(0);
  if (!end && dl_iterate_phdr(find, 0)) {
    const char* after = getenv("FAIL_AFTER");
    if (after) allowed = strtol(after, 0, 10);
  }
  if (caller >= start && caller < end && allowed >= 0 &&
      __atomic_fetch_sub(&allowed, allowed > 0, __ATOMIC_RELAXED) <= 1) {
    errno = ENOMEM;
    return 0;
  }
  return __libc_malloc(size);
}
