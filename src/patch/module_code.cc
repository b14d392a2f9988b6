// SPDX-License-Identifier: MIT
//
// The raw pass looks at every byte offset, not at instructions: it cannot miss a branch, and what
// it finds too much (bytes inside other instructions) is sorted out by confirm().

#include "patch/module_code.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "arch/x86_64/decoder.h"
#include "arch/x86_64/text_memory.h"

namespace patchbay {
namespace {

constexpr uint64_t kShortReach = 130;  // a rel8 branch is at most this far from its target
constexpr uint64_t kWatchedBytes = 8;  // behind an entry: endbr64 and bytes 1..4 of a jump

enum ByteClass : uint8_t { kOther, kRel8, kRel32, kEscape };

constexpr std::array<uint8_t, 256> make_classes() {
  std::array<uint8_t, 256> classes{};
  for (int i = 0x70; i < 0x80; i++) classes[i] = kRel8;
  for (int i = 0xe0; i < 0xe4; i++) classes[i] = kRel8;
  classes[0xeb] = kRel8;
  classes[0xe8] = classes[0xe9] = kRel32;
  classes[0x0f] = kEscape;
  return classes;
}
constexpr std::array<uint8_t, 256> kClass = make_classes();

bool test_bit(const std::vector<uint64_t>& bits, uint64_t i) {
  return (bits[i / 64] >> (i % 64)) & 1;
}
void set_bit(std::vector<uint64_t>* bits, uint64_t i) {
  (*bits)[i / 64] |= uint64_t{1} << (i % 64);
}

const uint8_t* bytes_of(std::string_view code) {
  return reinterpret_cast<const uint8_t*>(code.data());
}

int32_t load32(const uint8_t* at) {
  int32_t value;
  std::memcpy(&value, at, 4);
  return value;
}

}  // namespace

ModuleCode::ModuleCode(Module& module) : functions_(module.functions()) {
  symbols_ = functions_.data();
  symbol_count_ = functions_.size();
  for (const auto& [first, last] : module.text_ranges()) {
    Range range{first, last, module.original_code(first, last - first), {}, {}, {}, {}};
    if (range.code.size() != last - first) {
      // No file behind it: a copy of what is in memory has to do.
      range.copy.resize(last - first);
      const size_t there = copy_of_memory(first, range.copy.data(), last - first);
      std::memset(range.copy.data() + there, 0xcc, range.copy.size() - there);
      range.code = {range.copy.data(), range.copy.size()};
    }
    range.entry_bytes.resize((last - first) / 64 + 1);
    range.hit.resize((last - first) / 64 + 1);
    ranges_.push_back(std::move(range));
  }
  mark_entries();
  for (Range& range : ranges_) scan(&range);
  std::sort(far_.begin(), far_.end(),
            [](const FarBranch& a, const FarBranch& b) { return a.target < b.target; });
}

bool ModuleCode::describes(Module& module) const {
  const std::vector<FunctionSymbol>& now = module.functions();
  return &now == &functions_ && now.data() == symbols_ && now.size() == symbol_count_;
}

const ModuleCode::Range* ModuleCode::range_of(uint64_t address) const {
  for (const Range& range : ranges_) {
    if (address >= range.first && address < range.last) return &range;
  }
  return nullptr;
}

std::string_view ModuleCode::code_at(uint64_t address) const {
  const Range* range = range_of(address);
  return range ? range->code.substr(address - range->first) : std::string_view();
}

void ModuleCode::mark(uint64_t address) {
  auto* range = const_cast<Range*>(range_of(address));
  if (!range) return;
  for (uint64_t at = address + 1; at <= address + kWatchedBytes && at < range->last; at++)
    set_bit(&range->entry_bytes, at - range->first);
}

void ModuleCode::mark_entries() {
  for (const FunctionSymbol& function : functions_) mark(function.address);
}

void ModuleCode::note(Range* range, uint64_t target, uint64_t source, bool far) {
  const uint64_t at = target - range->first;
  if (at >= range->last - range->first || !test_bit(range->entry_bytes, at)) return;
  set_bit(&range->hit, at);
  if (far) far_.push_back({target, source});
}

void ModuleCode::scan(Range* range) {
  const uint8_t* code = bytes_of(range->code);
  const uint64_t size = range->code.size();
  for (uint64_t i = 0; i + 6 <= size; i++) {
    const uint8_t kind = kClass[code[i]];
    if (kind == kOther) continue;
    const uint64_t at = range->first + i;
    if (kind == kRel8) {
      note(range, at + 2 + static_cast<uint64_t>(static_cast<int8_t>(code[i + 1])), at, false);
    } else if (kind == kRel32) {
      note(range, at + 5 + static_cast<uint64_t>(int64_t{load32(code + i + 1)}), at, true);
    } else if ((code[i + 1] & 0xf0) == 0x80) {
      note(range, at + 6 + static_cast<uint64_t>(int64_t{load32(code + i + 2)}), at, true);
    }
  }
}

long ModuleCode::function_before(uint64_t address) const {
  // Functions are planned in order of address more often than not.
  const long count = static_cast<long>(symbol_count_);
  long i = last_index_;
  if (i < count && symbols_[i].address <= address) {
    for (int step = 0; step < 8 && i < count; step++, i++) {
      if (i + 1 == count || symbols_[i + 1].address > address) return last_index_ = i;
    }
  }
  auto behind =
      std::upper_bound(functions_.begin(), functions_.end(), address,
                       [](uint64_t a, const FunctionSymbol& symbol) { return a < symbol.address; });
  i = static_cast<long>(behind - functions_.begin()) - 1;
  if (i >= 0) last_index_ = i;
  return i;
}

uint64_t ModuleCode::next_entry(uint64_t address) const {
  const Range* range = range_of(address);
  const uint64_t limit = range ? range->last : address;
  const size_t next = static_cast<size_t>(function_before(address) + 1);
  return next < symbol_count_ ? std::min(limit, symbols_[next].address) : limit;
}

uint64_t ModuleCode::previous_entry(uint64_t address) const {
  const long index = function_before(address - 1);
  return index < 0 ? 0 : symbols_[index].address;
}

bool ModuleCode::branch_into(uint64_t first, uint64_t last) const {
  const Range* range = range_of(first);
  if (!range) return false;
  bool any = false;
  for (uint64_t at = first; at < last && at < range->last; at++) {
    any |= test_bit(range->hit, at - range->first);
  }
  if (!any) return false;
  auto far = std::lower_bound(far_.begin(), far_.end(), first,
                              [](const FarBranch& b, uint64_t a) { return b.target < a; });
  for (; far != far_.end() && far->target < last; ++far) {
    if (confirm(far->source, first, last)) return true;
  }
  return short_branch_into(*range, first, last);
}

bool ModuleCode::short_branch_into(const Range& range, uint64_t first, uint64_t last) const {
  const uint8_t* code = bytes_of(range.code);
  const uint64_t from = std::max(range.first, first - std::min(first, kShortReach));
  const uint64_t to = std::min(range.last - 1, last + kShortReach);
  for (uint64_t at = from; at < to; at++) {
    const uint8_t* byte = code + (at - range.first);
    if (kClass[*byte] != kRel8) continue;
    const uint64_t target = at + 2 + static_cast<uint64_t>(static_cast<int8_t>(byte[1]));
    if (target >= first && target < last && confirm(at, first, last)) return true;
  }
  return false;
}

// Whether the candidate at `source` is an instruction that branches into [first, last). Decoded
// from the entry of the function it lies in; code that belongs to no function counts as a branch.
bool ModuleCode::confirm(uint64_t source, uint64_t first, uint64_t last) const {
  const Range* range = range_of(source);
  const long index = function_before(source);
  if (!range || index < 0) return true;
  uint64_t at = symbols_[index].address;
  if (at < range->first) return true;
  // A prefix may stand before the candidate's opcode: the instruction that contains it decides.
  while (at <= source) {
    Insn insn;
    const uint8_t* code = bytes_of(range->code) + (at - range->first);
    if (!decode_insn(code, std::min<uint64_t>(kMaxInsnLength, range->last - at), at, &insn)) {
      return true;
    }
    if (source < at + insn.length) {
      return insn.is_direct_branch() && insn.target >= first && insn.target < last;
    }
    at += insn.length;
  }
  return true;
}

// A branch to somewhere near its own place stays inside its function, which is decoded as a whole;
// a far one may come from another function.
void ModuleCode::note_far(uint64_t source, uint64_t target) {
  auto* range = const_cast<Range*>(range_of(target));
  if (!range) return;
  const long from = function_before(source);
  if (from >= 0 && target >= symbols_[from].address &&
      target - symbols_[from].address < symbols_[from].size &&
      source - symbols_[from].address < symbols_[from].size) {
    return;
  }
  set_bit(&range->far_hit, target - range->first);
}

void ModuleCode::scan_far(const Range& range) {
  const uint8_t* code = bytes_of(range.code);
  for (uint64_t i = 0; i + 5 <= range.code.size(); i++) {
    const uint8_t kind = kClass[code[i]];
    const uint64_t at = range.first + i;
    if (kind == kRel32) {
      note_far(at, at + 5 + static_cast<uint64_t>(int64_t{load32(code + i + 1)}));
    } else if (kind == kEscape && i + 6 <= range.code.size() && (code[i + 1] & 0xf0) == 0x80) {
      note_far(at, at + 6 + static_cast<uint64_t>(int64_t{load32(code + i + 2)}));
    }
  }
}

bool ModuleCode::outside_branch_into(uint64_t start, uint64_t end, uint64_t first, uint64_t last) {
  if (!far_scanned_) {
    for (Range& range : ranges_) range.far_hit.resize((range.last - range.first) / 64 + 1);
    for (const Range& range : ranges_) scan_far(range);
    far_scanned_ = true;
  }
  const Range* range = range_of(first);
  if (!range) return true;
  for (uint64_t at = first; at < last && at < range->last; at++) {
    if (test_bit(range->far_hit, at - range->first)) return true;
  }
  const auto leads_there = [&](uint64_t from, uint64_t to) {
    for (uint64_t at = std::max(from, range->first); at + 2 <= std::min(to, range->last); at++) {
      const uint8_t* byte = bytes_of(range->code) + (at - range->first);
      const uint64_t target = at + 2 + static_cast<uint64_t>(static_cast<int8_t>(byte[1]));
      const bool is_branch = kClass[*byte] == kRel8;
      if (is_branch && target >= first && target < last && confirm(at, first, last)) return true;
    }
    return false;
  };
  const uint64_t before = std::max(range->first, first - std::min(first, kShortReach));
  if (before < start && leads_there(before, start)) return true;
  return last + kShortReach > end && leads_there(end, last + kShortReach);
}

bool ModuleCode::function_around(uint64_t address, uint64_t* start, uint64_t* end) const {
  const Range* range = range_of(address);
  if (!range) return false;
  constexpr int kNeighbours = 64;  // a long function may lie around short ones
  *start = *end = 0;
  long i = function_before(address);
  for (int n = 0; n < kNeighbours && i >= 0; n++, i--) {
    const FunctionSymbol& function = symbols_[i];
    if (function.address < range->first) break;
    const uint64_t last = function.address + function.size;
    if (last <= address) continue;
    *start = function.address;
    *end = std::max(*end, std::min(last, range->last));
  }
  return *start != 0;
}

uint64_t ModuleCode::whole_of_part(uint64_t start) const {
  const long index = function_before(start);
  if (index < 0 || symbols_[index].address != start || !symbols_[index].is_cold_part) return start;
  const std::string_view name = symbols_[index].name;
  const std::string_view whole = name.substr(0, name.rfind(".cold"));
  if (whole.empty() || whole.size() == name.size()) return 0;
  uint64_t found = 0;
  for (const FunctionSymbol& function : functions_) {
    if (function.name != whole || function.address == found) continue;
    if (found) return 0;  // two files have a static function of this name
    found = function.address;
  }
  return found;
}

bool ModuleCode::loops_to(uint64_t start, uint64_t end, uint64_t target) const {
  const Range* range = range_of(start);
  if (!range) return false;
  end = std::min(end, range->last);
  const uint8_t* code = bytes_of(range->code);
  for (uint64_t at = start; at + 2 <= end; at++) {
    const uint8_t* byte = code + (at - range->first);
    const uint8_t kind = kClass[*byte];
    uint64_t to = 0;
    if (kind == kRel8) {
      to = at + 2 + static_cast<uint64_t>(static_cast<int8_t>(byte[1]));
    } else if (*byte == 0xe9 && at + 5 <= end) {
      to = at + 5 + static_cast<uint64_t>(int64_t{load32(byte + 1)});
    } else if (kind == kEscape && (byte[1] & 0xf0) == 0x80 && at + 6 <= end) {
      to = at + 6 + static_cast<uint64_t>(int64_t{load32(byte + 2)});
    }
    if (to == target && confirm(at, target, target + 1)) return true;
  }
  return false;
}

uint64_t ModuleCode::end_of_code(uint64_t start, uint64_t limit) const {
  const Range* range = range_of(start);
  if (!range) return 0;
  uint64_t end = 0;
  bool stops = false;
  for (uint64_t at = start; at < limit;) {
    Insn insn;
    const uint8_t* code = bytes_of(range->code) + (at - range->first);
    if (!decode_insn(code, std::min<uint64_t>(kMaxInsnLength, range->last - at), at, &insn)) {
      return 0;
    }
    at += insn.length;
    if (insn.kind == InsnKind::kNop || insn.kind == InsnKind::kTrap) continue;
    end = at;
    // A call may be the last instruction only when it never returns.
    stops = insn.ends_flow() || insn.kind == InsnKind::kCall;
  }
  return stops && end <= limit ? end : 0;
}

}  // namespace patchbay
