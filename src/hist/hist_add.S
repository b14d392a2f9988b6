/* SPDX-License-Identifier: MIT
 *
 * bool hist_add(HistTable* table, uint64_t offset, uint64_t value, uint32_t generation)
 *
 * One word in the row of this CPU += value (hist/hist_table_hot.h). The addition is the last
 * instruction of a restartable sequence, as in probe/count_hit.S; the generation is compared inside
 * it: when a clear has raised it and asked for membarrier(RSEQ), no addition of the old one can
 * come any more. Threads without rseq add to the last row with a lock, and say so in locked_users
 * while they do, for the same reason.
 *
 *   rdi table   rsi offset in the row   rdx value   ecx generation   rax rseq   r8 row
 */
#include "hist/asm_offsets.h"
#include "hot/rseq.inc"
#include "ring_buffer/thread_rseq.inc"

	.text
	.globl hist_add
	.hidden hist_add
	.type hist_add, @function
	.p2align 4
hist_add:
	.cfi_startproc
	thread_rseq %rax, %r8, .Llocked
	rseq_begin add, %rax, %r8
	rseq_cpu %rax, %r8d, .Llocked
	cmp HIST_NR_CPUS(%rdi), %r8d
	jae .Llocked
	cmp HIST_GENERATION(%rdi), %ecx
	jne .Llate
	imul HIST_ROW_SIZE(%rdi), %r8
	add HIST_SUMS(%rdi), %r8
	add %rdx, (%r8,%rsi)
	rseq_commit add
	mov $1, %eax
	ret
.Llate:
	xor %eax, %eax
	ret

	rseq_abort add
.Llocked:
	lock incl HIST_LOCKED_USERS(%rdi)
	xor %eax, %eax
	cmp HIST_GENERATION(%rdi), %ecx
	jne .Lunlock
	mov HIST_NR_CPUS(%rdi), %r8d
	imul HIST_ROW_SIZE(%rdi), %r8
	add HIST_SUMS(%rdi), %r8
	lock add %rdx, (%r8,%rsi)
	mov $1, %eax
.Lunlock:
	lock decl HIST_LOCKED_USERS(%rdi)
	ret
	.cfi_endproc
	.size hist_add, . - hist_add
	.section .note.GNU-stack, "", @progbits
