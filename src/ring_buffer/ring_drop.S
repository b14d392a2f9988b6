/* SPDX-License-Identifier: MIT
 *
 * void ring_drop(const RingSet* const* rings): one event more that the ring of this CPU has lost
 * (ring_write_hot.h).
 *
 * The addition is the last instruction of a restartable sequence, as in probe/count_hit.S. A thread
 * that is aborted begins again, a few times. Then the ring of threads without rseq counts it.
 */
#include "ring_buffer/ring_record.inc"

#define MAX_ABORTS 64

	.text
	.globl ring_drop
	.hidden ring_drop
	.type ring_drop, @function
	.p2align 4
ring_drop:
	.cfi_startproc
	mov $MAX_ABORTS, %esi
	thread_rseq %rax, %rcx, ring_drop_locked
.Lagain:
	rseq_begin drop, %rax, %rcx
	rseq_cpu %rax, %ecx, ring_drop_locked
	mov (%rdi), %rdx
	ring_of_cpu %rdx, %rcx, %ecx, ring_drop_locked
	addq $1, RING_DROPPED(%rcx)
	rseq_commit drop
	ret

	rseq_abort drop
	dec %esi
	jnz .Lagain
	jmp ring_drop_locked
	.cfi_endproc
	.size ring_drop, . - ring_drop
	.section .note.GNU-stack, "", @progbits
