/* SPDX-License-Identifier: MIT
 *
 * The trampolines that stand in for return addresses, and what they come to (return_hook.h).
 *
 * Right in front of each trampoline stands a call instruction. Hooking a return takes the return
 * address off the stack, goes to that call, and it pushes the trampoline's address into the same
 * word: so the processor's own stack of returns has the trampoline above the caller, and neither
 * the function's `ret` nor the one that return_entry ends with is a surprise to it.
 *
 *     stub: jmp probe_entry_hook ... rsp above the word, jmp -.
 *                                                             v
 *                                         trampoline - 2: call *%rax -- the stub goes on
 *     ret ----------------------------------> trampoline: jmp return_entry ... ret --> caller
 *
 * A trampoline is entered by the `ret` of a hooked function, so the word below rsp, in the red
 * zone, still holds its address: that says which one it is, and nothing has to be pushed. The same
 * word is what an unwinder finds on the stack while the function runs, so one rule covers both:
 *
 *     t = *(rsp - 8)                      this trampoline, number k; its page begins at p
 *     return address is at t + (t - p) + *p    = &pb_return_address[k], relative to the text
 *
 * The first trampolines are a long jump each, with the call of the next one behind it. For the
 * others there is less room: a short jump to a long one, which 64 share. 1024 numbers are a page,
 * which begins with the distance that unwinders ask for. So some numbers are none:
 * is_trampoline_number() in return_hook.h.
 *
 * Unwinders see a frame of their own between the function and its caller. Its CFA is the caller's
 * stack pointer, as everybody expects who asks for it (personality routines, nongnu libunwind). It
 * is that of the function's own frame, too; and libgcc stops with abort() where the frame that
 * catches comes second to its like. It tells frames apart by their CFA, less one behind a frame of
 * signals: so the trampoline's is such a frame. Behind it unwinders look for the address as it is,
 * not for the one before it, as behind a call. So the rule leads to the byte before the return
 * address, which is in the call instruction.
 */
#include "hot/fault.inc"
#include "probe/fast_record.inc"
#include "probe/returns/asm_offsets.h"

#define FRAME (RETURN_FRAME_SIZE + 8)	/* ReturnFrame and the stack word above it */
#define REG(n) (FRAME_REG + 8 * (n))
#define WORD (FRAME - 8)
#define RSP REG(4)
#define FLAGS REG(16)
#define DIRECTION_OR_ALIGNMENT 0x40400
/* codegen/code_frame.h: word, rax rcx rdx r9 r10 r11, -, OF and lahf, r8 */
#define SAVED(n) (-8 * ((n) + 1))
#define SCRATCH(n) (-88 - 8 * (n))	/* below SAVED */

	.macro restore_saved			/* but for DF and AC, which are as they were */
	mov SAVED(8)(%rsp), %rax
	add $0x7f, %al				/* overflows if OF was set */
	sahf
	mov SAVED(1)(%rsp), %rax
	mov SAVED(2)(%rsp), %rcx
	mov SAVED(3)(%rsp), %rdx
	mov SAVED(4)(%rsp), %r9
	mov SAVED(5)(%rsp), %r10
	mov SAVED(6)(%rsp), %r11
	mov SAVED(9)(%rsp), %r8
	.endm
/* The call is done with: its slot r8 goes back to the thread, whose ReturnThread rcx names as an
 * offset, and the program goes on. The slot was that of the thread's last level (return_entry). If
 * a handler has changed that since, the spare is one that nothing names, and is found as dead. */
	.macro give_slot_and_return
	mov SLOT_RETURN_ADDRESS(%r8), %rax
	movq $SLOT_OWNED, SLOT_STATE(%r8)
	add %fs:0, %rcx
	mov %rax, SAVED(0)(%rsp)
	movzbl SLOT_HOME(%r8), %eax
	movzwl SLOT_GENERATION(%r8), %edx
	lea RETURN_THREAD_SPARE+SLOT_SPARE_TAG(%rcx, %rax, 2), %r9
	shl $48, %rdx
	or %r9, %rdx
	mov %rdx, SLOT_STATE(%r8)
	mov %eax, RETURN_THREAD_AT(%rcx)
	restore_saved
	lea -8(%rsp), %rsp
	.cfi_adjust_cfa_offset 8
	ret
	.cfi_adjust_cfa_offset -8
	.endm

	/* The thread is in the parent again, if it was in this call. */
	.macro leave_call
	mov pb_return_thread@gottpoff(%rip), %rcx
	mov SLOT_TOKEN(%r8), %eax
	mov SLOT_PARENT(%r8), %edx
	cmp %eax, %fs:GRAPH_CURRENT(%rcx)
	jne .Lseems_left
	mov %edx, %fs:GRAPH_CURRENT(%rcx)
	give_slot_and_return
	.endm

	.macro trampolines from, to		/* of 64; the long jump is behind the first 32 */
	.set place, \from
	.rept \to - \from
	.byte 0xeb, (126 - 4 * place) & 0xff
	call *%rax			/* of the next one */
	.set place, place + 1
	.endr
	.endm
	.macro long_jump
	.byte 0xe9			/* jmp return_entry, always the long form */
	.long return_entry - . - 4
	.byte 0xcc
	call *%rax
	trampolines 34, 64
	.endm

	.text
	.balign 4096
	.globl patchbay_return_trampoline
	.type patchbay_return_trampoline, @function
	.globl pb_return_trampolines
	.hidden pb_return_trampolines
