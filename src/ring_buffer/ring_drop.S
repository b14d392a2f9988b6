/* SPDX-License-Identifier: MIT
 *
 * void ring_drop(const RingSet* const* rings): one event more that the ring of this CPU has lost
 * (ring_write_hot.h).
 *
 * The addition is the last instruction of a restartable sequence, as in probe/count_hit.S. Whoever
 * is aborted begins again, a few times; then it is the ring of those without rseq that counts.
 */
#define RSEQ_SIG 0x53053053
#define THREAD_NO_RSEQ 12		/* struct ProbeThread */
#define SET_CONTROLS 8			/* struct RingSet */
#define SET_NR_CPUS 40
#define CONTROL_SHIFT 7			/* struct RingControl */
#define RC_DROPPED 48
#define MAX_ABORTS 64

	.section __rseq_cs, "aw"
	.balign 32
.Lcs:
	.long 0, 0
	.quad .Lstart, .Lcommitted - .Lstart, .Labort

	.text
	.globl ring_drop
	.hidden ring_drop
	.type ring_drop, @function
	.p2align 4
ring_drop:
	.cfi_startproc
	mov pb_thread@gottpoff(%rip), %rcx
	mov pb_rseq_offset(%rip), %rax
	mov $MAX_ABORTS, %esi
	cmpl $0, %fs:THREAD_NO_RSEQ(%rcx)
	jne ring_drop_locked
	test %rax, %rax
	jz ring_drop_locked
.Lagain:
	lea .Lcs(%rip), %rcx
	mov %rcx, %fs:8(%rax)		/* rseq->rseq_cs */
.Lstart:
	mov %fs:(%rax), %ecx		/* cpu_id_start */
	cmp %fs:4(%rax), %ecx		/* cpu_id: differs when this thread is not registered */
	jne ring_drop_locked
	mov (%rdi), %rdx
	cmp SET_NR_CPUS(%rdx), %ecx
	jae ring_drop_locked
	shl $CONTROL_SHIFT, %rcx
	add SET_CONTROLS(%rdx), %rcx
	addq $1, RC_DROPPED(%rcx)
.Lcommitted:
	ret

	.long RSEQ_SIG
.Labort:
	dec %esi
	jnz .Lagain
	jmp ring_drop_locked
	.cfi_endproc
	.size ring_drop, . - ring_drop
	.section .note.GNU-stack, "", @progbits
