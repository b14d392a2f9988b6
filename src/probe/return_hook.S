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
#define SAVED(n) (-8 * ((n) + 1))	/* probe_compile.cc: word, rax rcx rdx r9 r10 r11, -, flags, r8 */
#define STATE 0				/* struct ReturnSlot */
#define GENERATION 94
#define RETURN_ADDRESS 8
#define PROGRAM 16
#define SITE 24
#define WANTED 32
#define CHAIN_LENGTH 88
#define ARG 40
#define SLOT_SIZE_LOG 7
#define OWNED 1
#define SPARE 4
#define NEXT 8				/* struct ReturnThread */
#define RETURN_CODE 12			/* struct SiteProgram */
#define RETURN_CODE_SIZE 65536		/* kReturnCodeSize */
#define SITE_RETURN_PROGRAM 8		/* struct CallSite */
#define IN_AGENT 8			/* struct ProbeThread */

	.macro restore_saved			/* but for DF and AC, which are as they were */
	mov SAVED(8)+1(%rsp), %al
	and $8, %al				/* OF */
	mov SAVED(8)(%rsp), %ah			/* SF ZF AF PF CF */
	add $0x78, %al				/* overflows if OF was set */
	sahf
	mov SAVED(1)(%rsp), %rax
	mov SAVED(2)(%rsp), %rcx
	mov SAVED(3)(%rsp), %rdx
	mov SAVED(4)(%rsp), %r9
	mov SAVED(5)(%rsp), %r10
	mov SAVED(6)(%rsp), %r11
	mov SAVED(9)(%rsp), %r8
	.endm
	.text
	.balign 64
	.globl patchbay_return_trampoline
	.type patchbay_return_trampoline, @function
patchbay_return_trampoline:
	.cfi_startproc
	.cfi_def_cfa %rsp, 1
	.cfi_escape 0x16, 7, 2, 0x31, 0x1c	/* rsp = CFA - 1 */
	/* rip at: breg7(-8) deref plus_uconst(8) deref breg7(-8) deref plus_uconst(8) plus; valgrind
	 * knows no dup */
	.cfi_escape 0x10, 16, 12, 0x77, 0x78, 0x06, 0x23, 8, 0x06, 0x77, 0x78, 0x06, 0x23, 8, 0x22
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
	mov %rax, SAVED(1)(%rsp)
	mov %rcx, SAVED(2)(%rsp)
	mov %rdx, SAVED(3)(%rsp)
	mov %r9, SAVED(4)(%rsp)
	mov %r10, SAVED(5)(%rsp)
	mov %r11, SAVED(6)(%rsp)
	mov %r8, SAVED(9)(%rsp)
	lea -128(%rsp), %rsp
	.cfi_adjust_cfa_offset 128
	pushfq
	.cfi_adjust_cfa_offset 8
	pop 128+SAVED(8)(%rsp)
	.cfi_adjust_cfa_offset -8
	lea 128(%rsp), %rsp
	.cfi_adjust_cfa_offset -128
	mov SAVED(0)(%rsp), %rcx
	lea pb_return_trampolines(%rip), %rax
	sub %rax, %rcx
	lea pb_return_slots(%rip), %r8
	lea (%r8, %rcx, 8), %r8			/* 128 bytes of slot to 16 of trampoline */
	lea SAVED(0)(%rsp), %rax
	mov STATE(%r8), %rcx
	shl $16, %rax				/* without the generation */
	shl $16, %rcx
	cmp %rax, %rcx				/* nothing chained */
	jne pb_return_general
	mov PROGRAM(%r8), %rcx
	cmpw $1, CHAIN_LENGTH(%r8)
	jne pb_return_general
	mov RETURN_CODE(%rcx), %eax
	test %eax, %eax
	jz pb_return_general
	testl $DIRECTION_OR_ALIGNMENT, SAVED(8)(%rsp)
	jnz pb_return_general
	lea pb_return_code(%rip), %rcx
	add %rcx, %rax
	jmp *%rax

/* From generated code: the event is recorded, r8 is the slot. */
	.globl pb_return_done
	.hidden pb_return_done
pb_return_done:
	movq $OWNED, STATE(%r8)
	mov RETURN_ADDRESS(%r8), %rax
	mov %rax, SAVED(0)(%rsp)
	mov pb_return_thread@gottpoff(%rip), %rcx
	mov %r8, %rax
	lea pb_return_slots(%rip), %rdx
	sub %rdx, %rax
	shr $SLOT_SIZE_LOG, %rax
	inc %rax
	cmp %rax, %fs:(%rcx)
	jne 5f					/* not the slot that the thread keeps */
	movzwl GENERATION(%r8), %eax
	shl $48, %rax
	or %fs:0, %rax
	lea SPARE(%rax, %rcx), %rax
	mov %rax, STATE(%r8)
	jmp 6f
5:	cmpq $0, %fs:(%rcx)
	jne 8f
	mov %rax, %fs:(%rcx)
	movzwl GENERATION(%r8), %eax
	shl $48, %rax
	or %fs:0, %rax
	lea SPARE(%rax, %rcx), %rax
	mov %rax, STATE(%r8)
	jmp 6f
8:	dec %eax
	movq $0, STATE(%r8)
	mov %eax, %fs:NEXT(%rcx)
6:	restore_saved
	jmp *SAVED(0)(%rsp)

