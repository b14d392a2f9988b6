/* SPDX-License-Identifier: MIT
 *
 * The entry of a traced function, for all functions: a stub only says which CallSite it is, and
 * what happens there is in the site's programs. So thirty thousand traced functions share this
 * code, and sites get other consumers without being written again.
 *
 *   stub ── probe_entry_shared
 *             |-- program->code is kEntryCalls     a record of each function tracer, one TSC
 *             |-- kEntryCallback                   probe_entry_callback calls the program
 *             |-- else, or the record is not the usual case: probe_entry_rest, with what is left
 *             '-- return_program? probe_entry_hook, by its code:
 *                   kHookPlain    a spare slot of the thread is armed
 *                   kHookCalls    and its room is filled with what a whole call takes
 *                   kHookGraph    and funcgraph_entry recorded, with depth and parent
 *                   kHookProfile  the same without a record
 *                   else, or not the usual case: probe_entry_hook_general
 *
 * Entered by `call`, or by a jump where returns are hooked (probe_entry.S): rsp is below the return
 * address, where the stub goes on; rax is the CallSite. Generated code is not needed for these: the
 * records have one form each. C++ (graph_hot.cc, probe_hot.cc) says what is to happen; this does
 * the same, quicker, or leaves everything to it. What whole calls take differs from event to event:
 * that is generated, into pb_take_code (return_code.cc).
 */
#include "hot/fault.inc"
#include "probe/callbacks/asm_offsets.h"
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
#define BELOW_RCX -56
#define BELOW_RDX -64
#define BELOW_R9 -72
#define BELOW_R8 -80
#define BELOW_HEADER -88
#define BELOW_END -96			/* behind the last SiteEvent */
/* From -88 down to BELOW_R10 the code in pb_take_code has what it spills (codegen/code_frame.h). */
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
	cmpw $ENTRY_CALLS, PROGRAM_CODE(%r11)
	jne .Lno_calls
	mov pb_thread@gottpoff(%rip), %r10
	mov %fs:(%r10), %r10d			/* fast_tid */
	test %r10d, %r10d
	jz .Lrest
	mov %rcx, BELOW_RCX(%rsp)
	mov %rdx, BELOW_RDX(%rsp)
	mov %r8, BELOW_R8(%rsp)
	mov %r9, BELOW_R9(%rsp)
	shl $32, %r10
	mov 8(%rsp), %rcx
	lea PROGRAM_EVENTS(%r11), %r8
	or $FUNCTION_ID, %r10
	lea pb_return_trampolines(%rip), %rdx
	mov %r10, BELOW_HEADER(%rsp)
	sub %rdx, %rcx
	cmp $RETURN_TRAMPOLINES << TRAMPOLINE_SHIFT, %rcx
	jb .Lslow_call				/* a tail call of a function whose return is hooked */
	mov (%r11), %ecx
	shl $SITE_EVENT_SHIFT, %rcx
	add %r8, %rcx
	mov %rcx, BELOW_END(%rsp)
	ring_clock
.Lnext_event:
	mov (%r8), %r11
	begin_record call, FUNCTION_RECORD, .Lslow_call
	mov BELOW_HEADER(%rsp), %r11
	mov %r11, 4(%r9)
	mov BELOW_SITE(%rsp), %r11
	mov SITE_FUNCTION(%r11), %r11
	mov %r11, 12(%r9)
	mov 8(%rsp), %r11
	mov %r11, 20(%r9)
	end_record call, FUNCTION_RECORD
	add $SITE_EVENT_SIZE, %r8
	cmp BELOW_END(%rsp), %r8
	jne .Lnext_event
	mov BELOW_SITE(%rsp), %rax
	mov BELOW_RCX(%rsp), %rcx
	mov BELOW_RDX(%rsp), %rdx
	mov BELOW_R8(%rsp), %r8
	mov BELOW_R9(%rsp), %r9
	mov BELOW_R10(%rsp), %r10
	mov BELOW_R11(%rsp), %r11
	cmpq $0, SITE_RETURN_PROGRAM(%rax)
	jne probe_entry_hook
	ret					/* the stub takes its rax back */
