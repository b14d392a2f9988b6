// SPDX-License-Identifier: MIT
//
// From Zydis' description of an instruction to ours. decode_insn() uses only
// ZydisDecoderDecodeInstruction: it decodes no operands (that would double the cost of planning a
// large library). What asks for operands is the tool's.

#include "arch/x86_64/decoder.h"

#include <Zydis/Zydis.h>

namespace patchbay {
namespace {

const ZydisDecoder& decoder() {
  static const ZydisDecoder instance = [] {
    ZydisDecoder made;
    ZydisDecoderInit(&made, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    return made;
  }();
  return instance;
}

uint8_t arithmetic_flags(ZydisAccessedFlagsMask mask) {
  return static_cast<uint8_t>(
      ((mask & ZYDIS_CPUFLAG_CF) ? 1 : 0) | ((mask & ZYDIS_CPUFLAG_PF) ? 2 : 0) |
      ((mask & ZYDIS_CPUFLAG_AF) ? 4 : 0) | ((mask & ZYDIS_CPUFLAG_ZF) ? 8 : 0) |
      ((mask & ZYDIS_CPUFLAG_SF) ? 16 : 0) | ((mask & ZYDIS_CPUFLAG_OF) ? 32 : 0));
}

void set_flags(const ZydisDecodedInstruction& z, Insn* insn) {
  if (!z.cpu_flags) return;
  insn->flags_read = arithmetic_flags(z.cpu_flags->tested);
  insn->flags_written = arithmetic_flags(z.cpu_flags->modified | z.cpu_flags->set_0 |
                                         z.cpu_flags->set_1 | z.cpu_flags->undefined);
  // Pushes and loads of the flags register are not always listed as tests of each flag.
  if (z.mnemonic == ZYDIS_MNEMONIC_PUSHFQ || z.mnemonic == ZYDIS_MNEMONIC_PUSHF ||
      z.mnemonic == ZYDIS_MNEMONIC_LAHF) {
    insn->flags_read = kAllArithmeticFlags;
  }
}

InsnKind relative_branch_kind(const ZydisDecodedInstruction& z) {
  // Processors disagree on how long a branch with an operand-size prefix alone is.
  const bool wide = (z.attributes & ZYDIS_ATTRIB_HAS_REX) && z.raw.rex.W;
  if ((z.attributes & ZYDIS_ATTRIB_HAS_OPERANDSIZE) && !wide) return InsnKind::kUnsupported;
  switch (z.mnemonic) {
    case ZYDIS_MNEMONIC_JMP:
      return InsnKind::kJump;
    case ZYDIS_MNEMONIC_CALL:
      return InsnKind::kCall;
    case ZYDIS_MNEMONIC_XBEGIN:
      return InsnKind::kUnsupported;
    case ZYDIS_MNEMONIC_LOOP:
    case ZYDIS_MNEMONIC_LOOPE:
    case ZYDIS_MNEMONIC_LOOPNE:
    case ZYDIS_MNEMONIC_JECXZ:
    case ZYDIS_MNEMONIC_JRCXZ:
      return InsnKind::kLoop;
    default:
      break;
  }
  const bool short_form = z.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT && (z.opcode & 0xf0) == 0x70;
  const bool near_form = z.opcode_map == ZYDIS_OPCODE_MAP_0F && (z.opcode & 0xf0) == 0x80;
  return short_form || near_form ? InsnKind::kCondJump : InsnKind::kUnsupported;
}

InsnKind kind_of(const ZydisDecodedInstruction& z) {
  if (z.raw.imm[0].is_relative) return relative_branch_kind(z);
  switch (z.mnemonic) {
    case ZYDIS_MNEMONIC_NOP:
      return InsnKind::kNop;
    case ZYDIS_MNEMONIC_INT3:
    case ZYDIS_MNEMONIC_INT1:
      return InsnKind::kTrap;
    case ZYDIS_MNEMONIC_INT:
      return z.raw.imm[0].value.u == 3 ? InsnKind::kTrap : InsnKind::kPlain;
    case ZYDIS_MNEMONIC_SYSCALL:
      return InsnKind::kSyscall;
    case ZYDIS_MNEMONIC_SYSENTER:
      return InsnKind::kUnsupported;  // returns to where the vdso says
    case ZYDIS_MNEMONIC_UD2:
    case ZYDIS_MNEMONIC_UD1:
    case ZYDIS_MNEMONIC_UD0:
    case ZYDIS_MNEMONIC_HLT:
      return InsnKind::kStop;
    case ZYDIS_MNEMONIC_RET:
      return z.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR ? InsnKind::kUnsupported
                                                         : InsnKind::kReturn;
    case ZYDIS_MNEMONIC_CALL:
    case ZYDIS_MNEMONIC_JMP:
      if (z.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR || z.opcode != 0xff) {
        return InsnKind::kUnsupported;
      }
      return z.mnemonic == ZYDIS_MNEMONIC_CALL ? InsnKind::kIndirectCall : InsnKind::kIndirectJump;
    default:
      return InsnKind::kPlain;
  }
}

void set_memory_operand(const ZydisDecodedInstruction& z, uint64_t end, Insn* insn) {
  if (!(z.attributes & ZYDIS_ATTRIB_HAS_MODRM)) return;
  insn->modrm_offset = z.raw.modrm.offset;
  if (z.raw.modrm.mod == 3) return;
  insn->uses_rsp_address = z.raw.modrm.rm == 4 && z.raw.sib.base == 4 &&
                           !(z.attributes & ZYDIS_ATTRIB_HAS_REX && z.raw.rex.B);
  if (z.raw.modrm.mod != 0 || z.raw.modrm.rm != 5) return;
  insn->rip_disp_offset = z.raw.disp.offset;
  insn->target = end + static_cast<uint64_t>(z.raw.disp.value);
  if (z.address_width != 64 || z.raw.disp.size != 32) insn->kind = InsnKind::kUnsupported;
}

}  // namespace

bool decode_insn(const uint8_t* code, size_t available, uint64_t address, Insn* insn) {
  ZydisDecodedInstruction z;
  if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder(), nullptr, code, available, &z))) {
    return false;
  }
  *insn = Insn{};
  insn->length = z.length;
  insn->kind = kind_of(z);
  insn->is_endbr = z.mnemonic == ZYDIS_MNEMONIC_ENDBR64;
  set_flags(z, insn);
  set_memory_operand(z, address + z.length, insn);
  if (insn->is_direct_branch()) {
    insn->target = address + z.length + static_cast<uint64_t>(z.raw.imm[0].value.s);
    insn->condition = z.opcode & 0x0f;
  }
  return true;
}