/* With all that is saved in its place: everything else. */
	.globl pb_return_general
	.hidden pb_return_general
pb_return_general:
	testl $DIRECTION_OR_ALIGNMENT, SAVED(8)(%rsp)
	jnz 7f
	restore_saved
	jmp 9f
7:	mov SAVED(1)(%rsp), %rax
	mov SAVED(2)(%rsp), %rcx
	mov SAVED(3)(%rsp), %rdx
	mov SAVED(4)(%rsp), %r9
	mov SAVED(5)(%rsp), %r10
	mov SAVED(6)(%rsp), %r11
	mov SAVED(9)(%rsp), %r8
	lea -128(%rsp), %rsp
	.cfi_adjust_cfa_offset 128
	push 128+SAVED(8)(%rsp)
	.cfi_adjust_cfa_offset 8
	popfq
	.cfi_adjust_cfa_offset -8
	lea 128(%rsp), %rsp
	.cfi_adjust_cfa_offset -128
9:	lea -FRAME(%rsp), %rsp
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

/* Code of returns that one event wants (return_code.cc): runs as part of return_entry, and leaves
 * the stack pointer and the word below it alone, so that one rule covers it all. */
	.balign 4096
	.globl pb_return_code
	.hidden pb_return_code
	.type pb_return_code, @function
pb_return_code:
	.cfi_startproc
	.cfi_def_cfa_offset 0
	.fill RETURN_CODE_SIZE, 1, 0xcc
	.cfi_endproc
	.size pb_return_code, . - pb_return_code

/* From a stub, as into probe_entry.S: rax is the CallSite. Hooks the return of the usual call by
 * itself: the thread keeps a slot, the program has return code (so that one event wants it, and
 * nothing limits it), no tail call. */
	.globl probe_entry_hook
	.hidden probe_entry_hook
	.type probe_entry_hook, @function
	.p2align 4
probe_entry_hook:
	.cfi_startproc
	.cfi_def_cfa_offset 24
	mov %rcx, -8(%rsp)
	mov %rdx, -16(%rsp)
	mov %r10, -24(%rsp)
	mov %r11, -32(%rsp)
	mov %rax, -40(%rsp)
	mov SITE_RETURN_PROGRAM(%rax), %r11
	mov pb_thread@gottpoff(%rip), %rcx
	test %r11, %r11
	jz 1f
	cmpl $0, RETURN_CODE(%r11)
	je 1f
	cmpl $0, %fs:IN_AGENT(%rcx)
	jne 1f
	test $7, %spl
	jnz 1f
	mov pb_return_thread@gottpoff(%rip), %rcx
	mov %fs:(%rcx), %rdx			/* 1 + index of the slot that the thread keeps */
	mov 16(%rsp), %r10
	lea pb_return_trampolines(%rip), %rax
	test %rdx, %rdx
	jz 1f
	sub %rax, %r10
	cmp $SLOTS << TRAMPOLINE_SIZE_LOG, %r10
	jb 1f
	shl $SLOT_SIZE_LOG, %rdx
	lea pb_return_slots - (1 << SLOT_SIZE_LOG)(%rip), %rax
	add %rax, %rdx
	movzwl GENERATION(%rdx), %eax
	shl $48, %rax
	or %fs:0, %rax
	lea SPARE(%rax, %rcx), %rax
	mov $OWNED, %r10d
	cmp %rax, STATE(%rdx)			/* else cmpxchg would write back what is not ours */
	jne 1f
	cmpxchg %r10, STATE(%rdx)		/* no lock: only a handler of this thread may have come */
	jne 1f
	mov -40(%rsp), %rax
	mov %r11, PROGRAM(%rdx)
	mov %rax, SITE(%rdx)
	mov %r10d, WANTED(%rdx)
	movl $1, CHAIN_LENGTH(%rdx)		/* and nothing limited */
	mov -16(%rsp), %rax
	mov -8(%rsp), %rcx
	mov %rdi, ARG(%rdx)
	mov %rsi, ARG+8(%rdx)
	mov %rax, ARG+16(%rdx)
	mov %rcx, ARG+24(%rdx)
	mov %r8, ARG+32(%rdx)
	mov %r9, ARG+40(%rdx)
	mov 16(%rsp), %rax
	mov %rdx, %rcx
	lea pb_return_slots(%rip), %r10
	sub %r10, %rcx
	shr $4, %rcx				/* index * 8 */
	lea pb_return_address(%rip), %r11
	mov %rax, RETURN_ADDRESS(%rdx)
	mov %rax, (%r11, %rcx)
	lea pb_return_trampolines(%rip), %r10
	lea (%r10, %rcx, 2), %r10
	lea 16(%rsp), %r11
	mov %r10, (%r11)
	movzwl GENERATION(%rdx), %eax
	inc %eax
	mov %ax, GENERATION(%rdx)
	shl $48, %rax
	or %r11, %rax
	mov %rax, STATE(%rdx)
	mov -8(%rsp), %rcx
	mov -16(%rsp), %rdx
	mov -24(%rsp), %r10
	mov -32(%rsp), %r11
	ret
1:	mov -8(%rsp), %rcx
	mov -16(%rsp), %rdx
	mov -24(%rsp), %r10
	mov -32(%rsp), %r11
	mov -40(%rsp), %rax
	jmp probe_entry_hook_general
	.cfi_endproc
	.size probe_entry_hook, . - probe_entry_hook

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