patchbay_return_trampoline:
pb_return_trampolines:
	.cfi_startproc
	.cfi_signal_frame
	.cfi_def_cfa %rsp, 0
	/* rip is *(t + (t & 4095) + *(t & -4096)) - 1; t is breg7(-8) deref, valgrind knows no dup */
	.cfi_escape 0x16, 16, 23, 0x77, 0x78, 6, 0x77, 0x78, 6, 0x0b, 0xff, 0x0f, 0x1a, 0x22
	.cfi_escape 0x77, 0x78, 6, 0x0b, 0x00, 0xf0, 0x1a, 6, 0x22, 6, 0x31, 0x1c
	.set number, 0
	.rept RETURN_LONG_TRAMPOLINES / 1024
	.quad pb_return_address + 8 * number - .
	.fill 6, 1, 0xcc
	call *%rax
	.rept 510
	.byte 0xe9			/* jmp return_entry, always the long form */
	.long return_entry - . - 4
	.byte 0xcc
	call *%rax
	.endr
	.set number, number + 1024
	.endr
	.rept (RETURN_TRAMPOLINES - RETURN_LONG_TRAMPOLINES) / 1024
	.quad pb_return_address + 8 * number - .
	.byte 0xcc, 0xcc
	call *%rax
	trampolines 3, 32
	long_jump
	.rept 15
	trampolines 0, 32
	long_jump
	.endr
	.set number, number + 1024
	.endr
	.cfi_endproc
	.size patchbay_return_trampoline, . - patchbay_return_trampoline

/* For unwinders: called by the code that the word below rsp points to. */
	.balign 64
	.type return_entry, @function
return_entry:
	.cfi_startproc
	.cfi_def_cfa_offset 0
	mov %rax, SAVED(1)(%rsp)
	mov %rcx, SAVED(2)(%rsp)
	mov %rdx, SAVED(3)(%rsp)
	mov %r9, SAVED(4)(%rsp)
	mov %r10, SAVED(5)(%rsp)
	mov %r11, SAVED(6)(%rsp)
	mov %r8, SAVED(9)(%rsp)
	lahf					/* pushf takes as long as a fifth of all this */
	seto %al
	mov %rax, SAVED(8)(%rsp)
	mov pb_return_thread@gottpoff(%rip), %rcx
	mov %fs:RETURN_THREAD_AT(%rcx), %eax	/* the call of the last level, mostly */
	movzwl %fs:RETURN_THREAD_SPARE-2(%rcx, %rax, 2), %eax
	test %eax, %eax
	jz pb_return_general
	mov SAVED(0)(%rsp), %rcx
	lea pb_return_slots - (1 << SLOT_SHIFT)(%rip), %r8
	shl $SLOT_SHIFT, %rax
	add %rax, %r8
	lea SAVED(0)(%rsp), %rax
	xor SLOT_STATE(%r8), %rax
	shl $16, %rax				/* without the generation */
	jnz pb_return_general			/* or chained */
	cmp %ecx, SLOT_TRAMPOLINE(%r8)
	jne pb_return_general
	movzbl SLOT_GRAPH_FLAGS(%r8), %eax
	and $~GRAPH_INSIDE, %eax
	cmp $GRAPH_ENTERED | GRAPH_QUICK, %eax
	jne .Lother_return

/* Of function_graph, when it is the only one: what graph_leave does for calls without specials.
 * From here to pb_return_general, and in pb_return_code: a function that has returned with AC set
 * makes the stores of records faults, behind which the general way begins (fault_fixup). */
