/* SPDX-License-Identifier: MIT
 *
 * void static_event_hit(patchbay_event* event, void* record, uint32_t size)
 *
 * What a site of a static event calls (include/patchbay/static_event_abi.h): the record is built,
 * but for its header. It is 8-aligned and the caller's; `size` is a multiple of 4, at least 8.
 *
 *   site --jmp--> block out of line: record on the stack --call--> static_event_hit, or code for
 *                 this event that has the same to do where it is only numbers that a filter
 *                 compares, or a callback that is to be called (static_event_code.cc)
 *     |-- header             id and thread
 *     |-- filter             generated code, which keeps rdi and rdx (filter_abi.h)
 *     |-- static_event_publish: ring_publish_rseq, or the locked ring
 *     |-- static_event_call  a callback of the program, and nothing else
 *     |-- with triggers      TriggerProgram.gate first: where none matches it goes on as above, or
 *     |                      is done if soft mode says that the event is off
 *     '-- static_event_offer instead of all this: several instances, event probes, thread lists,
 *                            a filter to be interpreted, stacks, triggers that match or are not
 *                            gated, a new thread, in agent code or without rseq
 *
 * Budget (docs/invariants.md): a filter's no 0.5 x floor. Nothing is saved on the way to it but one
 * pointer, which a compiler does not manage around a call.
 */
#include "probe/asm_offsets.h"
#include "probe/callbacks/asm_offsets.h"
#include "probe/triggers/asm_offsets.h"
#include "ring_buffer/asm_offsets.h"

	.text
	.globl static_event_hit
	.hidden static_event_hit
	.type static_event_hit, @function
	.globl static_event_wanted
	.hidden static_event_wanted
	.type static_event_wanted, @function
	.p2align 5
static_event_hit:
	.cfi_startproc
	mov STATIC_EVENT_PROGRAM(%rdi), %rdi
	test %rdi, %rdi
	jz .Lreturn
	mov pb_thread@gottpoff(%rip), %rcx
	mov %fs:(%rcx), %ecx		/* fast_tid: 0 also while the thread runs agent code */
	test %ecx, %ecx
	jz .Loffer
	cmpw $PROGRAM_IS_PLAIN, PROGRAM_PLAIN(%rdi)
	jne .Lgated
	mov PROGRAM_EVENTS(%rdi), %r8
	movzwl EVENT_ID(%r8), %eax
	shl $32, %rcx
	or %rax, %rcx
	mov %rcx, (%rsi)		/* RecordHeader, flags are 0 */
.Lwanted:
static_event_wanted:			/* static_event_hot.h says what is where */
	mov EVENT_FILTER(%r8), %rax
	test %rax, %rax
	jz .Lpublish
	mov (%rax), %rax		/* FilterProgram.code */
	test %rax, %rax
	jz .Loffer
	push %r8
	.cfi_adjust_cfa_offset 8
	mov %rsi, %rdi
	mov %edx, %esi
	call *%rax
	pop %r8
	.cfi_adjust_cfa_offset -8
	mov %rdi, %rsi
	test %al, %al
	jnz .Lpublish
.Lreturn:
	ret
.Lpublish:
	mov %r8, %rdi
	jmp static_event_publish
.Lgated:
	cmpw $0, PROGRAM_PLAIN(%rdi)
	je .Loffer
	cmpw $PROGRAM_MIRRORED, PROGRAM_PLAIN(%rdi)
	je .Loffer			/* where no code could be generated */
	mov PROGRAM_EVENTS(%rdi), %r8
	movzwl EVENT_ID(%r8), %eax
	shl $32, %rcx
	or %rax, %rcx
	mov %rcx, (%rsi)
	cmpw $PROGRAM_CALLS, PROGRAM_PLAIN(%rdi)
	jae .Lcalls
	mov EVENT_TRIGGERS(%r8), %rax
	mov TRIGGERS_GATE(%rax), %rax
	push %rdi
	.cfi_adjust_cfa_offset 8
	mov %rsi, %rdi
	mov %edx, %esi
	call *(%rax)
	mov %rdi, %rsi
	pop %rdi
	.cfi_adjust_cfa_offset -8
	test %al, %al
	jnz .Loffer
	mov PROGRAM_EVENTS(%rdi), %r8
	mov EVENT_SOFT(%r8), %rax
	cmpl $0, (%rax)
	jne .Lwanted
	ret
.Lcalls:
	mov %rsp, %rcx
	mov %rbp, %r8
	jmp static_event_call
.Loffer:
	mov %rsp, %rcx
	mov %rbp, %r8
	jmp static_event_offer
	.cfi_endproc
	.size static_event_hit, . - static_event_hit

/* void static_event_calls(patchbay_event* event, void* record, uint32_t size)
 *
 * The same where the program was kCallsAlways, straight on: a jump that is taken costs as much as
 * several tests. Whatever is unusual, also a program of another kind by now, goes the way above.
 *
 * static_event_callback(rdi: HitCallback*, rsi: record, edx: size, ecx: thread) is its second half.
 */
	.globl static_event_callback
	.hidden static_event_callback
	.type static_event_callback, @function
	.p2align 4
static_event_callback:
	.cfi_startproc
	mov pb_thread@gottpoff(%rip), %r9
	jmp .Lcall
	.cfi_endproc
	.size static_event_callback, . - static_event_callback

	.globl static_event_calls
	.hidden static_event_calls
	.type static_event_calls, @function
	.p2align 6
static_event_calls:
	.cfi_startproc
	mov STATIC_EVENT_PROGRAM(%rdi), %r10
	test %r10, %r10
	jz static_event_hit
	cmpw $PROGRAM_CALLS_ALWAYS, PROGRAM_PLAIN(%r10)
	jne static_event_hit
	mov pb_thread@gottpoff(%rip), %r9
	mov PROGRAM_EVENTS(%r10), %r8
	mov %fs:(%r9), %ecx
	test %ecx, %ecx
	jz static_event_hit
	mov EVENT_SOFT(%r8), %rax
	cmpl $0, (%rax)
	jne static_event_hit
	mov EVENT_TRIGGERS(%r8), %r10
	movzwl EVENT_ID(%r8), %eax
	mov TRIGGERS_CALLBACK(%r10), %rdi
	mov %eax, (%rsi)		/* RecordHeader, flags are 0 */
	mov %ecx, 4(%rsi)
.Lcall:					/* as callback_from_call() */
	mov %fs:THREAD_CALLBACK_SLOT(%r9), %r9
	test %r9, %r9
	jz static_event_first_callback
	cmpq $0, (%r9)
	jne static_event_first_callback
	mov %rdi, (%r9)			/* running, then off: callback_hot.h */
	cmpl $0, CALLBACK_OFF(%rdi)
	jne .Lleave
	sub $24, %rsp
	.cfi_adjust_cfa_offset 24
	mov %rsi, (%rsp)		/* struct CallbackRecord */
	mov %edx, CALLBACK_RECORD_SIZE(%rsp)
	mov %ecx, CALLBACK_RECORD_TID(%rsp)
	mov %r9, 16(%rsp)
	mov CALLBACK_ARGUMENT(%rdi), %rsi
	mov CALLBACK_FUNCTION(%rdi), %rax
	mov %rsp, %rdi
	call *%rax
	mov 16(%rsp), %r9
	add $24, %rsp
	.cfi_adjust_cfa_offset -24
.Lleave:
	movq $0, (%r9)
	ret
	.cfi_endproc
	.size static_event_calls, . - static_event_calls
	.section .note.GNU-stack, "", @progbits
