/* SPDX-License-Identifier: MIT
 *
 * int ring_publish_rseq_at(const RingSet* const* rings, const uint8_t* record, uint32_t size,
 *                          uint64_t ticks)
 *
 * The usual case of ring_publish_rseq() (ring_publish.S, which has the protocol), for who has read
 * the clock: a small record, the same sub-buffer, a small delta. Whatever else comes, an abort and
 * a ring that is ahead of `ticks` among them, begins again there and reads the clock anew.
 *
 *   rdi rings           r8  rseq offset, then place of the event    rax ticks, then data
 *   rsi record          r10 RingControl                             rcx ticks, slot offset, index
 *   edx size            r11 publish                                 r9  delta, first word
 */
#define RSEQ_SIG 0x53053053
#define THREAD_NO_RSEQ 12		/* struct ProbeThread */
#define SET_CONTROLS 8			/* struct RingSet */
#define SET_NR_CPUS 40
#define RC_PUBLISH 0			/* struct RingControl */
#define RC_SPACE_MASK 8
#define RC_SLOT 16
#define RC_DATA_DELTA 56
#define MAX_SMALL 112			/* 4 * kTypeDataMax */

	.section __rseq_cs, "aw"
	.balign 32
.Lcs:
	.long 0, 0
	.quad .Lstart, .Lcommitted - .Lstart, .Labort

.Lcs_value:
	.long 0, 0
	.quad .Lvalue_start, .Lvalue_committed - .Lvalue_start, .Lvalue_abort

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
	lea .Lcs(%rip), %rax
	mov %rax, %fs:8(%r8)		/* rseq->rseq_cs: from .Lstart on restartable */
.Lstart:
	mov %fs:0(%r8), %r10d		/* cpu_id_start */
	cmp %fs:4(%r8), %r10d		/* cpu_id: differs when this thread is not registered */
	jne ring_publish_rseq
	mov (%rdi), %rax
	cmp SET_NR_CPUS(%rax), %r10d
	jae ring_publish_rseq
	shl $7, %r10			/* kRingControlStride */
	add SET_CONTROLS(%rax), %r10
	mov %rcx, %rax
	mov %rcx, %r9
	mov RC_PUBLISH(%r10), %r11
	mov %r11, %rcx
	shr $28, %rcx
	and $16, %ecx			/* the slot that publish names */
	sub RC_SLOT(%r10,%rcx), %r9
	cmp $0x8000000, %r9		/* 1 << kDeltaBits, or negative */
	jae ring_publish_rseq
	mov %r11d, %r8d
	and RC_SPACE_MASK(%r10), %r8d	/* offset in the sub-buffer; 0 full or off, 16 empty */
	sub $17, %r8d
	jb ring_publish_rseq
	lea 20(%r8,%rdx), %r8d		/* offset + 4 + size - 1: of its last byte */
	cmp RC_SPACE_MASK(%r10), %r8d
	ja ring_publish_rseq
	mov %r11d, %r8d
	add %r10, %r8
	add RC_DATA_DELTA(%r10), %r8
	lea 4(%r11,%rdx), %r11		/* the new publish value … */
	btc $32, %r11			/* … with the other parity */
	shl $7, %r9			/* delta << 5 | size / 4, both times 4 */
	or %rdx, %r9
	shr $2, %r9
	mov %r9d, (%r8)
	mov RC_SLOT+8(%r10,%rcx), %r9
	inc %r9
	xor $16, %ecx
	mov %r9, RC_SLOT+8(%r10,%rcx)
	mov %rax, RC_SLOT(%r10,%rcx)
	mov -4(%rsi,%rdx), %eax		/* its last 4, of an odd number of words */
	mov %eax, (%r8,%rdx)
	mov %edx, %ecx
	and $-8, %ecx
1:	mov -8(%rsi,%rcx), %rax
	mov %rax, -4(%r8,%rcx)
	sub $8, %ecx
	jnz 1b
	mov %r11, RC_PUBLISH(%r10)	/* the one store */
.Lcommitted:
	xor %eax, %eax
	ret

	.long RSEQ_SIG			/* the kernel wants to see it before the address it jumps to */
.Labort:
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
	mov pb_thread@gottpoff(%rip), %rax
	mov pb_rseq_offset(%rip), %r8
	cmpl $0, %fs:THREAD_NO_RSEQ(%rax)
	jne .Lunusual
	test %r8, %r8
	jz .Lunusual
	lea .Lcs_value(%rip), %rax
	mov %rax, %fs:8(%r8)
.Lvalue_start:
	mov %fs:0(%r8), %r10d
	cmp %fs:4(%r8), %r10d
	jne .Lunusual
	mov (%rdi), %rax
	cmp SET_NR_CPUS(%rax), %r10d
	jae .Lunusual
	shl $7, %r10
	add SET_CONTROLS(%rax), %r10
	mov RC_PUBLISH(%r10), %r11
	mov %r11, %rax
	shr $28, %rax
	and $16, %eax
	mov %rcx, %r9
	sub RC_SLOT(%r10,%rax), %r9
	cmp $0x8000000, %r9
	jae .Lunusual
	mov %r11d, %r8d
	and RC_SPACE_MASK(%r10), %r8d
	sub $17, %r8d
	jb .Lunusual
	add $36, %r8d			/* offset + 4 + 16 - 1: of its last byte */
	cmp RC_SPACE_MASK(%r10), %r8d
	ja .Lunusual
	mov %r11d, %r8d
	add %r10, %r8
	add RC_DATA_DELTA(%r10), %r8
	shl $5, %r9d
	or $4, %r9d			/* 16 / 4 */
	mov %r9d, (%r8)
	mov %rsi, 4(%r8)
	mov %rdx, 12(%r8)
	mov RC_SLOT+8(%r10,%rax), %r9
	inc %r9
	xor $16, %eax
	mov %r9, RC_SLOT+8(%r10,%rax)
	mov %rcx, RC_SLOT(%r10,%rax)
	add $20, %r11
	btc $32, %r11
	mov %r11, RC_PUBLISH(%r10)	/* the one store */
.Lvalue_committed:
	xor %eax, %eax
	ret

	.long RSEQ_SIG
.Lvalue_abort:
.Lunusual:
	mov $1, %eax
	ret
	.cfi_endproc
	.size ring_publish_value_at, . - ring_publish_value_at
	.section .note.GNU-stack, "", @progbits
