/* SPDX-License-Identifier: MIT
 *
 *   HistPairWay hist_pair_start_KEY, hist_pair_end_KEY: (half, hit, record)
 *
 * One hit of half a latency pair (hist/hist_pair.h), as update_short() in hist_quick_hot.cc does
 * it. What a hit costs here are its instructions, and stores before all; so it has no stack frame,
 * and whatever is not the usual case is left to C, with a jump:
 *
 *   start   hist_pair_general   nothing was done: a new key, a table that is being cleared, no
 *                               rseq, interrupted, a clock that is not the TSC or was set on
 *   end     hist_pair_general   nothing was done: the same
 *           hist_pair_finish    the variable is taken, nothing was added
 *           hist_pair_trace     all but the synthetic event is done
 *
 * The start reads the clock first: on some processors that waits for what was begun before it.
 * Then it is one restartable sequence, from the generation of the table to the hitcount, which is
 * its one store: a table that is cleared meanwhile raises its generation and asks for
 * membarrier(RSEQ), so that the sequence begins again and finds it raised. The variable is set
 * behind it. Not in it: a start that is done twice could be matched twice.
 *
 * The end looks at both tables, reads the clock where there is a start, and then takes the
 * variable. From there on it counts: its hitcount and its record are a sequence each, and one that
 * is aborted is done in C. The generation that the entry was found in stands in the red zone, and
 * is compared in the first sequence, as in hist_add.S.
 *
 * The kernel runs all of this with preemption off, so that a variable is of the hit that was
 * counted last, but for other CPUs. Here a thread may stand between the two, and another hit of the
 * key go by: the later store wins, as it does of two CPUs there. What is exact is how many: each
 * hit counts once, and each variable that is set is taken by one hit or set again.
 *
 *   rdi half      r8   start: the clock, the key            rax scratch
 *   rsi hit            end: the key, then ticks             rcx index of the slot; end: scratch
 *   rdx record    r9   hash; then 1 + own entry             r10 own entry
 *       then time r11  start: record; end: the other entry, the variable
 *       or latency     red zone, end: -8 generation, -16 half
 */
#include "hist/asm_offsets.h"
#include "probe/asm_offsets.h"
#include "probe/triggers/asm_offsets.h"
#include "ring_buffer/ring_record.inc"

#define PAIR_RECORD 16			/* a header and one word */
#define WHOLE(high, low) ((high) << 32 | ((low) & 0xffffffff))

/* kHistMultipliers.of[0] and hist_hash_sum(): the hash is r9d. */
	.macro pair_hash
	movabs $WHOLE(HIST_MULTIPLIER_HIGH, HIST_MULTIPLIER_LOW), %r9
	imul %r8, %r9
	mov %r9, %rax
	shr $32, %rax
	xor %rax, %r9
	movabs $WHOLE(HIST_HASH_MULTIPLIER_HIGH, HIST_HASH_MULTIPLIER_LOW), %rax
	imul %rax, %r9
	shr $32, %r9
	.endm

	.macro pair_key load, record
	mov HALF_KEY_AT(%rdi), %rax
	.ifc \load,u32
	mov (\record,%rax), %r8d
	.endif
	.ifc \load,s32
	movslq (\record,%rax), %r8
	.endif
	.ifc \load,64
	mov (\record,%rax), %r8
	.endif
	.endm

/* The generation in eax. While it is odd the table takes nothing. */
	.macro pair_generation table, nothing
	mov \table+PAIR_TABLE(%rdi), %rax
	mov HIST_GENERATION(%rax), %eax
	test $1, %al
	jnz \nothing
	.endm

/* hist_search(): the entry whose key is r8, and 1 + its number. The hash is r9d, and r9 may become
 * NUMBER. ABSENT: there is no such key; AROUND: the search has come to the end of the slots. All of
 * it stands together, since a sequence ends where the thread leaves its instructions. */
	.macro pair_find name, table, entry, number, number32, absent, around
	shl $HIST_TAG_SHIFT-1, %eax
	or $HIST_VALID, %eax
	.ifc \number,%r9
	mov %r9d, %ecx
	shl $32, %r9
	or %r9, %rax
	.else
	mov %r9, %rcx
	shl $32, %rcx
	or %rcx, %rax
	mov %r9d, %ecx
	.endif
	and \table+PAIR_SLOT_MASK(%rdi), %ecx
