// SPDX-License-Identifier: MIT
// Preloaded before the agent: from the FAIL_AFTER-th call on, its calls of malloc() fail, and its
// mappings of memory (by a filter of system calls that looks who calls), and nobody else's. The
// agent asks libc's own table of symbols for malloc(), and so does this: it puts its own there. (It
// exports none: then the agent would have a heap of its own.)
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

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

// The agent's code is within 4 GB.
static void refuse_mappings(void) {
  enum { kIp = offsetof(struct seccomp_data, instruction_pointer) };
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 8),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[3])),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, MAP_ANONYMOUS, 0, 6),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kIp + 4),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(start >> 32), 0, 4),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kIp),
      BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (uint32_t)start, 0, 2),
      BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (uint32_t)end, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOMEM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog filter = {sizeof code / sizeof *code, code};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter);
}

static void* failing_malloc(size_t size);

static int find_libc(struct dl_phdr_info* info, size_t size, void* unused) {
  (void)size, (void)unused;
  if (!info->dlpi_name || !strstr(info->dlpi_name, "/libc.so.6")) return 0;
  const ElfW(Dyn)* dynamic = 0;
  for (int i = 0; i < info->dlpi_phnum; i++)
    if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
      dynamic = (const void*)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
  const char* strings = 0;
  ElfW(Sym)* symbol = 0;
  for (; dynamic->d_tag != DT_NULL; dynamic++) {
    if (dynamic->d_tag == DT_STRTAB) strings = (const char*)dynamic->d_un.d_ptr;
    if (dynamic->d_tag == DT_SYMTAB) symbol = (ElfW(Sym)*)dynamic->d_un.d_ptr;
  }
  while (strcmp(strings + symbol->st_name, "malloc")) symbol++;
  const uintptr_t page = (uintptr_t)symbol & ~(uintptr_t)4095;
  mprotect((void*)page, 8192, PROT_READ | PROT_WRITE);
  symbol->st_value = (uintptr_t)&failing_malloc - info->dlpi_addr;
  mprotect((void*)page, 8192, PROT_READ);
  return 1;
}
__attribute__((constructor)) static void stand_in_libc(void) { dl_iterate_phdr(find_libc, 0); }

static void* failing_malloc(size_t size) {
  const uintptr_t caller = (uintptr_t)__builtin_return_address(0);
  if (!end && dl_iterate_phdr(find, 0)) {
    const char* after = getenv("FAIL_AFTER");
    if (after) allowed = strtol(after, 0, 10);
  }
  if (caller >= start && caller < end && allowed >= 0 &&
      __atomic_fetch_sub(&allowed, allowed > 0, __ATOMIC_RELAXED) <= 1) {
    static int once;
    if (!__atomic_exchange_n(&once, 1, __ATOMIC_RELAXED)) refuse_mappings();
    errno = ENOMEM;
    return 0;
  }
  return __libc_malloc(size);
}