pb_return_graph:
	cmpq $0, SLOT_CHILD_TIME(%r8)
	jne pb_return_general
	mov SLOT_PROGRAM(%r8), %r11
	mov PROGRAM_EVENTS(%r11), %r11
	ring_clock
	begin_record graph_exit, GRAPH_EXIT_RECORD, pb_return_general, 1
	mov pb_thread@gottpoff(%rip), %r11
	mov %fs:(%r11), %r11d			/* fast_tid */
	shl $32, %r11
	or $GRAPH_EXIT_ID, %r11
	mov %r11, 4(%r9)
	mov SLOT_SITE(%r8), %r11
	mov SITE_FUNCTION(%r11), %r11
	mov %r11, 12(%r9)
	mov SAVED(1)(%rsp), %r11
	mov %r11, 20(%r9)
	movzwl SLOT_DEPTH(%r8), %r11d
	mov %r11d, 28(%r9)
	mov pb_return_thread@gottpoff(%rip), %r11
	mov %fs:GRAPH_LOST(%r11), %r11d
	mov %r11d, 32(%r9)
	mov SLOT_CALL_TIME(%r8), %r11
	cmp %rax, %r11
	cmova %rax, %r11
	mov %r11, 36(%r9)
	mov %rax, 44(%r9)
	end_record graph_exit, GRAPH_EXIT_RECORD
	leave_call

/* Of the profiler, when it is the only one: graph_leave and profile_add. */
pb_return_profile:
	cmpb $0, GRAPH_WITHOUT_CHILDREN+pb_graph_settings(%rip)
	jne pb_return_general
	mov pb_thread@gottpoff(%rip), %rcx
	cmpl $0, %fs:(%rcx)			/* fast_tid */
	je pb_return_general
	mov pb_profile_table(%rip), %r11
	test %r11, %r11
	jz pb_return_general
	movzbl PROFILE_SESSION(%r11), %eax
	cmp %al, SLOT_SESSION(%r8)
	jne pb_return_general
	ring_clock
	sub SLOT_CALL_TIME(%r8), %rax
	jb pb_return_general
	mov %rax, %r9				/* the time; its square: r10 and SCRATCH(0) */
	mul %rax
	mov %rax, %r10
	mov %rdx, SCRATCH(0)(%rsp)
	begin_sequence profile
	rseq_cpu %rcx, %eax, pb_return_general
	mov SLOT_SITE(%r8), %rdx
	cmp PROFILE_NR_CPUS(%r11), %eax
	jae pb_return_general
	mov SITE_PROFILE(%rdx), %edx		/* 1 + number of the function */
	imul PROFILE_FUNCTIONS(%r11), %rax
	sub $1, %rdx
	jb pb_return_general
	cmp PROFILE_FUNCTIONS(%r11), %rdx
	jae pb_return_general
	add %rdx, %rax
	shl $PROFILE_COUNT_SHIFT, %rax
	add PROFILE_COUNTS(%r11), %rax
	mov (%rax), %ecx
	and $1, %ecx
	imul $PROFILE_SUM_SIZE, %ecx, %ecx
	lea PROFILE_SUMS(%rax, %rcx), %rdx		/* what is valid */
	neg %rcx
	lea PROFILE_SUMS+PROFILE_SUM_SIZE(%rax, %rcx), %r11
	mov (%rdx), %rcx
	add %r9, %rcx
	mov %rcx, (%r11)
	mov 8(%rdx), %rcx
	add %r10, %rcx
	mov %rcx, 8(%r11)
	mov 16(%rdx), %rcx
	adc SCRATCH(0)(%rsp), %rcx
	mov %rcx, 16(%r11)
	addq $1, (%rax)
	rseq_commit profile
	mov SLOT_PARENT(%r8), %edx			/* the time is none of the parent's own */
	movzwl %dx, %ecx
	test %edx, %edx
	jz .Lleave_profiled
	lea pb_return_slots - (1 << SLOT_SHIFT)(%rip), %rax
	shl $SLOT_SHIFT, %rcx
	add %rax, %rcx
	cmp %edx, SLOT_TOKEN(%rcx)
	jne .Lleave_profiled
	testb $SLOT_SPARE_TAG, (%rcx)		/* or owned */
	jnz .Lleave_profiled
	add %r9, SLOT_CHILD_TIME(%rcx)
.Lleave_profiled:
	leave_call
	abort_sequence graph_exit, pb_return_general
	abort_sequence profile, pb_return_general

.Lother_return:
	cmp $GRAPH_PROFILED | GRAPH_QUICK, %eax
	je pb_return_profile
	mov SLOT_PROGRAM(%r8), %r11
	cmpw $1, SLOT_CHAIN_LENGTH(%r8)
	jne pb_return_general
	movzwl PROGRAM_RETURN_CODE(%r11), %eax
	shl $RETURN_CODE_SHIFT, %eax
	jz pb_return_general
	lea pb_return_code(%rip), %rcx
	add %rcx, %rax
	jmp *%rax

/* From generated code: the event is recorded, r8 is the slot. */
	.globl pb_return_done
	.hidden pb_return_done
pb_return_done:
	mov pb_return_thread@gottpoff(%rip), %rcx
.Lgive_slot:
	give_slot_and_return
