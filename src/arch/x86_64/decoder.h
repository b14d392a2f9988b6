// SPDX-License-Identifier: MIT
//
// One decoded instruction, reduced to what moving code to another address needs to know. Zydis
// decodes; nothing here encodes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace patchbay {

enum class InsnKind : uint8_t {
  kPlain,         // runs the same anywhere, once its RIP-relative operand (if any) is corrected
  kNop,           // any length
  kTrap,          // int3, int $3, int1: a SIGTRAP that is the program's
  kJump,          // jmp rel8/rel32
  kCondJump,      // jcc rel8/rel32
  kLoop,          // loop, loope, loopne, jecxz, jrcxz: rel8 only
  kCall,          // call rel32
  kIndirectCall,  // call r/m64
  kIndirectJump,  // jmp r/m64
  kReturn,        // ret, ret imm16
  kStop,          // ud2, hlt: never continues behind itself
  kSyscall,       // leaves the address behind itself in rcx
  kUnsupported,   // far transfers, xbegin, 16-bit branches, 32-bit RIP-relative
};

struct Insn {
  uint8_t length = 0;
  InsnKind kind = InsnKind::kUnsupported;
  uint8_t rip_disp_offset = 0;    // of the disp32 of a RIP-relative operand; 0: none
  uint8_t modrm_offset = 0;       // of the ModRM byte; 0: none
  uint8_t condition = 0;          // of kCondJump: low four bits of the opcode
  bool uses_rsp_address = false;  // its memory operand is based on rsp
  bool is_endbr = false;
  uint8_t flags_read = 0;  // arithmetic flags, bits are private to the decoder
  uint8_t flags_written = 0;
  uint64_t target = 0;  // of a direct branch, or of the RIP-relative operand

  // Execution never goes on behind this instruction by itself.
  bool ends_flow() const {
    return kind == InsnKind::kJump || kind == InsnKind::kIndirectJump ||
           kind == InsnKind::kReturn || kind == InsnKind::kStop;
  }
  bool is_direct_branch() const {
    return kind == InsnKind::kJump || kind == InsnKind::kCondJump || kind == InsnKind::kLoop ||
           kind == InsnKind::kCall;
  }
};

inline constexpr uint8_t kAllArithmeticFlags = 0x3f;
inline constexpr size_t kMaxInsnLength = 15;

// Decodes the instruction at `code` (of which `available` bytes may be read) as it would run at
// `address`. False when the bytes are no instruction.
bool decode_insn(const uint8_t* code, size_t available, uint64_t address, Insn* insn);

// What an instruction does first with a register that results are in, or with a part of it.
enum class ResultRegister : uint8_t { kRax, kRdx, kXmm0, kXmm1, kSt0 };
enum class RegisterUse : uint8_t { kNone, kRead, kWritten };
RegisterUse use_of_result(const uint8_t* code, size_t available, ResultRegister result);

// A store of a whole argument register into the frame: `mov %rdi,-24(%rbp)`.
struct ArgumentStore {
  bool is_vector = false;
  uint8_t index = 0;         // 0..5 of rdi rsi rdx rcx r8 r9; 0..7 of xmm0 …
  bool is_from_rbp = false;  // else from rsp
  int64_t displacement = 0;
};
bool decode_argument_store(const uint8_t* code, size_t available, ArgumentStore* store);
// The argument registers that an instruction writes: a bit for each of rdi … r9, then xmm0 … xmm7.
uint32_t argument_registers_written(const uint8_t* code, size_t available);

// What an instruction does to general registers and memory, as far as following a pointer needs it.
// Registers have the processor's numbers: rax 0, rcx 1, rdx 2, rbx 3, rsp 4, rbp 5, rsi 6, rdi 7 …
inline constexpr int kNrGeneralRegisters = 16;
inline constexpr uint8_t kRaxNumber = 0, kRspNumber = 4, kRdiNumber = 7;
struct DataFlow {
  struct Read {
    int8_t base = -1;      // -1: none
    bool is_open = false;  // also behind it: an index, or a string instruction
    int64_t offset = 0;
    uint32_t size = 0;
  };
  Read reads[2];  // of memory
  uint8_t nr_reads = 0;
  // copied_to = copied_from + added: mov, lea, add, sub, push, pop. -1: no such instruction.
  int8_t copied_to = -1, copied_from = -1;
  int64_t added = 0;
  // Bits of other registers. Those of an address are not read.
  uint16_t read = 0, written = 0;
};
// False when the bytes are no instruction.
bool decode_data_flow(const uint8_t* code, size_t available, DataFlow* flow);

}  // namespace patchbay
