/* SPDX-License-Identifier: MIT
 *
 * bool unwind_load(uint64_t address, uint64_t* value): a word of a stack; false if it cannot be
 * read. unwind_fault_fixup() knows the one instruction that may fault.
 */
	.text
	.globl unwind_load
	.hidden unwind_load
	.type unwind_load, @function
	.p2align 4
unwind_load:
	.cfi_startproc
	xor %eax, %eax
	.globl pb_unwind_load
	.hidden pb_unwind_load
pb_unwind_load:
	mov (%rdi), %rdi
	mov %rdi, (%rsi)
	inc %eax
	.globl pb_unwind_load_failed
	.hidden pb_unwind_load_failed
pb_unwind_load_failed:
	ret
	.cfi_endproc
	.size unwind_load, . - unwind_load
	.section .note.GNU-stack, "", @progbits
