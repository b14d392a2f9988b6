/* SPDX-License-Identifier: MIT
 *
 * int ring_publish_rseq(const RingSet* const* rings, const uint8_t* record, uint32_t size)
 *
 * One event into the ring of the CPU this thread runs on, as one restartable sequence: between a
 * start label and its committed label the kernel sends the thread to the abort label when it was
 * preempted, migrated or took a signal. Everything before the last store writes only where no
 * reader looks yet (beyond publish, the slot that publish does not name, the next sub-buffer):
 * starting again is harmless. *rings is read inside the sequence, so whoever changes it and then
 * asks for membarrier(RSEQ) knows that nobody is still on his way into the old set.
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
 *   rdi set             rbx struct rseq        r12 size of the record
 *   rsi record          rbp slot offset 0/16   r13 bytes of header and data (and time extend)
 *   r8  RingControl     r9  publish            r14 space_mask
 *   r10 data of ring    r11 time               r15 cpu
 *   stack: 0 aborts left, 8 record (rsi), 16 rings, 24 index, 32 pieces or null
 *   The stack pointer does not move inside the sequence: an abort finds it where it was.
 */
#define RSEQ_SIG 0x53053053
/* struct RingSet */
#define SET_HEADER 0
#define SET_CONTROLS 8
#define SET_READERS 16
#define SET_SUBBUF_SHIFT 36
#define SET_NR_CPUS 40
#define SET_CUT_TO 72			/* .cut: struct RingCut */
#define SET_CUT_SERVED 80
#define SET_SIDE_DELTA 88
/* struct BufferHeader */
#define HEADER_MISSED 128
/* struct RingControl */
#define RC_PUBLISH 0
#define RC_SPACE_MASK 8
#define RC_SLOT 16
#define RC_DROPPED 48
#define RC_DATA_DELTA 56
#define RC_PAGE_META_DELTA 64
#define RC_NR_SUBBUFS 72
#define RC_OVERWRITE 76
#define RC_CLOSED 80
#define MAX_ABORTS 64
#define MAX_SMALL 112			/* 4 * kTypeDataMax: a longer record has a length word */

	.section __rseq_cs, "aw"
	.balign 32
.Lcs:
	.long 0, 0
	.quad .Lstart, .Lcommitted - .Lstart, .Labort
	.balign 32
.Lcs_drop:
	.long 0, 0
	.quad .Ldrop_start, .Ldrop_committed - .Ldrop_start, .Labort
	.balign 32
.Lcs_small:
	.long 0, 0
	.quad .Lsmall_start, .Lsmall_committed - .Lsmall_start, .Lsmall_abort
	.balign 32
.Lcs_pieces:
	.long 0, 0
	.quad .Lpieces_start, .Lpieces_committed - .Lpieces_start, .Lpieces_abort

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
	lea .Lcs_small(%rip), %rax
	mov %rax, %fs:8(%r8)		/* rseq->rseq_cs: from .Lsmall_start on restartable */
.Lsmall_start:
	mov %fs:0(%r8), %eax		/* cpu_id_start */
	cmp %fs:4(%r8), %eax		/* cpu_id: differs when this thread is not registered */
	jne .Lgeneral
	mov (%rdi), %rcx
	cmp SET_NR_CPUS(%rcx), %eax
	jae .Lgeneral
	shl $7, %rax			/* kRingControlStride */
	add SET_CONTROLS(%rcx), %rax
	mov %rax, %r10
	mov RC_PUBLISH(%r10), %r11
	mov %r11, %rcx
	shr $28, %rcx
	and $16, %ecx			/* the slot that publish names */
	rdtsc
	shl $32, %rdx
	or %rdx, %rax
	mov %rax, %rdx
	sub RC_SLOT(%r10,%rcx), %rdx
	cmp $0x8000000, %rdx		/* 1 << kDeltaBits, or negative */
	jae .Lgeneral
	mov %r11d, %r8d
	and RC_SPACE_MASK(%r10), %r8d	/* offset in the sub-buffer; 0 full or off, 16 empty */
	sub $17, %r8d
	jb .Lgeneral
	lea 20(%r8,%r9), %r8d		/* offset + 4 + size - 1: of its last byte */
	cmp RC_SPACE_MASK(%r10), %r8d
	ja .Lgeneral
	mov %r11d, %r8d
	add %r10, %r8
	add RC_DATA_DELTA(%r10), %r8
	lea 4(%r11,%r9), %r11		/* the new publish value … */
	btc $32, %r11			/* … with the other parity */
	shl $7, %rdx			/* delta << 5 | size / 4, both times 4 */
	or %r9, %rdx
	shr $2, %rdx
	mov %edx, (%r8)
	mov RC_SLOT+8(%r10,%rcx), %rdx
	inc %rdx
	xor $16, %ecx
	mov %rdx, RC_SLOT+8(%r10,%rcx)
	mov %rax, RC_SLOT(%r10,%rcx)
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
	mov %r11, RC_PUBLISH(%r10)	/* the one store */
