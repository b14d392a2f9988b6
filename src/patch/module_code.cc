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

// In front of the place at which a restartable sequence goes on when it is interrupted. The kernel
// compares it with what the thread has registered, which is this of glibc's, librseq's, tcmalloc's.
constexpr uint32_t kRseqSignature = 0x53053053;

enum ByteClass : uint8_t { kOther, kRel8, kRel32, kEscape, kSignature };

constexpr std::array<uint8_t, 256> make_classes() {
  std::array<uint8_t, 256> classes{};
  for (int i = 0x70; i < 0x80; i++) classes[i] = kRel8;
  for (int i = 0xe0; i < 0xe4; i++) classes[i] = kRel8;
  classes[0xeb] = kRel8;
  classes[0xe8] = classes[0xe9] = kRel32;
  classes[0x0f] = kEscape;
  classes[kRseqSignature & 0xff] = kSignature;
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

// Four bytes at `i` may be an operand that puts an address into a register or on the stack: of mov,
// push, lea, or add and its like with 32 bits, behind the opcode and a ModRM with what it needs.
bool may_be_operand(const uint8_t* code, uint64_t i) {
  const uint8_t before = code[i - 1];
  if ((before & 0xf8) == 0xb8 || before == 0x68 || (before & 0xc7) == 0x05) return true;
  const auto is = [&](uint64_t distance, uint8_t opcode) { return code[i - distance] == opcode; };
  return is(2, 0xc7) || is(2, 0x81) || is(2, 0x8d) || is(3, 0x8d) || is(3, 0xc7) || is(4, 0xc7) ||
         is(6, 0xc7) || is(7, 0xc7);
}
constexpr uint64_t kOperandLookBack = 7;

}  // namespace

ModuleCode::ModuleCode(Module& module) : module_(module), functions_(module.functions()) {
  symbols_ = functions_.data();
  symbol_count_ = functions_.size();
  for (const auto& [first, last] : module.text_ranges()) {
    Range range{first, last, module.original_code(first, last - first), {}, {}, {}, {}, {}};
    if (range.code.size() != last - first) {
      // No file behind it: a copy of what is in memory has to do.
      range.copy.resize(last - first);
      const size_t there = copy_of_memory(first, range.copy.data(), last - first);
      std::memset(range.copy.data() + there, 0xcc, range.copy.size() - there);
      range.code = {range.copy.data(), range.copy.size()};
    }
    range.entries.resize((last - first) / 64 + 1);
    range.entry_bytes.resize((last - first) / 64 + 1);
    range.hit.resize((last - first) / 64 + 1);
    ranges_.push_back(std::move(range));
  }
  mark_entries();
  for (Range& range : ranges_) scan(&range);
  const auto by_target = [](const FarBranch& a, const FarBranch& b) { return a.target < b.target; };
  std::sort(far_.begin(), far_.end(), by_target);
  for (const Range& range : ranges_) {
    for_each_named(range, [&](uint64_t target, uint64_t source) {
      const Range* to = range_of(target);
      if (to && test_bit(to->entry_bytes, target - to->first)) named_.push_back({target, source});
    });
  }
  std::sort(named_.begin(), named_.end(), by_target);
  read_stored();
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
  set_bit(&range->entries, address - range->first);
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
    } else if (kind == kSignature) {
      if (uint32_t(load32(code + i)) == kRseqSignature) aborts_.push_back(at + 4);
    } else if (kind == kEscape && (code[i + 1] & 0xf0) == 0x80) {
      note(range, at + 6 + static_cast<uint64_t>(int64_t{load32(code + i + 2)}), at, true);
    }
  }
}

// lea with a RIP-relative operand; in an object that is never moved, any operand of four bytes.
template <typename Visit>
void ModuleCode::for_each_named(const Range& range, Visit&& visit) const {
  const uint8_t* code = bytes_of(range.code);
  const uint64_t size = range.code.size();
  constexpr char kLea = '\x8d';
  for (size_t i = range.code.find(kLea); i < size; i = range.code.find(kLea, i + 1)) {
    if (i + 6 > size || (code[i + 1] & 0xc7) != 0x05) continue;
    visit(range.first + i + 6 + uint64_t(int64_t{load32(code + i + 2)}), range.first + i);
  }
  if (!has_fixed_addresses()) return;
  for (uint64_t i = kOperandLookBack; i + 4 <= size; i++) {
    const uint64_t value = uint32_t(load32(code + i));
    if (value - range.first < size && may_be_operand(code, i)) visit(value, range.first + i);
  }
}

void ModuleCode::read_stored() {
  std::sort(aborts_.begin(), aborts_.end());
  std::vector<uint64_t> abort_places;
  uint64_t last_place = 0, last_value = 0;
  module_.stored_addresses([&](uint64_t place, uint64_t value) {
    const Range* range = range_of(value);
    if (range && test_bit(range->entry_bytes, value - range->first)) stored_.push_back(value);
    if (!aborts_.empty() && std::binary_search(aborts_.begin(), aborts_.end(), value))
      abort_places.push_back(place);
    const uint64_t step = place - last_place;
    if (range && (step == 8 || step == 4) && place % step == 0) note_labels(last_value, value);
    if (range) last_place = place, last_value = value;
  });
  std::sort(stored_.begin(), stored_.end());
  std::sort(labelled_.begin(), labelled_.end());
  if (!abort_places.empty()) read_sequences(abort_places);
}