.Lslow_call:					/* the events before r8 are dealt with */
	mov BELOW_PROGRAM(%rsp), %r11
	lea PROGRAM_EVENTS(%r11), %rax
	mov %r8, %rcx
	sub %rax, %rcx
	mov $-1, %r11
	shr $SITE_EVENT_SHIFT, %rcx
	shl %cl, %r11
	mov BELOW_RCX(%rsp), %rcx
	mov BELOW_RDX(%rsp), %rdx
	mov BELOW_R8(%rsp), %r8
	mov BELOW_R9(%rsp), %r9
	mov BELOW_SITE(%rsp), %rax
	jmp 1f
.Lno_calls:
	cmpw $ENTRY_CALLBACK, PROGRAM_CODE(%r11)
	je probe_entry_callback
.Lrest:
	mov $-1, %r11
1:	mov %r11, BELOW_WANTED(%rsp)
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

/* One callback of the program: callback_at_entry() (callback_hot.cc). From probe_entry_shared: rax
 * is the site, r11 its program; the words that the stub and r10, r11 have below rsp stay there. */
#define SLOT_AT CALLBACK_REGISTERS_SIZE
#define ARG_AT (SLOT_AT + 16)
#define ENTRY_FRAME (ARG_AT + 6 * 8 - BELOW_R10)	/* a multiple of 16 */
	.macro call_arguments_back
	mov ARG_AT(%rsp), %rdi
	mov ARG_AT+8(%rsp), %rsi
	mov ARG_AT+16(%rsp), %rdx
	mov ARG_AT+24(%rsp), %rcx
	mov ARG_AT+32(%rsp), %r8
	mov ARG_AT+40(%rsp), %r9
	lea ENTRY_FRAME(%rsp), %rsp
	.cfi_adjust_cfa_offset -ENTRY_FRAME
	.endm

	.type probe_entry_callback, @function
	.p2align 4
probe_entry_callback:
	.cfi_startproc
	.cfi_def_cfa_offset 16
	mov pb_thread@gottpoff(%rip), %r10
	cmpl $0, %fs:(%r10)			/* fast_tid */
	je .Lrest
.Llook:						/* at the stack that all of this will need */
	cmpb $0, -(TOUCH_DEPTH + ENTRY_FRAME)(%rsp)
	fault_entry .Llook, .Lrest
	mov %fs:THREAD_CALLBACK_SLOT(%r10), %r10
	test %r10, %r10
	jz .Lrest
	cmpq $0, (%r10)
	jne .Lrest				/* it is in one already, which is counted */
	lea -ENTRY_FRAME(%rsp), %rsp
	.cfi_adjust_cfa_offset ENTRY_FRAME
	mov %rdi, ARG_AT(%rsp)
	mov %rsi, ARG_AT+8(%rsp)
	mov %rdx, ARG_AT+16(%rsp)
	mov %rcx, ARG_AT+24(%rsp)
	mov %r8, ARG_AT+32(%rsp)
	mov %r9, ARG_AT+40(%rsp)
	mov ENTRY_FRAME+8(%rsp), %rsi		/* parent_ip */
	lea pb_return_trampolines(%rip), %rdx
	mov %rsi, %rcx
	sub %rdx, %rcx
	cmp $RETURN_TRAMPOLINES << TRAMPOLINE_SHIFT, %rcx
	jb .Lslow_callback
	mov PROGRAM_EVENTS(%r11), %r9
	mov PROGRAM_IP(%r11), %rdi
	test %rdi, %rdi
	cmovz SITE_FUNCTION(%rax), %rdi
	mov EVENT_CALLBACK(%r9), %r9
	lea ARG_AT-FRAME_ARG(%rsp), %rcx
	lea ENTRY_FRAME+8(%rsp), %rdx
	mov %rcx, CALLBACK_REGISTERS(%rsp)
	mov %rdx, CALLBACK_STACK(%rsp)
	mov %rdi, CALLBACK_IP(%rsp)
	mov %rsi, CALLBACK_PARENT_IP(%rsp)
	mov %r9, (%r10)				/* running, then off: callback_hot.h */
	cmpl $0, CALLBACK_OFF(%r9)
	jne .Lleave_callback
	mov %r10, SLOT_AT(%rsp)
	mov CALLBACK_ARGUMENT(%r9), %rdx
	mov CALLBACK_FUNCTION(%r9), %r8
	mov %rsp, %rcx
	cmpb $VECTORS_UNTOUCHED, CALLBACK_VECTORS(%r9)
	jne .Lwith_vectors
	call *%r8
.Lcalled:
	mov SLOT_AT(%rsp), %r10