.Llook_\name:
	mov \table+PAIR_SLOTS(%rdi), \entry
	mov (\entry,%rcx,8), \number
	xor %rax, \number
	cmp $HIST_ENTRY_MASK, \number
	ja .Lnext_\name
	mov \number, \entry
	imul \table+PAIR_ENTRY_SIZE(%rdi), \entry
	add \table+PAIR_ENTRIES(%rdi), \entry
	cmp %r8, HIST_KEY_AT(\entry)
	je .Lfound_\name
.Lnext_\name:
	test $HIST_TAG_MASK, \number32
	jnz \absent
	xor %rax, \number
	test $HIST_ENTRY_MASK, \number32
	jz \absent
	inc %ecx
	and \table+PAIR_SLOT_MASK(%rdi), %ecx
	jnz .Llook_\name
	jmp \around
.Lfound_\name:
	.endm

/* hist_read_time(), its usual case: ticks in rax. */
	.macro pair_clock clock, general
	mov HALF_CLOCK(%rdi), \clock
	mov (\clock), \clock
	cmpq $64, CLOCK_SHIFT(\clock)	/* and is_monotonic is 0 */
	jne \general
	rdtsc
	shl $32, %rdx
	or %rdx, %rax
	.endm
/* From ticks since HistClock.ticks in rax to the time in rdx. Spends CLOCK. */
	.macro pair_time name, clock
	mulq CLOCK_MULTIPLY(\clock)
	add CLOCK_TIME(\clock), %rdx
	cmpl $0, HALF_IN_USECS(%rdi)
	je .Ltime_\name
	lea 500(%rdx), %rax		/* hist_usecs(): (time + 500) / 1000 */
	shr $3, %rax
	movabs $0x20c49ba5e353f7cf, \clock
	mul \clock
	shr $4, %rdx
.Ltime_\name:
	.endm

/* The row of sums of this CPU, in rax. */
	.macro pair_row offset, other
	rseq_cpu \offset, %eax, \other
	cmp HALF_NR_CPUS(%rdi), %eax
	jae \other
	imul HALF_ROW_SIZE(%rdi), %rax
	add HALF_SUMS(%rdi), %rax
	.endm

	.macro pair_start load
	.globl hist_pair_start_\load
	.hidden hist_pair_start_\load
	.type hist_pair_start_\load, @function
	.p2align 5
hist_pair_start_\load:
	.cfi_startproc
	mov %rdx, %r11
	pair_clock %r8, .Lgeneral_start_\load
	sub (%r8), %rax			/* HistClock.ticks */
	js .Lgeneral_start_\load
	pair_time start_\load, %r8
	thread_rseq %r9, %rax, .Lgeneral_start_\load
	rseq_begin start_\load, %r9, %rax
	pair_key \load, %r11
	pair_hash
	pair_generation HALF_OWN, .Lgeneral_start_\load
	pair_find start_\load, HALF_OWN, %r10, %r9, %r9d, .Lgeneral_start_\load, .Lgeneral_start_\load
	mov pb_rseq_offset(%rip), %r8
	pair_row %r8, .Lgeneral_start_\load
	add HALF_VARIABLE_AT(%rdi), %r10
	incq HIST_FIRST_SUM-8(%rax,%r9,8)
	rseq_commit start_\load
	mov %rdx, (%r10)
	movq $1, VARIABLE_SET(%r10)
	ret
	rseq_abort start_\load
.Lgeneral_start_\load:
	mov %r11, %rdx
	jmp hist_pair_general
	.cfi_endproc
	.size hist_pair_start_\load, . - hist_pair_start_\load
	.endm

	.macro pair_end load
	.globl hist_pair_end_\load
	.hidden hist_pair_end_\load
	.type hist_pair_end_\load, @function
	.p2align 5
