/* SPDX-License-Identifier: MIT
 *
 * The functions of patchbay/trace_events.h that record (synthetic_hot.h), by their exported
 * names. What they add: the values of synth_event_trace() as one array, and where the stack of the
 * call is (the return address, the stack pointer behind it, the caller's rbp), for options and
 * triggers that want it.
 *
 *   synth_event_trace(file, n, v0 … v3 in registers, the others behind the return address)
 *
 *     v4 …            v4 …
 *     return address  v3          the return address makes room for the values, and is put back
 *                     v2          before the ret, which so returns where the call has predicted
 *                     v1
 *                     v0          <- values
 *                     return address
 *                     n
 *                     file
 */
#include "probe/triggers/asm_offsets.h"

#define INVALID -22			/* -EINVAL */
#define ENTRY(name)						\
	.globl name;						\
	.type name, @function;					\
	.p2align 4;						\
	name: .cfi_startproc
#define END(name)						\
	.cfi_endproc;						\
	.size name, . - name

/* rdi is a file; r10 its program, if the event is on. */
	.macro PROGRAM_OF_FILE
	lea -1(%rdi), %rax		/* is_pointer() */
	cmp $-4096, %rax
	jae .Linvalid
	mov FILE_PROGRAM(%rdi), %r10
	test %r10, %r10
	jz synthetic_off
	.endm

	.text
ENTRY(patchbay_synth_event_trace)
	PROGRAM_OF_FILE
	pop %rax
	.cfi_adjust_cfa_offset -8
	.cfi_register %rip, %rax
	push %r9
	.cfi_adjust_cfa_offset 8
	push %r8
	.cfi_adjust_cfa_offset 8
	push %rcx
	.cfi_adjust_cfa_offset 8
	push %rdx
	.cfi_adjust_cfa_offset 8
	mov %rsp, %rdx
	push %rax
	.cfi_adjust_cfa_offset 8
	.cfi_offset %rip, -40
	push %rsi
	.cfi_adjust_cfa_offset 8
	push %rdi
	.cfi_adjust_cfa_offset 8
	call synthetic_place_of
	test %eax, %eax
	jnz 2f
1:	mov 16(%rsp), %rcx
	mov %rcx, 48(%rsp)
	add $48, %rsp
	.cfi_remember_state
	.cfi_adjust_cfa_offset -48
	.cfi_offset %rip, -8
	ret
	.cfi_restore_state
2:	mov (%rsp), %rdi
	mov 8(%rsp), %rsi
	mov 16(%rsp), %rcx
	lea 24(%rsp), %rdx
	lea 56(%rsp), %r8
	mov %rbp, %r9
	sub $8, %rsp
	.cfi_adjust_cfa_offset 8
	call synthetic_trace
	add $8, %rsp
	.cfi_adjust_cfa_offset -8
	jmp 1b
END(patchbay_synth_event_trace)

ENTRY(patchbay_synth_event_trace_array)	/* file, values, number of values */
	PROGRAM_OF_FILE
	mov %rsi, %rax
	mov %edx, %esi
	mov %rax, %rdx
	test %rax, %rax
	jz .Linvalid
	push %rdi
	.cfi_adjust_cfa_offset 8
	push %rsi
	.cfi_adjust_cfa_offset 8
	push %rdx
	.cfi_adjust_cfa_offset 8
	call synthetic_place_of
	pop %rdx
	.cfi_adjust_cfa_offset -8
	pop %rsi
	.cfi_adjust_cfa_offset -8
	pop %rdi
	.cfi_adjust_cfa_offset -8
	test %eax, %eax
	jnz 1f
	ret
1:	mov (%rsp), %rcx
	lea 8(%rsp), %r8
	mov %rbp, %r9
	jmp synthetic_trace
.Linvalid:
	mov $INVALID, %eax
	ret
END(patchbay_synth_event_trace_array)

ENTRY(patchbay_synth_event_trace_start)
	jmp synthetic_start
END(patchbay_synth_event_trace_start)

/* A number into an open state is dealt with here. */
ENTRY(patchbay_synth_event_add_next_val)	/* value, state */
.Ladd_next:
	lea STATE_BY_NEXT(%rsi), %rax
	test %rsi, %rsi
	jz 1f
	cmp %rax, STATE_OPEN(%rsi)
	jne 1f
	mov STATE_NEXT(%rsi), %rax
	cmpb $KIND_NUMBER, FIELD_KIND(%rax)
	jne 1f
	mov FIELD_OFFSET(%rax), %ecx
	and FIELD_MASK(%rax), %rdi
	mov %rdi, STATE_RECORD(%rsi,%rcx)
	add $FIELD_BYTES, %rax
	mov %rax, STATE_NEXT(%rsi)
	xor %eax, %eax
	ret
1:	xchg %rdi, %rsi
	jmp synthetic_add_next
END(patchbay_synth_event_add_next_val)

ENTRY(patchbay_synth_event_add_val)	/* name, value, state */
	test %rdi, %rdi
	jz 1f
	mov %rdx, %rax
	mov %rsi, %rdx
	mov %rdi, %rsi
	mov %rax, %rdi
	jmp synthetic_add_named
1:	mov %rsi, %rdi
	mov %rdx, %rsi
	jmp .Ladd_next
END(patchbay_synth_event_add_val)

ENTRY(patchbay_synth_event_trace_end)
	mov (%rsp), %rsi
	lea 8(%rsp), %rdx
	mov %rbp, %rcx
	jmp synthetic_end
END(patchbay_synth_event_trace_end)
	.section .note.GNU-stack, "", @progbits
