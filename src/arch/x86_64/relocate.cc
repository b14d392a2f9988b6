// SPDX-License-Identifier: MIT
//
// The few fixed templates that relocation needs:
//
//   jmp / jcc rel8       -> jmp / jcc rel32, or around an absolute jump when the target is too far
//   loop, jrcxz, jecxz   -> same instruction over a short jmp, to a jmp rel32
//   call                 -> push the ORIGINAL return address; jmp: unwinders see only real code
//   syscall              -> syscall; lea ORIGINAL next(%rip), %rcx: what the processor puts there
//   RIP-relative operand -> same instruction, disp32 corrected

#include "arch/x86_64/relocate.h"

#include <cstring>

#include "arch/x86_64/decoder.h"

namespace patchbay {
namespace {

constexpr size_t kPushSize = 6;  // of push_constant()

bool fits_int32(int64_t value) { return value >= INT32_MIN && value <= INT32_MAX; }

class StubWriter {
 public:
  StubWriter(uint8_t* out, uint64_t address) : out_(out), address_(address) {}

  size_t size() const { return size_; }
  uint64_t here() const { return address_ + size_; }
  void byte(uint8_t value) { out_[size_++] = value; }
  void bytes(const uint8_t* data, size_t n) {
    std::memcpy(out_ + size_, data, n);
    size_ += n;
  }
  void word32(uint32_t value) { bytes(reinterpret_cast<const uint8_t*>(&value), 4); }
  void word64(uint64_t value) { bytes(reinterpret_cast<const uint8_t*>(&value), 8); }

  void jump(uint64_t target) {
    const int64_t distance = static_cast<int64_t>(target - (here() + 5));
    if (fits_int32(distance)) {
      byte(0xe9);
      word32(static_cast<uint32_t>(distance));
    } else {
      absolute_jump(target);
    }
  }
  void conditional_jump(uint8_t condition, uint64_t target) {
    const int64_t distance = static_cast<int64_t>(target - (here() + 6));
    if (fits_int32(distance)) {
      byte(0x0f);
      byte(0x80 | condition);
      word32(static_cast<uint32_t>(distance));
    } else {
      byte(0x70 | (condition ^ 1));
      byte(kAbsoluteJumpSize);
      absolute_jump(target);
    }
  }
  // push imm64, without touching flags or a register: the value lies behind the jump over it.
  void push_constant(uint64_t value, size_t literal_distance) {
    byte(0xff);
    byte(0x35);
    word32(static_cast<uint32_t>(literal_distance));
    pending_literal_ = value;
  }
  void literal() { word64(pending_literal_); }

 private:
  static constexpr uint8_t kAbsoluteJumpSize = 14;
  void absolute_jump(uint64_t target) {
    byte(0xff);
    byte(0x25);
    word32(0);
    word64(target);
  }

