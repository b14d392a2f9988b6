/* SPDX-License-Identifier: MIT
 *
 * int ring_publish_rseq(const RingSet* const* rings, const uint8_t* record, uint32_t size)
 *
 * One event into the ring of the CPU this thread runs on, as one restartable sequence: between a
 * start label and its committed label the kernel sends the thread to the abort label when it was
 * preempted, migrated or took a signal. Everything before the last store writes only where no
 * reader looks yet (beyond publish, the slot that publish does not name, the next sub-buffer):
 * starting again is harmless. *rings is read inside the sequence, so that the control
 * side changes it, asks for membarrier(RSEQ), and knows that no thread is on its way into the old
 * set.
 * ring_publish_locked() in ring_write_hot.cc is the same algorithm in C; abi/buffer_abi.h has the
 * protocol.
 *
 * It comes twice. First for the usual case, without a stack frame: a small record, the same
 * sub-buffer, a small delta. Nothing that arrived in a register is lost on the way, so that
 * everything else, and an abort, can begin again at .Lgeneral:
 *
 *   rdi rings           r8  rseq offset, then place of the event    rax time, then data
 *   rsi record          r10 RingControl                             rcx slot offset, then index
 *   r9  size            r11 publish                                 rdx delta
 *
 * Then in general:
 *
 *   rdi set             rbx rseq offset        r12 size of the record
 *   rsi record          rbp slot offset 0/16   r13 bytes of header and data (and time extend)
 *   r8  RingControl     r9  publish            r14 space_mask
 *   r10 data of ring    r11 time               r15 cpu
 *   stack: 0 aborts left, 8 record (rsi), 16 rings, 24 index, 32 pieces or null
 *   The stack pointer does not move inside the sequence: an abort finds it where it was.
 * Its labels stand for functions of ring_write_hot.cc: .Lextend and .Lempty_page for find_place(),
 * .Lpending for keep_aside(), .Lnew_page and .Lturn for begin_subbuf(), .Lwrite for write_event().
 */
#include "ring_buffer/ring_record.inc"

#define MAX_ABORTS 64

	.macro usual_room name, general	/* the usual case, with the registers above, to ring_room */
	rseq_begin \name, %r8, %rax
	rseq_cpu %r8, %eax, \general
	mov (%rdi), %rcx
	ring_of_cpu %rcx, %rax, %eax, \general
	mov %rax, %r10
	ring_slot %r10, %r11, %rcx, %ecx
	ring_clock
	mov %rax, %rdx
	ring_room %r10, %r11d, %rcx, %rdx, %r8d, \general
	.endm

	.text
	.globl ring_publish_rseq
	.hidden ring_publish_rseq
	.type ring_publish_rseq, @function
ring_publish_rseq:
	.cfi_startproc
	mov %edx, %r9d
	cmp $MAX_SMALL, %edx
	ja .Lgeneral
	mov pb_rseq_offset(%rip), %r8
	test %r8, %r8
	jz .Lgeneral
	usual_room small, .Lgeneral
	lea PAGE_HEADER+FIRST_WORD(%r8,%r9), %r8d
	ring_place %r10, %r11d, %r8, %r8d, .Lgeneral
	lea FIRST_WORD(%r11,%r9), %r11	/* the new publish value … */
	btc $PARITY_BIT, %r11		/* … with the other parity */
	shl $DELTA_SHIFT+2, %rdx	/* delta << DELTA_SHIFT | size / 4, both times 4 */
	or %r9, %rdx
	shr $2, %rdx
	mov %edx, (%r8)
	ring_count %r10, %rcx, %ecx, %rax, %rdx
	mov %r9d, %ecx			/* the record from its end: 8 bytes of code copy 8 bytes */
	and $-8, %ecx
	neg %rcx
	lea .Lcopied(%rip), %rdx
	add %rdx, %rcx
	mov -4(%rsi,%r9), %eax		/* its last 4, of an odd number of words */
	mov %eax, (%r8,%r9)
	jmp *%rcx
