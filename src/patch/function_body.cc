// SPDX-License-Identifier: MIT
#include "patch/function_body.h"

#include <algorithm>
#include <cstring>

#include "arch/x86_64/decoder.h"

namespace patchbay {
namespace {

constexpr size_t kMaxBytes = 8 << 20;  // of code, whose bodies take 3/8 of that
constexpr size_t kMaxTable = 1 << 16;  // entries of a jump table, and of one of short distances
constexpr size_t kMaxShortTable = 256;

uint32_t load_u32(const uint8_t* at) {
  uint32_t value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

bool is_legacy_prefix(uint8_t byte) {
  constexpr std::string_view kPrefixes = "\x66\x67\xf2\xf3\x2e\x3e\x64\x65\xf0";
  return kPrefixes.find(char(byte)) != kPrefixes.npos;
}

int64_t distance_at(std::string_view table, size_t index, size_t size) {
  int64_t value = 0;
  std::memcpy(&value, table.data() + index * size, size);
  const int unused = int(64 - 8 * size);
  return int64_t(uint64_t(value) << unused) >> unused;
}

}  // namespace

FunctionBody::FunctionBody(const ModuleCode& code, uint64_t start, uint64_t end)
    : start_(start), end_(end), is_fixed_(code.has_fixed_addresses()) {
  const size_t words = (end - start) / 64 + 1;
  boundary_.resize(words);
  target_.resize(words);
  undecoded_.resize(words);
  for (uint64_t first = start; first < end;) {
    const uint64_t last = std::min(end, code.next_entry(first));
    decode(code, first, last);
    first = last;
  }
  std::sort(named_.begin(), named_.end());
  named_.erase(std::unique(named_.begin(), named_.end()), named_.end());
}

bool FunctionBody::test(const std::vector<uint64_t>& bits, uint64_t address) const {
  const uint64_t i = address - start_;
  return i < end_ - start_ && ((bits[i / 64] >> (i % 64)) & 1);
}

void FunctionBody::set(std::vector<uint64_t>* bits, uint64_t address) {
  const uint64_t i = address - start_;
  if (i < end_ - start_) (*bits)[i / 64] |= uint64_t{1} << (i % 64);
}

void FunctionBody::decode(const ModuleCode& code, uint64_t first, uint64_t last) {
  const std::string_view bytes = code.code_at(first);
  const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
  for (uint64_t at = first; at < last;) {
    Insn insn;
    const uint64_t offset = at - first;
    const uint64_t available = std::min<uint64_t>(kMaxInsnLength, bytes.size() - offset);
    if (!decode_insn(data + offset, available, at, &insn)) {
      indirect_ = true;
      for (; at < last; at++) set(&undecoded_, at);
      return;
    }
    set(&boundary_, at);
    follow_registers(data + offset, insn);
    if (is_fixed_) note_constants(data + offset, insn);
    indirect_ |= insn.kind == InsnKind::kIndirectJump || insn.kind == InsnKind::kUnsupported;
    if (insn.is_direct_branch()) {
      set(&target_, insn.target);
      const bool leaves = insn.target < start_ || insn.target >= end_;
      if (leaves && insn.kind != InsnKind::kCall) jumps_out_.push_back(insn.target);
    }
    at += insn.length;
  }
}

// In order of address, which is the order of execution between an addition and its jump wherever a
// compiler has made them. Whatever else writes a register leaves the bit, to be on the safe side.
void FunctionBody::follow_registers(const uint8_t* code, const Insn& insn) {
  constexpr uint32_t kKeptByCalls = 0xf028;  // rbx, rbp, r12 to r15
  if (insn.kind == InsnKind::kCall || insn.kind == InsnKind::kIndirectCall) sums_ &= kKeptByCalls;
  if (!insn.modrm_offset) {
    const size_t at = (code[0] & 0xf0) == 0x40 ? 1 : 0;
    const uint32_t reg = 1u << ((code[at] & 7) | (at && (code[0] & 1) ? 8 : 0));
    const bool is_move = (code[at] & 0xf8) == 0xb8, is_pop = (code[at] & 0xf8) == 0x58;
    if (is_move || is_pop) sums_ &= ~reg;
    if (code[at] == 0x05 || code[at] == 0x2d) sums_ |= 1;  // rax and a constant
    return;
  }
  const uint8_t prefix = insn.modrm_offset >= 2 ? code[insn.modrm_offset - 2] : 0;
  const uint8_t rex = (prefix & 0xf0) == 0x40 ? prefix : 0;
  if (prefix && !rex && !is_legacy_prefix(prefix)) return;  // no opcode of one byte
  const uint8_t modrm = code[insn.modrm_offset], opcode = code[insn.modrm_offset - 1];
  const bool is_register = modrm >= 0xc0;
  const uint32_t reg = 1u << (((modrm >> 3) & 7) | (rex & 4 ? 8 : 0));
  const uint32_t rm = 1u << ((modrm & 7) | (rex & 1 ? 8 : 0));
  const auto set_sum = [&](uint32_t to, bool is_sum) { sums_ = is_sum ? sums_ | to : sums_ & ~to; };
  if (insn.kind == InsnKind::kIndirectJump) {
    jumps_to_sum_ |= is_register && (sums_ & rm);
  } else if (opcode == 0x8d) {
    if (insn.rip_disp_offset) named_.push_back(insn.target);
    set_sum(reg, !insn.rip_disp_offset);
  } else if (opcode == 0x8b) {
    set_sum(reg, is_register && (sums_ & rm));
  } else if (is_register && opcode == 0x89) {
    set_sum(rm, sums_ & reg);
  } else if (is_register && opcode == 0xc7) {
    sums_ &= ~rm;
  } else if (is_register && (opcode == 0x01 || opcode == 0x29)) {
    sums_ |= rm;
  } else if (is_register && (opcode == 0x81 || opcode == 0x83)) {
    sums_ |= rm;
  } else if (opcode == 0x03 || opcode == 0x2b) {
    sums_ |= reg;
  }
}

// Four bytes that an instruction ends with, and a displacement of four. One that is no address
// does no harm: nothing is there.
void FunctionBody::note_constants(const uint8_t* code, const Insn& insn) {
  if (insn.length < 5 || insn.is_direct_branch() || insn.rip_disp_offset) return;
  named_.push_back(load_u32(code + insn.length - 4));
  if (!insn.modrm_offset) return;
  const uint8_t* modrm = code + insn.modrm_offset;
  const bool has_sib = (*modrm & 7) == 4 && *modrm < 0xc0;
  const bool has_disp32 =
      (*modrm & 0xc0) == 0x80 || (*modrm < 0x40 && has_sib && (modrm[1] & 7) == 5);
  if (has_disp32) named_.push_back(load_u32(modrm + 1 + has_sib));
}

uint64_t FunctionBody::instruction_around(uint64_t address) const {
  for (uint64_t at = address; at >= start_ && at + kMaxInsnLength > address; at--) {
    if (test(undecoded_, at)) return 0;
    if (is_boundary(at)) return at;
  }
  return 0;
}

bool FunctionBody::branch_into(uint64_t first, uint64_t last) const {
  for (uint64_t at = first; at < last; at++) {
    if (test(target_, at)) return true;
  }
  return false;
}

FunctionBodies::Entry* FunctionBodies::entry_around(uint64_t address) {
  uint64_t start = 0, end = 0;
  if (!code_.function_around(address, &start, &end)) return nullptr;
  Entry& entry = entries_[start];
  if (!entry.body || entry.body->end() != end) {
    if (entry.body) bytes_ -= entry.body->size();
    entry.body = std::make_unique<FunctionBody>(code_, start, end);
    entry.hidden = -1;
    bytes_ += entry.body->size();
  }
  return &entry;
}

const FunctionBody* FunctionBodies::around(uint64_t address) {
  if (bytes_ > kMaxBytes) {
    entries_.clear();
    bytes_ = 0;
  }
  const Entry* entry = entry_around(address);
  return entry ? entry->body.get() : nullptr;
}

bool FunctionBodies::find_hidden(const FunctionBody& body) {
  if (body.has_indirect_jump()) return true;
  for (uint64_t target : body.jumps_out()) {
    const Entry* other = entry_around(target);
    if (other && other->body->has_indirect_jump()) return true;
  }
  // A jump table of the function that this is a part of may lead here, and nothing may lead back.
  const uint64_t whole = code_.whole_of_part(body.start());
  if (whole == body.start()) return false;
  const Entry* other = whole ? entry_around(whole) : nullptr;
  return !other || other->body->has_indirect_jump();
}

// Compilers write a jump table as distances of 4 bytes from its own beginning. A program may write
// the distances between labels (`&&this - &&first`), in 4 bytes or less, and add a label. Both add
// an address that an instruction of the function names.
bool FunctionBodies::table_targets(const FunctionBody& body, std::vector<uint64_t>* targets,
                                   std::vector<uint64_t>* certain) const {
  const auto is_inside = [&](uint64_t address) {
    return address >= body.start() && address < body.end();
  };
  const uint64_t whole = code_.whole_of_part(body.start());  // 0: a part of some function
  const auto goes_on = [&](uint64_t target) {
    uint64_t start = 0, end = 0;
    return is_inside(target) || (code_.function_around(target, &start, &end) &&
                                 (!whole || start == whole || code_.is_cold_part(start)));
  };
  const size_t before = targets->size();
  size_t most_certain = 0;
  const auto walk = [&](uint64_t base, std::string_view table, size_t size, size_t most) {
    for (size_t i = 0; i < most && (i + 1) * size <= table.size(); i++) {
      const uint64_t target = base + uint64_t(distance_at(table, i, size));
      if (!goes_on(target)) return;
      targets->push_back(target);
      if (certain && size == 4 && target != base && i < most_certain) certain->push_back(target);
    }
  };
  for (const uint64_t address : body.named()) {
    const std::string_view table =
        is_inside(address) ? std::string_view() : code_.file_bytes(address);
    if (table.empty()) continue;
    const auto next = std::upper_bound(body.named().begin(), body.named().end(), address);
    most_certain = next == body.named().end() ? kMaxTable : (*next - address) / 4;
    walk(address, table, 4, kMaxTable);
    for (const uint64_t label : body.named()) {
      if (!is_inside(label)) continue;
      walk(label, table, 4, kMaxTable);
      walk(label, table, 2, kMaxShortTable);
      walk(label, table, 1, kMaxShortTable);
    }
  }
  return targets->size() > before || !body.jumps_to_sum();
}

bool FunctionBodies::has_hidden_entries(uint64_t address) {
  Entry* entry = entry_around(address);
  if (!entry) return true;
  if (entry->hidden < 0) entry->hidden = find_hidden(*entry->body);
  return entry->hidden;
}

}  // namespace patchbay