RegisterUse use_of_result(const uint8_t* code, size_t available, ResultRegister result) {
  ZydisDecodedInstruction z;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
  if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder(), code, available, &z, operands)))
    return RegisterUse::kRead;
  const auto is_it = [&](ZydisRegister one) {
    if (result == ResultRegister::kSt0) return one == ZYDIS_REGISTER_ST0;
    const bool is_second = result == ResultRegister::kRdx || result == ResultRegister::kXmm1;
    if (result == ResultRegister::kRax || result == ResultRegister::kRdx)
      return ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, one) ==
             (is_second ? ZYDIS_REGISTER_RDX : ZYDIS_REGISTER_RAX);
    return int(one) == ZYDIS_REGISTER_XMM0 + is_second ||
           int(one) == ZYDIS_REGISTER_YMM0 + is_second ||
           int(one) == ZYDIS_REGISTER_ZMM0 + is_second;
  };
  bool is_read = false, is_written = false;
  for (size_t i = 0; i < z.operand_count; i++) {
    const ZydisDecodedOperand& operand = operands[i];
    if (operand.type == ZYDIS_OPERAND_TYPE_MEMORY)
      is_read |= is_it(operand.mem.base) || is_it(operand.mem.index);
    if (operand.type != ZYDIS_OPERAND_TYPE_REGISTER || !is_it(operand.reg.value)) continue;
    is_read |= (operand.actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
    is_written |= (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
  }
  // xor %eax,%eax reads nothing.
  const bool is_zero = (z.mnemonic == ZYDIS_MNEMONIC_XOR || z.mnemonic == ZYDIS_MNEMONIC_XORPS ||
                        z.mnemonic == ZYDIS_MNEMONIC_PXOR || z.mnemonic == ZYDIS_MNEMONIC_XORPD) &&
                       operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
                       operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
                       operands[0].reg.value == operands[1].reg.value;
  if (is_zero && is_written) return RegisterUse::kWritten;
  return is_read ? RegisterUse::kRead : is_written ? RegisterUse::kWritten : RegisterUse::kNone;
}

namespace {

// 0..5 of rdi rsi rdx rcx r8 r9, 6..13 of xmm0 … xmm7; -1: it is none.
int argument_number(ZydisRegister one) {
  constexpr ZydisRegister kIntegers[] = {ZYDIS_REGISTER_RDI, ZYDIS_REGISTER_RSI, ZYDIS_REGISTER_RDX,
                                         ZYDIS_REGISTER_RCX, ZYDIS_REGISTER_R8,  ZYDIS_REGISTER_R9};
  if (one >= ZYDIS_REGISTER_XMM0 && one <= ZYDIS_REGISTER_XMM7)
    return 6 + int(one - ZYDIS_REGISTER_XMM0);
  if (one >= ZYDIS_REGISTER_YMM0 && one <= ZYDIS_REGISTER_YMM7)
    return 6 + int(one - ZYDIS_REGISTER_YMM0);
  const ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, one);
  for (int i = 0; i < 6; i++)
    if (whole == kIntegers[i]) return i;
  return -1;
}

}  // namespace

