/* SPDX-License-Identifier: MIT
 *
 * The instructions that the tool copies into another process (loader_block.h has the drawing). They
 * are position-independent and know nothing but their block.
 *
 *   attach_code         the stopped thread runs it, on our stack:  rbx block
 *   attach_code_loader  the thread that it makes:                  rdi block
 *
 * All signals but those of libc itself are blocked in both: each wait is made again. rbx stays the
 * block.
 */
#include <asm/unistd.h>

#include "attach/asm_offsets.h"

#define AF_UNIX 1
#define CLONE_FILES 0x400
#define CLONE_FS 0x200
#define RTLD_NOW 2

/* Sleeps for `ns` nanoseconds. */
.macro nap ns
	push $\ns
	push $0
	mov $__NR_nanosleep, %eax
	mov %rsp, %rdi
	xor %esi, %esi
	syscall
	add $16, %rsp
.endm

/* The same in the stopped thread: what the kernel keeps of an interrupted poll(), sleep or futex of
 * the program is lost when a sleep or a futex is interrupted there. ppoll() keeps nothing. */
.macro stopped_nap seconds, ns
	push $\ns
	push $\seconds
	mov $__NR_ppoll, %eax
	xor %edi, %edi
	xor %esi, %esi
	mov %rsp, %rdx
	xor %r10d, %r10d
	mov $8, %r8d
	syscall
	add $16, %rsp
.endm

/* Waits until the word is not `value`, for `seconds` and `ns` at most. */
.macro wait_while word, value, seconds, ns
	push $\ns
	push $\seconds
	mov $__NR_futex, %eax
	lea \word(%rbx), %rdi
	mov $FUTEX_WAIT_HERE, %esi
	mov $\value, %edx
	mov %rsp, %r10
	syscall
	add $16, %rsp
.endm

	.section .rodata
	.globl attach_code, attach_code_loader, attach_code_end
	.hidden attach_code, attach_code_loader, attach_code_end
	.p2align 4
attach_code:
	cld
	mov $__NR_socketpair, %eax
	mov $AF_UNIX, %edi
	mov $SOCKET_KIND, %esi
	xor %edx, %edx
	lea BLOCK_SOCKETS(%rbx), %r10
	syscall
	mov %eax, BLOCK_ERROR(%rbx)
	test %eax, %eax
	jnz .Lfinished
	mov BLOCK_SOCKETS+4(%rbx), %eax
	mov %eax, BLOCK_SOCKET(%rbx)
	movl $STAGE_SOCKETS, BLOCK_STAGE(%rbx)

	lea BLOCK_THREAD(%rbx), %rdi
	xor %esi, %esi
	lea attach_code_loader(%rip), %rdx
	mov %rbx, %rcx
	call *BLOCK_PTHREAD_CREATE(%rbx)
	mov %eax, BLOCK_ERROR(%rbx)
	test %eax, %eax
	jnz .Lclose_both
	mov BLOCK_THREAD(%rbx), %rdi
	call *BLOCK_PTHREAD_DETACH(%rbx)

	/* The loader's end is in its own table, or stays in this one under a high number. */
	wait_while BLOCK_UNSHARED, 0, 0, 200000000
	xor %eax, %eax
	mov $FILES_SHARED, %ecx
	lock cmpxchg %ecx, BLOCK_FILES(%rbx)
	je .Lshared
	mov $20, %ebp
.Lunsharing:
	cmpl $0, BLOCK_UNSHARED(%rbx)
	jne .Lunshared
	wait_while BLOCK_UNSHARED, 0, 0, 100000000
	dec %ebp
	jnz .Lunsharing
.Lunshared:
	cmpl $UNSHARE_REFUSED, BLOCK_UNSHARED(%rbx)
	jne .Luntaken
.Lshared:
	mov $__NR_fcntl, %eax
	mov BLOCK_SOCKETS+4(%rbx), %edi
	mov $DUPLICATE_FROM, %esi
	mov BLOCK_HIGH_FD(%rbx), %edx
	syscall
	test %eax, %eax
	js .Lkeep_low
	mov %eax, BLOCK_SOCKET(%rbx)
	jmp .Lis_shared
.Lkeep_low:
	movl $-1, BLOCK_SOCKETS+4(%rbx)
.Lis_shared:
	movl $1, BLOCK_IS_SHARED(%rbx)

	/* The tool takes its end, if it lives. */
.Luntaken:
	mov $20000, %ebp
.Ltaking:
	cmpl $0, BLOCK_TAKEN(%rbx)
	jne .Lclose_both
	stopped_nap 0, 20000
	dec %ebp
	jnz .Ltaking
.Lclose_both:
	mov $__NR_close, %eax
	mov BLOCK_SOCKETS(%rbx), %edi
	syscall
	mov $__NR_close, %eax
	mov BLOCK_SOCKETS+4(%rbx), %edi
	syscall
