/* SPDX-License-Identifier: MIT
 *
 * The entry of a traced function, for all functions: a stub only says which CallSite it is, and
 * what happens there is in the site's programs. So thirty thousand traced functions share this
 * code, and sites get other consumers without being written again.
 *
 *   stub ── probe_entry_shared
 *             |-- program->code is kEntryCalls     a record of each function tracer, one TSC
 *             |-- else, or the record is not the usual case: probe_entry_rest, with what is left
 *             '-- return_program? probe_entry_hook, by its code:
 *                   kHookPlain    a spare slot of the thread is armed
 *                   kHookGraph    and funcgraph_entry recorded, with depth and parent
 *                   kHookProfile  the same without a record
 *                   else, or not the usual case: probe_entry_hook_general
 *
 * Entered by `call`, or by a jump where returns are hooked (probe_entry.S): rsp is below the return
 * address, where the stub goes on; rax is the CallSite. Generated code is not needed for these: the
 * records have one form each. C++ (graph_hot.cc, probe_hot.cc) says what is to happen; this does
 * the same, quicker, or leaves everything to it.
 */
#include "hot/fault.inc"
#include "probe/fast_record.inc"
#include "probe/returns/asm_offsets.h"
#include "probe/stack_touch.inc"

/* Below rsp, down to the site as ProbeFrame has them. */
#define BELOW_RAX -8
#define BELOW_TARGET -16		/* of a hook: where to go on; else the program */
#define BELOW_PROGRAM -16
#define BELOW_WANTED -24
#define BELOW_SITE -32
#define BELOW_R11 -40
#define BELOW_TOKEN -48			/* of a call that is followed; 0: it is not */
#define BELOW_RCX -56
#define BELOW_RDX -64
#define BELOW_R9 -72
#define BELOW_R8 -80
#define BELOW_HEADER -88
#define BELOW_WORD1 -96
#define BELOW_WORD2 -104
#define BELOW_EVENT -112
#define BELOW_LEFT -120
#define BELOW_CALL -112			/* GraphCall from `parent` on */
#define BELOW_SPARE_STATE -120
#define BELOW_R10 -128			/* the lowest word, and the first to be stored */

	.text
	.globl probe_entry_shared
	.hidden probe_entry_shared
	.type probe_entry_shared, @function
	.p2align 6
probe_entry_shared:
	.cfi_startproc
	.cfi_def_cfa_offset 16
	stack_touch TOUCH_BELOW
	mov %r10, BELOW_R10(%rsp)
	mov %r11, BELOW_R11(%rsp)
	mov (%rax), %r11
	test %r11, %r11
	jz .Lonly_hook
	mov %rax, BELOW_SITE(%rsp)
	mov %r11, BELOW_PROGRAM(%rsp)
	movq $-1, BELOW_WANTED(%rsp)
	cmpw $ENTRY_CALLS, PROGRAM_CODE(%r11)
	jne .Lrest
	mov pb_thread@gottpoff(%rip), %r10
	mov %fs:(%r10), %r10d			/* fast_tid */
	test %r10d, %r10d
	jz .Lrest
	mov %rcx, BELOW_RCX(%rsp)
	mov %rdx, BELOW_RDX(%rsp)
	mov %r9, BELOW_R9(%rsp)
	shl $32, %r10
	mov 8(%rsp), %rcx
	mov %r10, BELOW_HEADER(%rsp)
	lea pb_return_trampolines(%rip), %rdx
	mov SITE_FUNCTION(%rax), %r10
	mov %r10, BELOW_WORD1(%rsp)
	mov %rcx, %r10
	sub %rdx, %r10
	cmp $RETURN_SLOTS << TRAMPOLINE_SHIFT, %r10
	jb .Lcaller_of_trampoline
.Lcaller:
	mov %rcx, BELOW_WORD2(%rsp)
	mov (%r11), %ecx
	mov %ecx, BELOW_LEFT(%rsp)
	lea PROGRAM_EVENTS(%r11), %r11
	mov %r11, BELOW_EVENT(%rsp)
	ring_clock
