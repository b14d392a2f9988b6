// SPDX-License-Identifier: MIT
//
// Small functions for insn_test.cc, each with a property that makes some of its instructions hard
// to move. Every one exists three times, because no jump is written any more where a stub behind
// one of its instructions was built once: for jumps, for int3, and for probes on all instructions
// at once. They get: rdi, rsi and rcx small numbers, r15 256 bytes of memory, r14 a function that
// adds rdi and rsi to rax. They may change everything but rsp.

#include "patch/insn_cases_test.h"

namespace patchbay {
namespace {

#define PLACE(symbol, body)                                                               \
  __asm__(".text\n.p2align 4\n.globl " #symbol "\n.type " #symbol ", @function\n" #symbol \
          ":\n" body "\n.size " #symbol ", . - " #symbol "\n");                           \
  extern "C" void symbol();
#define CASE(name, body)   \
  PLACE(jump_##name, body) \
  PLACE(trap_##name, body) \
  PLACE(all_##name, body)

__asm__(R"(
.data
.p2align 5
insn_data: .quad 0x1122334455667788, 0x99aabbccddeeff00, 3, 4
insn_word: .quad 0
insn_control: .long 0x1fbf, 0x027f
insn_callee_pointer: .quad insn_callee
.text
.globl insn_callee
.type insn_callee, @function
insn_callee:
  lea (%rdi,%rsi), %r10
  add %r10, %rax
  ret
.size insn_callee, . - insn_callee
)");

CASE(plain, "push %rbx\n mov %rdi, %rbx\n lea 1(%rbx,%rsi), %rax\n pop %rbx\n ret")
CASE(flags,
     "cmp %rsi, %rdi\n mov %rdi, %rax\n lea 3(%rax), %rdx\n sbb %rsi, %rax\n adc $0, %rdx\n"
     " setg %bl\n cmovle %rdx, %rax\n ret")
CASE(flags_all, "add %rdi, %rsi\n nop\n mov $1, %eax\n nop\n lahf\n seto %al\n ret")
CASE(red_zone,
     "mov %rdi, -8(%rsp)\n mov %rsi, -128(%rsp)\n nop\n mov -8(%rsp), %rax\n"
     " add -128(%rsp), %rax\n ret")
CASE(rip_load, "mov insn_data(%rip), %rax\n add insn_data+8(%rip), %rax\n ret")
CASE(rip_imm,
     "movl $0x12345678, insn_word(%rip)\n cmpl $0x12345678, insn_word(%rip)\n sete %al\n"
     " mov insn_word(%rip), %rdx\n cmpb $0x78, insn_word(%rip)\n ret")
CASE(rip_lea, "lea 0(%rip), %rax\n lea insn_data(%rip), %rdx\n mov (%rdx), %rcx\n ret")
CASE(jcc, "test $1, %dil\n je 1f\n lea 1(%rsi), %rax\n ret\n 1: lea 2(%rsi), %rax\n ret")
CASE(jcc_long,
     "cmp %rdi, %rsi\n .byte 0x0f, 0x8f\n .long 1f - . - 4\n lea 1(%rsi), %rax\n ret\n"
     " 1: lea 2(%rsi), %rax\n ret")
CASE(jcc_chain, "cmp %rdi, %rsi\n jb 1f\n jo 2f\n jp 3f\n 1: inc %rax\n 2: dec %rdx\n 3: ret")
CASE(loops, "inc %rcx\n xor %eax, %eax\n 1: add %rdi, %rax\n nop\n nop\n nop\n loop 1b\n ret")
CASE(loop_to_itself, "inc %rcx\n 1: loop 1b\n mov %rcx, %rax\n ret")
CASE(loopne_taken,
     "inc %rcx\n inc %rcx\n test %rdi, %rdi\n loopne 1f\n mov $3, %eax\n ret\n 1: mov $4, %eax\n "
     "ret")
CASE(jump_if_rcx, "jrcxz 1f\n mov $5, %eax\n ret\n 1: mov $6, %eax\n ret")
CASE(jump_if_ecx, "shl $32, %rcx\n jecxz 1f\n mov $5, %eax\n ret\n 1: mov $6, %eax\n ret")
CASE(backward, "mov $20, %ecx\n 1: add %rdi, %rax\n sub $1, %ecx\n jnz 1b\n ret")
CASE(call_direct, "push %rbp\n mov %rdi, %rax\n call insn_callee\n nop\n pop %rbp\n ret")
CASE(call_register, "sub $8, %rsp\n mov %rsi, %rax\n call *%r14\n add $8, %rsp\n ret")
CASE(call_rip, "push %rax\n call *insn_callee_pointer(%rip)\n pop %rdx\n ret")
CASE(call_stack, "push %r14\n call *(%rsp)\n push %rax\n call *8(%rsp)\n pop %rdx\n pop %rcx\n ret")
CASE(call_stack_index, "push %r14\n xor %ecx, %ecx\n call *(%rsp,%rcx,8)\n pop %rdx\n ret")
CASE(call_memory,
     "mov %r14, (%r15)\n call *(%r15)\n mov $8, %ecx\n mov %r14, 8(%r15)\n"
     " call *(%r15,%rcx)\n ret")
CASE(own_address, "call 1f\n 1: pop %rax\n add $1, %rax\n ret")
CASE(recursion,
     "cmp $3, %rdi\n ja 1f\n inc %rdi\n push %rdi\n call 2f\n pop %rdx\n add %rdx, %rax\n"
     " 1: ret\n 2: cmp $3, %rdi\n ja 1b\n inc %rdi\n push %rdi\n call 2b\n pop %rdx\n"
     " add %rdx, %rax\n ret")
CASE(ret_pops, "push $1\n push $2\n lea 1f(%rip), %rax\n push %rax\n ret $8\n 1: pop %rdx\n ret")
CASE(push_ret, "push %rbx\n lea 1f(%rip), %rbx\n xchg %rbx, (%rsp)\n ret\n 1: mov $9, %eax\n ret")
CASE(push_rsp,
     "push %rsp\n pop %rax\n sub %rsp, %rax\n push %rsp\n mov %rsp, %rdx\n sub %rdx, (%rsp)\n"
     " pop %rdx\n ret")
CASE(pop_rsp, "push %rsp\n pop %rsp\n mov $7, %eax\n ret")
CASE(leave_frame, "enter $32, $0\n mov %rdi, -8(%rbp)\n mov -8(%rbp), %rax\n leave\n ret")
CASE(push_memory, "push insn_data(%rip)\n pop insn_word(%rip)\n mov insn_word(%rip), %rax\n ret")
CASE(push_flags,
     "cmp %rsi, %rdi\n pushfq\n pop %rax\n and $0x8d5, %eax\n push $0x202\n nop\n popfq\n"
     " setc %dl\n ret")
CASE(sahf, "mov $0xd5, %ah\n nop\n sahf\n nop\n lahf\n setc %al\n ret")
CASE(rep_movs,
     "mov %r15, %rsi\n lea 64(%r15), %rdi\n mov $37, %ecx\n rep movsb\n mov %rcx, %rax\n ret")
CASE(rep_movs_backward,
     "lea 63(%r15), %rsi\n lea 127(%r15), %rdi\n mov $37, %ecx\n std\n"
     " rep movsb\n cld\n ret")
CASE(rep_scas, "mov %r15, %rdi\n mov $200, %ecx\n mov $9, %al\n repne scasb\n setz %dl\n ret")
CASE(rep_stos, "mov %r15, %rdi\n mov $5, %ecx\n mov $0x55, %eax\n rep stosq\n ret")
CASE(cmpxchg,
     "mov %rdi, (%r15)\n mov %rsi, %rax\n lock cmpxchg %rcx, (%r15)\n sete %dl\n"
     " lock cmpxchg %rcx, insn_word(%rip)\n ret")
CASE(cmpxchg16,
     "mov (%r15), %rax\n mov 8(%r15), %rdx\n mov %rdi, %rbx\n mov %rsi, %rcx\n"
     " lock cmpxchg16b (%r15)\n setz %cl\n ret")
CASE(xadd, "lock xadd %rdi, (%r15)\n xchg %rsi, 8(%r15)\n lock incq 16(%r15)\n bts $3, %rax\n ret")
CASE(division, "mov %rdi, %rax\n inc %rcx\n xor %edx, %edx\n div %rcx\n mov %rdx, %rsi\n ret")
CASE(division_fault,
     "xor %ecx, %ecx\n mov %rdi, %rax\n xor %edx, %edx\n div %rcx\n inc %rsi\n nop\n"
     " mov %rsi, %rax\n ret")
CASE(load_fault, "xor %eax, %eax\n mov 8(%rax), %rbx\n inc %rsi\n mov %rsi, %rax\n ret")
CASE(store_fault, "xor %edx, %edx\n movl $5, (%rdx)\n inc %rsi\n cld\n mov %rsi, %rax\n ret")
CASE(undefined, "mov $1, %eax\n ud2\n mov $2, %edx\n ret")
CASE(system_call, "mov $39, %eax\n syscall\n mov %rcx, %r12\n mov %r11, %rbx\n ret")
CASE(system_call_first,
     "xor %edi, %edi\n push $39\n pop %rax\n syscall\n nop\n push %rcx\n pop %rbp\n ret")
CASE(sse,
     "movq %rdi, %xmm0\n movq %rsi, %xmm1\n paddq %xmm1, %xmm0\n mulsd insn_data(%rip), %xmm0\n"
     " shufps $0x1b, insn_data(%rip), %xmm1\n movq %xmm0, %rax\n ret")
CASE(avx,
     "vmovdqu insn_data(%rip), %ymm0\n vpermilpd $5, insn_data(%rip), %ymm1\n"
     " vaddps %ymm0, %ymm1, %ymm2\n vinsertf128 $1, insn_data(%rip), %ymm0, %ymm3\n"
     " vmovq %xmm2, %rax\n ret")
CASE(x87,
     "fldl insn_data(%rip)\n fldpi\n fmulp\n nop\n fstl (%r15)\n fistpll 8(%r15)\n"
     " mov 8(%r15), %rax\n fldz\n ret")
CASE(x87_control, "fnstcw (%r15)\n fldcw insn_control+4(%rip)\n fnstsw %ax\n fldcw (%r15)\n ret")
CASE(mxcsr, "stmxcsr (%r15)\n ldmxcsr insn_control(%rip)\n stmxcsr 4(%r15)\n ldmxcsr (%r15)\n ret")
CASE(endbr, "endbr64\n mov %rdi, %rax\n sub %rsi, %rax\n ret")
CASE(into_the_middle,
     "test $1, %dil\n jne 1f\n inc %rax\n 1: dec %rdx\n nop\n test $2, %dil\n"
     " jne 2f\n push %rax\n 3: pop %rbx\n ret\n 2: push %rdx\n jmp 3b")
CASE(one_byte_each,
     "push %rax\n push %rcx\n push %rdx\n push %rbx\n nop\n pop %rdx\n pop %rbx\n"
     " pop %rax\n pop %rcx\n cwtl\n cltd\n cmc\n clc\n stc\n ret")
CASE(jump_table,
     "and $3, %edi\n lea 9f(%rip), %rdx\n movslq (%rdx,%rdi,4), %rax\n add %rdx, %rax\n"
     " jmp *%rax\n 1: inc %rsi\n 2: inc %rsi\n 3: inc %rsi\n 4: mov %rsi, %rax\n ret\n"
     " .section .rodata\n .p2align 2\n 9: .long 1b-9b, 2b-9b, 3b-9b, 4b-9b\n .text")
CASE(tail_call, "mov %rsi, %rax\n jmp insn_callee")
CASE(tail_call_register, "mov %rsi, %rax\n jmp *%r14")
CASE(tail_call_rip, "mov %rsi, %rax\n jmp *insn_callee_pointer(%rip)")
CASE(thread_pointer,
     "mov %fs:0, %rax\n sub %fs:16, %rax\n rdtsc\n xor %eax, %eax\n xor %edx, %edx\n ret")
CASE(high_bytes, "mov %cl, %ah\n add %ah, %al\n xchg %al, %ah\n bswap %eax\n ret")
CASE(over_short_jump, "jmp 1f\n .byte 0x0f, 0x0b\n 1: jmp 2f\n 2: mov %edi, %eax\n ret")
CASE(padded, "mov %edi, %eax\n ret\n nop\n nop\n nop\n nop")

#undef PLACE
#undef CASE

}  // namespace

#define CASE(name) \
  { #name, jump_##name, trap_##name, all_##name, true }
#define UNCOUNTED(name) \
  { #name, jump_##name, trap_##name, all_##name, false }
const InsnCase kInsnCases[] = {
    CASE(plain),
    CASE(flags),
    CASE(flags_all),
    CASE(red_zone),
    CASE(rip_load),
    CASE(rip_imm),
    CASE(rip_lea),
    CASE(jcc),
    CASE(jcc_long),
    CASE(jcc_chain),
    CASE(loops),
    CASE(loop_to_itself),
    CASE(loopne_taken),
    CASE(jump_if_rcx),
    CASE(jump_if_ecx),
    CASE(backward),
    CASE(call_direct),
    CASE(call_register),
    CASE(call_rip),
    CASE(call_stack),
    CASE(call_stack_index),
    CASE(call_memory),
    CASE(own_address),
    CASE(recursion),
    CASE(ret_pops),
    CASE(push_ret),
    CASE(push_rsp),
    CASE(pop_rsp),
    CASE(leave_frame),
    CASE(push_memory),
    UNCOUNTED(push_flags),
    UNCOUNTED(sahf),
    UNCOUNTED(rep_movs),
    UNCOUNTED(rep_movs_backward),
    UNCOUNTED(rep_scas),
    UNCOUNTED(rep_stos),
    CASE(cmpxchg),
    CASE(cmpxchg16),
    CASE(xadd),
    CASE(division),
    UNCOUNTED(division_fault),
    UNCOUNTED(load_fault),
    UNCOUNTED(store_fault),
    UNCOUNTED(undefined),
    UNCOUNTED(system_call),
    UNCOUNTED(system_call_first),
    CASE(sse),
    CASE(avx),
    CASE(x87),
    CASE(x87_control),
    CASE(mxcsr),
    CASE(endbr),
    CASE(into_the_middle),
    CASE(one_byte_each),
    CASE(jump_table),
    CASE(tail_call),
    CASE(tail_call_register),
    CASE(tail_call_rip),
    CASE(thread_pointer),
    CASE(high_bytes),
    CASE(over_short_jump),
    CASE(padded),
};
const size_t kInsnCaseCount = sizeof kInsnCases / sizeof kInsnCases[0];

}  // namespace patchbay
