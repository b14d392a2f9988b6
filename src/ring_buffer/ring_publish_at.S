/* SPDX-License-Identifier: MIT
 *
 * int ring_publish_rseq_at(const RingSet* const* rings, const uint8_t* record, uint32_t size,
 *                          uint64_t ticks)
 *
 * The usual case of ring_publish_rseq() (ring_publish.S, which has the protocol), for a caller that
 * has read the clock: a small record, the same sub-buffer, a small delta. All others, an abort
 * and a ring that is ahead of `ticks` among them, begin again there and read the clock anew.
 *
 *   rdi rings           r8  rseq offset, then place of the event    rax ticks, then data
 *   rsi record          r10 RingControl                             rcx ticks, slot offset, index
 *   edx size            r11 publish                                 r9  delta, first word
 */
#include "ring_buffer/ring_record.inc"

#define VALUE_RECORD 16			/* a header and one word */

	.text
	.globl ring_publish_rseq_at
	.hidden ring_publish_rseq_at
	.type ring_publish_rseq_at, @function
	.p2align 4
ring_publish_rseq_at:
	.cfi_startproc
	mov %edx, %edx			/* all of rdx */
	cmp $MAX_SMALL, %edx
	ja ring_publish_rseq
	mov pb_rseq_offset(%rip), %r8
	test %r8, %r8
	jz ring_publish_rseq
	rseq_begin at, %r8, %rax
	rseq_cpu %r8, %r10d, ring_publish_rseq
	mov (%rdi), %rax
	ring_of_cpu %rax, %r10, %r10d, ring_publish_rseq
	mov %rcx, %rax
	mov %rcx, %r9
	ring_slot %r10, %r11, %rcx, %ecx
	ring_room %r10, %r11d, %rcx, %r9, %r8d, ring_publish_rseq
	lea PAGE_HEADER+FIRST_WORD(%r8,%rdx), %r8d
	ring_place %r10, %r11d, %r8, %r8d, ring_publish_rseq
	lea FIRST_WORD(%r11,%rdx), %r11	/* the new publish value … */
	btc $PARITY_BIT, %r11		/* … with the other parity */
	shl $DELTA_SHIFT+2, %r9		/* delta << DELTA_SHIFT | size / 4, both times 4 */
	or %rdx, %r9
	shr $2, %r9
	mov %r9d, (%r8)
	ring_count %r10, %rcx, %ecx, %rax, %r9
	mov -4(%rsi,%rdx), %eax		/* its last 4, of an odd number of words */
	mov %eax, (%r8,%rdx)
	mov %edx, %ecx
	and $-8, %ecx
1:	mov -8(%rsi,%rcx), %rax
	mov %rax, -4(%r8,%rcx)
	sub $8, %ecx
	jnz 1b
	ring_commit at, %r10, %r11
	xor %eax, %eax
	ret

	rseq_abort at
	jmp ring_publish_rseq
	.cfi_endproc
	.size ring_publish_rseq_at, . - ring_publish_rseq_at

/* int ring_publish_value_at(const RingSet* const* rings, uint64_t header, uint64_t value,
 *                           uint64_t ticks)
 *
 * The same of a record of 16 bytes, all of which is known; nothing is done but in the usual case.
 *
 *   rdi rings           r8  rseq offset, then place of the event    rcx ticks
 *   rsi header          r10 RingControl                             rax slot offset
 *   rdx value           r11 publish                                 r9  delta, then entries
 */
	.globl ring_publish_value_at
	.hidden ring_publish_value_at
	.type ring_publish_value_at, @function
	.p2align 4
ring_publish_value_at:
	.cfi_startproc
	thread_rseq %r8, %rax, .Lunusual
	rseq_begin value, %r8, %rax
	rseq_cpu %r8, %r10d, .Lunusual
	mov (%rdi), %rax
	ring_of_cpu %rax, %r10, %r10d, .Lunusual
	ring_slot %r10, %r11, %rax, %eax
	mov %rcx, %r9
	ring_room %r10, %r11d, %rax, %r9, %r8d, .Lunusual
	add $PAGE_HEADER+FIRST_WORD+VALUE_RECORD, %r8d
	ring_place %r10, %r11d, %r8, %r8d, .Lunusual
	shl $DELTA_SHIFT, %r9d
	or $VALUE_RECORD / 4, %r9d
	mov %r9d, (%r8)
	mov %rsi, 4(%r8)
	mov %rdx, 12(%r8)
	ring_count %r10, %rax, %eax, %rcx, %r9
	add $FIRST_WORD+VALUE_RECORD, %r11
	btc $PARITY_BIT, %r11
	ring_commit value, %r10, %r11
	xor %eax, %eax
	ret

	rseq_abort value
.Lunusual:
	mov $1, %eax
	ret
	.cfi_endproc
	.size ring_publish_value_at, . - ring_publish_value_at
	.section .note.GNU-stack, "", @progbits
