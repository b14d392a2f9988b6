// SPDX-License-Identifier: MIT
//
// A thread has one area for restartable sequences (rseq(2)). glibc registers one from 2.35 on, if
// GLIBC_TUNABLES does not forbid it. Where it does not, each thread registers the agent's, at its
// first hit, and keeps it to its end: the area is thread-local data, which is there as long as the
// thread is. A program may register one of its own (librseq, tcmalloc), at any time:
//
//   it has, before the thread's first hit      the kernel refuses ours (EINVAL): the thread goes on
//                                              without, to the locked ring
//   it does, after that                        it calls syscall(SYS_rseq, …) of libc, whose entry
//                                              leads here: ours is taken back first
//
// A process in which something is there of librseq or tcmalloc (`__rseq_abi`) is left alone from
// the start, as is one in which the entry of syscall() cannot be replaced.
#include <dlfcn.h>
#include <sys/rseq.h>

#include <cerrno>

#include "agent/libc_entries.h"
#include "agent/stand_ins.h"
#include "base/raw_syscall.h"
#include "hot/rseq.h"
#include "ring_buffer/thread_rseq.h"

namespace patchbay {

void use_own_rseq() {
  if (::dlsym(RTLD_DEFAULT, "__rseq_abi")) return;
  pb_rseq_offset = own_rseq_offset();
  pb_rseq_size = kOwnRseqSize;
  if (settle_rseq()) return;
  pb_rseq_offset = 0;
  pb_rseq_size = 0;
}

void drop_own_rseq() {
  give_up_own_rseq();
  pb_rseq_offset = 0;
  pb_rseq_size = 0;
}

}  // namespace patchbay

extern "C" {
// Arguments as those of syscall(). The child of a vfork() has none: the kernel forgets the area.
__attribute__((visibility("hidden"), used)) void patchbay_program_calls_rseq(long, long, long,
                                                                             long flags) {
  if (!(flags & RSEQ_FLAG_UNREGISTER)) patchbay::give_up_own_rseq();
}
__attribute__((visibility("hidden"), used)) long patchbay_syscall_failed(long negative_errno) {
  errno = int(-negative_errno);
  return -1;
}
}

// As libc's syscall().
__asm__(R"(
.text
.p2align 4
.globl pb_syscall
.hidden pb_syscall
.type pb_syscall, @function
pb_syscall:
  .cfi_startproc
  endbr64
  .byte 0x0f, 0x1f, 0x44, 0x00, 0x00	/* a nop, as of PB_STAND_IN */
  cmpq $334, %rdi			/* SYS_rseq */
  je 2f
1:
  movq %rdi, %rax
  movq %rsi, %rdi
  movq %rdx, %rsi
  movq %rcx, %rdx
  movq %r8, %r10
  movq %r9, %r8
  movq 8(%rsp), %r9
  syscall
  cmpq $-4095, %rax
  jae 3f
  ret
2:
  pushq %rdi
  .cfi_adjust_cfa_offset 8
  pushq %rsi
  .cfi_adjust_cfa_offset 8
  pushq %rdx
  .cfi_adjust_cfa_offset 8
  pushq %rcx
  .cfi_adjust_cfa_offset 8
  pushq %r8
  .cfi_adjust_cfa_offset 8
  pushq %r9
  .cfi_adjust_cfa_offset 8
  subq $8, %rsp
  .cfi_adjust_cfa_offset 8
  call patchbay_program_calls_rseq
  addq $8, %rsp
  .cfi_adjust_cfa_offset -8
  popq %r9
  .cfi_adjust_cfa_offset -8
  popq %r8
  .cfi_adjust_cfa_offset -8
  popq %rcx
  .cfi_adjust_cfa_offset -8
  popq %rdx
  .cfi_adjust_cfa_offset -8
  popq %rsi
  .cfi_adjust_cfa_offset -8
  popq %rdi
  .cfi_adjust_cfa_offset -8
  jmp 1b
3:
  movq %rax, %rdi
  jmp patchbay_syscall_failed
  .cfi_endproc
.size pb_syscall, . - pb_syscall
)");
static_assert(SYS_rseq == 334);
