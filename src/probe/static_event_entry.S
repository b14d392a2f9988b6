/* SPDX-License-Identifier: MIT
 *
 * void static_event_hit(patchbay_event* event, void* record, uint32_t size)
 *
 * What a site of a static event calls (include/patchbay/static_event_abi.h): the record is built,
 * but for its header. It is 8-aligned and the caller's; `size` is a multiple of 4, at least 8.
 *
 *   site --jmp--> block out of line: record on the stack --call--> static_event_hit
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
 * Budget (design.md 5): a filter's no 0.5 x floor. Nothing is saved on the way to it but one
 * pointer, which a compiler does not manage around a call. static_event_hot.cc checks the offsets.
 */
#define EVENT_PROGRAM 72		/* struct patchbay_event */
#define SITE_PLAIN 4			/* struct SiteProgram */
#define SITE_EVENT 16			/* SiteEvent.event of the first */
#define PROGRAM_FILTER 16		/* struct EventProgram */
#define PROGRAM_ID 40
#define PROGRAM_SOFT 72
#define PROGRAM_TRIGGERS 88
#define TRIGGERS_GATE 8			/* struct TriggerProgram */
#define PLAIN 1				/* SiteProgram.plain */
#define CALLS 3
	.text
	.globl static_event_hit
	.hidden static_event_hit
	.type static_event_hit, @function
	.p2align 5
static_event_hit:
	.cfi_startproc
	mov EVENT_PROGRAM(%rdi), %rdi
	test %rdi, %rdi
	jz .Lreturn
	mov pb_thread@gottpoff(%rip), %rcx
	mov %fs:(%rcx), %ecx		/* fast_tid: 0 also while the thread runs agent code */
	test %ecx, %ecx
	jz .Loffer
	cmpw $PLAIN, SITE_PLAIN(%rdi)
	jne .Lgated
	mov SITE_EVENT(%rdi), %r8
	movzwl PROGRAM_ID(%r8), %eax
	shl $32, %rcx
	or %rax, %rcx
	mov %rcx, (%rsi)		/* RecordHeader, flags are 0 */
.Lwanted:
	mov PROGRAM_FILTER(%r8), %rax
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
	cmpw $0, SITE_PLAIN(%rdi)
	je .Loffer
	mov SITE_EVENT(%rdi), %r8
	movzwl PROGRAM_ID(%r8), %eax
	shl $32, %rcx
	or %rax, %rcx
	mov %rcx, (%rsi)
	cmpw $CALLS, SITE_PLAIN(%rdi)
	je .Lcalls
	mov PROGRAM_TRIGGERS(%r8), %rax
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
	mov SITE_EVENT(%rdi), %r8
	mov PROGRAM_SOFT(%r8), %rax
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
	.section .note.GNU-stack, "", @progbits
