/* SPDX-License-Identifier: MIT
 *
 * void profile_add(const ProfileTable* table, uint64_t function, uint64_t ticks)
 *
 * One call more in the profiler's counts of a function on this CPU (probe/graph_hot.h). The sums
 * are written beside the valid ones; the addition to `hits`, the last instruction of the
 * restartable sequence, makes them valid. So all three words belong together, for readers too.
 *
 *   rdi table   rsi function   r9 ticks   r11:r10 its square
 *   rcx ProfileCount   r8 valid   rdx new
 */
#define RSEQ_SIG 0x53053053
#define THREAD_NO_RSEQ 12		/* struct ProbeThread */
#define COUNTS 0			/* struct ProfileTable */
#define FUNCTIONS 8
#define NR_CPUS 16
#define COUNT_SIZE_LOG 6		/* struct ProfileCount */
#define SUMS 8
#define SUM_SIZE 24
#define MAX_ABORTS 64

	.section __rseq_cs, "aw"
	.balign 32
.Lcs:
	.long 0, 0
	.quad .Lstart, .Lcommitted - .Lstart, .Labort

	.text
	.globl profile_add
	.hidden profile_add
	.type profile_add, @function
	.p2align 4
profile_add:
	.cfi_startproc
	mov %rdx, %r9
	mov %rdx, %rax
	mul %rdx
	mov %rax, %r10
	mov %rdx, %r11
	movl $MAX_ABORTS, -8(%rsp)
	mov pb_thread@gottpoff(%rip), %rcx
	cmpl $0, %fs:THREAD_NO_RSEQ(%rcx)
	jne .Llocked
.Lrestart:
	mov pb_rseq_offset(%rip), %r8
	test %r8, %r8
	jz .Llocked
	lea .Lcs(%rip), %rax
	mov %rax, %fs:8(%r8)		/* rseq->rseq_cs */
.Lstart:
	mov %fs:(%r8), %eax		/* cpu_id_start */
	cmp %fs:4(%r8), %eax		/* cpu_id: differs when this thread is not registered */
	jne .Llocked
	cmp NR_CPUS(%rdi), %eax
	jae .Llocked
	mov FUNCTIONS(%rdi), %rcx
	imul %rax, %rcx
	add %rsi, %rcx
	shl $COUNT_SIZE_LOG, %rcx
	add COUNTS(%rdi), %rcx
	mov (%rcx), %eax
	and $1, %eax
	imul $SUM_SIZE, %eax, %eax
	lea SUMS(%rcx,%rax), %r8
	neg %rax
	lea SUMS+SUM_SIZE(%rcx,%rax), %rdx
	mov (%r8), %rax
	add %r9, %rax
	mov %rax, (%rdx)
	mov 8(%r8), %rax
	add %r10, %rax
	mov %rax, 8(%rdx)
	mov 16(%r8), %rax
	adc %r11, %rax
	mov %rax, 16(%rdx)
	addq $1, (%rcx)
.Lcommitted:
	ret

	.long RSEQ_SIG
.Labort:
	decl -8(%rsp)
	jnz .Lrestart
.Llocked:
	mov NR_CPUS(%rdi), %ecx
	imul FUNCTIONS(%rdi), %rcx
	add %rsi, %rcx
	shl $COUNT_SIZE_LOG, %rcx
	add COUNTS(%rdi), %rcx
	lock addq $1, (%rcx)
	lock addq %r9, SUMS(%rcx)
	mov %r10, %rax
	lock xaddq %rax, SUMS+8(%rcx)
	add %r10, %rax			/* the carry out of that */
	adc $0, %r11
	lock addq %r11, SUMS+16(%rcx)
	ret
	.cfi_endproc
	.size profile_add, . - profile_add
	.section .note.GNU-stack, "", @progbits
