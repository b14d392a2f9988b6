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
 */
	.text

	.macro save_registers
	.cfi_startproc
	.cfi_def_cfa_offset 24			/* unwinders go on in the caller of the traced function */
	lea -200(%rsp), %rsp			/* ProbeFrame up to flags; no flags change */
	.cfi_adjust_cfa_offset 200
	mov %rdi, 128(%rsp)
	mov %rsi, 136(%rsp)
	mov %rdx, 144(%rsp)
	mov %rcx, 152(%rsp)
	mov %r8, 160(%rsp)
	mov %r9, 168(%rsp)
	mov %r10, 176(%rsp)
	mov %r11, 184(%rsp)
	.endm

	.macro save_xmm
	movups %xmm0, 0(%rsp)
	movups %xmm1, 16(%rsp)
	movups %xmm2, 32(%rsp)
	movups %xmm3, 48(%rsp)
	movups %xmm4, 64(%rsp)
	movups %xmm5, 80(%rsp)
	movups %xmm6, 96(%rsp)
	movups %xmm7, 112(%rsp)
	.endm

	.macro hit_and_restore
	mov %rsp, %rdi
	mov %rax, %rsi
	call probe_hit
	mov 128(%rsp), %rdi
	mov 136(%rsp), %rsi
	mov 144(%rsp), %rdx
	mov 152(%rsp), %rcx
	mov 160(%rsp), %r8
	mov 168(%rsp), %r9
	mov 176(%rsp), %r10
	mov 184(%rsp), %r11
	.endm

	.macro leave_entry
	lea 200(%rsp), %rsp
	.cfi_adjust_cfa_offset -200
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
	pop 192(%rsp)				/* the address is computed after the pop has moved rsp */
	.cfi_adjust_cfa_offset -8
	cld
	.endif
	.if \xmm
	save_xmm
	.endif
	hit_and_restore
	.if \flags
	push 192(%rsp)
	.cfi_adjust_cfa_offset 8
	popfq
	.cfi_adjust_cfa_offset -8
	.endif
	leave_entry
	.size \name, . - \name
	.endm

	entry probe_entry, 0, 0
	entry probe_entry_flags, 0, 1
	entry probe_entry_xmm, 1, 0
	entry probe_entry_xmm_flags, 1, 1

	.section .note.GNU-stack, "", @progbits