.Lnext_event:
	mov (%r11), %r11
	begin_record call, FUNCTION_RECORD, .Lslow_call
	mov BELOW_EVENT(%rsp), %r11
	mov (%r11), %r11
	movzwl EVENT_ID(%r11), %r11d
	or BELOW_HEADER(%rsp), %r11
	mov %r11, 4(%r9)
	mov BELOW_WORD1(%rsp), %r11
	mov %r11, 12(%r9)
	mov BELOW_WORD2(%rsp), %r11
	mov %r11, 20(%r9)
	end_record call, FUNCTION_RECORD
	decl BELOW_LEFT(%rsp)
	jnz .Lone_more
	mov BELOW_SITE(%rsp), %rax
	mov BELOW_RCX(%rsp), %rcx
	mov BELOW_RDX(%rsp), %rdx
	mov BELOW_R9(%rsp), %r9
	mov BELOW_R10(%rsp), %r10
	mov BELOW_R11(%rsp), %r11
	cmpq $0, SITE_RETURN_PROGRAM(%rax)
	jne probe_entry_hook
	ret					/* the stub takes its rax back */
.Lone_more:
	shlq BELOW_WANTED(%rsp)
	mov BELOW_EVENT(%rsp), %r11
	add $SITE_EVENT_SIZE, %r11
	mov %r11, BELOW_EVENT(%rsp)
	jmp .Lnext_event
.Lcaller_of_trampoline:				/* a tail call of a function whose return is hooked */
	shr $TRAMPOLINE_SHIFT, %r10
	lea pb_return_address(%rip), %rcx
	mov (%rcx, %r10, 8), %rcx
	jmp .Lcaller
.Lslow_call:
	mov BELOW_RCX(%rsp), %rcx
	mov BELOW_RDX(%rsp), %rdx
	mov BELOW_R9(%rsp), %r9
	mov BELOW_SITE(%rsp), %rax
.Lrest:
	mov BELOW_R10(%rsp), %r10
	mov BELOW_R11(%rsp), %r11
	jmp probe_entry_rest
.Lonly_hook:
	mov BELOW_R11(%rsp), %r11
	cmpq $0, SITE_RETURN_PROGRAM(%rax)
	jne probe_entry_hook
	ret
	abort_sequence call, .Lslow_call
	.cfi_endproc
	.size probe_entry_shared, . - probe_entry_shared

/* Takes the spare of the thread's level: \slot. Spends rax, r10, rcx (ReturnThread). */
	.macro take_spare slot, none
	mov pb_return_thread@gottpoff(%rip), %rcx
	add %fs:0, %rcx
	mov RETURN_THREAD_AT(%rcx), %eax
	cmp $RETURN_SPARES, %eax
	jae \none
	movzwq RETURN_THREAD_SPARE(%rcx, %rax, 2), \slot		/* 1 + index */
	lea RETURN_THREAD_SPARE+SLOT_SPARE_TAG(%rcx, %rax, 2), %rax
	test \slot, \slot
	jz \none
	shl $SLOT_SHIFT, \slot
	lea pb_return_slots - (1 << SLOT_SHIFT)(%rip), %r10
	add %r10, \slot
	movzwl SLOT_GENERATION(\slot), %r10d
	shl $48, %r10
	or %r10, %rax
	mov $SLOT_OWNED, %r10d
	cmp %rax, (\slot)			/* else cmpxchg would write back what is not ours */
	jne \none
	cmpxchg %r10, (\slot)			/* no lock: only a handler of this thread may have come */
	jne \none
	incl RETURN_THREAD_AT(%rcx)
	.endm

/* Hooks the return of the usual call by itself: the thread keeps a slot for its level, nothing is
 * limited, no tail call. */
	.globl probe_entry_hook
	.hidden probe_entry_hook
	.type probe_entry_hook, @function
	.p2align 6
