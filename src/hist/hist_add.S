/* SPDX-License-Identifier: MIT
 *
 * bool hist_add(HistTable* table, uint64_t offset, uint64_t value, uint32_t generation)
 *
 * One word in the row of this CPU += value (hist/hist_table_hot.h). The addition is the last
 * instruction of a restartable sequence, as in probe/count_hit.S; the generation is compared inside
 * it: when a clear has raised it and asked for membarrier(RSEQ), no addition of the old one can
 * come any more. Threads without rseq add to the last row with a lock, and say so in locked_users
 * while they do, for the same reason.
 *
 *   rdi table   rsi offset in the row   rdx value   ecx generation   rax rseq   r8 row
 */
#define RSEQ_SIG 0x53053053
#define THREAD_NO_RSEQ 12		/* struct ProbeThread */
#define SUMS 16				/* struct HistTable */
#define ROW_SIZE 24
#define NR_CPUS 44
#define GENERATION 128
#define LOCKED_USERS 132

	.section __rseq_cs, "aw"
	.balign 32
.Lcs:
	.long 0, 0
	.quad .Lstart, .Lcommitted - .Lstart, .Labort

	.text
	.globl hist_add
	.hidden hist_add
	.type hist_add, @function
	.p2align 4
hist_add:
	.cfi_startproc
	mov pb_thread@gottpoff(%rip), %r8
	mov pb_rseq_offset(%rip), %rax
	cmpl $0, %fs:THREAD_NO_RSEQ(%r8)
	jne .Llocked
	test %rax, %rax
	jz .Llocked
	lea .Lcs(%rip), %r8
	mov %r8, %fs:8(%rax)		/* rseq->rseq_cs */
.Lstart:
	mov %fs:(%rax), %r8d		/* cpu_id_start */
	cmp %fs:4(%rax), %r8d		/* cpu_id: differs when this thread is not registered */
	jne .Llocked
	cmp NR_CPUS(%rdi), %r8d
	jae .Llocked
	cmp GENERATION(%rdi), %ecx
	jne .Llate
	imul ROW_SIZE(%rdi), %r8
	add SUMS(%rdi), %r8
	add %rdx, (%r8,%rsi)
.Lcommitted:
	mov $1, %eax
	ret
.Llate:
	xor %eax, %eax
	ret

	.long RSEQ_SIG
.Labort:
.Llocked:
	lock incl LOCKED_USERS(%rdi)
	xor %eax, %eax
	cmp GENERATION(%rdi), %ecx
	jne .Lunlock
	mov NR_CPUS(%rdi), %r8d
	imul ROW_SIZE(%rdi), %r8
	add SUMS(%rdi), %r8
	lock add %rdx, (%r8,%rsi)
	mov $1, %eax
.Lunlock:
	lock decl LOCKED_USERS(%rdi)
	ret
	.cfi_endproc
	.size hist_add, . - hist_add
	.section .note.GNU-stack, "", @progbits