.Lsmall_committed:
	xor %eax, %eax
	ret

	.long RSEQ_SIG			/* the kernel wants to see it before the address it jumps to */
.Lsmall_abort:
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
	add %fs:0, %rbx

.Lrestart:
	lea 4(%r12), %r13d
	lea 8(%r12), %eax
	cmp $MAX_SMALL, %r12d
	cmova %eax, %r13d
	mov 8(%rsp), %rsi
	mov 16(%rsp), %rdi
	lea .Lcs(%rip), %rax
	mov %rax, 8(%rbx)		/* rseq->rseq_cs: from .Lstart on restartable */
.Lstart:
	mov 0(%rbx), %r15d		/* cpu_id_start */
	cmp 4(%rbx), %r15d		/* cpu_id: differs when this thread is not registered */
	jne .Lno_rseq
	mov (%rdi), %rdi
	cmp SET_NR_CPUS(%rdi), %r15d
	jae .Lno_rseq
	mov %r15, %r8
	shl $7, %r8			/* kRingControlStride */
	add SET_CONTROLS(%rdi), %r8
	mov RC_DATA_DELTA(%r8), %r10
	add %r8, %r10
	mov RC_PUBLISH(%r8), %r9
	mov RC_SPACE_MASK(%r8), %r14d
	test %r14d, %r14d
	jz .Loff
	mov %r9, %rbp
	shr $28, %rbp
	and $16, %ebp			/* the slot that publish names */
	rdtsc
	shl $32, %rdx
	or %rdx, %rax
	mov %rax, %r11
	mov RC_SLOT(%r8,%rbp), %rcx
	mov %r9, %rdx
	shr $33, %rdx			/* lap */
	sub %rcx, %rax			/* delta */
	jae 1f
	mov %rcx, %r11			/* the TSC went back (migrated VM): time stands still (G2) */
	xor %eax, %eax
1:	mov %r9d, %ecx
	and %r14d, %ecx			/* offset inside the sub-buffer; 0: exactly full */
	jz .Lnew_page
	cmp $16, %ecx
	je .Lempty_page
	neg %ecx
	lea 1(%r14,%rcx), %ecx		/* room left */
	cmp $0x8000000, %rax		/* 1 << kDeltaBits: needs a time extend before it */
	jae .Lextend
	cmp %r13d, %ecx
	jb .Lnew_page
	mov %r9d, %ecx			/* place of the event, as an offset in the ring */
	jmp .Lwrite

.Lextend:	/* (30 | low 27 bits << 5), high bits; the event itself then has delta 0 */
	sub $8, %ecx
	jb .Lnew_page
	cmp %r13d, %ecx
	jb .Lnew_page
	mov %r9d, %ecx
	mov %eax, %r14d
	shl $5, %r14d
	or $30, %r14d
	mov %r14d, (%r10,%rcx)
	shr $27, %rax
	mov %eax, 4(%r10,%rcx)
	add $8, %ecx
	xor %eax, %eax
	jmp .Lwrite

.Lempty_page:				/* the first event of the ring's first sub-buffer */
	lea 15(%r13), %eax
	cmp %r14d, %eax
	ja .Ltoo_large
	mov %r9d, %ecx
	mov %r11, -16(%r10,%rcx)
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
	cmp RC_NR_SUBBUFS(%r8), %eax
	jb 13f
	xor %eax, %eax			/* index of the next */
13:	mov SET_SUBBUF_SHIFT(%rdi), %ecx
	shl %cl, %rax
	mov (%r10,%rax), %rcx		/* its time: of its first event */
	cmp SET_CUT_TO(%rdi), %rcx
	ja .Lturn			/* it began after the hit */
	mov SET_SUBBUF_SHIFT(%rdi), %ecx
	shr %cl, %rax
	shl $4, %rax
	add %r8, %rax
	add RC_PAGE_META_DELTA(%r8), %rax
	mov RC_NR_SUBBUFS(%r8), %ecx
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
	mov 8(%rcx), %rsi
	mov %rsi, 8(%rax)		/* entries_before */
	sub %r8, %rcx
	sub RC_PAGE_META_DELTA(%r8), %rcx
	shr $4, %rcx
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
	lea 15(%r13), %eax
	cmp %r14d, %eax
	ja .Ltoo_large
	mov SET_SUBBUF_SHIFT(%rdi), %ecx
	lea -1(%r9), %eax
	shr %cl, %eax			/* index of the current one: (offset - 1) >> shift */
	mov %rax, 24(%rsp)
	mov RC_NR_SUBBUFS(%r8), %ecx
	mov %rdx, %rsi
	imul %rcx, %rsi
	lea 1(%rsi,%rax), %rsi
	cmpl $0, RC_OVERWRITE(%r8)
	jne 3f
	mov %r15, %rax			/* full when n - read_seq > nr_subbufs - 2 (signed) */
	shl $7, %rax			/* sizeof(ReaderState) */
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
	sub $15, %eax
	not %r14d
	and %r14d, %ecx			/* its start */
	mov %rax, 8(%r10,%rcx)
	mov 24(%rsp), %rax
	inc %eax
	cmp RC_NR_SUBBUFS(%r8), %eax
	jb 4f
	xor %eax, %eax			/* wrapped: next lap */
	inc %rdx
