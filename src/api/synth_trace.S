/* SPDX-License-Identifier: MIT
 *
 * The functions of patchbay/trace_events.h that record (probe/synthetic_hot.h), by their exported
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
 *                     (alignment)
 */
#define ENTRY(name)						\
	.globl name;						\
	.type name, @function;					\
	.p2align 4;						\
	name: .cfi_startproc
#define END(name)						\
	.cfi_endproc;						\
	.size name, . - name

	.text
ENTRY(patchbay_synth_event_trace)
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
	sub $8, %rsp
	.cfi_adjust_cfa_offset 8
	mov %rax, %rcx
	lea 32(%rdx), %r8
	mov %rbp, %r9
	call synthetic_trace
	mov 8(%rsp), %rcx
	mov %rcx, 40(%rsp)
	add $40, %rsp
	.cfi_adjust_cfa_offset -40
	.cfi_offset %rip, -8
	ret
END(patchbay_synth_event_trace)

ENTRY(patchbay_synth_event_trace_array)	/* file, values, number of values */
	mov %rsi, %rax
	mov %edx, %esi
	mov %rax, %rdx
	mov (%rsp), %rcx
	lea 8(%rsp), %r8
	mov %rbp, %r9
	jmp synthetic_trace
END(patchbay_synth_event_trace_array)

ENTRY(patchbay_synth_event_trace_start)
	jmp synthetic_start
END(patchbay_synth_event_trace_start)

ENTRY(patchbay_synth_event_add_next_val)	/* value, state */
	mov %rdi, %rdx
	mov %rsi, %rdi
	xor %esi, %esi
	jmp synthetic_add
END(patchbay_synth_event_add_next_val)

ENTRY(patchbay_synth_event_add_val)	/* name, value, state */
	mov %rdx, %rax
	mov %rsi, %rdx
	mov %rdi, %rsi
	mov %rax, %rdi
	jmp synthetic_add
END(patchbay_synth_event_add_val)

ENTRY(patchbay_synth_event_trace_end)
	mov (%rsp), %rsi
	lea 8(%rsp), %rdx
	mov %rbp, %rcx
	jmp synthetic_end
END(patchbay_synth_event_trace_end)
	.section .note.GNU-stack, "", @progbits