// Two words that stand beside each other. A table of functions has no place in the middle of one.
void ModuleCode::note_labels(uint64_t one, uint64_t next) {
  const auto is_entry = [this](uint64_t address) {
    const Range* range = range_of(address);
    return range && test_bit(range->entries, address - range->first);
  };
  if (is_entry(one) == is_entry(next)) return;
  const uint64_t entry = is_entry(one) ? one : next, label = entry == one ? next : one;
  const long index = function_before(entry);
  if (index >= 0 && label > entry && label - entry < symbols_[index].size)
    labelled_.push_back(entry);
}

bool ModuleCode::label_at_entry(uint64_t entry) const {
  return std::binary_search(labelled_.begin(), labelled_.end(), entry);
}

// struct rseq_cs: | version, flags | start | length | where an interrupted thread goes on |
// The instruction before the start has told the kernel of the sequence, and the thread must be in
// it with the next one: nothing may come between. So the range begins one byte early.
void ModuleCode::read_sequences(const std::vector<uint64_t>& abort_places) {
  std::vector<std::pair<uint64_t, uint64_t>> aborts;  // place of the start, the place to go on at
  for (const uint64_t place : abort_places) aborts.emplace_back(place - 16, 0);
  module_.stored_addresses([&](uint64_t place, uint64_t value) {
    for (const auto& [start_place, unused] : aborts) {
      if (start_place != place) continue;
      const std::string_view length = module_.file_bytes(place + 8);
      uint64_t bytes = 0;
      if (length.size() >= sizeof bytes) std::memcpy(&bytes, length.data(), sizeof bytes);
      if (bytes < (1 << 20)) sequences_.emplace_back(value - 1, value + bytes);
    }
  });
  for (const uint64_t address : aborts_) sequences_.emplace_back(address - 4, address);
  std::sort(sequences_.begin(), sequences_.end());
  sequences_.erase(std::unique(sequences_.begin(), sequences_.end()), sequences_.end());
}

bool ModuleCode::address_into(uint64_t first, uint64_t last) const {
  const auto stored = std::lower_bound(stored_.begin(), stored_.end(), first);
  if (stored != stored_.end() && *stored < last) return true;
  auto named = std::lower_bound(named_.begin(), named_.end(), first,
                                [](const FarBranch& b, uint64_t a) { return b.target < a; });
  for (; named != named_.end() && named->target < last; ++named)
    if (confirm_named(named->source, named->target)) return true;
  return false;
}

void ModuleCode::add_addresses(const std::vector<uint64_t>& targets) {
  for (const uint64_t target : targets) {
    const Range* range = range_of(target);
    if (range && test_bit(range->entry_bytes, target - range->first)) stored_.push_back(target);
  }
  std::sort(stored_.begin(), stored_.end());
}

bool ModuleCode::may_jump_indirectly(uint64_t start, uint64_t end) const {
  constexpr char kGroup5 = '\xff';
  const std::string_view code = code_at(start).substr(0, end - start);
  for (size_t at = code.find(kGroup5); at < code.size(); at = code.find(kGroup5, at + 1))
    if (at + 1 < code.size() && (uint8_t(code[at + 1]) & 0x38) == 0x20) return true;
  return false;
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

// Whether the instruction that holds `source` names `target`: by lea, or as a constant or an
// absolute address, which are its last bytes. Code of no function does.
bool ModuleCode::confirm_named(uint64_t source, uint64_t target) const {
  const Range* range = range_of(source);
  const long index = function_before(source);
  if (!range || index < 0 || symbols_[index].address < range->first) return true;
  for (uint64_t at = symbols_[index].address; at <= source;) {
    Insn insn;
    const uint8_t* code = bytes_of(range->code) + (at - range->first);
    if (!decode_insn(code, std::min<uint64_t>(kMaxInsnLength, range->last - at), at, &insn)) {
      return true;
    }
    const uint64_t end = at + insn.length;
    if (source < end) {
      const bool is_lea = insn.rip_disp_offset && insn.target == target;
      const bool is_last = source + 4 == end || source + 8 == end;
      return is_lea || (is_last && !insn.is_direct_branch() &&
                        (!insn.rip_disp_offset || source != at + insn.rip_disp_offset));
    }
    at = end;
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
    const auto note_address = [&](uint64_t target) {
      auto* range = const_cast<Range*>(range_of(target));
      if (range) set_bit(&range->far_hit, target - range->first);
    };
    for (const Range& range : ranges_)
      for_each_named(range, [&](uint64_t target, uint64_t) { note_address(target); });
    module_.stored_addresses([&](uint64_t, uint64_t value) { note_address(value); });
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

bool ModuleCode::is_cold_part(uint64_t start) const {
  const long index = function_before(start);
  return index >= 0 && symbols_[index].address == start && symbols_[index].is_cold_part;
}

uint64_t ModuleCode::whole_of_part(uint64_t start) const {
  if (!is_cold_part(start)) return start;
  const std::string_view name = symbols_[function_before(start)].name;
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