.Lleave_callback:
	movq $0, (%r10)
	call_arguments_back
	mov BELOW_SITE(%rsp), %rax
	mov BELOW_R10(%rsp), %r10
	mov BELOW_R11(%rsp), %r11
	cmpq $0, SITE_RETURN_PROGRAM(%rax)
	jne probe_entry_hook
	ret
	.cfi_adjust_cfa_offset ENTRY_FRAME
.Lwith_vectors:
	cmpb $0, pb_callback_xinuse(%rip)
	je 1f
	call callback_call_entry
	jmp .Lcalled
1:	call callback_call_all
	jmp .Lcalled
.Lslow_callback:
	call_arguments_back
	jmp .Lrest
	.cfi_endproc
	.size probe_entry_callback, . - probe_entry_callback

/* Takes the spare of the thread's level, which is in rax: \slot. \thread: its ReturnThread. Spends
 * \temp and rax, which is then the state that the spare had.
 *
 * A signal handler between any two of these has calls of its own, which take the same spare and
 * give it back: the level and the state are then what they were, but for the generation, and the
 * exchange fails. If it has left by longjmp nobody comes back here. If it has gone on with another
 * fiber, whose calls hold this spare when this one goes on, the state is another, too.
 *
 * The call of the level before is above this one on its stack; else it may have been left, and
 * settle_levels() looks (return_hook_hot.cc). */
	.macro take_spare slot, slot32, thread, temp, temp32, none
	movzwl RETURN_THREAD_SPARE(\thread, %rax, 2), \slot32	/* 1 + index */
	lea RETURN_THREAD_SPARE+SLOT_SPARE_TAG(\thread, %rax, 2), %rax
	test \slot32, \slot32			/* 0 also behind the last level */
	jz \none
	shl $SLOT_SHIFT, \slot
	lea pb_return_slots - (1 << SLOT_SHIFT)(%rip), \temp
	add \temp, \slot
	mov (\slot), \temp
	xor \temp, %rax				/* but for the generation it is this spare's */
	shl $16, %rax
	jnz \none				/* cmpxchg would write back what is not ours */
	mov \temp, %rax
	mov $SLOT_OWNED, \temp32
	cmpxchg \temp, (\slot)			/* no lock: only a handler of this thread may have come */
	jne \none
	incl RETURN_THREAD_AT(\thread)
	.endm

/* Whether the call of the level before is above this one on its stack; rax is the level. The low
 * halves tell for as long as no stack has 2 GiB. Spends slot and temp. */
	.macro check_level slot, thread, temp, temp32, none
	movzwl RETURN_THREAD_SPARE-2(\thread, %rax, 2), \temp32
	test \temp32, \temp32
	jz 8f					/* the first level */
	shl $SLOT_SHIFT, \temp
	lea pb_return_slots - (1 << SLOT_SHIFT)(%rip), \slot
	mov (\slot, \temp), \temp32		/* its state: the word, and three bits */
	sub %esp, \temp32
	cmp $8 + 7, \temp32
	jle \none
8:
	.endm

/* The slot r8 is owned and filled but for where it goes on to; BELOW_TARGET is the trampoline.
 * Spends rax, rcx, which is the call's token, r10, which is the trampoline, and r11. */
	.macro arm_slot
	mov 8(%rsp), %rax
	mov BELOW_TARGET(%rsp), %r10
	mov SLOT_TOKEN(%r8), %ecx
	mov %rax, SLOT_RETURN_ADDRESS(%r8)
	add $0x10000, %ecx			/* the next generation */
	mov %r10d, SLOT_TRAMPOLINE(%r8)
	mov %ecx, SLOT_TOKEN(%r8)
	mov %ecx, %eax
	lea 8(%rsp), %r11
	shr $16, %eax
	mov %r10, (%r11)
	shl $48, %rax
	or %r11, %rax
	mov %rax, (%r8)
	.endm

/* Of kHookPlain and kHookCalls: the slot r8 is owned, r10 is the site, r11 the program. Spends rax,
 * rcx and rdx. */
	.macro fill_slot
	mov BELOW_RDX(%rsp), %rax
	mov BELOW_RCX(%rsp), %rcx
	mov BELOW_R8(%rsp), %rdx
	movl $-1, SLOT_WANTED(%r8)
	movb $0, SLOT_GRAPH_FLAGS(%r8)
	mov %rdi, SLOT_ARG(%r8)
	mov %rsi, SLOT_ARG+8(%r8)
	mov %rax, SLOT_ARG+16(%r8)
	mov %rcx, SLOT_ARG+24(%r8)
	mov %rdx, SLOT_ARG+32(%r8)
	mov %r9, SLOT_ARG+40(%r8)
	mov %r11, SLOT_PROGRAM(%r8)
	mov %r10, SLOT_SITE(%r8)
	.endm

