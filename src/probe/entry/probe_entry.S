/* SPDX-License-Identifier: MIT
 *
 * From a stub to probe_hit() and back, all registers preserved. A stub does
 *
 *     at a function's entry                         anywhere (probe_entry_all)
 *     mov %rax, -16(%rsp)                           lea -128(%rsp), %rsp ; push %rax
 *     mov $CallSite, %rax ; call *probe_entry       mov $CallSite, %rax ; call *probe_entry_all
 *     mov -16(%rsp), %rax                           pop %rax ; lea 128(%rsp), %rsp
 *
 * so that the stack is (struct ProbeFrame, probe_abi.h):
 *
 *     rsp + FRAME + 8   return address of the call  rsp + 472 + 144  at the program's rsp
 *                                                   rsp + 472 + 16   128 bytes of its red zone
 *     rsp + FRAME       into the stub               rsp + 472 + 8    rax
 *     rsp + 488         rax                         rsp + 472        into the stub
 *     rsp + 448         r10, r11
 *     rsp + 400         arg: rdi rsi rdx rcx r8 r9
 *     rsp + 392         ip, which probe_hit fills in
 *     rsp + 384         flags
 *     rsp + 256         rax rcx rdx rbx rsp rbp rsi rdi r8 … r15
 *     rsp               xmm0 … xmm15; where they are not stored, rsp is at the registers and
 *                       these 256 bytes are below it: programs have little stacks, too
 *
 * probe_hit() uses general registers only: vector and x87 state never need saving. The variants
 * store the xmm registers for events that read them (at an entry xmm0..xmm7 are enough, those are
 * what arguments come in), and keep the flags where code at the entry reads them (hand-written
 * assembly). probe_entry_all is for places inside a function, where every register may live and
 * flags too, and the stack may have any alignment.
 *
 * The return is hooked in a second step, entered by a jump with the same stack (what a call pushed
 * would be in the way of what hooking has the processor remember, return_hook.S):
 *
 *     mov %rax, -16(%rsp) ; lea 1f, %rax ; push %rax ; mov $CallSite, %rax
 *     jmp *probe_entry_hook ; 1: mov -16(%rsp), %rax
 *
 * popf costs as much as all the rest together, so flags come back through sahf, but for the two
 * that it does not know: DF (string instructions backwards), and AC, under which our unaligned
 * stores would be faults.
 */
#include "probe/asm_offsets.h"
#include "probe/stack_touch.inc"

#define FRAME FRAME_STUB_RETURN		/* ProbeFrame up to there */
#define FRAME_ALL FRAME_WANTED
#define TARGET FRAME_WANTED		/* where probe_hook goes on: `wanted` is spent then */
#define NO_XMM FRAME_REG		/* how much less there is of a frame without them */
#define REG(n) (FRAME_REG + 8 * (n))
#define RSP REG(4)
#define FLAGS REG(16)
#define DIRECTION_OR_ALIGNMENT 0x40400
	.text

	.macro begin_entry name, frame, offset, less
	.globl \name
	.hidden \name
	.type \name, @function
	.p2align 4
\name:
	.cfi_startproc
	.cfi_def_cfa_offset \offset		/* unwinders go on in the caller of the traced function */
	lea -(\frame-\less)(%rsp), %rsp	/* no flags change */
	.cfi_adjust_cfa_offset \frame-\less
	.endm

	.macro end_entry name, frame, less
	lea \frame-\less(%rsp), %rsp
	.cfi_adjust_cfa_offset -(\frame-\less)
	ret
	.cfi_endproc
	.size \name, . - \name
	.endm

/* The first look at the stack that all of this will need, before anything is changed: where it is
 * not there, the hit is given up and the program goes on as if it were not traced
 * (stack_touch.h). A load, since what lies below may be somebody else's; with the stack pointer
 * there, since valgrind takes all that lies below it for an error. */
	.macro touch_stack frame, less
	stack_touch TOUCH_FRAME, \frame-\less
	mov %rdi, FRAME_ARG-\less(%rsp)
	.cfi_rel_offset %rdi, FRAME_ARG-\less
	lea -TOUCH_DEPTH(%rsp), %rsp
	.cfi_adjust_cfa_offset TOUCH_DEPTH
	stack_touch TOUCH_FRAME_RDI, \frame-\less
	mov (%rsp), %rdi
	lea TOUCH_DEPTH(%rsp), %rsp
	.cfi_adjust_cfa_offset -TOUCH_DEPTH
	mov FRAME_ARG-\less(%rsp), %rdi
	.cfi_restore %rdi
	.endm

