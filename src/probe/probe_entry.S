/* SPDX-License-Identifier: MIT
 *
 * From a stub to probe_hit() and back, all registers preserved. A stub does
 *
 *     push %rax ; mov $CallSite, %rax ; call *probe_entry ; pop %rax
 *
 * so that on entry the stack is (struct ProbeFrame, probe_abi.h, upwards from flags):
 *
 *     rsp + 0  return address into the stub
 *     rsp + 8  rax
 *     rsp + 16 return address of the traced call
 *
 * probe_hit() uses general registers only: vector and x87 state never need saving. The variants
 * store xmm0..xmm7 for events that read them, and keep the arithmetic flags where code at the entry
 * reads them (hand-written assembly).
 *
 * probe_entry_all is for places inside a function, where every register may live and flags too. The
 * stub has stepped over the red zone: what lies at rsp + 16 there is 128 bytes of the program's.
 */
#define FRAME 328			/* ProbeFrame up to stub_return */
#define XMM 128
#define ARG 256
#define FLAGS 320
	.text

	.macro save_registers
	.cfi_startproc
	.cfi_def_cfa_offset 24			/* unwinders go on in the caller of the traced function */
	lea -FRAME(%rsp), %rsp			/* ProbeFrame up to flags; no flags change */
	.cfi_adjust_cfa_offset FRAME
	mov %rdi, ARG(%rsp)
	mov %rsi, ARG+8(%rsp)
	mov %rdx, ARG+16(%rsp)
	mov %rcx, ARG+24(%rsp)
	mov %r8, ARG+32(%rsp)
	mov %r9, ARG+40(%rsp)
	mov %r10, ARG+48(%rsp)
	mov %r11, ARG+56(%rsp)
	.endm

	.macro save_xmm
	movups %xmm0, XMM+0(%rsp)
	movups %xmm1, XMM+16(%rsp)
	movups %xmm2, XMM+32(%rsp)
	movups %xmm3, XMM+48(%rsp)
	movups %xmm4, XMM+64(%rsp)
	movups %xmm5, XMM+80(%rsp)
	movups %xmm6, XMM+96(%rsp)
	movups %xmm7, XMM+112(%rsp)
	.endm

	.macro hit_and_restore
	mov %rsp, %rdi
	mov %rax, %rsi
	call probe_hit
	mov ARG(%rsp), %rdi
	mov ARG+8(%rsp), %rsi
	mov ARG+16(%rsp), %rdx
	mov ARG+24(%rsp), %rcx
	mov ARG+32(%rsp), %r8
	mov ARG+40(%rsp), %r9
	mov ARG+48(%rsp), %r10
	mov ARG+56(%rsp), %r11
	.endm

	.macro leave_entry
	lea FRAME(%rsp), %rsp
	.cfi_adjust_cfa_offset -FRAME
	ret
	.cfi_endproc
	.endm

	.macro entry name, xmm, flags
	.globl \name
	.hidden \name
	.type \name, @function
\name:
	save_registers
	.if \flags
	pushfq
	.cfi_adjust_cfa_offset 8
	pop FLAGS(%rsp)				/* the address is computed after the pop has moved rsp */
	.cfi_adjust_cfa_offset -8
	cld
	.endif
	.if \xmm
	save_xmm
	.endif
	hit_and_restore
	.if \flags
	push FLAGS(%rsp)
	.cfi_adjust_cfa_offset 8
	popfq
	.cfi_adjust_cfa_offset -8
	.endif
	leave_entry
	.size \name, . - \name
	.endm

	.macro save_all
	.cfi_startproc
	.cfi_def_cfa_offset 24
	lea -FRAME(%rsp), %rsp
	.cfi_adjust_cfa_offset FRAME
	mov %rcx, 8(%rsp)
	mov FRAME+8(%rsp), %rcx			/* pushed by the stub */
	mov %rcx, 0(%rsp)
	lea FRAME+16+128(%rsp), %rcx		/* as the program has it */
	mov %rcx, 32(%rsp)
	mov %rdx, 16(%rsp)
	mov %rbx, 24(%rsp)
	mov %rbp, 40(%rsp)
	mov %rsi, 48(%rsp)
	mov %rdi, 56(%rsp)
	mov %r8, 64(%rsp)
	mov %r9, 72(%rsp)
	mov %r10, 80(%rsp)
	mov %r11, 88(%rsp)
	mov %r12, 96(%rsp)
	mov %r13, 104(%rsp)
	mov %r14, 112(%rsp)
	mov %r15, 120(%rsp)
	pushfq
	.cfi_adjust_cfa_offset 8
	pop FLAGS(%rsp)
	.cfi_adjust_cfa_offset -8
	cld
	.endm

	.macro hit_and_restore_all
	mov %rsp, %rdi
	mov %rax, %rsi
	mov %rsp, %rbx
	.cfi_def_cfa_register %rbx
	and $-16, %rsp				/* a place inside a function may have any alignment */
	call probe_hit
	mov %rbx, %rsp
	.cfi_def_cfa_register %rsp
	push FLAGS(%rsp)
	.cfi_adjust_cfa_offset 8
	popfq
	.cfi_adjust_cfa_offset -8
	mov 8(%rsp), %rcx
	mov 16(%rsp), %rdx
	mov 24(%rsp), %rbx
	mov 48(%rsp), %rsi
	mov 56(%rsp), %rdi
	mov 64(%rsp), %r8
	mov 72(%rsp), %r9
	mov 80(%rsp), %r10
	mov 88(%rsp), %r11
	.endm

	.macro entry_all name, xmm
	.globl \name
	.hidden \name
	.type \name, @function
\name:
	save_all
	.if \xmm
	save_xmm
	.endif
	hit_and_restore_all
	leave_entry
	.size \name, . - \name
	.endm

	entry probe_entry, 0, 0
	entry probe_entry_flags, 0, 1
	entry probe_entry_xmm, 1, 0
	entry probe_entry_xmm_flags, 1, 1
	entry_all probe_entry_all, 0
	entry_all probe_entry_all_xmm, 1

	.section .note.GNU-stack, "", @progbits