/* On in the stub, through the call in front of the trampoline r10. */
	.macro go_on_hooked
	sub $RETURN_CALL_SIZE, %r10
	mov %r10, BELOW_TARGET(%rsp)
	mov (%rsp), %rax			/* where the stub goes on */
	mov BELOW_RCX(%rsp), %rcx
	mov BELOW_RDX(%rsp), %rdx
	mov BELOW_R8(%rsp), %r8
	mov BELOW_R10(%rsp), %r10
	mov BELOW_R11(%rsp), %r11
	lea 16(%rsp), %rsp
	.cfi_adjust_cfa_offset -16
	jmp *BELOW_TARGET-16(%rsp)		/* the call in front of the trampoline */
	.cfi_adjust_cfa_offset 16
	.endm

/* The slot of a call that is followed. The thread's id is asked for in the sequence that records
 * it, where no handler can come in between, before anything is stored in the ring: where it is 0,
 * the thread may be a vfork child, which nothing restarts.
 * rax: the site; r9d: the call's parent; r10d: GraphCall from `depth` on; r11: the program; rdx:
 * ReturnThread. Afterwards r8 is the slot and rax the time; the others but r11 are spent.
 * SLOT_WANTED is left as it is: kGraphQuick says it. The parent, or none, is the call of the level
 * before, mostly; else it goes to \other, which comes back. */
	.macro begin_call name, other
	shl $32, %r10
	or %r10, %r9
	mov %rax, %r10
	mov RETURN_THREAD_AT(%rdx), %eax
	cmp %r9w, RETURN_THREAD_SPARE-2(%rdx, %rax, 2)
	jne \other
\name:
	take_spare %r8, %r8d, %rdx, %rcx, %ecx, .Lnot_usual_take
	mov %r9, SLOT_PARENT(%r8)
	mov %r10, SLOT_SITE(%r8)
	mov %r11, SLOT_PROGRAM(%r8)
	movq $0, SLOT_CHILD_TIME(%r8)
	ring_clock
	mov %rax, SLOT_CALL_TIME(%r8)
	.endm

	.macro end_call
	arm_slot
	mov pb_return_thread@gottpoff(%rip), %rdx
	mov BELOW_R9(%rsp), %r9
	mov %ecx, %fs:GRAPH_CURRENT(%rdx)	/* the thread is in it now */
	go_on_hooked
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
	mov %rcx, BELOW_RCX(%rsp)
	mov %rdx, BELOW_RDX(%rsp)
	mov 8(%rsp), %rcx
	lea pb_quick_trampolines(%rip), %r10
	imul $QUICK_HASH_FACTOR, %ecx, %edx
	shr $QUICK_HASH_SHIFT, %edx
	mov (%r10, %rdx, 8), %rdx
	mov %rdx, %r10
	shr $QUICK_NUMBER_BITS, %r10
	cmp %rcx, %r10
	jne .Lnot_usual_call			/* may_hook_return_to(), or a trampoline */
	lea pb_return_trampolines(%rip), %r10
	and $RETURN_TRAMPOLINES - 1, %edx
	lea (%r10, %rdx, 1 << TRAMPOLINE_SHIFT), %rdx
	mov %rdx, BELOW_TARGET(%rsp)		/* for arm_slot */
	cmpw $HOOK_PLAIN, PROGRAM_CODE(%r11)
	jbe .Lplain
	cmpw $HOOK_CALLS, PROGRAM_CODE(%r11)
	je .Lcalls
	cmpq $0, GRAPH_UNUSUAL+pb_graph_settings(%rip)
	jne .Lnot_usual_call
	mov pb_return_thread@gottpoff(%rip), %rdx
	mov %r9, BELOW_R9(%rsp)
	mov %r8, BELOW_R8(%rsp)
	add %fs:0, %rdx
	xor %r10d, %r10d			/* depth and flags */
	mov GRAPH_CURRENT(%rdx), %r9d		/* the call that the thread is in */
	test %r9d, %r9d
	jz .Lno_parent
	mov pb_thread@gottpoff(%rip), %rcx	/* fast_tid: 0 where a fault may not be delivered */
	cmpl $0, %fs:(%rcx)
	je .Lnot_usual_graph
	movzwl %r9w, %ecx
	lea pb_return_slots - (1 << SLOT_SHIFT)(%rip), %r10
	mov %ecx, %r8d
	shl $SLOT_SHIFT, %r8
	add %r10, %r8
	cmp %r9d, SLOT_TOKEN(%r8)
	jne .Lnot_usual_graph
	mov (%r8), %r10				/* its slot's state */
	test $7, %r10b
	jnz .Lnot_usual_graph
	shl $16, %r10
	shr $16, %r10
	sub %rsp, %r10
	sub $8, %r10				/* from our word up to its */
	cmp $GRAPH_FAR_BYTES, %r10
	jae .Lnot_usual_graph
