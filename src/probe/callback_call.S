/* SPDX-License-Identifier: MIT
 *
 * Calls a function of the program from within a hit and keeps the vector registers of the code that
 * was hit (probe/callback_hot.h). The general registers are kept by whoever came here.
 *
 *   callback_call_arguments   xmm0-7, or as wide as they are in use: what a call's arguments are
 *                             in. Wide registers that are not in use are not touched: to load one
 *                             marks it as used, and slows the program's SSE code down.
 *   callback_call_all         x87, xmm, ymm, zmm and mask registers, by xsavec or xsave
 *
 * rdi, rsi, rdx, rcx: the function's arguments; r8: the function.
 */
#define IN_USE_AVX 0x04			/* xgetbv(1) */
#define IN_USE_ZMM 0x40
#define NR_ARGUMENTS 8

.macro each_argument instruction, register, size, to_memory
	.set i, 0
	.rept NR_ARGUMENTS
	one_argument \instruction, \register, \size, \to_memory, %i
	.set i, i + 1
	.endr
.endm

.macro one_argument instruction, register, size, to_memory, number
	.if \to_memory
	\instruction %\register\number, \number * \size(%rsp)
	.else
	\instruction \number * \size(%rsp), %\register\number
	.endif
.endm

.macro call_keeping instruction, register, size
	sub $NR_ARGUMENTS * \size, %rsp
	and $-\size, %rsp
	each_argument \instruction, \register, \size, 1
	call *%r8
	each_argument \instruction, \register, \size, 0
	leave
	.cfi_remember_state
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_restore_state
.endm

	.altmacro
	.text
	.globl callback_call_arguments
	.hidden callback_call_arguments
	.type callback_call_arguments, @function
	.p2align 4
callback_call_arguments:
	.cfi_startproc
	push %rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	mov %rsp, %rbp
	.cfi_def_cfa_register %rbp
	mov %rcx, %r9
	mov %rdx, %r10
	mov $1, %ecx
	xgetbv
	mov %r9, %rcx
	mov %r10, %rdx
	test $IN_USE_AVX | IN_USE_ZMM, %al
	jnz .Lwide
	call_keeping movaps, xmm, 16
.Lwide:
	test $IN_USE_ZMM, %al
	jnz .Lwidest
	call_keeping vmovaps, ymm, 32
.Lwidest:
	call_keeping vmovaps, zmm, 64
	.cfi_endproc
	.size callback_call_arguments, . - callback_call_arguments

	.globl callback_call_all
	.hidden callback_call_all
	.type callback_call_all, @function
	.p2align 4
callback_call_all:
	.cfi_startproc
	push %rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	mov %rsp, %rbp
	.cfi_def_cfa_register %rbp
	push %rbx
	.cfi_offset %rbx, -24
	mov pb_callback_area(%rip), %eax
	test %eax, %eax
	jz .Lonly_sse
	sub %rax, %rsp
	and $-64, %rsp
	mov %rdx, %r10
	xor %eax, %eax
	i = 512
	.rept 8				/* the header, which xrstor checks */
	mov %rax, i(%rsp)
	i = i + 8
	.endr
	mov pb_callback_components(%rip), %eax
	mov %eax, %ebx
	xor %edx, %edx
	cmpb $0, pb_callback_xsavec(%rip)
	je 1f
	xsavec (%rsp)
	jmp 2f
1:	xsave (%rsp)
2:	mov %r10, %rdx
	call *%r8
	mov %ebx, %eax
	xor %edx, %edx
	xrstor (%rsp)
.Lall_done:
	mov -8(%rbp), %rbx
	leave
	.cfi_remember_state
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_restore_state
.Lonly_sse:
	sub $512, %rsp
	and $-16, %rsp
	fxsave (%rsp)
	call *%r8
	fxrstor (%rsp)
	jmp .Lall_done
	.cfi_endproc
	.size callback_call_all, . - callback_call_all
	.section .note.GNU-stack, "", @progbits
