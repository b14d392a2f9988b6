// SPDX-License-Identifier: MIT
//
// By name where it is the meaning of the function; else by looking for an instruction that reads or
// writes the word its return address stands in. That word is found by following the stack pointer
// from the entry on (and the frame pointer, once it is set up); where that fails, behind an
// alignment of the stack or in a block that nothing before leads to, nothing is found there.
#include "patch/return_refusal.h"

#include <Zydis/Zydis.h>

#include <array>
#include <cstdint>
#include <vector>

#include "patch/shadow_stack.h"

namespace patchbay {
namespace {

constexpr size_t kMaxBytes = 4096;
constexpr int kMaxInsns = 800;

struct NamedRefusal {
  std::string_view name;  // with a '*' at its end: every name that begins so
  const char* reason;
};

constexpr char kTwice[] = "it returns twice";
constexpr char kCaller[] = "it looks at its caller's address";
constexpr char kUnwinds[] = "it takes its own frame away while it unwinds";
constexpr char kNoCall[] = "it is not entered by an ordinary call";
constexpr char kWalked[] = "its virtual machine walks the stack by return addresses";
constexpr char kLooks[] = "it reads or writes its return address";

constexpr NamedRefusal kNames[] = {
    {"setjmp", kTwice},
    {"_setjmp", kTwice},
    {"__setjmp", kTwice},
    {"sigsetjmp", kTwice},
    {"__sigsetjmp", kTwice},
    {"__sigsetjmp_cancel", kTwice},
    {"savectx", kTwice},
    {"getcontext", kTwice},
    {"swapcontext", kTwice},
    {"vfork", kTwice},
    {"__vfork", kTwice},
    {"__libc_vfork", kTwice},
    {"clone", kTwice},
    {"__clone", kTwice},
    {"clone3", kTwice},
    {"__clone3", kTwice},
    {"__clone_internal", kTwice},
    {"dlopen", kCaller},
    {"dlmopen", kCaller},
    {"dlsym", kCaller},
    {"dlvsym", kCaller},
    {"dl_iterate_phdr", kCaller},
    {"__dlopen", kCaller},
    {"__dlmopen", kCaller},
    {"__dlsym", kCaller},
    {"__dlvsym", kCaller},
    {"_dl_open", kCaller},
    {"_dl_sym", kCaller},
    {"_dl_vsym", kCaller},
    {"__libc_dlopen_mode", kCaller},
    {"mcount", kCaller},
    {"_mcount", kCaller},
    {"__mcount_internal", kCaller},
    {"__fentry__", kCaller},
    {"_Unwind_RaiseException", kUnwinds},
    {"_Unwind_Resume", kUnwinds},
    {"_Unwind_Resume_or_Rethrow", kUnwinds},
    {"_Unwind_ForcedUnwind", kUnwinds},
    {"_Unwind_Backtrace", kUnwinds},
    {"_Unwind_SjLj_*", kUnwinds},
    {"Builtins_*", kWalked},  // of V8
    {"__morestack*", kNoCall},
    {"__start_context", kNoCall},
    {"_dl_runtime_*", kNoCall},
    {"_dl_tlsdesc*", kNoCall},
    {"__x86_indirect_*", kNoCall},
    {"__x86_return_thunk*", kNoCall},
    {"__x86.get_pc_thunk*", kNoCall},
    {"__llvm_retpoline_*", kNoCall},
    {"_start", kNoCall},
};

const char* refusal_of(std::string_view name) {
  name = name.substr(0, name.find('@'));
  for (const NamedRefusal& entry : kNames) {
    const bool is_prefix = entry.name.back() == '*';
    if (is_prefix ? name.starts_with(entry.name.substr(0, entry.name.size() - 1))
                  : name == entry.name)
      return entry.reason;
  }
  return nullptr;
}

const ZydisDecoder& decoder() {
  static const ZydisDecoder instance = [] {
    ZydisDecoder made;
    ZydisDecoderInit(&made, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    return made;
  }();
  return instance;
}

enum class Base : uint8_t { kOther, kRsp, kRbp, kRbx };

// What one instruction's ModRM says, as far as rsp and rbp matter.
struct Operands {
  bool is_memory = false;
  Base base = Base::kOther;  // of the memory operand, when it has no index
  int64_t displacement = 0;
  bool may_write_rsp = false;  // a register operand that may be rsp (or xmm4 …)
};

Operands operands_of(const ZydisDecodedInstruction& z) {
  Operands found;
  if (!(z.attributes & ZYDIS_ATTRIB_HAS_MODRM)) return found;
  const auto& modrm = z.raw.modrm;
  const bool rex_b = z.raw.rex.B, rex_r = z.raw.rex.R, rex_x = z.raw.rex.X;
  found.may_write_rsp = modrm.reg == 4 && !rex_r;
  if (modrm.mod == 3) {
    found.may_write_rsp |= modrm.rm == 4 && !rex_b;
    return found;
  }
  found.is_memory = true;
  found.displacement = z.raw.disp.size ? z.raw.disp.value : 0;
  if (rex_b) return found;
  if (modrm.rm == 5 && modrm.mod != 0) found.base = Base::kRbp;
  if (modrm.rm == 3) found.base = Base::kRbx;
  if (modrm.rm != 4 || z.raw.sib.index != 4 || rex_x) return found;
  if (z.raw.sib.base == 4) found.base = Base::kRsp;
  if (z.raw.sib.base == 5 && modrm.mod != 0) found.base = Base::kRbp;
  return found;
}

class ReturnWordScan {
 public:
  ReturnWordScan(std::string_view code, std::vector<TailJump>* tail_jumps)
      : size_(int64_t(code.size())),
        code_(code.substr(0, kMaxBytes)),
        depth_at_(code_.size(), kUnknown),
        tail_jumps_(tail_jumps) {}

  const char* run() {
    size_t at = 0;
    for (int i = 0; i < kMaxInsns && at < code_.size(); i++) {
      if (depth_at_[at] != kUnknown) depth_ = depth_at_[at];
      ZydisDecodedInstruction z;
      ZydisDecoderContext context;
      if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder(), &context, code_.data() + at,
                                                      code_.size() - at, &z)))
        return nullptr;
      if (const char* reason = step(context, z, at)) return reason;
      at += z.length;
    }
    return nullptr;
  }

