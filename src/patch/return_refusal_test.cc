// SPDX-License-Identifier: MIT
#include "patch/return_refusal.h"

#include <gtest/gtest.h>

#include <string>

#include "base/guarded_bytes.h"

namespace patchbay {
namespace {

const char* by_name(std::string_view name) {
  FunctionSymbol function;
  function.name = name;
  return return_hook_refusal(function, "\xc3");
}

const char* by_code(std::string_view code) {
  FunctionSymbol function;
  function.name = "f";
  return return_hook_refusal(function, code);
}

TEST(ReturnRefusal, ByName) {
  for (const char* name : {"setjmp",
                           "_setjmp",
                           "__sigsetjmp",
                           "getcontext",
                           "swapcontext",
                           "vfork",
                           "__vfork",
                           "clone",
                           "dlopen",
                           "dlsym",
                           "dlmopen",
                           "dlvsym",
                           "dlsym@@GLIBC_2.34",
                           "_Unwind_RaiseException",
                           "_Unwind_Resume",
                           "mcount",
                           "__fentry__",
                           "_dl_runtime_resolve_xsavec",
                           "__x86_indirect_thunk_rax",
                           "__start_context"})
    EXPECT_NE(by_name(name), nullptr) << name;
  for (const char* name : {"main", "malloc", "fork", "longjmp", "__longjmp_chk", "__tls_get_addr",
                           "dlclose", "dladdr", "setjmps", "my_vfork", "clones", "__cxa_throw",
                           "_Unwind_GetIP", "__cxa_begin_catch", "pthread_exit", ""})
    EXPECT_EQ(by_name(name), nullptr) << name << ": " << by_name(name);
}

// Each function stands between two labels.
#define CODE(name, text)                                                              \
  __asm__(".pushsection .rodata\n.globl pb_test_" #name "\npb_test_" #name ":\n" text \
          "\n.globl pb_test_" #name "_end\npb_test_" #name "_end:\n.popsection\n");   \
  extern "C" const char pb_test_##name[], pb_test_##name##_end[];                     \
  std::string_view name##_code() { return {pb_test_##name, pb_test_##name##_end}; }

CODE(at_entry, "endbr64; mov (%rsp), %rax; ret")
CODE(behind_pushes, "push %rbx; push %r12; sub $0x28, %rsp; mov 0x38(%rsp), %rdi; ret")
CODE(by_frame_pointer, "push %rbp; mov %rsp, %rbp; and $-64, %rsp; mov 8(%rbp), %rsi; leave; ret")
CODE(by_rbx, "push %rbx; mov %rsp, %rbx; and $-64, %rsp; sub 0x100(%rip), %rsp\n"
             "mov %rax, (%rsp); mov 0x10(%rbx), %rsi; mov 8(%rbx), %rdi; jmp *%r11")
CODE(by_rbx_of_the_caller, "push %rbx; mov %rdi, %rbx; mov 8(%rbx), %rdi; pop %rbx; ret")
CODE(other_encoding, "push %rbp; .byte 0x48, 0x8b, 0xec; push %rbx; mov 8(%rbp), %rsi; leave; ret")
CODE(written, "sub $8, %rsp; mov %rdi, 8(%rsp); add $8, %rsp; ret")
CODE(popped, "pop %rdx; jmp *%rdx")
CODE(pushed_again, "push 0(%rsp); ret")
CODE(callee_pops, "ret $16")
CODE(added_to, "addq $3, (%rsp); ret")
CODE(behind_a_branch,
     "sub $0x18, %rsp; test %edi, %edi; je 1f; add $0x18, %rsp; ret; nop\n"
     "1: mov 0x18(%rsp), %rax; ret")
CODE(in_a_later_block,
     "push %rbp; mov %rsp, %rbp; test %edi, %edi; je 1f; pop %rbp; ret\n"
     "1: mov 8(%rbp), %rax; ret")
CODE(large_frame, "sub $0x12345, %rsp; mov 0x12345(%rsp), %rcx; ret")
CODE(lea_moves, "lea -0x40(%rsp), %rsp; mov 0x40(%rsp), %rcx; ret")
CODE(compared, "push %r15; cmp %rdi, 8(%rsp); pop %r15; ret")

CODE(jumps_away, "sub $8, %rsp; call *%rax; add $8, %rsp; jmp .+0x100")
CODE(jumps_away_if, "test %edi, %edi; je .+0x100; push %rbx; je .+0x200; pop %rbx; ret")
CODE(jumps_through_memory, "jmp *0x100(%rip)")
CODE(jumps_inside, "jmp 1f; nop; 1: push %rbx; jmp *0x100(%rip)")

TEST(ReturnRefusal, TailCallsAreTold) {
  const struct {
    std::string_view code;
    size_t count;
    bool through_memory;
  } rows[] = {{jumps_away_code(), 1, false},
              {jumps_away_if_code(), 1, false},
              {jumps_through_memory_code(), 1, true},
              {jumps_inside_code(), 0, false}};
  for (const auto& row : rows) {
    std::vector<TailJump> jumps;
    FunctionSymbol function;
    function.name = "f";
    EXPECT_EQ(return_hook_refusal(function, row.code, &jumps), nullptr);
    ASSERT_EQ(jumps.size(), row.count) << &row - rows;
    if (!row.count) continue;
    EXPECT_EQ(jumps[0].through_memory, row.through_memory);
    if (row.through_memory) {
      EXPECT_EQ(jumps[0].target, 0x106);
    }
  }
}

TEST(ReturnRefusal, ReadsOrWritesItsReturnAddress) {
  EXPECT_NE(by_code(at_entry_code()), nullptr);
  EXPECT_NE(by_code(behind_pushes_code()), nullptr);
  EXPECT_NE(by_code(by_frame_pointer_code()), nullptr);
  EXPECT_NE(by_code(by_rbx_code()), nullptr);
  EXPECT_NE(by_code(other_encoding_code()), nullptr);
  EXPECT_NE(by_code(written_code()), nullptr);
  EXPECT_NE(by_code(popped_code()), nullptr);
  EXPECT_NE(by_code(pushed_again_code()), nullptr);
  EXPECT_NE(by_code(callee_pops_code()), nullptr);
  EXPECT_NE(by_code(added_to_code()), nullptr);
  EXPECT_NE(by_code(behind_a_branch_code()), nullptr);
  EXPECT_NE(by_code(in_a_later_block_code()), nullptr);
  EXPECT_NE(by_code(large_frame_code()), nullptr);
  EXPECT_NE(by_code(lea_moves_code()), nullptr);
  EXPECT_NE(by_code(compared_code()), nullptr);
}

CODE(stack_argument, "mov 8(%rsp), %rax; ret")
CODE(argument_by_frame, "push %rbp; mov %rsp, %rbp; mov 16(%rbp), %rax; pop %rbp; ret")
CODE(locals, "sub $0x18, %rsp; mov %rdi, 0x10(%rsp); mov (%rsp), %rax; add $0x18, %rsp; ret")
CODE(saved, "push %rbx; mov (%rsp), %rax; pop %rbx; ret")
CODE(end_of_array, "sub $0x40, %rsp; lea 0x40(%rsp), %rax; add $0x40, %rsp; ret")
CODE(indexed, "sub $0x18, %rsp; mov 0x18(%rsp,%rax,8), %rcx; add $0x18, %rsp; ret")
CODE(realigned, "lea 8(%rsp), %r10; and $-32, %rsp; push -8(%r10); mov 8(%rsp), %rax; ret")
CODE(behind_a_return,
     "sub $8, %rsp; test %edi, %edi; je 1f; add $8, %rsp; ret\n"
     "1: mov (%rsp), %rax; add $8, %rsp; ret")
CODE(rbp_is_any_register, "push %rbx; push %rbp; mov %rsp, %rbp; mov 8(%rbp), %rax; ret")
CODE(nop_with_operand, "nopl 0x0(%rsp); nopw 0x0(%rsp); ret")
CODE(xmm4, "sub $0x18, %rsp; movaps %xmm4, (%rsp); movaps (%rsp), %xmm4; add $0x18, %rsp; ret")
CODE(other_stack, "mov %rsp, (%rdi); mov (%rsi), %rsp; mov (%rsp), %rax; ret")
CODE(barrier, "lock orq $0, (%rsp); lock addl $0, (%rsp); ret")
CODE(no_code, ".byte 0x06")

TEST(ReturnRefusal, TheRestIsLeftAlone) {
  EXPECT_EQ(by_code(stack_argument_code()), nullptr);
  EXPECT_EQ(by_code(argument_by_frame_code()), nullptr);
  EXPECT_EQ(by_code(locals_code()), nullptr);
  EXPECT_EQ(by_code(by_rbx_of_the_caller_code()), nullptr);
  EXPECT_EQ(by_code(saved_code()), nullptr);
  EXPECT_EQ(by_code(end_of_array_code()), nullptr);
  EXPECT_EQ(by_code(indexed_code()), nullptr);
  EXPECT_EQ(by_code(realigned_code()), nullptr);
  EXPECT_EQ(by_code(behind_a_return_code()), nullptr);
  EXPECT_EQ(by_code(rbp_is_any_register_code()), nullptr);
  EXPECT_EQ(by_code(nop_with_operand_code()), nullptr);
  EXPECT_EQ(by_code(xmm4_code()), nullptr);
  EXPECT_EQ(by_code(other_stack_code()), nullptr);
  EXPECT_EQ(by_code(barrier_code()), nullptr);
  EXPECT_EQ(by_code(no_code_code()), nullptr);
  EXPECT_EQ(by_code(""), nullptr);
}

// The scan ends for lack of bytes, in any instruction: no byte behind them is looked at, and a
// function is refused from that byte on that completes the instruction.
TEST(ReturnRefusal, AnyCutIsHarmless) {
  struct Row {
    const char* what;
    std::string_view code;
    size_t needed;  // bytes up to the end of the instruction that is the reason; 0: no reason
  };
  const Row rows[] = {
      {"behind pushes", behind_pushes_code(), 12},
      {"by frame pointer", by_frame_pointer_code(), 12},
      {"popped", popped_code(), 1},
      {"callee pops", callee_pops_code(), 3},
      // assemblers differ in the branch
      {"behind a branch", behind_a_branch_code(), behind_a_branch_code().size() - 1},
      {"large frame", large_frame_code(), 15},
      {"locals", locals_code(), 0},
      {"xmm4", xmm4_code(), 0},
      {"barrier", barrier_code(), 0}};
  test::GuardedBytes bytes(64);
  for (const Row& row : rows)
    for (size_t size = 0; size <= row.code.size(); size++)
      EXPECT_EQ(by_code(bytes.put(row.code.substr(0, size))) != nullptr,
                row.needed && size >= row.needed)
          << row.what << ", " << size << " bytes of " << row.code.size();
}

}  // namespace
}  // namespace patchbay