4:	mov %eax, %ecx			/* PageMeta[index] = { number, entries } */
	shl $4, %rcx
	add %r8, %rcx
	add RC_PAGE_META_DELTA(%r8), %rcx
	mov %rsi, 0(%rcx)
	mov RC_SLOT+8(%r8,%rbp), %rsi
	mov %rsi, 8(%rcx)
	mov SET_SUBBUF_SHIFT(%rdi), %ecx
	shl %cl, %eax
	mov %eax, %ecx
	mov %r11, (%r10,%rcx)		/* its time: this event's */
	add $16, %ecx
	xor %eax, %eax

.Lwrite:	/* eax delta, ecx offset, rdx lap, r13 bytes of this event */
	lea (%r10,%rcx), %r14		/* from here on r14 is the place to write */
	mov RC_SLOT+8(%r8,%rbp), %r9	/* and r9 the number of events */
	inc %r9
	xor $16, %ebp
	add %r13d, %ecx			/* the new publish value: offset < 2^32 … */
	shl $33, %rdx
	or %rcx, %rdx
	mov %rbp, %rcx
	shl $28, %rcx			/* … and the parity bit */
	or %rcx, %rdx
	mov 8(%rsp), %rsi
	shl $5, %eax
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
9:	mov %r9, RC_SLOT+8(%r8,%rbp)
	mov %r11, RC_SLOT(%r8,%rbp)
	mov %rdx, RC_PUBLISH(%r8)	/* the one store */
.Lcommitted:
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
	lea .Lcs_drop(%rip), %rax
	mov %rax, 8(%rbx)
.Ldrop_start:
	cmp 0(%rbx), %r15d		/* still on the CPU whose ring was full? */
	jne .Lrestart
	mov 16(%rsp), %rax
	cmp (%rax), %rdi		/* and is it still the ring to write to? */
	jne .Lrestart
	mov RC_DROPPED(%r8), %rax
	inc %rax
	mov %rax, RC_DROPPED(%r8)
.Ldrop_committed:
	mov $1, %eax
	jmp .Lreturn

.Loff:	cmpl $0, RC_CLOSED(%r8)		/* being replaced: a loss; else nobody wants the event */
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

	.long RSEQ_SIG
.Labort:
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
	lea .Lcs_pieces(%rip), %rax
	mov %rax, %fs:8(%r8)
.Lpieces_start:
	mov %fs:0(%r8), %eax
	cmp %fs:4(%r8), %eax
	jne .Lpieces_general
	mov (%rdi), %rcx
	cmp SET_NR_CPUS(%rcx), %eax
	jae .Lpieces_general
	shl $7, %rax
	add SET_CONTROLS(%rcx), %rax
	mov %rax, %r10
	mov RC_PUBLISH(%r10), %r11
	mov %r11, %rcx
	shr $28, %rcx
	and $16, %ecx
	rdtsc
	shl $32, %rdx
	or %rdx, %rax
	mov %rax, %rdx
	sub RC_SLOT(%r10,%rcx), %rdx
	cmp $0x8000000, %rdx
	jae .Lpieces_general
	mov %r11d, %r8d
	and RC_SPACE_MASK(%r10), %r8d
	sub $17, %r8d
	jb .Lpieces_general
	lea 24(%r8,%r9), %r8d		/* offset + 8 + size - 1 */
	cmp RC_SPACE_MASK(%r10), %r8d
	ja .Lpieces_general
	mov %r11d, %r8d
	add %r10, %r8
	add RC_DATA_DELTA(%r10), %r8
	lea 8(%r11,%r9), %r11
	btc $32, %r11
	shl $5, %edx			/* type_len 0 */
	mov %edx, (%r8)
	lea 4(%r9), %edx
	mov %edx, 4(%r8)
	mov RC_SLOT+8(%r10,%rcx), %rdx
	inc %rdx
	xor $16, %ecx
	mov %rdx, RC_SLOT+8(%r10,%rcx)
	mov %rax, RC_SLOT(%r10,%rcx)
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
	mov %r11, RC_PUBLISH(%r10)	/* the one store */
.Lpieces_committed:
	add $8, %rsp
	.cfi_remember_state
	.cfi_adjust_cfa_offset -8
	xor %eax, %eax
	ret
	.cfi_restore_state

	.long RSEQ_SIG
.Lpieces_abort:
.Lpieces_general:
	pop %rcx
	.cfi_adjust_cfa_offset -8
	jmp .Lgeneral_pieces
	.cfi_endproc
	.size ring_publish_pieces, . - ring_publish_pieces
	.section .note.GNU-stack, "", @progbits