uint32_t argument_registers_written(const uint8_t* code, size_t available) {
  ZydisDecodedInstruction z;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
  if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder(), code, available, &z, operands)))
    return ~uint32_t{0};
  uint32_t written = 0;
  for (size_t i = 0; i < z.operand_count; i++) {
    if (operands[i].type != ZYDIS_OPERAND_TYPE_REGISTER ||
        !(operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
      continue;
    const int number = argument_number(operands[i].reg.value);
    if (number >= 0) written |= uint32_t{1} << number;
  }
  return written;
}

bool decode_argument_store(const uint8_t* code, size_t available, ArgumentStore* store) {
  ZydisDecodedInstruction z;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
  if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder(), code, available, &z, operands)) ||
      z.operand_count_visible != 2)
    return false;
  const ZydisDecodedOperand &to = operands[0], &from = operands[1];
  const bool is_frame = to.type == ZYDIS_OPERAND_TYPE_MEMORY &&
                        to.mem.index == ZYDIS_REGISTER_NONE &&
                        (to.mem.base == ZYDIS_REGISTER_RSP || to.mem.base == ZYDIS_REGISTER_RBP);
  const bool is_move = z.meta.category == ZYDIS_CATEGORY_DATAXFER;
  if (!is_move || !is_frame || from.type != ZYDIS_OPERAND_TYPE_REGISTER) return false;
  store->is_from_rbp = to.mem.base == ZYDIS_REGISTER_RBP;
  store->displacement = to.mem.disp.has_displacement ? to.mem.disp.value : 0;
  const int number = argument_number(from.reg.value);
  if (number < 0) return false;
  store->is_vector = number >= 6;
  store->index = uint8_t(store->is_vector ? number - 6 : number);
  return true;
}

namespace {

int general_register(ZydisRegister one) {
  const ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, one);
  const bool is_general = whole >= ZYDIS_REGISTER_RAX && whole <= ZYDIS_REGISTER_R15;
  return is_general ? int(whole - ZYDIS_REGISTER_RAX) : -1;
}

uint16_t register_bit(ZydisRegister one) {
  const int number = general_register(one);
  return number < 0 ? 0 : uint16_t(1u << number);
}

bool is_whole_register(const ZydisDecodedOperand& operand) {
  return operand.type == ZYDIS_OPERAND_TYPE_REGISTER && operand.size == 64 &&
         general_register(operand.reg.value) >= 0;
}