probe_entry_hook:
	.cfi_startproc
	.cfi_def_cfa_offset 16
	stack_touch TOUCH_BELOW
	mov %r10, BELOW_R10(%rsp)
	mov %r11, BELOW_R11(%rsp)
	mov SITE_RETURN_PROGRAM(%rax), %r11
	test %r11, %r11
	jz .Lnot_usual
	test $7, %spl
	jnz .Lnot_usual
	mov %rax, BELOW_SITE(%rsp)
	mov %rcx, BELOW_RCX(%rsp)
	mov %rdx, BELOW_RDX(%rsp)
	mov 8(%rsp), %r10
	lea pb_return_pages(%rip), %rax
	mov %r10, %rcx
	shr $RETURN_PAGE_SHIFT, %rcx
	mov %ecx, %edx
	and $RETURN_PAGES - 1, %edx
	cmp %rcx, (%rax, %rdx, 8)
	jne .Lnot_usual_call			/* may_hook_return_to() */
	lea pb_return_trampolines(%rip), %rax
	sub %rax, %r10
	cmp $RETURN_SLOTS << TRAMPOLINE_SHIFT, %r10
	jb .Lnot_usual_call
	cmpw $HOOK_PLAIN, PROGRAM_CODE(%r11)
	ja .Lgraph
	jb .Lnot_usual_call
	mov pb_thread@gottpoff(%rip), %r10
	cmpl $0, %fs:THREAD_IN_AGENT(%r10)
	jne .Lnot_usual_call
	take_spare %rdx, .Lnot_usual_call
	mov BELOW_RDX(%rsp), %rax
	mov BELOW_RCX(%rsp), %rcx
	movl $-1, SLOT_WANTED(%rdx)
	movl $0, BELOW_TOKEN(%rsp)
	mov %rdi, SLOT_ARG(%rdx)
	mov %rsi, SLOT_ARG+8(%rdx)
	mov %rax, SLOT_ARG+16(%rdx)
	mov %rcx, SLOT_ARG+24(%rdx)
	mov %r8, SLOT_ARG+32(%rdx)
	mov %r9, SLOT_ARG+40(%rdx)
.Larm:						/* rdx is the slot, r11 the program */
	mov BELOW_SITE(%rsp), %rax
	mov %r11, SLOT_PROGRAM(%rdx)
	mov %rax, SLOT_SITE(%rdx)
	movw $1, SLOT_CHAIN_LENGTH(%rdx)
	movw $0, SLOT_LIMITED(%rdx)
	mov 8(%rsp), %rax
	mov %rdx, %rcx
	lea pb_return_slots(%rip), %r10
	sub %r10, %rcx
	shr $4, %rcx				/* index * 8 */
	lea pb_return_address(%rip), %r11
	mov %rax, SLOT_RETURN_ADDRESS(%rdx)
	mov %rax, (%r11, %rcx)
	lea pb_return_trampolines(%rip), %r10
	lea (%r10, %rcx, 2), %r10
	lea 8(%rsp), %r11
	mov %r10, (%r11)
	movzwl SLOT_GENERATION(%rdx), %eax
	inc %eax
	mov %ax, SLOT_GENERATION(%rdx)
	shl $48, %rax
	or %r11, %rax
	mov %rax, (%rdx)
	mov BELOW_TOKEN(%rsp), %ecx
	test %ecx, %ecx
	jz 1f
	mov pb_graph_thread@gottpoff(%rip), %rax
	mov %ecx, %fs:(%rax)			/* the thread is in it now */
1:	sub $RETURN_CALL_SIZE, %r10
	mov %r10, BELOW_TARGET(%rsp)
	mov (%rsp), %rax			/* where the stub goes on */
	mov BELOW_RCX(%rsp), %rcx
	mov BELOW_RDX(%rsp), %rdx
	mov BELOW_R10(%rsp), %r10
	mov BELOW_R11(%rsp), %r11
	lea 16(%rsp), %rsp
	.cfi_adjust_cfa_offset -16
	jmp *BELOW_TARGET-16(%rsp)		/* the call in front of the trampoline */
	.cfi_adjust_cfa_offset 16

