// SPDX-License-Identifier: MIT
//
// Fetch programs: from registers at a function's entry to the fields of a record.
//
// A program is a list of instructions in field order. Each field is a chain: a start (ARG, REG,
// XMM, IMM), any number of steps (ADD, ADDREG, DEREF), and one end that stores into the record
// (STORE, LOAD, ARRAY, STRING). A faulting load gives 0, per array element 0; a faulting string is
// empty.
#pragma once

#include <cstdint>

namespace patchbay {

enum class FetchOp : uint8_t {
  kArg,     // value = integer argument `index` (0..5)
  kReg,     // value = general register `index`, numbered as in machine code; only inside a function
  kAddReg,  // value += general register `index` * size (1 2 4 8)
  kXmm,     // value = low 8 bytes of xmm`index` (0..7)
  kImm,     // value = imm
  kAdd,     // value += imm
  kDeref,   // value = *(uint64_t*)value
  kPeek,    // value = the `size` bytes at address value
  kExtend,  // value = its low `size` bytes, with their sign if index is 1
  kStore,   // record[offset .. offset+size) = low `size` bytes of value
  kLoad,    // record[offset .. offset+size) = size bytes at address value
  kArray,   // record[offset ..] = `imm` elements of `size` bytes at address value
  kString,  // dynamic: u32 __data_loc at record[offset]; at most imm (>= 1) bytes including NUL
            // from address value, stored behind the fixed part
};

struct FetchInsn {
  FetchOp op;
  uint8_t index;
  uint8_t size;  // 1 2 4 8
  uint8_t reserved;
  uint32_t offset;  // from the start of the record (the common header is at 0)
  uint64_t imm;
};
static_assert(sizeof(FetchInsn) == 16);

inline constexpr uint16_t kFunctionHead = 24;  // common header, __parent_ip, __ip
inline constexpr uint16_t kProbeHead = 16;     // common header, __probe_ip

struct FetchProgram {
  uint32_t fixed_size;  // bytes of header and fixed fields; dynamic data starts here
  uint32_t max_size;    // upper bound of a whole record, a multiple of 4
  uint16_t nr_insns;
  uint8_t uses_xmm;     // some instruction is kXmm
  uint8_t scalar_only;  // only kArg/kStore pairs and kAdd between: the fast path can be generated
  uint16_t
      has_gaps;   // some byte between head and fixed_size belongs to no field: fetch_run zeroes it
  uint16_t head;  // bytes that the caller writes: kFunctionHead or kProbeHead; 0: kFunctionHead
  FetchInsn insn[];
};

// The registers that a program reads; ProbeFrame (probe/probe_abi.h) begins with them. At a
// function's entry xmm and arg are there, inside a function reg (rsp as the program has it) and
// xmm.
struct FetchRegisters {
  uint64_t reg[16];  // rax rcx rdx rbx rsp rbp rsi rdi r8 … r15
  uint64_t xmm[8][2];
  uint64_t arg[6];  // rdi rsi rdx rcx r8 r9
};

extern "C" {
// Runs the program over a frame. `record` has room for max_size bytes; the first `head` ones are
// the caller's. Returns the record's size, a multiple of 4. Async-signal-safe, no calls, no
// allocation; follows bad pointers through the fault table.
uint32_t fetch_run(const FetchProgram* program, const FetchRegisters* registers, uint8_t* record);

// Fault table: if `ip` is a load of fetch_run that may fault, the address to continue at; else 0.
// Called from the SIGSEGV/SIGBUS handler.
uint64_t fetch_fault_fixup(uint64_t ip);
}

}  // namespace patchbay