hist_pair_end_\load:
	.cfi_startproc
	pair_key \load, %rdx
	pair_hash
	pair_generation HALF_OTHER, .Lnone_\load
	pair_find other_\load, HALF_OTHER, %r11, %r10, %r10d, .Lnone_\load, .Lgeneral_\load
	add HALF_OTHER_AT(%rdi), %r11
	cmpq $0, VARIABLE_SET(%r11)
	je .Lnone_\load
	pair_generation HALF_OWN, .Lnone_\load
	mov %eax, -8(%rsp)
	pair_find end_\load, HALF_OWN, %r10, %r9, %r9d, .Lgeneral_\load, .Lgeneral_\load
	mov %rdx, %r8			/* the record */
	pair_clock %rcx, .Lgeneral_clock_\load
	mov %rax, %rdx
	sub (%rcx), %rdx		/* HistClock.ticks */
	js .Lgeneral_clock_\load
	mov %rax, %r8
	mov %rdx, %rax
	pair_time end_\load, %rcx
	mov (%r11), %rcx		/* before it may be set again */
	xor %eax, %eax			/* who has it sees that it was set */
	xchg %rax, VARIABLE_SET(%r11)
	test %eax, %eax
	jz .Lnone_\load
	sub %rcx, %rdx			/* the latency */
	thread_rseq %rcx, %rax, .Lfinish_\load
	rseq_begin add_\load, %rcx, %rax
	pair_row %rcx, .Lfinish_\load
	mov HALF_OWN+PAIR_TABLE(%rdi), %r11
	mov HIST_GENERATION(%r11), %r11d
	cmp %r11d, -8(%rsp)
	jne .Lfinish_\load
	incq HIST_FIRST_SUM-8(%rax,%r9,8)
	rseq_commit add_\load
	add HALF_VARIABLE_AT(%rdi), %r10
	mov %rdx, (%r10)
	movq $1, VARIABLE_SET(%r10)

	mov HALF_TARGET(%rdi), %rax
	mov (%rax), %rax		/* SyntheticTarget.program: pairs with SyntheticEvents::update() */
	test %rax, %rax
	jz .Lnone_\load
	cmpw $PROGRAM_IS_PLAIN, PROGRAM_PLAIN(%rax)
	jne .Ltrace_\load
	mov %rdi, -16(%rsp)
	and HALF_MASK(%rdi), %rdx
	mov PROGRAM_EVENTS(%rax), %rdi
	cmpq $0, EVENT_FILTER(%rdi)
	jne .Lrecord_\load
	mov %rcx, %r9
	rseq_begin record_\load, %r9, %rax
	rseq_cpu %r9, %r10d, .Lrecord_\load
	mov (%rdi), %rax
	ring_of_cpu %rax, %r10, %r10d, .Lrecord_\load
	ring_slot %r10, %r11, %rax, %eax
	mov %r8, %rcx
	ring_room %r10, %r11d, %rax, %rcx, %r9d, .Lrecord_\load
	add $PAGE_HEADER+FIRST_WORD+PAIR_RECORD, %r9d
	ring_place %r10, %r11d, %r9, %r9d, .Lrecord_\load
	shl $DELTA_SHIFT, %ecx
	or $PAIR_RECORD / 4, %ecx
	mov %ecx, (%r9)
	movzwl EVENT_ID(%rdi), %edi
	mov HIT_TID(%rsi), %ecx
	shl $32, %rcx
	or %rdi, %rcx
	mov %rcx, 4(%r9)
	mov %rdx, 12(%r9)
	ring_count %r10, %rax, %eax, %r8, %rcx
	add $FIRST_WORD+PAIR_RECORD, %r11
	btc $PARITY_BIT, %r11
	ring_commit record_\load, %r10, %r11
.Lnone_\load:
	ret
.Lgeneral_clock_\load:
	mov %r8, %rdx
.Lgeneral_\load:
	jmp hist_pair_general
	rseq_abort add_\load
.Lfinish_\load:
	mov %r8, %rcx
	mov %r9, %r8
	mov -8(%rsp), %r9d
	jmp hist_pair_finish
	rseq_abort record_\load
.Lrecord_\load:
	mov -16(%rsp), %rdi
.Ltrace_\load:
	mov %r8, %rcx
	jmp hist_pair_trace
	.cfi_endproc
	.size hist_pair_end_\load, . - hist_pair_end_\load
	.endm

	.text
	.irp load,u32,s32,64
	pair_start \load
	pair_end \load
	.endr
	.section .note.GNU-stack, "", @progbits