.Lcopy:
	.irp at,104,96,88,80,72,64,56,48,40,32,24,16,8
	mov \at(%rsi), %rax
	mov %rax, 4+\at(%r8)
	.endr
	.byte 0x48, 0x8b, 0x46, 0	/* mov 0(%rsi), %rax with its offset */
	mov %rax, 4(%r8)
.Lcopied:
	.if .Lcopied - .Lcopy != MAX_SMALL
	.error "eight bytes of code no longer copy eight bytes"
	.endif
	ring_commit small, %r10, %r11
	xor %eax, %eax
	ret

	rseq_abort small
.Lgeneral:
	xor %ecx, %ecx
.Lgeneral_pieces:			/* rcx: pieces or null */
	mov %r9d, %edx
	push %rbx
	.cfi_adjust_cfa_offset 8
	push %rbp
	.cfi_adjust_cfa_offset 8
	push %r12
	.cfi_adjust_cfa_offset 8
	push %r13
	.cfi_adjust_cfa_offset 8
	push %r14
	.cfi_adjust_cfa_offset 8
	push %r15
	.cfi_adjust_cfa_offset 8
	sub $40, %rsp
	.cfi_adjust_cfa_offset 40
	.cfi_offset %rbx, -16
	.cfi_offset %rbp, -24
	.cfi_offset %r12, -32
	.cfi_offset %r13, -40
	.cfi_offset %r14, -48
	.cfi_offset %r15, -56
	movq $MAX_ABORTS, 0(%rsp)
	mov %rsi, 8(%rsp)
	mov %rdi, 16(%rsp)
	mov %rcx, 32(%rsp)
	mov %edx, %r12d
	mov pb_rseq_offset(%rip), %rbx
	test %rbx, %rbx
	jz .Lno_rseq

.Lrestart:
	lea 4(%r12), %r13d
	lea 8(%r12), %eax
	cmp $MAX_SMALL, %r12d
	cmova %eax, %r13d
	mov 8(%rsp), %rsi
	mov 16(%rsp), %rdi
	rseq_begin general, %rbx, %rax
	rseq_cpu %rbx, %r15d, .Lno_rseq
	mov (%rdi), %rdi
	cmp SET_NR_CPUS(%rdi), %r15d
	jae .Lno_rseq
	mov %r15, %r8
	ring_of_known_cpu %rdi, %r8
	mov RING_DATA_DELTA(%r8), %r10
	add %r8, %r10
	mov RING_PUBLISH(%r8), %r9
	mov RING_SPACE_MASK(%r8), %r14d
	test %r14d, %r14d
	jz .Loff
	ring_slot_of %r9, %rbp, %ebp
	ring_clock
	mov %rax, %r11
	mov RING_SLOT_TIME(%r8,%rbp), %rcx
	mov %r9, %rdx
	shr $LAP_SHIFT, %rdx		/* lap */
	sub %rcx, %rax			/* delta */
	jae 1f
	mov %rcx, %r11			/* the TSC went back (migrated VM): time stands still (G2) */
	xor %eax, %eax
1:	mov %r9d, %ecx
	and %r14d, %ecx			/* offset inside the sub-buffer; 0: exactly full */
	jz .Lnew_page
	cmp $PAGE_HEADER, %ecx
	je .Lempty_page
	neg %ecx
	lea 1(%r14,%rcx), %ecx		/* room left */
	cmp $DELTA_LIMIT, %rax		/* needs a time extend before it */
	jae .Lextend
	cmp %r13d, %ecx
	jb .Lnew_page
	mov %r9d, %ecx			/* place of the event, as an offset in the ring */
	jmp .Lwrite