.Lfinished:
	movl $STAGE_FINISHED, BLOCK_STAGE(%rbx)
	cmpl $0, BLOCK_ABANDONED(%rbx)
	jne .Lgo_back
	stopped_nap 2, 0
.Lgo_back:

	/* Nobody has come for this thread: it goes back by itself, as from a signal's handler. */
	mov BLOCK_FRAME(%rbx), %rsp
	mov $__NR_rt_sigreturn, %eax
	movl $1, BLOCK_LEFT(%rbx)
	syscall
	ud2

	.p2align 4
attach_code_loader:
	push %rbx
	push %rbp
	push %r12
	mov %rdi, %rbx
	mov $__NR_gettid, %eax
	syscall
	mov %eax, BLOCK_LOADER(%rbx)

	xor %eax, %eax
	mov $FILES_PRIVATE, %ecx
	lock cmpxchg %ecx, BLOCK_FILES(%rbx)
	jne .Lin_shared_table
	mov $__NR_unshare, %eax
	mov $CLONE_FILES, %edi
	syscall
	mov $UNSHARE_DONE, %ebp
	test %eax, %eax
	jz .Ltell_unshared
	mov $UNSHARE_REFUSED, %ebp
.Ltell_unshared:
	mov %ebp, BLOCK_UNSHARED(%rbx)
	mov $__NR_futex, %eax
	lea BLOCK_UNSHARED(%rbx), %rdi
	mov $FUTEX_WAKE_HERE, %esi
	mov $1, %edx
	syscall
	cmp $UNSHARE_REFUSED, %ebp
	je .Lin_shared_table
	/* What the program closes must be closed: nothing of its table is held but 0, 1 and 2. */
	mov $__NR_close_range, %eax
	mov $3, %edi
	mov BLOCK_SOCKET(%rbx), %esi
	dec %esi
	cmp %edi, %esi
	jl .Labove
	xor %edx, %edx
	syscall
.Labove:
	mov $__NR_close_range, %eax
	mov BLOCK_SOCKET(%rbx), %edi
	inc %edi
	mov $-1, %esi
	xor %edx, %edx
	syscall
	/* Where that system call is missing, at least the tool's end. */
	mov $__NR_close, %eax
	mov BLOCK_SOCKETS(%rbx), %edi
	syscall
	jmp .Lreceive

.Lin_shared_table:
	mov $60000, %ebp
.Lsettling:
	cmpl $0, BLOCK_IS_SHARED(%rbx)
	jne .Lsettled
	nap 100000
	dec %ebp
	jnz .Lsettling
	jmp .Lgone
	/* Whether the library will be allowed what we were too late for. */
.Lsettled:
	mov $__NR_unshare, %eax
	xor %edi, %edi
	syscall
	test %eax, %eax
	jz .Lreceive
	movl $UNSHARE_REFUSED, BLOCK_UNSHARED(%rbx)

	/* struct msghdr (56 bytes), struct iovec at 64, its byte at 80, a control message at 96 */
.Lreceive:
	sub $128, %rsp
	mov %rsp, %rdi
	xor %eax, %eax
	mov $16, %ecx
	rep stosq
	lea 80(%rsp), %rax
	mov %rax, 64(%rsp)
	movq $8, 72(%rsp)
	lea 64(%rsp), %rax
	mov %rax, 16(%rsp)
	movq $1, 24(%rsp)
	lea 96(%rsp), %rax
	mov %rax, 32(%rsp)
	movq $24, 40(%rsp)
	mov $__NR_recvmsg, %eax
	mov BLOCK_SOCKET(%rbx), %edi
	mov %rsp, %rsi
	mov $CMSG_CLOEXEC, %edx
	syscall
	mov $-1, %ecx
	cmpq $20, 40(%rsp)
	jb .Lno_library_fd
	mov 112(%rsp), %ecx
.Lno_library_fd:
	mov %ecx, BLOCK_LIBRARY_FD(%rbx)
	add $128, %rsp
	test %eax, %eax
	jle .Lgone
	movl $STATE_RECEIVED, BLOCK_STATE(%rbx)

	push $0
	push $0
	mov $__NR_recvfrom, %eax
	mov BLOCK_SOCKET(%rbx), %edi
	mov %rsp, %rsi
	mov $8, %edx
	xor %r10d, %r10d
	xor %r8d, %r8d
	xor %r9d, %r9d
	syscall
	add $16, %rsp
	test %eax, %eax
	jle .Lgone

	mov $__NR_prctl, %eax
	mov $SET_NAME, %edi
	lea BLOCK_LOADER_NAME(%rbx), %rsi
	syscall
	mov BLOCK_ENTRY(%rbx), %rbp
	test %rbp, %rbp
	jnz .Lcall
	movl $STATE_LOADING, BLOCK_STATE(%rbx)
	/* The way to the library leads from its directory, where the process has no other. */
	cmpl $0, BLOCK_FROM_DIRECTORY(%rbx)
	je .Lopen
	mov $__NR_unshare, %eax
	mov $CLONE_FS, %edi
	syscall
	test %eax, %eax
	jnz .Lopen
	mov $__NR_fchdir, %eax
	mov BLOCK_LIBRARY_FD(%rbx), %edi
	syscall
