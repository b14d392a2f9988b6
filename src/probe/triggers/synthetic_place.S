/* SPDX-License-Identifier: MIT
 *
 * Records of synthetic events of the program's own that are written where they stay: the values go
 * straight into the ring, with the masks and runs of the SyntheticPlan (synthetic_hot.h). As
 * ring_publish.S, which has the protocol, in one restartable sequence each, which ends with the
 * store to publish; in a ring that overwrites they begin the next sub-buffer, too.
 *
 *   int synthetic_place(const EventFileHandle* file, uint32_t nr_values, const uint64_t* values)
 *   … synthetic_place_of: the same with the file's program, which is there, in r10
 *   int synthetic_place_state(const EventProgram* event, const SyntheticPlan* plan,
 *                             const synth_event_trace_state* state)
 *
 * 0: recorded. Else nothing was, and the general way is to be gone: the event is off or not
 * SiteProgram.code kSyntheticInPlace, wrong number of values, a new thread or one in
 * agent code, no rseq, preempted, recording off, a long pause, …, a text that cannot be read.
 *
 *   rdi event        r8  rseq offset, then place    rax time, then data
 *   rsi plan         r10 RingControl                rcx slot offset, then index
 *   r9  values       r11 publish                    rdx delta, then cursor in the plan
 *   red zone: of texts -8 publish, -16 RingControl; while a sub-buffer is begun -24 r9, -32 rdi
 *
 * Texts are read inside the sequence. A load that faults raises SIGSEGV, and a signal aborts the
 * sequence: its handler finds the thread at the abort label.
 */
#include "hot/fault.inc"
#include "probe/asm_offsets.h"
#include "probe/triggers/asm_offsets.h"
#include "ring_buffer/ring_record.inc"

	.section .rodata
	.balign 8
.Lones:	.quad -0x0101010101010101
.Lhighs:
	.quad 0x8080808080808080

/* Begins the sequence NAME; goes on with r8 where the record goes, its header being written, or at
 * BAIL. */
	.macro RESERVE name, bail
	mov pb_rseq_offset(%rip), %r8
	test %r8, %r8
	jz \bail
	rseq_begin \name, %r8, %rax
	rseq_cpu %r8, %r10d, \bail
	mov (%rdi), %rcx
	ring_of_cpu %rcx, %r10, %r10d, \bail
	ring_slot %r10, %r11, %rcx, %ecx
	ring_clock
	mov %rax, %rdx
	ring_room %r10, %r11d, %rcx, %rdx, %r8d, \bail
	add PLAN_LAST(%rsi), %r8d
	ring_place %r10, %r11d, %r8, %r8d, .L\name\()_new_page
.L\name\()_found:
	add PLAN_BYTES(%rsi), %r11	/* the new publish value … */
	btc $PARITY_BIT, %r11		/* … with the other parity */
	shl $DELTA_SHIFT, %edx
	or PLAN_FIRST(%rsi), %rdx
	mov %rdx, (%r8)			/* the event's header, and of a small one half of the record's */
	ring_count %r10, %rcx, %ecx, %rax, %rdx
	mov PLAN_HEAD(%rsi), %eax
	add %rax, %r8
	movzwl EVENT_ID(%rdi), %eax
	mov pb_thread@gottpoff(%rip), %rdx
	mov %fs:(%rdx), %edx		/* fast_tid: 0 also while the thread runs agent code */
	test %edx, %edx
	jz \bail
	shl $32, %rdx
	or %rdx, %rax
	mov %rax, (%r8)			/* RecordHeader, flags are 0 */
	.endm

/* No room: closes the sub-buffer and begins the next, as ring_publish.S does. It stands between the
 * sequence's first instruction and its last one, so that a thread that is interrupted here begins
 * again, too. */
	.macro NEW_PAGE name, bail
.L\name\()_new_page:
	cmpl $0, RING_OVERWRITE(%r10)
	je \bail
	mov PLAN_LAST(%rsi), %edx
	dec %edx
	mov RING_SPACE_MASK(%r10), %r8d
	cmp %r8d, %edx
	ja \bail			/* too large for any */
	mov %r9, -24(%rsp)
	mov %rdi, -32(%rsp)
	mov RING_DATA_DELTA(%r10), %r9
	add %r10, %r9
	lea -1(%r11), %edx
	mov %edx, %edi
	and %r8d, %edi
	xor %edi, %edx			/* where the old one starts */
	sub $PAGE_HEADER-1, %edi	/* commit = ((offset - 1) & mask) + 1 - 16 */
	mov %rdi, PAGE_COMMIT(%r9,%rdx)
	inc %r8d			/* bytes of one */
	add %r8d, %edx			/* where the next one starts */
	mov RING_NR_SUBBUFS(%r10), %edi
	imul %r8d, %edi
	shr $LAP_SHIFT, %r11
	cmp %edi, %edx
	jb 1f
	xor %edx, %edx			/* wrapped: next lap */
	inc %r11