 private:
  static constexpr int32_t kUnknown = INT32_MIN;

  // Bytes between the stack pointer and the return address.
  static bool known(int64_t depth) { return depth != kUnknown; }

  const char* step(const ZydisDecoderContext& context, const ZydisDecodedInstruction& z,
                   size_t at) {
    const Operands operands = operands_of(z);
    if (touches_word(z, operands)) return kLooks;
    switch (z.mnemonic) {
      case ZYDIS_MNEMONIC_RET:
        if (z.raw.imm[0].size) return "it takes arguments off the stack when it returns";
        depth_ = kUnknown;
        return nullptr;
      case ZYDIS_MNEMONIC_PUSH:
      case ZYDIS_MNEMONIC_PUSHFQ:
        move(8);
        return nullptr;
      case ZYDIS_MNEMONIC_POP:
      case ZYDIS_MNEMONIC_POPFQ:
        if (depth_ == 0) return kLooks;
        pop(z);
        return nullptr;
      case ZYDIS_MNEMONIC_LEAVE:
        depth_ = known(frame_) ? frame_ - 8 : kUnknown;
        return nullptr;
      case ZYDIS_MNEMONIC_ENTER:
        depth_ = kUnknown;
        return nullptr;
      default:
        break;
    }
    if (z.raw.imm[0].is_relative) return branch(z, at);
    if (z.mnemonic == ZYDIS_MNEMONIC_JMP && is_by_ip(z)) note_tail_jump(z, at, true);
    if (z.mnemonic == ZYDIS_MNEMONIC_JMP || z.mnemonic == ZYDIS_MNEMONIC_UD2) depth_ = kUnknown;
    if (operands.may_write_rsp) follow_rsp(context, z);
    return nullptr;
  }

  static bool is_by_ip(const ZydisDecodedInstruction& z) {
    return (z.attributes & ZYDIS_ATTRIB_HAS_MODRM) && z.raw.modrm.mod == 0 && z.raw.modrm.rm == 5;
  }

  void note_tail_jump(const ZydisDecodedInstruction& z, size_t at, bool through_memory) {
    if (!tail_jumps_ || (known(depth_) && depth_ != 0)) return;
    const int64_t distance = through_memory ? z.raw.disp.value : z.raw.imm[0].value.s;
    const int64_t target = static_cast<int64_t>(at) + z.length + distance;
    if (through_memory || target < 0 || target >= size_)
      tail_jumps_->push_back({target, through_memory});
  }

  // lock orq $0, (%rsp): a memory barrier, which happens to name that word.
  static bool is_barrier(const ZydisDecodedInstruction& z) {
    return (z.attributes & ZYDIS_ATTRIB_HAS_LOCK) && z.raw.imm[0].size &&
           z.raw.imm[0].value.u == 0 &&
           (z.mnemonic == ZYDIS_MNEMONIC_OR || z.mnemonic == ZYDIS_MNEMONIC_ADD);
  }

  bool touches_word(const ZydisDecodedInstruction& z, const Operands& operands) const {
    if (!operands.is_memory || z.mnemonic == ZYDIS_MNEMONIC_NOP) return false;
    if (is_barrier(z)) return false;
    if (z.mnemonic == ZYDIS_MNEMONIC_LEA) return false;  // also what lies behind a local array
    const int32_t base = operands.base == Base::kRsp   ? depth_
                         : operands.base == Base::kRbp ? frame_
                         : operands.base == Base::kRbx ? aligned_frame_
                                                       : kUnknown;
    return known(base) && operands.displacement == base;
  }