.Lgraph:
	mov pb_thread@gottpoff(%rip), %r10
	mov %fs:(%r10), %r10d			/* fast_tid: 0 also in agent code */
	lea pb_graph_settings(%rip), %rcx
	test %r10d, %r10d
	jz .Lnot_usual_call
	cmpl $0, GRAPH_ROOTS_NOTRACE_SLEEP(%rcx)
	jne .Lnot_usual_call
	cmpb $0, GRAPH_MONOTONIC(%rcx)
	jne .Lnot_usual_call
	mov %r8, BELOW_R8(%rsp)
	mov %r9, BELOW_R9(%rsp)
	shl $32, %r10
	or $GRAPH_ENTRY_ID, %r10
	mov %r10, BELOW_HEADER(%rsp)
	mov pb_graph_thread@gottpoff(%rip), %rdx
	mov %fs:(%rdx), %r9d			/* the call that the thread is in */
	xor %r10d, %r10d			/* depth */
	test %r9d, %r9d
	jz .Lno_parent
	movzwl %r9w, %r8d
	shl $SLOT_SHIFT, %r8
	lea pb_return_slots - (1 << SLOT_SHIFT)(%rip), %rax
	add %rax, %r8
	mov (%r8), %rax				/* its slot's state */
	mov %r9d, %edx
	mov %rax, %rcx
	shr $48, %rcx
	shr $16, %edx
	cmp %ecx, %edx				/* generations */
	jne .Lnot_usual_graph
	test $7, %al
	jnz .Lnot_usual_graph
	shl $16, %rax
	lea 8(%rsp), %r10
	shr $16, %rax
	mov %rax, %rcx
	sub %r10, %rcx
	cmp $GRAPH_FAR_BYTES, %rcx
	jae .Lnot_usual_graph
.Lgraph_load:
	mov (%rax), %rax			/* a page may be gone */
	lea pb_return_slots(%rip), %rcx
	mov %r8, %rdx
	lea pb_return_trampolines(%rip), %r10
	sub %rcx, %rdx
	sub %r10, %rax
	shr $SLOT_SHIFT - TRAMPOLINE_SHIFT, %rdx
	cmp %rax, %rdx
	jne .Lnot_usual_graph
	movzbl SLOT_GRAPH_FLAGS(%r8), %ecx
	movzwl SLOT_DEPTH(%r8), %r10d
	test $GRAPH_NOTRACED, %cl
	jnz .Lnot_usual_graph
	bt $GRAPH_COUNTS_BIT, %ecx
	adc $0, %r10d
	cmp $0xffff, %r10d
	ja .Lnot_usual_graph
	and $GRAPH_INSIDE, %ecx
.Lparent:					/* r9d parent, r10d depth, ecx flags */
	mov BELOW_SITE(%rsp), %rax
	cmpw $HOOK_GRAPH, PROGRAM_CODE(%r11)
	jne .Lprofile
	mov GRAPH_MAX_DEPTH+pb_graph_settings(%rip), %edx
	test %edx, %edx
	jz 1f
	cmp %edx, %r10d
	jae .Lnot_followed
1:	cmpq $0, GRAPH_THRESH+pb_graph_settings(%rip)
	jne .Lnot_usual_graph
	mov SITE_FUNCTION(%rax), %rdx
	mov %rdx, BELOW_WORD1(%rsp)
	mov %r10, BELOW_WORD2(%rsp)
	mov SITE_GRAPH(%rax), %edx
	and $GRAPH_ROOT, %edx
	or %edx, %ecx				/* kGraphInside, by chance the same bit */
	or $GRAPH_ENTERED, %ecx
