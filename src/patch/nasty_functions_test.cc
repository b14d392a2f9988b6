// SPDX-License-Identifier: MIT
//
// Functions written in assembler, each with one property that makes it hard to patch. Most are
// called as `uint64_t f(uint64_t a, uint64_t b)`; see patcher_test.cc.

__asm__(R"(
.macro fn name
  .p2align 4
  .globl \name
  .type \name, @function
\name:
.endm
.macro endfn name
  .size \name, . - \name
.endm
.data
.p2align 3
nasty_data: .quad 0x1122334455667788
nasty_table: .quad nasty_helper
.text

fn nasty_plain
  push %rbx
  mov %rdi, %rbx
  lea (%rbx,%rsi), %rax
  pop %rbx
  ret
endfn nasty_plain

fn nasty_rip_load
  mov nasty_data(%rip), %rax
  add %rdi, %rax
  ret
endfn nasty_rip_load

fn nasty_rip_imm
  cmpl $0x55667788, nasty_data(%rip)
  sete %al
  movzbl %al, %eax
  add %rsi, %rax
  ret
endfn nasty_rip_imm

fn nasty_rip_lea
  lea nasty_helper(%rip), %rax
  jmp *%rax
endfn nasty_rip_lea

fn nasty_helper
  lea 7(%rdi,%rsi), %rax
  ret
endfn nasty_helper

fn nasty_jmp_first
  jmp nasty_helper
endfn nasty_jmp_first

fn nasty_jmp8_first
  .byte 0xeb, 0x0e
  .fill 14, 1, 0x90
  lea 3(%rdi,%rsi), %rax
  ret
endfn nasty_jmp8_first

fn nasty_jcc_first
  test %rdi, %rdi
  je 1f
  lea 1(%rdi), %rax
  ret
1: mov %rsi, %rax
  ret
endfn nasty_jcc_first

fn nasty_jcc32_first
  test %edi, %edi
  .byte 0x0f, 0x84
  .long 1f - . - 4
  lea 1(%rdi), %rax
  ret
1: mov %rsi, %rax
  ret
endfn nasty_jcc32_first

fn nasty_call_first
  call nasty_helper
  add $100, %rax
  ret
endfn nasty_call_first

fn nasty_call_second
  push %rbx
  call nasty_helper
  pop %rbx
  add $200, %rax
  ret
endfn nasty_call_second

fn nasty_indirect_call
  call *nasty_table(%rip)
  add $300, %rax
  ret
endfn nasty_indirect_call

fn nasty_short_indirect_call
  mov %rsi, %rax
  lea nasty_helper(%rip), %rax
  nop
  call *%rax
  add $400, %rax
  ret
endfn nasty_short_indirect_call

fn nasty_call_register_first
  call *%rdx
  add $500, %rax
  ret
endfn nasty_call_register_first

fn nasty_jrcxz_first
  jrcxz 1f
  mov %rcx, %rax
  add %rdi, %rax
  ret
1: mov $9, %eax
  ret
endfn nasty_jrcxz_first

fn nasty_jecxz_first
  jecxz 1f
  mov %rcx, %rax
  add %rdi, %rax
  ret
1: mov $8, %eax
  ret
endfn nasty_jecxz_first

fn nasty_loop_first
  loop 1f
  mov $77, %eax
  ret
1: lea (%rcx,%rdi), %rax
  ret
endfn nasty_loop_first

fn nasty_loopne_first
  loopne 1f
  mov $78, %eax
  ret
1: lea (%rcx,%rdi), %rax
  ret
endfn nasty_loopne_first

fn nasty_roomy
  ret
endfn nasty_roomy

fn nasty_back_into_first
  xor %eax, %eax
1: add $1, %rax
  sub $1, %dil
  ja 1b
  ret
endfn nasty_back_into_first

fn nasty_back_to_entry
  lea 1(%rsi), %rsi
  sub $1, %dil
  ja nasty_back_to_entry
  mov %rsi, %rax
  ret
endfn nasty_back_to_entry

fn nasty_flags_live
  mov %rdi, %rax
  adc %rsi, %rax
  ret
endfn nasty_flags_live

fn nasty_flags_behind
  inc %rsi
  mov %rdi, %rax
  adc %rsi, %rax
  ret
endfn nasty_flags_behind

fn nasty_back_into_last
  lea 1(%rsi), %rsi
2: mov %rsi, %rax
  sub $1, %dil
  ja 2b
  ret
endfn nasty_back_into_last

fn nasty_endbr
  endbr64
  mov %rdi, %rax
  sub %rsi, %rax
  ret
endfn nasty_endbr

fn nasty_endbr_sled
  endbr64
  .fill 5, 1, 0x90
  lea 11(%rdi,%rsi), %rax
  ret
endfn nasty_endbr_sled

fn nasty_gcc_sled
  .fill 5, 1, 0x90
  lea 12(%rdi,%rsi), %rax
  ret
endfn nasty_gcc_sled

fn nasty_clang_sled
  nopl 8(%rax,%rax)
  lea 13(%rdi,%rsi), %rax
  ret
endfn nasty_clang_sled

fn nasty_mixed_sled
  nop
  nopw 0(%rax,%rax)
  lea 14(%rdi,%rsi), %rax
  ret
endfn nasty_mixed_sled

fn nasty_short_padded
  mov %edi, %eax
  ret
endfn nasty_short_padded

fn nasty_ret_only
  ret
endfn nasty_ret_only

fn nasty_alias
  mov %rdi, %rax
  .globl nasty_alias_inside
  .type nasty_alias_inside, @function
nasty_alias_inside:
  add %rsi, %rax
  ret
endfn nasty_alias
  .size nasty_alias_inside, . - nasty_alias_inside

  .p2align 4
  .globl nasty_tight_before
  .type nasty_tight_before, @function
nasty_tight_before:
  lea 1(%rdi), %rax
  ret
endfn nasty_tight_before
  .globl nasty_tight
  .type nasty_tight, @function
nasty_tight:
  mov %edi, %eax
  ret
endfn nasty_tight
  .globl nasty_tight_after
  .type nasty_tight_after, @function
nasty_tight_after:
  lea 2(%rdi), %rax
  ret
endfn nasty_tight_after

  .p2align 4
  .globl nasty_room_before
  .type nasty_room_before, @function
nasty_room_before:
  lea 1(%rdi), %rax
  ret
endfn nasty_room_before
  .fill 8, 1, 0xcc
  .globl nasty_room
  .type nasty_room, @function
nasty_room:
  mov %edi, %eax
  ret
endfn nasty_room
  .globl nasty_room_after
  .type nasty_room_after, @function
nasty_room_after:
  lea 2(%rdi), %rax
  ret
endfn nasty_room_after

  .p2align 4
  .globl nasty_close_before
  .type nasty_close_before, @function
nasty_close_before:
  mov %esi, %eax
  ret
endfn nasty_close_before
  .fill 6, 1, 0xcc
  .globl nasty_close
  .type nasty_close, @function
nasty_close:
  mov %edi, %eax
  ret
endfn nasty_close
  .globl nasty_close_after
  .type nasty_close_after, @function
nasty_close_after:
  lea 3(%rdi), %rax
  ret
endfn nasty_close_after

  .p2align 4
  .globl nasty_falls_before
  .type nasty_falls_before, @function
nasty_falls_before:
  lea 1(%rdi), %rdi
  xor %eax, %eax
  .byte 0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00
  .globl nasty_falls
  .type nasty_falls, @function
nasty_falls:
  mov %rdi, %rax
1:
  add %rsi, %rax
  ret
endfn nasty_falls
  .globl nasty_falls_after
  .type nasty_falls_after, @function
nasty_falls_after:
  lea 2(%rdi), %rax
  jmp 1b
endfn nasty_falls_after

fn nasty_double_args
  vaddsd %xmm1, %xmm0, %xmm0
  vmulsd %xmm0, %xmm0, %xmm0
  ret
endfn nasty_double_args

fn nasty_avx
  vmovq %rdi, %xmm0
  vmovq %rsi, %xmm1
  vaddps %ymm0, %ymm1, %ymm2
  vpxor %xmm1, %xmm2, %xmm0
  vmovq %xmm0, %rax
  vzeroupper
  ret
endfn nasty_avx

fn nasty_x87
  fldl nasty_data(%rip)
  fistpll -8(%rsp)
  mov -8(%rsp), %rax
  ret
endfn nasty_x87

// Indirect jumps into the first five bytes: by a table of addresses, a table of distances from its
// beginning, one of distances between labels, an address that an instruction names, a sum that no
// table explains, and a table of a cold part. nasty_goto_late's begins behind the five bytes.
.macro goto_head name
fn \name
  xor %eax, %eax
1: add %rdi, %rax
  dec %rsi
  js 2f
.endm
.macro goto_tail name
2: ret
endfn \name
.endm

goto_head nasty_goto_address
  lea 4f(%rip), %rcx
  jmp *(%rcx)
goto_tail nasty_goto_address
.section .data.rel.ro,"aw"
.p2align 3
4: .quad 1b
.text

goto_head nasty_goto_distance
  lea 4f(%rip), %rcx
  movslq (%rcx), %rdx
  add %rcx, %rdx
  jmp *%rdx
goto_tail nasty_goto_distance
.section .rodata
.p2align 2
4: .long 1b - 4b
.text

goto_head nasty_goto_label
3: lea 3b(%rip), %rcx
  lea 4f(%rip), %rdx
  movsbq 1(%rdx), %rdx
  add %rcx, %rdx
  jmp *%rdx
goto_tail nasty_goto_label
.section .rodata
4: .byte 0, 1b - 3b
.text

goto_head nasty_goto_named
  lea 1b(%rip), %rcx
  push %rcx
  ret
goto_tail nasty_goto_named

goto_head nasty_goto_sum
  mov %rdx, %rcx
  add $(1b - nasty_goto_sum), %rcx
  jmp *%rcx
goto_tail nasty_goto_sum

goto_head nasty_goto_cold
  jmp nasty_goto_cold.cold
goto_tail nasty_goto_cold
.p2align 4
.type nasty_goto_cold.cold, @function
nasty_goto_cold.cold:
  lea 4f(%rip), %rcx
  movslq (%rcx), %rdx
  add %rcx, %rdx
  jmp *%rdx
.size nasty_goto_cold.cold, . - nasty_goto_cold.cold
.section .rodata
.p2align 2
4: .long 1b - 4b
.text

fn nasty_goto_late
  mov $0, %eax
1: add %rdi, %rax
  dec %rsi
  js 2f
  lea 4f(%rip), %rcx
  movslq (%rcx), %rdx
  add %rcx, %rdx
  jmp *%rdx
2: ret
endfn nasty_goto_late
.section .rodata
.p2align 2
4: .long 1b - 4b
.text

// Back to the entry: by a table of labels, and by one of distances. nasty_goto_itself only hands
// itself on, and stands in a table of functions.
.macro entry_head name
fn \name
0: add %rdi, %rax
  dec %rsi
  js 2f
1:
.endm
entry_head nasty_entry_address
  lea 4f(%rip), %rcx
  jmp *(%rcx)
goto_tail nasty_entry_address
.section .data.rel.ro,"aw"
.p2align 3
4: .quad 0b, 1b
.text

entry_head nasty_entry_distance
  lea 4f(%rip), %rcx
  movslq (%rcx), %rdx
  add %rcx, %rdx
  jmp *%rdx
goto_tail nasty_entry_distance
.section .rodata
.p2align 2
4: .long 0b - 4b, 1b - 4b
.text

entry_head nasty_entry_handed_on
  lea 0b(%rip), %rcx
  mov %rcx, (%rdx)
  jmp *8(%rdx)
goto_tail nasty_entry_handed_on
.section .data.rel.ro,"aw"
.p2align 3
  .quad nasty_entry_handed_on, nasty_plain, nasty_entry_handed_on
.text

// A restartable sequence: nasty_sequence tells the kernel of it with its second instruction.
fn nasty_sequence
  lea 9f(%rip), %rax
  mov %rax, 8(%rdi)
1: mov 4(%rdi), %eax
  nop
  add $1, %rax
2: mov %rax, (%rsi)
  ret
  .byte 0x0f, 0xb9, 0x3d
  .long 0x53053053
3: xor %eax, %eax
  nopl 0(%rax,%rax)
  ret
endfn nasty_sequence
.data
.p2align 5
9: .long 0, 0
  .quad 1b, 2b - 1b, 3b
.text

fn nasty_red_zone
  mov %rdi, -8(%rsp)
  mov %rsi, -120(%rsp)
  mov -8(%rsp), %rax
  add -120(%rsp), %rax
  ret
endfn nasty_red_zone
)");
