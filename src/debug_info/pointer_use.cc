// SPDX-License-Identifier: MIT
#include "debug_info/pointer_use.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>

#include "arch/x86_64/decoder.h"

namespace patchbay {
namespace {

constexpr unsigned kOfStack = 6;
constexpr int kMostSteps = 50000;  // instructions, some of them more than once
constexpr int kMostStates = 8;     // at one instruction
constexpr int kMostDepth = 6;      // of calls that hand the pointer on
constexpr int64_t kEndOfAll = std::numeric_limits<int64_t>::max();
constexpr int64_t kReturnAddressBytes = 8;

// Numbers of the processor of rdi rsi rdx rcx r8 r9.
constexpr uint8_t kPassedIn[] = {7, 6, 2, 1, 8, 9};
constexpr uint16_t kKeptByCalls = 1u << 3 | 1u << 4 | 1u << 5 | 0xf000;  // rbx rsp rbp r12 … r15

// Which registers have the pointer, and how far it has been moved on.
struct Pointers {
  uint16_t known = 0;
  std::array<int64_t, kNrGeneralRegisters> offsets{};

  bool has(int number) const { return number >= 0 && (known >> number & 1); }
  void set(int number, int64_t offset) {
    known |= uint16_t(1u << number);
    offsets[size_t(number)] = offset;
  }
  bool operator==(const Pointers& other) const {
    for (int i = 0; i < kNrGeneralRegisters; i++)
      if (has(i) != other.has(i) || (has(i) && offsets[size_t(i)] != other.offsets[size_t(i)]))
        return false;
    return true;
  }
};

}  // namespace

bool ReadBytes::any_of(int64_t begin, int64_t end) const {
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const auto& one) { return one.first < end && begin < one.second; });
}

bool ReadBytes::all_of(int64_t begin, int64_t end) const {
  std::vector<std::pair<int64_t, int64_t>> sorted = ranges;
  std::sort(sorted.begin(), sorted.end());
  for (const auto& [first, behind] : sorted)
    if (first <= begin) begin = std::max(begin, behind);
  return begin >= end;
}

// All ways through a function, each instruction once for what registers have there.
class PointerUses::Walk {
 public:
  Walk(PointerUses& uses, uint64_t entry, int depth) : uses_(uses), entry_(entry), depth_(depth) {}
  ReadBytes run(unsigned start);

 private:
  void go_to(uint64_t address, const Pointers& pointers);
  void step(uint64_t address, Pointers pointers);
  void add_reads(const DataFlow& flow, const Pointers& pointers);
  void call(const Insn& insn, Pointers* pointers);
  void jump_anywhere(const Pointers& pointers);
  void escape(int number, const Pointers& pointers) {
    if (pointers.has(number)) add(pointers.offsets[size_t(number)], kEndOfAll);
  }
  // A pointer to what is in front is one to the function's own frame.
  void add(int64_t begin, int64_t end) {
    if (begin >= 0 && (read_.ranges.empty() || !read_.all_of(begin, end)))
      read_.ranges.emplace_back(begin, end);
  }

  PointerUses& uses_;
  const uint64_t entry_;
  const int depth_;
  ReadBytes read_;
  std::multimap<uint64_t, Pointers> seen_;
  std::vector<std::pair<uint64_t, Pointers>> open_;
};

void PointerUses::Walk::go_to(uint64_t address, const Pointers& pointers) {
  if (pointers.known == 0) return;
  const auto [first, last] = seen_.equal_range(address);
  for (auto one = first; one != last; ++one)
    if (one->second == pointers) return;
  // A loop that moves it on.
  if (std::distance(first, last) >= kMostStates) {
    for (int i = 0; i < kNrGeneralRegisters; i++) escape(i, pointers);
    return;
  }
  seen_.emplace(address, pointers);
  open_.emplace_back(address, pointers);
}

void PointerUses::Walk::add_reads(const DataFlow& flow, const Pointers& pointers) {
  for (int i = 0; i < flow.nr_reads; i++) {
    const DataFlow::Read& read = flow.reads[i];
    if (!pointers.has(read.base)) continue;
    const int64_t begin = pointers.offsets[size_t(read.base)] + read.offset;
    add(begin, read.is_open ? kEndOfAll : begin + int64_t{read.size});
  }
  for (int i = 0; i < kNrGeneralRegisters; i++)
    if (flow.read >> i & 1) escape(i, pointers);
}