  uint8_t* out_;
  uint64_t address_;
  size_t size_ = 0;
  uint64_t pending_literal_ = 0;
};

// Copies an instruction whose only tie to its place is a RIP-relative operand, or nothing.
const char* copy_insn(const uint8_t* code, const Insn& insn, StubWriter* w, uint8_t* out) {
  const size_t at = w->size();
  const uint64_t here = w->here();
  w->bytes(code, insn.length);
  if (!insn.rip_disp_offset) return nullptr;
  const int64_t disp = static_cast<int64_t>(insn.target - (here + insn.length));
  if (!fits_int32(disp)) return "a RIP-relative operand is out of reach of the stub";
  const int32_t disp32 = static_cast<int32_t>(disp);
  std::memcpy(out + at + insn.rip_disp_offset, &disp32, 4);
  Insn again;
  if (!decode_insn(out + at, insn.length, here, &again) || again.length != insn.length ||
      again.kind != insn.kind || again.target != insn.target) {
    return "a relocated RIP-relative instruction does not decode to the same operand";
  }
  return nullptr;
}

// The jmp that stands for `call r/m64` behind a push: an operand based on rsp is 8 bytes further up
// by then, which takes a disp32. Returns its length.
uint8_t jump_behind_push(const uint8_t* code, const Insn& insn, uint8_t jump[kMaxInsnLength + 4]) {
  std::memcpy(jump, code, insn.length);
  const uint8_t modrm = code[insn.modrm_offset];
  uint8_t* at = jump + insn.modrm_offset;
  *at = static_cast<uint8_t>((modrm & 0xc7) | (4 << 3));
  if (!insn.uses_rsp_address) return insn.length;
  *at = static_cast<uint8_t>((*at & 0x3f) | 0x80);  // mod 2: disp32 behind the SIB byte
  const uint8_t* disp = code + insn.modrm_offset + 2;
  int32_t value = 0;
  if ((modrm & 0xc0) == 0x40) value = static_cast<int8_t>(*disp);
  if ((modrm & 0xc0) == 0x80) std::memcpy(&value, disp, 4);
  value = static_cast<int32_t>(static_cast<uint32_t>(value) + 8);
  std::memcpy(at + 2, &value, 4);
  return static_cast<uint8_t>(insn.modrm_offset + 6);
}

const char* emit_indirect_call(const uint8_t* code, const Insn& insn, uint64_t return_address,
                               StubWriter* w, uint8_t* out) {
  uint8_t jump[kMaxInsnLength + 4] = {};
  Insn as_jump = insn;
  as_jump.length = jump_behind_push(code, insn, jump);
  as_jump.kind = InsnKind::kIndirectJump;
  w->push_constant(return_address, as_jump.length);
  const size_t at = w->size();
  if (const char* why = copy_insn(jump, as_jump, w, out)) return why;
  Insn again;
  if (!decode_insn(out + at, as_jump.length, w->here() - as_jump.length, &again) ||
      again.kind != InsnKind::kIndirectJump || again.length != as_jump.length ||
      again.uses_rsp_address != insn.uses_rsp_address) {
    return "a relocated indirect call does not decode to a jump";
  }
  w->literal();
  return nullptr;
}

// lea next(%rip), %rcx changes no flags.
const char* emit_syscall(const uint8_t* code, const Insn& insn, uint64_t next, StubWriter* w) {
  w->bytes(code, insn.length);
  const int64_t disp = static_cast<int64_t>(next - (w->here() + 7));
  if (!fits_int32(disp)) return "the address behind a system call is out of reach of the stub";
  static constexpr uint8_t kLeaRcx[] = {0x48, 0x8d, 0x0d};
  w->bytes(kLeaRcx, sizeof(kLeaRcx));
  w->word32(static_cast<uint32_t>(disp));
  return nullptr;
}

void emit_direct_call(const Insn& insn, uint64_t return_address, StubWriter* w) {
  const uint64_t jump_at = w->here() + 6;
  const bool is_near = fits_int32(static_cast<int64_t>(insn.target - (jump_at + 5)));
  w->push_constant(return_address, is_near ? 5 : 14);
  w->jump(insn.target);
  w->literal();
}

//   loop 1f; jmp short 2f; 1: jmp target; 2:
void emit_loop(const uint8_t* code, const Insn& insn, StubWriter* w, uint8_t* out) {
  w->bytes(code, insn.length - 1u);  // prefixes and opcode
  w->byte(2);
  w->byte(0xeb);
  const size_t skip = w->size();
  w->byte(0);
  w->jump(insn.target);
  out[skip] = static_cast<uint8_t>(w->size() - skip - 1);
}

// A rewritten branch must decode to the branch it replaces.
bool decodes_to(const uint8_t* out, size_t size, uint64_t at, InsnKind kind, uint8_t condition,
                uint64_t target) {
  Insn again;
  if (!decode_insn(out, size, at, &again)) return false;
  if (again.kind == InsnKind::kIndirectJump || (again.kind == InsnKind::kCondJump && size > 6)) {
    return true;  // the absolute form, a constant template
  }
  return again.kind == kind && again.target == target &&
         (kind != InsnKind::kCondJump || again.condition == condition);
}

const char* emit_insn(const uint8_t* code, const Insn& insn, uint64_t next, StubWriter* w,
                      uint8_t* out) {
  const size_t at = w->size();
  const uint64_t here = w->here();
  bool good = true;
  switch (insn.kind) {
    case InsnKind::kJump:
      w->jump(insn.target);
      good = decodes_to(out + at, w->size() - at, here, InsnKind::kJump, 0, insn.target);
      break;
    case InsnKind::kCondJump:
      w->conditional_jump(insn.condition, insn.target);
      good = decodes_to(out + at, w->size() - at, here, InsnKind::kCondJump, insn.condition,
                        insn.target);
      break;
    case InsnKind::kLoop:
      emit_loop(code, insn, w, out);
      good = decodes_to(out + at + insn.length + 2, w->size() - at - insn.length - 2,
                        here + insn.length + 2, InsnKind::kJump, 0, insn.target);
      break;
    case InsnKind::kCall:
      emit_direct_call(insn, next, w);
      good =
          decodes_to(out + at + 6, w->size() - at - 6, here + 6, InsnKind::kJump, 0, insn.target);
      break;
    case InsnKind::kIndirectCall:
      return emit_indirect_call(code, insn, next, w, out);
    case InsnKind::kSyscall:
      return emit_syscall(code, insn, next, w);
    case InsnKind::kNop:
      return nullptr;
    case InsnKind::kTrap:
      return "an int3 of the program";
    case InsnKind::kUnsupported:
      return "an instruction that cannot be moved";
    default:
      return copy_insn(code, insn, w, out);
  }
  return good ? nullptr : "a rewritten branch does not decode to the same target";
}

}  // namespace

const char* relocate_run(const DisplacedRun& run, uint64_t to, uint8_t* out, RelocatedRun* result) {
  StubWriter w(out, to);
  bool ended = false;
  result->comes_back = true;
  result->called = 0;
  if (run.runs_anywhere) {
    for (uint8_t i = 0; i < run.count; i++) result->start[i] = run.offset[i];
    w.bytes(run.code, run.displaced);
  }
  for (uint8_t i = 0; i < run.count && !run.runs_anywhere; i++) {
    result->start[i] = static_cast<uint8_t>(w.size());
    if (run.is_nops) continue;
    Insn insn;
    const uint8_t* code = run.code + run.offset[i];
    const uint64_t address = run.from + run.offset[i];
    if (!decode_insn(code, kMaxDisplaced - run.offset[i], address, &insn)) {
      return "bytes that are no instruction";
    }
    const bool last = i + 1 == run.count && !run.falls_through;
    const bool is_call = insn.kind == InsnKind::kCall || insn.kind == InsnKind::kIndirectCall;
    if (is_call && !last) return "a call that returns into the displaced bytes";
    if (is_call) result->called = w.size() + kPushSize;
    if (const char* why = emit_insn(code, insn, address + insn.length, &w, out)) return why;
    ended = insn.ends_flow() || is_call;
    result->comes_back = !insn.ends_flow();
  }
  result->jump_back = w.size();
  if (!ended && !run.falls_through) w.jump(run.from + run.displaced);
  result->size = w.size();
  return nullptr;
}

bool encode_jump(uint64_t at, uint64_t target, uint8_t out[5]) {
  const int64_t distance = static_cast<int64_t>(target - (at + 5));
  if (!fits_int32(distance)) return false;
  const int32_t rel = static_cast<int32_t>(distance);
  out[0] = 0xe9;
  std::memcpy(out + 1, &rel, 4);
  return true;
}

}  // namespace patchbay