.Lcall_word:
	shl $16, %ecx
	or %ecx, %r10d
	shl $32, %r10
	or %r9, %r10
	mov %r10, BELOW_CALL(%rsp)
	take_spare %r8, .Lnot_usual_graph
	mov %rax, BELOW_SPARE_STATE(%rsp)
	movl $1, SLOT_WANTED(%r8)
	ring_clock
	mov %rax, SLOT_CALL_TIME(%r8)
	movq $0, SLOT_CHILD_TIME(%r8)
	movq $0, SLOT_CPU_TIME(%r8)
	cmpw $HOOK_GRAPH, PROGRAM_CODE(%r11)
	jne .Lentered
	mov %r11, SLOT_PROGRAM(%r8)
	mov PROGRAM_EVENTS(%r11), %r11
	begin_record graph, FUNCTION_RECORD, .Lslow_graph
	mov BELOW_HEADER(%rsp), %r11
	mov %r11, 4(%r9)
	mov BELOW_WORD1(%rsp), %r11
	mov %r11, 12(%r9)
	mov BELOW_WORD2(%rsp), %r11
	mov %r11, 20(%r9)
	end_record graph, FUNCTION_RECORD
	mov SLOT_PROGRAM(%r8), %r11
.Lentered:
	mov BELOW_CALL(%rsp), %rax
	mov %rax, SLOT_PARENT(%r8)
	mov %r8, %rdx
	lea pb_return_slots(%rip), %rcx
	sub %rcx, %r8
	movzwl SLOT_GENERATION(%rdx), %eax
	shr $SLOT_SHIFT, %r8
	inc %eax				/* what it will be in a moment */
	inc %r8d
	shl $16, %eax
	or %eax, %r8d
	mov %r8d, BELOW_TOKEN(%rsp)
	mov BELOW_R8(%rsp), %r8
	mov BELOW_R9(%rsp), %r9
	jmp .Larm

.Lno_parent:
	cmpl $0, %fs:GRAPH_LEFT(%rdx)
	jne .Lnot_usual_graph
	xor %ecx, %ecx
	jmp .Lparent
.Lprofile:
	mov pb_profile_table(%rip), %rdx
	test %rdx, %rdx
	jz .Lnot_usual_graph
	movzbl PROFILE_SESSION(%rdx), %edx
	shl $8, %edx
	or $GRAPH_PROFILED, %ecx
	or %edx, %ecx
	jmp .Lcall_word
.Lnot_followed:
	mov BELOW_R8(%rsp), %r8
	mov BELOW_R9(%rsp), %r9
	mov BELOW_RCX(%rsp), %rcx
	mov BELOW_RDX(%rsp), %rdx
	mov BELOW_R10(%rsp), %r10
	mov BELOW_R11(%rsp), %r11
	mov (%rsp), %rax
	lea 8(%rsp), %rsp
	.cfi_adjust_cfa_offset -8
	jmp *%rax
	.cfi_adjust_cfa_offset 8
.Lslow_graph:					/* nothing is recorded: the slot goes back */
	mov BELOW_SPARE_STATE(%rsp), %rax
	mov %rax, (%r8)
	mov pb_return_thread@gottpoff(%rip), %rcx
	decl %fs:RETURN_THREAD_AT(%rcx)
.Lnot_usual_graph:
	fault_entry .Lgraph_load, .Lnot_usual_graph
	mov BELOW_R8(%rsp), %r8
	mov BELOW_R9(%rsp), %r9
.Lnot_usual_call:
	mov BELOW_RCX(%rsp), %rcx
	mov BELOW_RDX(%rsp), %rdx
	mov BELOW_SITE(%rsp), %rax
.Lnot_usual:
	mov BELOW_R10(%rsp), %r10
	mov BELOW_R11(%rsp), %r11
	jmp probe_entry_hook_general
	abort_sequence graph, .Lslow_graph
	.cfi_endproc
	.size probe_entry_hook, . - probe_entry_hook
	.section .note.GNU-stack, "", @progbits
