/* SPDX-License-Identifier: MIT
 *
 * void count_hit(uint64_t* counter): one more (probe/hit_counter.h).
 *
 * The addition is the last instruction of a restartable sequence: a thread that was preempted,
 * migrated or took a signal before it has added nothing yet, and one behind it is done. A thread
 * that is aborted adds to the locked row instead of trying again. So there is no loop, and no count
 * is lost.
 */
#include "hot/rseq.inc"
#include "probe/asm_offsets.h"
#include "ring_buffer/thread_rseq.inc"

	.text
	.globl count_hit
	.hidden count_hit
	.type count_hit, @function
	.p2align 4
count_hit:
	.cfi_startproc
	thread_rseq %rax, %rcx, .Llocked
	rseq_begin count, %rax, %rcx
	rseq_cpu %rax, %ecx, .Llocked
	shl $HIT_ROW_SHIFT, %rcx
	cmp pb_locked_row(%rip), %rcx
	jae .Llocked
	addq $1, (%rdi,%rcx)
	rseq_commit count
	ret

	rseq_abort count
.Llocked:
	mov pb_locked_row(%rip), %rcx
	lock addq $1, (%rdi,%rcx)
	ret
	.cfi_endproc
	.size count_hit, . - count_hit

	.bss
	.globl pb_locked_row		/* set once, before there is a counter */
	.hidden pb_locked_row
	.type pb_locked_row, @object
	.balign 8
pb_locked_row:
	.zero 8
	.size pb_locked_row, 8
	.section .note.GNU-stack, "", @progbits