.Lextend:	/* (type | low bits << 5), high bits; the event itself then has delta 0 */
	sub $8, %ecx
	jb .Lnew_page
	cmp %r13d, %ecx
	jb .Lnew_page
	mov %r9d, %ecx
	mov %eax, %r14d
	shl $DELTA_SHIFT, %r14d
	or $TYPE_TIME_EXTEND, %r14d
	mov %r14d, (%r10,%rcx)
	shr $DELTA_BITS, %rax
	mov %eax, 4(%r10,%rcx)
	add $8, %ecx
	xor %eax, %eax
	jmp .Lwrite

.Lempty_page:				/* the first event of the ring's first sub-buffer */
	lea PAGE_HEADER-1(%r13), %eax
	cmp %r14d, %eax
	ja .Ltoo_large
	mov %r9d, %ecx
	mov %r11, PAGE_TIME-PAGE_HEADER(%r10,%rcx)
	xor %eax, %eax
	jmp .Lwrite

/* A hit has asked for a snapshot (ring_cut.h). Does it want the sub-buffer that stands where the
 * next one goes, and is that not yet aside? Else on to .Lturn, with all registers but rax and rcx.
 */
.Lpending:
	cmpq $0, SET_SIDE_DELTA(%rdi)
	je .Lturn
	mov 24(%rsp), %eax
	inc %eax
	cmp RING_NR_SUBBUFS(%r8), %eax
	jb 13f
	xor %eax, %eax			/* index of the next */
13:	mov SET_SUBBUF_SHIFT(%rdi), %ecx
	shl %cl, %rax
	mov (%r10,%rax), %rcx		/* its time: of its first event */
	cmp SET_CUT_TO(%rdi), %rcx
	ja .Lturn			/* it began after the hit */
	mov SET_SUBBUF_SHIFT(%rdi), %ecx
	shr %cl, %rax
	shl $PAGE_META_SHIFT, %rax
	add %r8, %rax
	add RING_PAGE_META_DELTA(%r8), %rax
	mov RING_NR_SUBBUFS(%r8), %ecx
	neg %rcx
	add %rsi, %rcx			/* its number */
	cmp %rcx, (%rax)
	jne .Lturn			/* never used, or one that was aborted has begun to reuse it */
	add SET_SIDE_DELTA(%rdi), %rax
	cmp %rcx, (%rax)
	je .Lturn			/* it is aside */
	mov %rcx, %r11			/* to be copied; then everything begins again */
	movq $-1, (%rax)
	mov SET_SIDE_DELTA(%rdi), %rdx
	mov %rax, %rcx
	sub %rdx, %rcx
	mov PAGE_META_ENTRIES(%rcx), %rsi
	mov %rsi, PAGE_META_ENTRIES(%rax)
	sub %r8, %rcx
	sub RING_PAGE_META_DELTA(%r8), %rcx
	shr $PAGE_META_SHIFT, %rcx
	mov %ecx, %esi			/* index */
	mov SET_SUBBUF_SHIFT(%rdi), %ecx
	shl %cl, %rsi
	add %r10, %rsi			/* from */
	mov $1, %r9d
	shl %cl, %r9
	add %rsi, %r9			/* its end */
14:	mov (%rsi), %rcx
	mov %rcx, (%rsi,%rdx)
	mov 8(%rsi), %rcx
	mov %rcx, 8(%rsi,%rdx)
	add $16, %rsi
	cmp %r9, %rsi
	jb 14b
	mov %r11, (%rax)		/* complete */
	jmp .Lrestart

.Lnew_page:	/* rdx lap, rsi the number of the sub-buffer to begin */
	lea PAGE_HEADER-1(%r13), %eax
	cmp %r14d, %eax
	ja .Ltoo_large
	mov SET_SUBBUF_SHIFT(%rdi), %ecx
	lea -1(%r9), %eax
	shr %cl, %eax			/* index of the current one: (offset - 1) >> shift */
	mov %rax, 24(%rsp)
	mov RING_NR_SUBBUFS(%r8), %ecx
	mov %rdx, %rsi
	imul %rcx, %rsi
	lea 1(%rsi,%rax), %rsi
	cmpl $0, RING_OVERWRITE(%r8)
	jne 3f
	mov %r15, %rax			/* full when n - read_seq > nr_subbufs - 2 (signed) */
	shl $READER_SHIFT, %rax
	add SET_READERS(%rdi), %rax
	neg %rcx
	add %rsi, %rcx
	sub (%rax), %rcx		/* read_seq */
	cmp $-2, %rcx
	jg .Ldrop
