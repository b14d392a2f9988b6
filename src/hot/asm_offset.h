// SPDX-License-Identifier: MIT
//
// What assembler code knows of C++: offsets, sizes and constants, taken from the types themselves
// at build time, as the kernel's asm-offsets.
//
//   src/FOLDER/asm_offsets.cc  --compiled to text-->  "->NAME" VALUE  --cmake/asm_offsets.cmake-->
//   generated/FOLDER/asm_offsets.h: #define NAME VALUE  <--included by--  src/FOLDER/*.S
//
// For asm_offsets.cc files alone. Nothing of what they compile to is linked.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

// An integer constant.
#define ASM_CONSTANT(name, value) \
  asm volatile("\n.ascii \"->" #name " %c0\"" : : "i"(static_cast<int64_t>(value)))
// The offset of a member, which may be a member's member, or an element.
#define ASM_OFFSET(name, type, member) ASM_CONSTANT(name, __builtin_offsetof(type, member))
// By how much to shift an index of this: the binary logarithm of a size.
#define ASM_SHIFT(name, size)                                        \
  static_assert(std::has_single_bit(static_cast<uint64_t>(size))); \
  ASM_CONSTANT(name, std::countr_zero(static_cast<uint64_t>(size)))