/* `less`: NO_XMM, or 0; rsp is that far in the frame. */
	.macro save_arguments less
	mov %rdi, FRAME_ARG-\less(%rsp)
	mov %rsi, FRAME_ARG+8-\less(%rsp)
	mov %rdx, FRAME_ARG+16-\less(%rsp)
	mov %rcx, FRAME_ARG+24-\less(%rsp)
	mov %r8, FRAME_ARG+32-\less(%rsp)
	mov %r9, FRAME_ARG+40-\less(%rsp)
	.endm

	.macro restore_arguments less
	mov FRAME_ARG-\less(%rsp), %rdi
	mov FRAME_ARG+8-\less(%rsp), %rsi
	mov FRAME_ARG+16-\less(%rsp), %rdx
	mov FRAME_ARG+24-\less(%rsp), %rcx
	mov FRAME_ARG+32-\less(%rsp), %r8
	mov FRAME_ARG+40-\less(%rsp), %r9
	.endm

	.macro save_xmm count
	.irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	.if \n < \count
	movups %xmm\n, FRAME_XMM+16*\n(%rsp)
	.endif
	.endr
	.endm

	.macro save_flags less
	pushfq
	.cfi_adjust_cfa_offset 8
	pop FLAGS-\less(%rsp)				/* the address is computed after the pop has moved rsp */
	.cfi_adjust_cfa_offset -8
	testl $DIRECTION_OR_ALIGNMENT, FLAGS-\less(%rsp)
	jz 1f
	pushq $0x202
	.cfi_adjust_cfa_offset 8
	popfq
	.cfi_adjust_cfa_offset -8
1:
	.endm

	.macro restore_flags less		/* spends rax */
	testl $DIRECTION_OR_ALIGNMENT, FLAGS-\less(%rsp)
	jnz 2f
	mov FLAGS+1-\less(%rsp), %al
	and $8, %al				/* OF */
	mov FLAGS-\less(%rsp), %ah			/* SF ZF AF PF CF */
	add $0x78, %al				/* overflows if OF was set */
	sahf
	jmp 3f
2:	push FLAGS-\less(%rsp)
	.cfi_adjust_cfa_offset 8
	popfq
	.cfi_adjust_cfa_offset -8
3:
	.endm

/* All of them: an event may have come to the place that reads more than those for which the stub
 * was made, and a thread may be in that stub still. Only the flags it may not read. */
	.macro save_registers less
	mov %rcx, REG(1)-\less(%rsp)
	mov %rdx, REG(2)-\less(%rsp)
	mov %rbx, REG(3)-\less(%rsp)
	mov %rbp, REG(5)-\less(%rsp)		/* also where stacks begin */
	mov %rsi, REG(6)-\less(%rsp)
	mov %rdi, REG(7)-\less(%rsp)
	.irp n, 8, 9, 10, 11, 12, 13, 14, 15
	mov %r\n, REG(\n)-\less(%rsp)
	.endr
	.endm

	.macro call_with_frame target, xmm, flags, less
	touch_stack FRAME, \less
	save_arguments \less
	save_registers \less
	mov %r10, FRAME_R10-\less(%rsp)
	mov %r11, FRAME_R11-\less(%rsp)
	mov FRAME_RAX-\less(%rsp), %r11
	mov %r11, REG(0)-\less(%rsp)
	.if \flags
	save_flags \less
	.endif
	save_xmm \xmm
	lea -\less(%rsp), %rdi
	mov %rax, %rsi
	lea FRAME+8-\less(%rsp), %rdx
	call \target
	.endm

	.macro restore_frame flags, less
	.if \flags
	restore_flags \less
	.endif
	restore_arguments \less
	mov FRAME_R10-\less(%rsp), %r10
	mov FRAME_R11-\less(%rsp), %r11
	.endm

	.macro entry name, xmm, flags, less
	begin_entry \name, FRAME, 16, \less
	call_with_frame probe_hit, \xmm, \flags, \less
	restore_frame \flags, \less
	end_entry \name, FRAME, \less
	.endm

/* From probe_entry_shared, which has put down program, wanted and site: records, then hooks. */
	.macro entry_rest name
	begin_entry \name, FRAME, 16, NO_XMM
	call_with_frame probe_rest, 0, 0, NO_XMM
	restore_frame 0, NO_XMM
	mov FRAME_SITE-NO_XMM(%rsp), %rax
	lea FRAME-NO_XMM(%rsp), %rsp
	.cfi_adjust_cfa_offset -(FRAME-NO_XMM)
	cmpq $0, SITE_RETURN_PROGRAM(%rax)
	jne probe_entry_hook
	ret
	.cfi_endproc
	.size \name, . - \name
	.endm

	.macro entry_hook name, xmm, flags, less
	begin_entry \name, FRAME, 16, \less
	call_with_frame probe_hook, \xmm, \flags, \less
	mov %rax, TARGET-\less(%rsp)
	restore_frame \flags, \less
	mov FRAME-\less(%rsp), %rax
	lea FRAME-\less+16(%rsp), %rsp
	.cfi_adjust_cfa_offset -(FRAME-\less)-16
	jmp *TARGET-FRAME-16(%rsp)
	.cfi_endproc
	.size \name, . - \name
	.endm