3:	mov SET_CUT_TO(%rdi), %rax
	cmp SET_CUT_SERVED(%rdi), %rax
	jne .Lpending
.Lturn:	lea -1(%r9), %eax		/* close the old one: commit = ((offset - 1) & mask) + 1 - 16 */
	mov %eax, %ecx
	and %r14d, %eax
	sub $PAGE_HEADER-1, %eax
	not %r14d
	and %r14d, %ecx			/* its start */
	mov %rax, PAGE_COMMIT(%r10,%rcx)
	mov 24(%rsp), %rax
	inc %eax
	cmp RING_NR_SUBBUFS(%r8), %eax
	jb 4f
	xor %eax, %eax			/* wrapped: next lap */
	inc %rdx
4:	mov %eax, %ecx			/* PageMeta[index] = { number, entries } */
	shl $PAGE_META_SHIFT, %rcx
	add %r8, %rcx
	add RING_PAGE_META_DELTA(%r8), %rcx
	mov %rsi, PAGE_META_SEQ(%rcx)
	mov RING_SLOT_ENTRIES(%r8,%rbp), %rsi
	mov %rsi, PAGE_META_ENTRIES(%rcx)
	mov SET_SUBBUF_SHIFT(%rdi), %ecx
	shl %cl, %eax
	mov %eax, %ecx
	mov %r11, PAGE_TIME(%r10,%rcx)	/* this event's */
	add $PAGE_HEADER, %ecx
	xor %eax, %eax

.Lwrite:	/* eax delta, ecx offset, rdx lap, r13 bytes of this event */
	lea (%r10,%rcx), %r14		/* from here on r14 is the place to write */
	ring_count %r8, %rbp, %ebp, %r11, %r9
	add %r13d, %ecx			/* the new publish value: offset < 2^32 … */
	shl $LAP_SHIFT, %rdx
	or %rcx, %rdx
	mov %rbp, %rcx
	shl $PARITY_TO_SLOT, %rcx	/* … and the parity bit */
	or %rcx, %rdx
	mov 8(%rsp), %rsi
	shl $DELTA_SHIFT, %eax
	mov %r12d, %ecx
	cmp $MAX_SMALL, %ecx
	ja 5f
	mov %r12d, %r15d
	shr $2, %r15d
	or %r15d, %eax
	mov %eax, (%r14)
	add $4, %r14
	jmp 6f
5:	mov %eax, (%r14)		/* type_len 0: the length word counts itself */
	lea 4(%r12), %eax
	mov %eax, 4(%r14)
	add $8, %r14
	mov 32(%rsp), %r13
	test %r13, %r13
	jz 6f
.Lpiece:				/* only these bytes of the record */
	mov (%r13), %ecx
10:	mov (%rsi,%rcx), %rax
	mov %rax, (%r14,%rcx)
	add $8, %ecx
	cmp 4(%r13), %ecx
	jb 10b
	add $8, %r13
	cmpl $0, 4(%r13)
	jne .Lpiece
	jmp 9f
6:	sub $8, %ecx
	jb 8f
7:	mov (%rsi), %rax
	add $8, %rsi
	mov %rax, (%r14)
	add $8, %r14
	sub $8, %ecx
	jae 7b
8:	test $4, %cl
	jz 9f
	mov (%rsi), %eax
	mov %eax, (%r14)
9:	ring_commit general, %r8, %rdx
	xor %eax, %eax