.Lgraph_load:
	mov 8(%rsp, %r10), %r10			/* a page may be gone */
	cmp %r10d, SLOT_TRAMPOLINE(%r8)
	jne .Lnot_usual_graph
	mov SLOT_DEPTH(%r8), %r10d
	cmp $-1, %r10w
	je .Lnot_usual_graph			/* it is as deep as can be said */
	test $GRAPH_NOTRACED << GRAPH_FLAGS_SHIFT, %r10d
	jnz .Lnot_usual_graph
	bt $GRAPH_COUNTS_BIT + GRAPH_FLAGS_SHIFT, %r10d
	adc $0, %r10d
	and $GRAPH_INSIDE << GRAPH_FLAGS_SHIFT | 0xffff, %r10d
.Lparent:					/* r9d parent, r10d depth and flags */
	cmpw $HOOK_GRAPH, PROGRAM_CODE(%r11)
	jne .Lprofile
	mov GRAPH_MAX_DEPTH+pb_graph_settings(%rip), %ecx
	test %ecx, %ecx
	jnz .Lmax_depth
1:	mov SITE_GRAPH(%rax), %ecx
	or $(GRAPH_ENTERED | GRAPH_QUICK) << GRAPH_FLAGS_SHIFT, %r10d
	and $GRAPH_ROOT, %ecx
	or %ecx, %r10d				/* which is kGraphInside there */
	begin_call .Ltake_graph, .Lother_level_graph
	mov PROGRAM_EVENTS(%r11), %r11
	begin_record graph, FUNCTION_RECORD, .Lslow_graph, 1
	mov pb_thread@gottpoff(%rip), %r11
	mov %fs:(%r11), %r11d			/* fast_tid */
	shl $32, %r11
	or $GRAPH_ENTRY_ID, %r11
	mov %r11, 4(%r9)
	mov SLOT_SITE(%r8), %r11
	mov SITE_FUNCTION(%r11), %r11
	mov %r11, 12(%r9)
	movzwl SLOT_DEPTH(%r8), %r11d
	mov %r11, 20(%r9)
	end_record graph, FUNCTION_RECORD
	end_call

.Lplain:
	jb .Lnot_usual_call
	mov pb_thread@gottpoff(%rip), %r10
	cmpl $0, %fs:THREAD_IN_AGENT(%r10)
	jne .Lnot_usual_call
	mov %rax, %r10
	mov %r8, BELOW_R8(%rsp)
	mov pb_return_thread@gottpoff(%rip), %rdx
	add %fs:0, %rdx
	mov RETURN_THREAD_AT(%rdx), %eax
	check_level %r8, %rdx, %rcx, %ecx, .Lnot_usual_plain
	take_spare %r8, %r8d, %rdx, %rcx, %ecx, .Lnot_usual_plain
	fill_slot
	arm_slot
	go_on_hooked

/* Of whole calls. A handler that comes between the two has other slots, and so other rooms. */
.Lcalls:
	mov pb_thread@gottpoff(%rip), %r10
	cmpl $0, %fs:(%r10)			/* fast_tid: 0 in the agent, and where no fault is delivered */
	je .Lnot_usual_call
	mov %rax, %r10
	mov %r8, BELOW_R8(%rsp)
	mov %r9, BELOW_R9(%rsp)
	mov pb_return_thread@gottpoff(%rip), %rdx
	add %fs:0, %rdx
	mov RETURN_THREAD_AT(%rdx), %eax
	check_level %r8, %rdx, %rcx, %ecx, .Lnot_usual_take
	take_spare %r8, %r8d, %rdx, %rcx, %ecx, .Lnot_usual_take
	fill_slot
	movzwl PROGRAM_TAKE_CODE(%r11), %eax
	lea pb_take_code(%rip), %rcx
	shl $RETURN_CODE_SHIFT, %eax
	add %rcx, %rax
	jmp *%rax
	.globl pb_take_done
	.hidden pb_take_done
