/* SPDX-License-Identifier: MIT
 *
 * The trampolines that stand in for return addresses, and what they come to (return_hook.h).
 *
 * A trampoline is entered by the `ret` of a hooked function, so the word below rsp, in the red
 * zone, still holds its address: that says which one it is, and nothing has to be pushed. The same
 * word is what an unwinder finds on the stack while the function runs, so one rule covers both:
 *
 *     t = *(rsp - 8)                      this trampoline
 *     return address is at (t + 8) + *(t + 8)    = &pb_return_address[i], relative to the text
 *
 * Unwinders see a frame of their own between the function and its caller. Its stack pointer is that
 * of the caller, but its CFA is one more: libgcc tells frames apart by their CFA, and stops with
 * abort() if the frame that catches has the CFA of the one before it. (nongnu libunwind takes the
 * CFA for the stack pointer, so it does not get beyond a hooked frame.) Between two real frames
 * there are 8 bytes at least, so that it is unique. The pad is there because unwinders look for the
 * address before a return address.
 */
#define SLOTS 32768
#define TRAMPOLINE_SIZE_LOG 4
#define FRAME 456			/* ReturnFrame and the stack word above it */
#define REG(n) (8 * (n))
#define WORD (FRAME - 8)
#define RSP 32
#define FLAGS 128
#define XMM 144
#define DIRECTION_OR_ALIGNMENT 0x40400
	.text
	.balign 64
	.globl patchbay_return_trampoline
	.type patchbay_return_trampoline, @function
patchbay_return_trampoline:
	.cfi_startproc
	.cfi_def_cfa %rsp, 1
	.cfi_escape 0x16, 7, 2, 0x31, 0x1c	/* rsp = CFA - 1 */
	/* rip at: CFA lit9 minus deref plus_uconst(8) dup deref plus */
	.cfi_escape 0x10, 16, 8, 0x39, 0x1c, 0x06, 0x23, 8, 0x12, 0x06, 0x22
	.fill 64, 1, 0xcc
	.globl pb_return_trampolines
	.hidden pb_return_trampolines
pb_return_trampolines:
	.set slot, 0
	.rept SLOTS
	.byte 0xe9			/* jmp return_entry, always the long form */
	.long return_entry - . - 4
	.byte 0x0f, 0x1f, 0x00
	.quad pb_return_address + 8 * slot - .
	.set slot, slot + 1
	.endr
	.cfi_endproc
	.size patchbay_return_trampoline, . - patchbay_return_trampoline

/* For unwinders: called by the code that the word below rsp points to. */
	.balign 16
	.type return_entry, @function
return_entry:
	.cfi_startproc
	.cfi_def_cfa_offset 0
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
3:	movups %xmm0, XMM(%rsp)
	movups %xmm1, XMM+16(%rsp)
	lea FRAME(%rsp), %rax
	mov %rax, RSP(%rsp)
	mov WORD(%rsp), %rsi
	lea pb_return_trampolines(%rip), %rax
	sub %rax, %rsi
	shr $TRAMPOLINE_SIZE_LOG, %rsi
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
	lea FRAME(%rsp), %rsp
	.cfi_adjust_cfa_offset -FRAME
	jmp *-8(%rsp)			/* no ret: the return stack buffer has nothing for it */
	.cfi_adjust_cfa_offset FRAME
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

/* bool return_load(uint64_t* address, uint64_t* value): false if it cannot be read. */
	.globl return_load
	.hidden return_load
	.type return_load, @function
return_load:
	.cfi_startproc
	xor %eax, %eax
	.globl pb_return_load
	.hidden pb_return_load
pb_return_load:
	mov (%rdi), %rdi
	mov %rdi, (%rsi)
	inc %eax
	.globl pb_return_load_failed
	.hidden pb_return_load_failed
pb_return_load_failed:
	ret
	.cfi_endproc
	.size return_load, . - return_load
	.section .note.GNU-stack, "", @progbits
