/* SPDX-License-Identifier: MIT
 *
 * void profile_add(const ProfileTable* table, uint64_t function, uint64_t ticks)
 *
 * One call more in the profiler's counts of a function on this CPU (graph_hot.h). The sums
 * are written beside the valid ones; the addition to `hits`, the last instruction of the
 * restartable sequence, makes them valid. So all three words belong together, for readers too.
 *
 *   rdi table   rsi function   r9 ticks   r11:r10 its square
 *   rcx ProfileCount   r8 valid   rdx new
 */
#include "hot/rseq.inc"
#include "probe/asm_offsets.h"
#include "probe/returns/asm_offsets.h"
#include "ring_buffer/thread_rseq.inc"

#define MAX_ABORTS 64

	.text
	.globl profile_add
	.hidden profile_add
	.type profile_add, @function
	.p2align 4
profile_add:
	.cfi_startproc
	mov %rdx, %r9
	mov %rdx, %rax
	mul %rdx
	mov %rax, %r10
	mov %rdx, %r11
	movl $MAX_ABORTS, -8(%rsp)
.Lrestart:
	thread_rseq %r8, %rcx, .Llocked
	rseq_begin profile, %r8, %rax
	rseq_cpu %r8, %eax, .Llocked
	cmp PROFILE_NR_CPUS(%rdi), %eax
	jae .Llocked
	mov PROFILE_FUNCTIONS(%rdi), %rcx
	imul %rax, %rcx
	add %rsi, %rcx
	shl $PROFILE_COUNT_SHIFT, %rcx
	add PROFILE_COUNTS(%rdi), %rcx
	mov (%rcx), %eax
	and $1, %eax
	imul $PROFILE_SUM_SIZE, %eax, %eax
	lea PROFILE_SUMS(%rcx,%rax), %r8
	neg %rax
	lea PROFILE_SUMS+PROFILE_SUM_SIZE(%rcx,%rax), %rdx
	mov (%r8), %rax
	add %r9, %rax
	mov %rax, (%rdx)
	mov 8(%r8), %rax
	add %r10, %rax
	mov %rax, 8(%rdx)
	mov 16(%r8), %rax
	adc %r11, %rax
	mov %rax, 16(%rdx)
	addq $1, (%rcx)
	rseq_commit profile
	ret

	rseq_abort profile
	decl -8(%rsp)
	jnz .Lrestart
.Llocked:
	mov PROFILE_NR_CPUS(%rdi), %ecx
	imul PROFILE_FUNCTIONS(%rdi), %rcx
	add %rsi, %rcx
	shl $PROFILE_COUNT_SHIFT, %rcx
	add PROFILE_COUNTS(%rdi), %rcx
	lock addq $1, (%rcx)
	lock addq %r9, PROFILE_SUMS(%rcx)
	mov %r10, %rax
	lock xaddq %rax, PROFILE_SUMS+8(%rcx)
	add %r10, %rax			/* the carry out of that */
	adc $0, %r11
	lock addq %r11, PROFILE_SUMS+16(%rcx)
	ret
	.cfi_endproc
	.size profile_add, . - profile_add
	.section .note.GNU-stack, "", @progbits