void PointerUses::Walk::call(const Insn& insn, Pointers* pointers) {
  for (unsigned i = 0; i < std::size(kPassedIn); i++) {
    const int number = kPassedIn[i];
    if (!pointers->has(number)) continue;
    const int64_t offset = pointers->offsets[size_t(number)];
    if (insn.kind != InsnKind::kCall || depth_ >= kMostDepth) {
      escape(number, *pointers);
      continue;
    }
    for (const auto& [begin, end] : uses_.uses_of(insn.target, i, depth_ + 1).ranges)
      add(offset + begin, end == kEndOfAll ? end : offset + end);
  }
  pointers->known &= kKeptByCalls;
}

// A table of a switch, or another function: to all places that nothing else leads to.
void PointerUses::Walk::jump_anywhere(const Pointers& pointers) {
  for (uint8_t number : kPassedIn) escape(number, pointers);
  const ObjectSymbol* symbol = uses_.info_.symbol_at(entry_, true);
  if (!symbol) return;
  const std::string_view code = uses_.info_.code(symbol->address, symbol->size);
  for (size_t at = 0; at < code.size();) {
    Insn insn;
    const auto* bytes = reinterpret_cast<const uint8_t*>(code.data()) + at;
    if (!decode_insn(bytes, code.size() - at, symbol->address + at, &insn)) return;
    at += insn.length;
    if (insn.ends_flow()) go_to(symbol->address + at, pointers);
  }
}

void PointerUses::Walk::step(uint64_t address, Pointers pointers) {
  const std::string_view code = uses_.info_.code(address, kMaxInsnLength);
  const auto* bytes = reinterpret_cast<const uint8_t*>(code.data());
  Insn insn;
  DataFlow flow;
  if (!decode_insn(bytes, code.size(), address, &insn) ||
      !decode_data_flow(bytes, code.size(), &flow))
    return;
  const uint64_t next = address + insn.length;
  add_reads(flow, pointers);
  switch (insn.kind) {
    case InsnKind::kCall:
    case InsnKind::kIndirectCall:
    case InsnKind::kSyscall:
      call(insn, &pointers);
      return go_to(next, pointers);
    case InsnKind::kReturn:
      return escape(kRaxNumber, pointers);
    case InsnKind::kStop:
      return;
    case InsnKind::kIndirectJump:
      return jump_anywhere(pointers);
    case InsnKind::kJump:
      return go_to(insn.target, pointers);
    case InsnKind::kCondJump:
    case InsnKind::kLoop:
      go_to(insn.target, pointers);
      break;
    default:
      break;
  }
  const bool is_moved = flow.copied_to >= 0 && pointers.has(flow.copied_from);
  const int64_t moved = is_moved ? pointers.offsets[size_t(flow.copied_from)] + flow.added : 0;
  pointers.known &= uint16_t(~flow.written);
  if (is_moved) pointers.set(flow.copied_to, moved);
  go_to(next, pointers);
}

ReadBytes PointerUses::Walk::run(unsigned start) {
  Pointers pointers;
  if (start == kOfStack)
    pointers.set(kRspNumber, -kReturnAddressBytes);
  else
    pointers.set(kPassedIn[start], 0);
  go_to(entry_, pointers);
  for (int steps = 0; !open_.empty(); steps++) {
    // Nobody knows what is behind so many.
    if (steps == kMostSteps) {
      add(0, kEndOfAll);
      break;
    }
    const auto [address, here] = open_.back();
    open_.pop_back();
    step(address, here);
  }
  return std::move(read_);
}

bool PointerUses::has_effect(uint64_t entry) const {
  const ObjectSymbol* symbol = info_.symbol_at(entry, true);
  if (!symbol) return true;
  const std::string_view code = info_.code(symbol->address, symbol->size);
  for (size_t at = 0; at < code.size();) {
    Insn insn;
    const auto* bytes = reinterpret_cast<const uint8_t*>(code.data()) + at;
    if (!decode_insn(bytes, code.size() - at, symbol->address + at, &insn)) return true;
    at += insn.length;
    const bool leaves = insn.is_direct_branch() && insn.target - symbol->address >= symbol->size;
    if (leaves || insn.kind == InsnKind::kCall || insn.kind == InsnKind::kIndirectCall ||
        insn.kind == InsnKind::kIndirectJump || insn.kind == InsnKind::kSyscall ||
        insn.rip_disp_offset != 0)
      return true;
  }
  return false;
}

const ReadBytes& PointerUses::uses_of(uint64_t entry, unsigned start, int depth) {
  // A function that calls itself reads what it reads without that, too.
  const auto [found, is_new] = known_.try_emplace({entry, start});
  if (is_new) found->second = Walk(*this, entry, depth).run(start);
  return found->second;
}

const ReadBytes& PointerUses::behind_register(uint64_t entry, unsigned number) {
  return uses_of(entry, number, 0);
}

const ReadBytes& PointerUses::of_stack(uint64_t entry) { return uses_of(entry, kOfStack, 0); }

}  // namespace patchbay