/* For unwinders this is what a signal's frame is: the frame above is that of the function that was
 * hit, with the program's stack pointer and registers, and about to execute the place. So they go
 * on by the rules of that function, whatever it has done to its stack. The place is the CallSite's
 * address, and which CallSite stands in the stub: `mov $CallSite, %rax ; call *probe_entry_all`, so
 * that it begins 14 bytes before the call's return address. All in terms of the CFA, which is the
 * program's stack pointer. */
#define STEPPED_OVER (128 + 16)		/* the red zone, rax and the return address into the stub */
	.macro saved_all less		/* what is not as it was, or will not be */
	.cfi_rel_offset %rcx, REG(1)-\less
	.cfi_rel_offset %rdx, REG(2)-\less
	.cfi_rel_offset %rbx, REG(3)-\less
	.cfi_rel_offset %rsi, REG(6)-\less
	.cfi_rel_offset %rdi, REG(7)-\less
	.cfi_rel_offset %r8, REG(8)-\less
	.cfi_rel_offset %r9, REG(9)-\less
	.cfi_rel_offset %r10, REG(10)-\less
	.cfi_rel_offset %r11, REG(11)-\less
	.endm

	.macro restored_all			/* what is below rsp may be gone */
	.irp reg, rcx, rdx, rbx, rsi, rdi, r8, r9, r10, r11
	.cfi_restore %\reg
	.endr
	.endm

	.macro entry_all name, xmm, less
	.globl \name
	.hidden \name
	.type \name, @function
	.p2align 4
\name:
	.cfi_startproc
	.cfi_signal_frame
	.cfi_def_cfa_offset STEPPED_OVER
	.cfi_offset %rax, -(128 + 8)
	/* rip = CallSite.address: CFA, const2s(-144) plus deref, const1s(-14) plus deref,
	 * plus_uconst(16) deref */
	.cfi_escape 0x16, 16, 12, 0x0b, 0x70, 0xff, 0x22, 6, 9, 0xf2, 0x22, 6, 0x23, 16, 6
	lea -(FRAME_ALL-\less)(%rsp), %rsp		/* no flags change */
	.cfi_adjust_cfa_offset FRAME_ALL-\less
	touch_stack FRAME_ALL, \less
	save_arguments \less
	mov %rcx, REG(1)-\less(%rsp)
	mov FRAME_ALL-\less+8(%rsp), %rcx			/* pushed by the stub */
	mov %rcx, REG(0)-\less(%rsp)
	mov %rdx, REG(2)-\less(%rsp)
	lea FRAME_ALL-\less+16+128(%rsp), %rdx		/* rsp as the program has it */
	mov %rdx, RSP-\less(%rsp)
	mov %rbx, REG(3)-\less(%rsp)
	mov %rbp, REG(5)-\less(%rsp)
	mov %rsi, REG(6)-\less(%rsp)
	mov %rdi, REG(7)-\less(%rsp)
	mov %r8, REG(8)-\less(%rsp)
	mov %r9, REG(9)-\less(%rsp)
	mov %r10, REG(10)-\less(%rsp)
	mov %r11, REG(11)-\less(%rsp)
	mov %r12, REG(12)-\less(%rsp)
	mov %r13, REG(13)-\less(%rsp)
	mov %r14, REG(14)-\less(%rsp)
	mov %r15, REG(15)-\less(%rsp)
	saved_all \less
	save_flags \less
	save_xmm \xmm
	lea -\less(%rsp), %rdi
	mov %rax, %rsi
	mov %rsp, %rbx
	.cfi_def_cfa_register %rbx
	and $-16, %rsp
	call probe_hit
	mov %rbx, %rsp
	.cfi_def_cfa_register %rsp
	restore_flags \less
	restore_arguments \less
	mov REG(3)-\less(%rsp), %rbx
	mov REG(10)-\less(%rsp), %r10
	mov REG(11)-\less(%rsp), %r11
	restored_all
	end_entry \name, FRAME_ALL, \less
	.endm

	entry probe_entry, 0, 0, NO_XMM
	entry probe_entry_flags, 0, 1, NO_XMM
	entry probe_entry_xmm, 8, 0, 0
	entry probe_entry_xmm_flags, 8, 1, 0
	entry_rest probe_entry_rest
	entry_hook probe_entry_hook_general, 0, 0, NO_XMM	/* probe_entry_hook: function_entry.S */
	entry_hook probe_entry_hook_flags, 0, 1, NO_XMM
	entry_hook probe_entry_hook_xmm, 8, 0, 0
	entry_hook probe_entry_hook_xmm_flags, 8, 1, 0
	entry_all probe_entry_all, 0, NO_XMM
	entry_all probe_entry_all_xmm, 16, 0

	.section .note.GNU-stack, "", @progbits
