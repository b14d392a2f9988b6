/* SPDX-License-Identifier: MIT
 *
 * Calls a function of the program from within a hit and keeps the vector registers of the code that
 * was hit (probe/callbacks/callback_hot.h). The caller keeps the general registers.
 *
 *   callback_call_entry   at a function's entry, where the x87 stack is empty: xmm0-15, as wide as
 *                         xgetbv says that they are in use, zmm16-31 and k0-7 if they are. Not only
 *                         those of arguments: callers of a static function know which registers it
 *                         leaves alone (-fipa-ra). What is not in use is not touched: to load a
 *                         wide register marks it, and slows the program's SSE code down
 *   callback_call_all     x87, xmm, ymm, zmm and mask registers, by xsavec or xsave
 *
 * rdi, rsi, rdx, rcx: the function's arguments; r8: the function.
 */
#include "probe/callbacks/asm_offsets.h"

#define IN_USE_YMM 0x04			/* of xgetbv(1) */
#define IN_USE_MASKS 0x20
#define IN_USE_ZMM 0x40
#define IN_USE_HIGH 0x80		/* zmm16-31 */
#define WIDTH 64
#define LOW 0
#define HIGH (16 * WIDTH)
#define MASKS (32 * WIDTH)
#define AREA (MASKS + 8 * 8)

.macro each instruction, register, first, count, offset, size, to_memory
	.set i, 0
	.rept \count
	.set number, \first + i
	.set place, \offset + i * \size
	one \instruction, \register, %number, %place, \to_memory
	.set i, i + 1
	.endr
.endm

.macro one instruction, register, number, place, to_memory
	.if \to_memory
	\instruction %\register\number, \place(%rsp)
	.else
	\instruction \place(%rsp), %\register\number
	.endif
.endm

/* All that is in use, as %bl says. */
.macro move_in_use to_memory
	test $IN_USE_YMM | IN_USE_MASKS | IN_USE_ZMM | IN_USE_HIGH, %bl
	jnz 1f
	each movaps, xmm, 0, 16, LOW, WIDTH, \to_memory
	jmp 9f
1:	test $IN_USE_ZMM, %bl
	jnz 2f
	test $IN_USE_YMM, %bl
	jnz 3f
	each movaps, xmm, 0, 16, LOW, WIDTH, \to_memory
	jmp 4f
2:	each vmovaps, zmm, 0, 16, LOW, WIDTH, \to_memory
	jmp 4f
3:	each vmovaps, ymm, 0, 16, LOW, WIDTH, \to_memory
4:	test $IN_USE_HIGH, %bl
	jz 5f
	each vmovaps, zmm, 16, 16, HIGH, WIDTH, \to_memory
5:	test $IN_USE_MASKS, %bl
	jz 9f
	each kmovq, k, 0, 8, MASKS, 8, \to_memory
9:
.endm

	.altmacro
	.text
	.globl callback_call_entry
	.hidden callback_call_entry
	.type callback_call_entry, @function
	.p2align 4
callback_call_entry:
	.cfi_startproc
	push %rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	mov %rsp, %rbp
	.cfi_def_cfa_register %rbp
	push %rbx
	.cfi_offset %rbx, -24
	mov %rcx, %r9
	mov %rdx, %r10
	mov $1, %ecx
	xgetbv
	mov %eax, %ebx
	mov %r9, %rcx
	mov %r10, %rdx
	sub $AREA, %rsp
	and $-WIDTH, %rsp
	move_in_use 1
	call *%r8
	move_in_use 0
	mov -8(%rbp), %rbx
	leave
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_endproc
	.size callback_call_entry, . - callback_call_entry

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

/* To unwinders, which know no generated code, this is called by the caller of the traced function:
 * of the stack between there is what the frame of that code has, and two return addresses. */
	.globl callback_from_code
	.hidden callback_from_code
	.type callback_from_code, @function
	.p2align 4
callback_from_code:
	.cfi_startproc
	.cfi_def_cfa_offset CALLBACK_FRAME + 16
	sub $8, %rsp
	.cfi_adjust_cfa_offset 8
	call *%rax
	add $8, %rsp
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	.size callback_from_code, . - callback_from_code
	.section .note.GNU-stack, "", @progbits