.Lreturn:
	add $40, %rsp
	.cfi_remember_state
	.cfi_adjust_cfa_offset -40
	pop %r15
	.cfi_adjust_cfa_offset -8
	pop %r14
	.cfi_adjust_cfa_offset -8
	pop %r13
	.cfi_adjust_cfa_offset -8
	pop %r12
	.cfi_adjust_cfa_offset -8
	pop %rbp
	.cfi_adjust_cfa_offset -8
	pop %rbx
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_restore_state

.Ldrop:	/* the count is a sequence of its own: one load, one store, on this CPU's ring only */
	rseq_begin drop, %rbx, %rax
	cmp %fs:RSEQ_CPU_ID_START(%rbx), %r15d	/* still on the CPU whose ring was full? */
	jne .Lrestart
	mov 16(%rsp), %rax
	cmp (%rax), %rdi		/* and is it still the ring to write to? */
	jne .Lrestart
	mov RING_DROPPED(%r8), %rax
	inc %rax
	mov %rax, RING_DROPPED(%r8)
	rseq_commit drop
	mov $1, %eax
	jmp .Lreturn

.Loff:	cmpl $0, RING_CLOSED(%r8)		/* being replaced: a loss; else nobody wants the event */
	jne .Ldrop
	mov $2, %eax
	jmp .Lreturn
.Ltoo_large:				/* the sub-buffers were made smaller since it was defined */
	mov SET_HEADER(%rdi), %rax
	lock incq HEADER_MISSED(%rax)
	mov $1, %eax
	jmp .Lreturn
.Lno_rseq:
	mov $3, %eax
	jmp .Lreturn

	rseq_abort general
.Labort_drop:
	decq 0(%rsp)
	jnz .Lrestart
	jmp .Lno_rseq
	.cfi_endproc
	.size ring_publish_rseq, . - ring_publish_rseq

/* int ring_publish_pieces(const RingSet* const* rings, const uint8_t* record, uint32_t size,
 *                         const RingPiece* pieces)
 *
 * The same for a record of more than MAX_SMALL bytes of which only some are worth copying. The
 * usual case has registers as above; `pieces` lies on the stack, where an abort finds it.
 */
	.globl ring_publish_pieces
	.hidden ring_publish_pieces
	.type ring_publish_pieces, @function
	.p2align 5
ring_publish_pieces:
	.cfi_startproc
	push %rcx
	.cfi_adjust_cfa_offset 8
	mov %edx, %r9d
	mov pb_rseq_offset(%rip), %r8
	test %r8, %r8
	jz .Lpieces_general
	usual_room pieces, .Lpieces_general
	lea PAGE_HEADER+FIRST_WORD+4(%r8,%r9), %r8d
	ring_place %r10, %r11d, %r8, %r8d, .Lpieces_general
	lea FIRST_WORD+4(%r11,%r9), %r11
	btc $PARITY_BIT, %r11
	shl $DELTA_SHIFT, %edx		/* type_len 0: the length is in a word of its own */
	mov %edx, (%r8)
	lea 4(%r9), %edx
	mov %edx, 4(%r8)
	ring_count %r10, %rcx, %ecx, %rax, %rdx
	mov (%rsp), %rcx
11:	mov (%rcx), %edx
12:	mov (%rsi,%rdx), %rax
	mov %rax, 8(%r8,%rdx)
	add $8, %edx
	cmp 4(%rcx), %edx
	jb 12b
	add $8, %rcx
	cmpl $0, 4(%rcx)
	jne 11b
	ring_commit pieces, %r10, %r11
	add $8, %rsp
	.cfi_remember_state
	.cfi_adjust_cfa_offset -8
	xor %eax, %eax
	ret
	.cfi_restore_state

	rseq_abort pieces
.Lpieces_general:
	pop %rcx
	.cfi_adjust_cfa_offset -8
	jmp .Lgeneral_pieces
	.cfi_endproc
	.size ring_publish_pieces, . - ring_publish_pieces
	.section .note.GNU-stack, "", @progbits