pb_take_done:					/* r8 is the slot */
	arm_slot
	mov BELOW_R9(%rsp), %r9
	go_on_hooked
	.globl pb_take_general
	.hidden pb_take_general
pb_take_general:				/* likewise: a load has faulted, a text is long */
	jmp .Lslow_graph

.Lno_parent:
	cmpl $0, GRAPH_LEFT(%rdx)
	je .Lparent
	jmp .Lnot_usual_graph			/* it seemed to have left one */
.Lmax_depth:
	movzwl %r10w, %r8d
	cmp %ecx, %r8d
	jb 1b
	jmp .Lnot_followed
.Lprofile:
	mov pb_thread@gottpoff(%rip), %r8
	mov pb_profile_table(%rip), %rcx
	cmpl $0, %fs:(%r8)
	je .Lnot_usual_graph
	test %rcx, %rcx
	jz .Lnot_usual_graph
	movzbl PROFILE_SESSION(%rcx), %ecx
	or $(GRAPH_PROFILED | GRAPH_QUICK) << GRAPH_FLAGS_SHIFT, %r10d
	shl $24, %ecx
	or %ecx, %r10d
	begin_call .Ltake_profile, .Lother_level_profile
	end_call
.Lother_level_graph:
	check_level %r8, %rdx, %rcx, %ecx, .Lnot_usual_take
	jmp .Ltake_graph
.Lother_level_profile:
	check_level %r8, %rdx, %rcx, %ecx, .Lnot_usual_take
	jmp .Ltake_profile
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
	mov SLOT_SITE(%r8), %rax
	mov pb_return_thread@gottpoff(%rip), %rcx
	movzbl SLOT_HOME(%r8), %edx
	movzwl SLOT_NUMBER(%r8), %r9d
	add %fs:0, %rcx
	cmp %r9w, RETURN_THREAD_SPARE(%rcx, %rdx, 2)
	jne 2f					/* a fiber, which is another thread's by now */
	movzwl SLOT_GENERATION(%r8), %r10d
	lea RETURN_THREAD_SPARE+SLOT_SPARE_TAG(%rcx, %rdx, 2), %r9
	shl $48, %r10
	or %r9, %r10
	mov %r10, (%r8)
	mov %edx, RETURN_THREAD_AT(%rcx)
	jmp .Lnot_usual_graph
2:	movq $0, (%r8)
	jmp .Lnot_usual_graph
.Lnot_usual_plain:
	mov %r10, %rax
	jmp 3f
.Lnot_usual_take:
	mov %r10, %rax
.Lnot_usual_graph:
	fault_entry .Lgraph_load, .Lnot_usual_graph
	mov BELOW_R9(%rsp), %r9
3:	mov BELOW_R8(%rsp), %r8
.Lnot_usual_call:				/* rax is the site */
	mov BELOW_RCX(%rsp), %rcx
	mov BELOW_RDX(%rsp), %rdx
.Lnot_usual:
	mov SITE_RETURN_PROGRAM(%rax), %r11
	test %r11, %r11
	jz 4f
	cmpw $HOOK_CALLS, PROGRAM_CODE(%r11)	/* what it takes may be in vector registers */
4:	mov BELOW_R10(%rsp), %r10
	mov BELOW_R11(%rsp), %r11
	je probe_entry_hook_xmm
	jmp probe_entry_hook_general
	abort_sequence graph, .Lslow_graph
	.cfi_endproc
	.size probe_entry_hook, . - probe_entry_hook

/* Code that takes what whole calls keep (codegen/call_code.h): runs as part of probe_entry_hook,
 * and leaves the stack pointer alone. Nothing is armed before it is through, so that a load that
 * faults goes on as if there had been none of it. */
	.balign 4096
	.globl pb_take_code
	.hidden pb_take_code
	.type pb_take_code, @function
pb_take_code:
	.cfi_startproc
	.cfi_def_cfa_offset 16
	.fill TAKE_CODE_SIZE, 1, 0xcc		/* 0 is none */
	.cfi_endproc
	.size pb_take_code, . - pb_take_code
	fault_entry pb_take_code, pb_take_general, pb_take_code + TAKE_CODE_SIZE
	.section .note.GNU-stack, "", @progbits