// Whether it moves a pointer on, or makes another one of it.
bool set_copy(const ZydisDecodedInstruction& z, const ZydisDecodedOperand* operands,
              DataFlow* flow) {
  const ZydisDecodedOperand &to = operands[0], &from = operands[1];
  const bool is_pop = z.mnemonic == ZYDIS_MNEMONIC_POP || z.mnemonic == ZYDIS_MNEMONIC_RET;
  if (is_pop || z.mnemonic == ZYDIS_MNEMONIC_PUSH) {
    flow->copied_to = flow->copied_from = kRspNumber;
    flow->added = is_pop ? 8 : -8;
    return true;
  }
  if (z.mnemonic == ZYDIS_MNEMONIC_LEAVE) {
    flow->copied_to = kRspNumber;
    flow->copied_from = 5;  // rbp
    flow->added = 8;
    return true;
  }
  if (z.operand_count_visible != 2 || !is_whole_register(to)) return false;
  const bool is_sum = z.mnemonic == ZYDIS_MNEMONIC_ADD || z.mnemonic == ZYDIS_MNEMONIC_SUB;
  if (z.mnemonic == ZYDIS_MNEMONIC_MOV && is_whole_register(from)) {
    flow->copied_from = int8_t(general_register(from.reg.value));
  } else if (z.mnemonic == ZYDIS_MNEMONIC_LEA && from.mem.index == ZYDIS_REGISTER_NONE &&
             general_register(from.mem.base) >= 0 && from.size == 64) {
    flow->copied_from = int8_t(general_register(from.mem.base));
    flow->added = from.mem.disp.has_displacement ? from.mem.disp.value : 0;
  } else if (is_sum && from.type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
    flow->copied_from = int8_t(general_register(to.reg.value));
    flow->added = z.mnemonic == ZYDIS_MNEMONIC_ADD ? from.imm.value.s : -from.imm.value.s;
  } else {
    return false;
  }
  flow->copied_to = int8_t(general_register(to.reg.value));
  return true;
}

void add_memory(const ZydisDecodedInstruction& z, const ZydisDecodedOperand& operand,
                DataFlow* flow) {
  const bool is_address = operand.mem.type == ZYDIS_MEMOP_TYPE_AGEN;
  if (is_address) {
    flow->read |= register_bit(operand.mem.base) | register_bit(operand.mem.index);
    return;
  }
  // An index may be the pointer.
  flow->read |= register_bit(operand.mem.index);
  const bool is_stack = operand.visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN &&
                        operand.mem.base == ZYDIS_REGISTER_RSP;
  if (!(operand.actions & ZYDIS_OPERAND_ACTION_MASK_READ) || is_stack || flow->nr_reads == 2)
    return;
  DataFlow::Read& read = flow->reads[flow->nr_reads++];
  read.base = int8_t(general_register(operand.mem.base));
  read.offset = operand.mem.disp.has_displacement ? operand.mem.disp.value : 0;
  read.size = operand.size / 8;
  read.is_open =
      operand.mem.index != ZYDIS_REGISTER_NONE || z.meta.category == ZYDIS_CATEGORY_STRINGOP;
}

}  // namespace

bool decode_data_flow(const uint8_t* code, size_t available, DataFlow* flow) {
  ZydisDecodedInstruction z;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
  if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder(), code, available, &z, operands)))
    return false;
  *flow = DataFlow{};
  const bool is_copy = set_copy(z, operands, flow);
  const bool is_push = z.mnemonic == ZYDIS_MNEMONIC_PUSH || z.mnemonic == ZYDIS_MNEMONIC_POP;
  // To compare an address uses nothing behind it; neither does xor %edi,%edi.
  const bool is_zero = z.mnemonic == ZYDIS_MNEMONIC_XOR &&
                       operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
                       operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
                       operands[0].reg.value == operands[1].reg.value;
  const bool is_harmless =
      is_zero || z.mnemonic == ZYDIS_MNEMONIC_CMP || z.mnemonic == ZYDIS_MNEMONIC_TEST;
  for (size_t i = 0; i < z.operand_count; i++) {
    const ZydisDecodedOperand& operand = operands[i];
    if (operand.type == ZYDIS_OPERAND_TYPE_MEMORY &&
        (!is_copy || operand.mem.type != ZYDIS_MEMOP_TYPE_AGEN))
      add_memory(z, operand, flow);
    if (operand.type != ZYDIS_OPERAND_TYPE_REGISTER) continue;
    const uint16_t bit = register_bit(operand.reg.value);
    const bool is_copied = is_copy && (!is_push || bit == 1u << kRspNumber);
    if (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) flow->written |= bit;
    const bool is_read = operand.actions & ZYDIS_OPERAND_ACTION_MASK_READ;
    if (is_read && !is_copied && !is_harmless) flow->read |= bit;
  }
  return true;
}

}  // namespace patchbay