  void move(int64_t bytes) {
    if (!known(depth_)) return;
    const int64_t moved = depth_ + bytes;
    depth_ = moved >= 0 && moved < INT32_MAX ? static_cast<int32_t>(moved) : kUnknown;
  }

  void pop(const ZydisDecodedInstruction& z) {
    const bool is_rsp = z.opcode == 0x5c && !z.raw.rex.B;
    if (is_rsp)
      depth_ = kUnknown;
    else
      move(-8);
  }

  const char* branch(const ZydisDecodedInstruction& z, size_t at) {
    const int64_t target = static_cast<int64_t>(at) + z.length + z.raw.imm[0].value.s;
    const bool is_call = z.mnemonic == ZYDIS_MNEMONIC_CALL;
    if (target > static_cast<int64_t>(at) && target < static_cast<int64_t>(code_.size()) &&
        known(depth_) && !known(depth_at_[target]))
      depth_at_[target] = depth_ + (is_call ? 8 : 0);
    if (!is_call) note_tail_jump(z, at, false);
    if (z.mnemonic == ZYDIS_MNEMONIC_JMP) depth_ = kUnknown;
    return nullptr;
  }

  static bool is(const ZydisDecodedOperand& operand, ZydisRegister reg) {
    return operand.type == ZYDIS_OPERAND_TYPE_REGISTER && operand.reg.value == reg;
  }

  // The forms that compilers use; after any other one the depth is not known.
  void follow_rsp(const ZydisDecoderContext& context, const ZydisDecodedInstruction& z) {
    std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> operand;
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeOperands(&decoder(), &context, &z, operand.data(),
                                                 z.operand_count)) ||
        z.operand_count < 2)
      return;
    if (z.mnemonic == ZYDIS_MNEMONIC_MOV && is(operand[0], ZYDIS_REGISTER_RBP) &&
        is(operand[1], ZYDIS_REGISTER_RSP) && depth_ == 8)  // behind push %rbp, as a frame pointer
      frame_ = depth_;
    if (is(operand[0], ZYDIS_REGISTER_RBX))
      aligned_frame_ = z.mnemonic == ZYDIS_MNEMONIC_MOV && is(operand[1], ZYDIS_REGISTER_RSP)
                           ? depth_
                           : kUnknown;
    bool writes = false;
    for (uint8_t i = 0; i < z.operand_count; i++)
      writes |= (is(operand[i], ZYDIS_REGISTER_RSP) || is(operand[i], ZYDIS_REGISTER_ESP)) &&
                (operand[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE);
    if (writes) set_rsp(z, operand[0], operand[1]);
  }

  void set_rsp(const ZydisDecodedInstruction& z, const ZydisDecodedOperand& to,
               const ZydisDecodedOperand& from) {
    const bool immediate = from.type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
    if (!is(to, ZYDIS_REGISTER_RSP)) {
      depth_ = kUnknown;
    } else if (immediate && z.mnemonic == ZYDIS_MNEMONIC_SUB) {
      move(from.imm.value.s);
    } else if (immediate && z.mnemonic == ZYDIS_MNEMONIC_ADD) {
      move(-from.imm.value.s);
    } else if (z.mnemonic == ZYDIS_MNEMONIC_LEA && from.mem.index == ZYDIS_REGISTER_NONE &&
               (from.mem.base == ZYDIS_REGISTER_RSP || from.mem.base == ZYDIS_REGISTER_RBP)) {
      if (from.mem.base == ZYDIS_REGISTER_RBP) depth_ = frame_;
      move(-from.mem.disp.value);
    } else if (z.mnemonic == ZYDIS_MNEMONIC_MOV && is(from, ZYDIS_REGISTER_RBP)) {
      depth_ = frame_;
    } else {
      depth_ = kUnknown;
    }
  }

  int64_t size_;  // of the function
  std::string_view code_;
  std::vector<int32_t> depth_at_;  // at the targets of forward branches
  int32_t depth_ = 0;
  int32_t frame_ = kUnknown;  // the same for the frame pointer
  std::vector<TailJump>* tail_jumps_;
  // The same for rbx, in which the dynamic linker's binder keeps the stack pointer before it aligns
  // it. Two words stand above its return address, and a stripped one has no name to know it by.
  int32_t aligned_frame_ = kUnknown;
};

}  // namespace

const char* return_refusal_by_name(std::string_view name) { return refusal_of(name); }

const char* return_hook_refusal(const FunctionSymbol& function, std::string_view code,
                                std::vector<TailJump>* tail_jumps) {
  if (has_shadow_stack()) return "the process runs with a hardware shadow stack";
  if (const char* reason = refusal_of(function.name)) return reason;
  return ReturnWordScan(code, tail_jumps).run();
}

}  // namespace patchbay