.Lopen:
	lea BLOCK_PATH(%rbx), %rdi
	mov $RTLD_NOW, %esi
	call *BLOCK_DLOPEN(%rbx)
	mov %rax, %r12
	test %rax, %rax
	jnz .Lloaded
	call .Lkeep_text
	cmpb $0, BLOCK_OTHER_PATH(%rbx)
	je .Lnot_loaded
	lea BLOCK_OTHER_PATH(%rbx), %rdi
	mov $RTLD_NOW, %esi
	call *BLOCK_DLOPEN(%rbx)
	mov %rax, %r12
	test %rax, %rax
	jz .Lnot_loaded
.Lloaded:
	mov %r12, %rdi
	lea BLOCK_NAME(%rbx), %rsi
	call *BLOCK_DLSYM(%rbx)
	mov %rax, %rbp
	test %rax, %rax
	jz .Lno_function
	cmpl $0, BLOCK_CANCEL(%rbx)
	jne .Lunload
.Lcall:
	movl $STATE_CALLING, BLOCK_STATE(%rbx)
	mov BLOCK_SOCKET(%rbx), %edi
	mov BLOCK_VERSION(%rbx), %esi
	call *%rbp
	mov %eax, BLOCK_RESULT(%rbx)
	mov $STATE_CALLED, %ebp
	jmp .Lend
.Lno_function:
	call .Lkeep_text
.Lunload:
	mov %r12, %rdi
	call *BLOCK_DLCLOSE(%rbx)
.Lnot_loaded:
	mov $STATE_NOT_LOADED, %ebp
	jmp .Lclose_socket
.Lgone:
	mov $STATE_NOT_LOADED, %ebp
.Lclose_socket:
	mov $__NR_close, %eax
	mov BLOCK_SOCKET(%rbx), %edi
	syscall
	movl $-1, BLOCK_SOCKET(%rbx)
.Lend:
	mov BLOCK_LIBRARY_FD(%rbx), %edi
	cmp $2, %edi
	jle .Ltell
	mov $__NR_close, %eax
	syscall
.Ltell:
	mov %ebp, BLOCK_STATE(%rbx)
	/* Twice as long as the stopped thread needs to restore itself. */
	mov $25000, %ebp
.Lunseen:
	cmpl $0, BLOCK_SEEN(%rbx)
	jne .Lclose_shared
	nap 200000
	dec %ebp
	jnz .Lunseen
	/* The program's table still has the socket. The library has a table of its own by now, or uses it
	   here when it has come, but was not allowed one. */
.Lclose_shared:
	cmpl $0, BLOCK_IS_SHARED(%rbx)
	je .Lunmap
	cmpl $UNSHARE_REFUSED, BLOCK_UNSHARED(%rbx)
	jne .Lclose_ours
	cmpl $0, BLOCK_RESULT(%rbx)
	je .Lunmap
.Lclose_ours:
	mov $__NR_close, %eax
	mov BLOCK_SOCKET(%rbx), %edi
	syscall
.Lunmap:
	cmpl $0, BLOCK_LEFT(%rbx)
	je .Lreturn  /* the stopped thread may still be in it: it stays */
	mov BLOCK_CODE(%rbx), %r12
	mov BLOCK_CODE_SIZE(%rbx), %rbp
	mov BLOCK_SYSCALL_RETURN(%rbx), %r8
	mov $__NR_munmap, %eax
	mov %rbx, %rdi
	mov BLOCK_DATA_SIZE(%rbx), %rsi
	syscall
	/* The last system call is made in libc: it returns to the one that has called us. */
	mov %r12, %rdi
	mov %rbp, %rsi
	mov $__NR_munmap, %eax
	pop %r12
	pop %rbp
	pop %rbx
	jmp *%r8
.Lreturn:
	xor %eax, %eax
	pop %r12
	pop %rbp
	pop %rbx
	ret

	/* What dlerror() says, into the block. Called with the stack as a call leaves it: 8 off. */
.Lkeep_text:
	sub $8, %rsp
	call *BLOCK_DLERROR(%rbx)
	add $8, %rsp
	test %rax, %rax
	jz .Lno_text
	mov %rax, %rsi
	lea BLOCK_TEXT(%rbx), %rdi
	mov $TEXT_SIZE-1, %ecx
.Lcopy:
	lodsb
	stosb
	test %al, %al
	jz .Lno_text
	dec %ecx
	jnz .Lcopy
.Lno_text:
	ret
attach_code_end:
	.section .note.GNU-stack, "", @progbits