.Lseems_left:					/* edx is the parent */
	mov %fs:GRAPH_CURRENT(%rcx), %eax
	test %eax, %eax
	jz 1f
	mov %eax, %fs:GRAPH_LEFT(%rcx)
1:	mov %edx, %fs:GRAPH_CURRENT(%rcx)
	jmp .Lgive_slot

/* With all that is saved in its place: everything else. */
	.globl pb_return_general
	.hidden pb_return_general
pb_return_general:
	restore_saved
	lea -FRAME(%rsp), %rsp
	.cfi_adjust_cfa_offset FRAME
	mov %rax, REG(0)(%rsp)
	mov %rcx, REG(1)(%rsp)
	mov %rdx, REG(2)(%rsp)
	mov %rbx, REG(3)(%rsp)
	mov %rbp, REG(5)(%rsp)
	mov %rsi, REG(6)(%rsp)
	mov %rdi, REG(7)(%rsp)
	mov %r8, REG(8)(%rsp)
	mov %r9, REG(9)(%rsp)
	mov %r10, REG(10)(%rsp)
	mov %r11, REG(11)(%rsp)
	mov %r12, REG(12)(%rsp)
	mov %r13, REG(13)(%rsp)
	mov %r14, REG(14)(%rsp)
	mov %r15, REG(15)(%rsp)
	pushfq
	.cfi_adjust_cfa_offset 8
	pop FLAGS(%rsp)
	.cfi_adjust_cfa_offset -8
	testl $DIRECTION_OR_ALIGNMENT, FLAGS(%rsp)	/* no compiler returns with them set */
	jnz 2f
3:	movups %xmm0, FRAME_XMM(%rsp)
	movups %xmm1, FRAME_XMM+16(%rsp)
	lea FRAME(%rsp), %rax
	mov %rax, RSP(%rsp)
	mov WORD(%rsp), %rsi
	lea pb_return_trampolines(%rip), %rax
	sub %rax, %rsi
	shr $TRAMPOLINE_SHIFT, %rsi
	mov %rsp, %rdi
	call return_hit
	mov FLAGS(%rsp), %eax		/* popf would cost as much as all the rest */
	test $DIRECTION_OR_ALIGNMENT, %eax
	jnz 4f
	mov %eax, %ecx
	mov %al, %ah			/* SF ZF AF PF CF, for sahf */
	shr $11, %ecx
	and $1, %ecx
	add $0x7f, %cl			/* overflows if OF was set */
	sahf
1:	mov REG(0)(%rsp), %rax
	mov REG(1)(%rsp), %rcx
	mov REG(2)(%rsp), %rdx
	mov REG(6)(%rsp), %rsi
	mov REG(7)(%rsp), %rdi
	mov REG(8)(%rsp), %r8
	mov REG(9)(%rsp), %r9
	mov REG(10)(%rsp), %r10
	mov REG(11)(%rsp), %r11
	lea WORD(%rsp), %rsp
	.cfi_adjust_cfa_offset -WORD
	ret
	.cfi_adjust_cfa_offset WORD
2:	push $2
	.cfi_adjust_cfa_offset 8
	popfq
	.cfi_adjust_cfa_offset -8
	jmp 3b
4:	push FLAGS(%rsp)
	.cfi_adjust_cfa_offset 8
	popfq
	.cfi_adjust_cfa_offset -8
	jmp 1b
	.cfi_endproc
	.size return_entry, . - return_entry

/* Code of returns that one event wants (return_code.cc): runs as part of return_entry, and leaves
 * the stack pointer and the word below it alone, so that one rule covers it all. */
	.balign 4096
	.globl pb_return_code
	.hidden pb_return_code
	.type pb_return_code, @function
pb_return_code:
	.cfi_startproc
	.cfi_def_cfa_offset 0
	.fill RETURN_CODE_SIZE, 1, 0xcc		/* 0 is none */
	.cfi_endproc
	.size pb_return_code, . - pb_return_code

/* Where probe_hook goes on with a call whose return is left alone; entered as the calls in front of
 * the trampolines are: the word is below rsp, rax is where the stub goes on. */
	.globl pb_return_not_hooked
	.hidden pb_return_not_hooked
	.type pb_return_not_hooked, @function
	.p2align 4
pb_return_not_hooked:
	.cfi_startproc
	.cfi_def_cfa_offset 0
	lea -8(%rsp), %rsp
	.cfi_adjust_cfa_offset 8
	jmp *%rax
	.cfi_endproc
	.size pb_return_not_hooked, . - pb_return_not_hooked

/* The stores of a quick return are faults under the flag AC; nothing is published before them. */
	fault_entry pb_return_graph, pb_return_general, pb_return_general
	fault_entry pb_return_code, pb_return_general, pb_return_code + RETURN_CODE_SIZE
	.section .note.GNU-stack, "", @progbits