1:	mov %ecx, %edi
	bsf %r8d, %ecx
	mov %edx, %r8d
	shr %cl, %r8d			/* index */
	mov %edi, %ecx
	mov RING_NR_SUBBUFS(%r10), %edi
	imul %r11, %rdi
	add %r8, %rdi			/* number */
	shl $PAGE_META_SHIFT, %r8	/* PageMeta[index] = { number, entries } */
	add %r10, %r8
	add RING_PAGE_META_DELTA(%r10), %r8
	mov %rdi, PAGE_META_SEQ(%r8)
	mov RING_SLOT_ENTRIES(%r10,%rcx), %rdi
	mov %rdi, PAGE_META_ENTRIES(%r8)
	mov %rax, PAGE_TIME(%r9,%rdx)	/* this event's */
	add $PAGE_HEADER, %edx
	lea (%r9,%rdx), %r8
	shl $LAP_SHIFT, %r11
	or %rdx, %r11
	mov %ecx, %edi			/* the parity as it was */
	shl $PARITY_TO_SLOT, %rdi
	or %rdi, %r11
	xor %edx, %edx
	mov -24(%rsp), %r9
	mov -32(%rsp), %rdi
	jmp .L\name\()_found
	.endm

	.text
	.globl synthetic_place
	.hidden synthetic_place
	.type synthetic_place, @function
	.p2align 5
synthetic_place:
	.cfi_startproc
	mov FILE_PROGRAM(%rdi), %r10
	test %r10, %r10
	jz .Lvalues_bail
	.globl synthetic_place_of
	.hidden synthetic_place_of
synthetic_place_of:
	cmpw $SYNTHETIC_IN_PLACE, PROGRAM_CODE(%r10)
	jne .Lvalues_bail
	mov %rdx, %r9
	mov FILE_PLAN(%rdi), %rdx
	cmp %esi, PLAN_NR_FIELDS(%rdx)
	jne .Lvalues_bail
	mov %rdx, %rsi
	mov PROGRAM_EVENTS(%r10), %rdi
	RESERVE values, .Lvalues_bail
	mov %r11, -8(%rsp)
	mov %r10, -16(%rsp)
	add $8, %r8
	xor %ecx, %ecx			/* 8 * index of the field */
	lea PLAN_RUN_END(%rsi), %rdx
.Lrun:
	mov (%rdx), %edi		/* where the next text is, or the end */
	cmp %edi, %ecx
	jae .Lrun_end
.Lnumber:
	mov (%r9,%rcx), %rax
	and PLAN_MASK(%rsi,%rcx), %rax
	mov %rax, (%r8,%rcx)
	add $8, %ecx
	cmp %edi, %ecx
	jb .Lnumber
.Lrun_end:
	add $4, %rdx
	cmpl $0, (%rdx)
	je .Lvalues_done
	mov (%r9,%rcx), %rdi
	mov %edi, %eax
	and $4095, %eax
	cmp $(4096 - TEXT_BYTES), %eax
	ja .Lvalues_bail
	add %rcx, %r8
	lea TEXT_BYTES(%r8), %r11
	sub %r8, %rdi
.Lload:
	mov (%rdi,%r8), %rax
	mov .Lones(%rip), %r10
	add %rax, %r10
	test .Lhighs(%rip), %r10
	jnz .Lperhaps_end
.Lword:
	mov %rax, (%r8)
	add $8, %r8
	cmp %r11, %r8
	jb .Lload
	movb $0, -1(%r8)
.Ltext_end:
	lea -8(%r11), %r8
	sub %rcx, %r8
	add $8, %ecx
	jmp .Lrun
.Lperhaps_end:
	or %rax, %r10			/* with ~word */
	xor %rax, %r10
	and .Lhighs(%rip), %r10
	jz .Lword
	lea -1(%r10), %rdi
	xor %rdi, %r10			/* the bits up to the top one of the NUL */
	and %rax, %r10
	mov %r10, (%r8)
	jmp .Ltext_end
	NEW_PAGE values, .Lvalues_bail
.Lvalues_done:
	mov -8(%rsp), %r11
	mov -16(%rsp), %r10
	ring_commit values, %r10, %r11
	xor %eax, %eax
	ret
	rseq_abort values
.Lvalues_bail:
	fault_entry .Lload, .Lvalues_bail
	fault_entry .Lvalues_bail, .Lvalues_bail	/* where the sequence's abort has brought it */
	mov $1, %eax
	ret
	.cfi_endproc
	.size synthetic_place, . - synthetic_place

	.globl synthetic_place_state
	.hidden synthetic_place_state
	.type synthetic_place_state, @function
	.p2align 5
synthetic_place_state:
	.cfi_startproc
	mov %rdx, %r9
	RESERVE state, .Lstate_bail
	mov $8, %ecx			/* offset in the record; the header is there */
	xor %edx, %edx			/* text */
	jmp 4f
	NEW_PAGE state, .Lstate_bail
2:	movzwl STATE_TEXT_END(%r9,%rdx,2), %edi
3:	mov STATE_RECORD(%r9,%rcx), %rax
	mov %rax, (%r8,%rcx)
	add $8, %ecx
	cmp %edi, %ecx
	jb 3b
	mov PLAN_TEXT(%rsi,%rdx,4), %ecx
	add $TEXT_BYTES, %ecx
	inc %edx
4:	cmp PLAN_NR_TEXTS(%rsi), %edx
	jb 2b
	mov PLAN_FIXED_SIZE(%rsi), %edi
	jmp 6f
5:	mov STATE_RECORD(%r9,%rcx), %rax
	mov %rax, (%r8,%rcx)
	add $8, %ecx
6:	cmp %edi, %ecx
	jb 5b
	ring_commit state, %r10, %r11
	xor %eax, %eax
	ret
	rseq_abort state
.Lstate_bail:
	mov $1, %eax
	ret
	.cfi_endproc
	.size synthetic_place_state, . - synthetic_place_state
	.section .note.GNU-stack, "", @progbits
