// SPDX-License-Identifier: MIT
#include "patch/function_body.h"

#include <algorithm>

#include "arch/x86_64/decoder.h"

namespace patchbay {
namespace {

constexpr size_t kMaxBytes = 8 << 20;  // of code, whose bodies take 3/8 of that

}  // namespace

FunctionBody::FunctionBody(const ModuleCode& code, uint64_t start, uint64_t end)
    : start_(start), end_(end) {
  const size_t words = (end - start) / 64 + 1;
  boundary_.resize(words);
  target_.resize(words);
  undecoded_.resize(words);
  for (uint64_t first = start; first < end;) {
    const uint64_t last = std::min(end, code.next_entry(first));
    decode(code, first, last);
    first = last;
  }
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
    indirect_ |= insn.kind == InsnKind::kIndirectJump || insn.kind == InsnKind::kUnsupported;
    if (insn.is_direct_branch()) {
      set(&target_, insn.target);
      const bool leaves = insn.target < start_ || insn.target >= end_;
      if (leaves && insn.kind != InsnKind::kCall) jumps_out_.push_back(insn.target);
    }
    at += insn.length;
  }
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

bool FunctionBodies::has_hidden_entries(uint64_t address) {
  Entry* entry = entry_around(address);
  if (!entry) return true;
  if (entry->hidden < 0) entry->hidden = find_hidden(*entry->body);
  return entry->hidden;
}

}  // namespace patchbay
