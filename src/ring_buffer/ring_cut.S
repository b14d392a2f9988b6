/* SPDX-License-Identifier: MIT
 *
 * int ring_cut_rseq(RingCut* cut, uint64_t floor)
 *
 * Enters this moment into the last two of a RingCut (ring_cut.h). The clock is read and the words
 * exchanged as one restartable sequence, so that this thread has run all the time in between.
 *
 *   rdi cut             r8  rseq offset                 rdx:rax the two words as they were
 *   rsi floor           r9  aborts left                 rcx:rbx as they become
 *                       r10 time
 *
 * void ring_cut_at(RingCut* cut, uint64_t time)
 */
#include "ring_buffer/ring_record.inc"

#define MAX_ABORTS 64

	/* rdx:rax and r10 -> rcx:rbx; jumps when r10 changes nothing */
	.macro enter_time none
	mov CUT_FROM(%rdi), %rax
	mov CUT_TO(%rdi), %rdx
	mov %rdx, %rbx			/* usually: from = to, to = time */
	mov %r10, %rcx
	cmp %rdx, %r10
	ja 1f
	je \none
	cmp %rax, %r10			/* a later one is there already: it stays the last */
	jbe \none
	mov %r10, %rbx
	mov %rdx, %rcx
1:
	.endm

	.text
	.globl ring_cut_rseq
	.hidden ring_cut_rseq
	.type ring_cut_rseq, @function
	.p2align 4
ring_cut_rseq:
	.cfi_startproc
	push %rbx
	.cfi_adjust_cfa_offset 8
	.cfi_offset %rbx, -16
	mov pb_rseq_offset(%rip), %r8
	test %r8, %r8
	jz .Lno_rseq
	mov $MAX_ABORTS, %r9d
.Lagain:
	rseq_begin cut, %r8, %rax
	rseq_cpu %r8, %eax, .Lno_rseq
	lfence				/* not before the record has read it */
	ring_clock
	mov %rax, %r10
	cmp %rsi, %r10
	cmovb %rsi, %r10
	enter_time .Ldone
	lock cmpxchg16b (%rdi)
	rseq_commit cut
	jne .Lagain			/* another hit: what it has entered is there */
.Ldone:
	mov $1, %eax
.Lreturn:
	pop %rbx
	.cfi_remember_state
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_restore_state
.Lno_rseq:
	xor %eax, %eax
	jmp .Lreturn

	rseq_abort cut
	dec %r9d
	jnz .Lagain
	jmp .Lno_rseq
	.cfi_endproc
	.size ring_cut_rseq, . - ring_cut_rseq

	.globl ring_cut_at
	.hidden ring_cut_at
	.type ring_cut_at, @function
	.p2align 4
ring_cut_at:
	.cfi_startproc
	push %rbx
	.cfi_adjust_cfa_offset 8
	.cfi_offset %rbx, -16
	mov %rsi, %r10
2:	enter_time 3f
	lock cmpxchg16b (%rdi)
	jne 2b
3:	pop %rbx
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	.size ring_cut_at, . - ring_cut_at
	.section .note.GNU-stack, "", @progbits
