// SPDX-License-Identifier: MIT
//
// Runs the instructions of each FDE (DWARF 5, 6.4.2) and keeps what a change of them means for the
// CFA and rbp. What nobody needs to come to the caller, the other saved registers, is passed over.
#include "symbol/unwind_table.h"

#include <algorithm>

#include "symbol/eh_records.h"
#include "symbol/symbol.h"

namespace patchbay {
namespace {

constexpr uint64_t kRbp = 6, kRsp = 7, kReturnAddress = 16;
constexpr int64_t kContextRsp = 160;  // of the program, in the ucontext at a signal's return
constexpr size_t kMaxRemembered = 64;
constexpr uint64_t kMaxTable = uint64_t{1} << 32;  // rows have 32 bits

enum Expression : uint8_t { kOpDeref = 0x06, kOpBreg0 = 0x70 };

// Where a register of the caller is.
struct Saved {
  enum class How : uint8_t { kSame, kAtCfa, kAtRbp, kUndefined, kOther } how = How::kSame;
  int64_t offset = 0;  // of kAtCfa
};
struct State {
  UnwindKind kind = UnwindKind::kUnsupported;  // of the CFA
  int64_t offset = 0;
  Saved rbp, return_address;
};

int32_t checked_offset(int64_t offset, bool* good) {
  *good = offset % 8 == 0 && offset <= kMaxUnwindOffset && offset >= -kMaxUnwindOffset;
  return *good ? int32_t(offset) : 0;
}

// What the probe path can do with it.
UnwindRule rule_of(const State& state, bool is_signal_frame) {
  if (is_signal_frame && state.kind == UnwindKind::kSignal) return {UnwindKind::kSignal, 0, 0};
  if (state.return_address.how == Saved::How::kUndefined) return {UnwindKind::kOutermost, 0, 0};
  const UnwindRule unsupported = {UnwindKind::kUnsupported, 0, 0};
  if (state.return_address.how != Saved::How::kAtCfa || state.return_address.offset != -8)
    return unsupported;
  bool good = false;
  UnwindRule rule = {state.kind, 0, checked_offset(state.offset, &good)};
  if (!good || rule.kind == UnwindKind::kUnsupported || rule.kind == UnwindKind::kSignal)
    return unsupported;
  const int64_t above = -state.rbp.offset / 8;
  switch (state.rbp.how) {
    case Saved::How::kSame:
      break;
    case Saved::How::kAtCfa:
      rule.saved_rbp =
          state.rbp.offset % 8 == 0 && above > 0 && above < kRbpAtRbp ? uint16_t(above) : kRbpLost;
      break;
    case Saved::How::kAtRbp:
      rule.saved_rbp = kRbpAtRbp;
      break;
    default:
      rule.saved_rbp = kRbpLost;
  }
  return rule;
}

// The expressions that compilers and linkers make: breg(r) n, with or without a deref behind it,
// and the one of PLT entries, which has no other form.
struct SimpleExpression {
  uint64_t base = 0;
  int64_t offset = 0;
  bool deref = false;
};
bool read_simple(Bytes bytes, SimpleExpression* out) {
  ByteReader reader(bytes);
  const uint8_t first = reader.read<uint8_t>();
  if (first < kOpBreg0 || first > kOpBreg0 + 15) return false;
  out->base = first - kOpBreg0;
  out->offset = reader.sleb();
  out->deref = reader.remaining() == 1;
  return reader.ok() && (reader.remaining() == 0 || reader.read<uint8_t>() == kOpDeref);
}
// breg7 8; breg16 0; lit15; and; litN; ge; lit3; shl; plus: from the Nth byte of 16 on a word more
// is pushed.
bool read_plt(Bytes bytes, int64_t* from) {
  constexpr uint8_t kBefore[] = {0x77, 8, 0x80, 0, 0x3f, 0x1a};
  constexpr uint8_t kBehind[] = {0x2a, 0x33, 0x24, 0x22};
  constexpr uint8_t kLit0 = 0x30;
  if (bytes.size() != sizeof kBefore + 1 + sizeof kBehind) return false;
  *from = bytes[sizeof kBefore] - kLit0;
  return std::ranges::equal(bytes.first(sizeof kBefore), kBefore) && *from >= 0 && *from < 16 &&
         std::ranges::equal(bytes.last(sizeof kBehind), kBehind);
}

class Machine {
 public:
  Machine(UnwindTable* table, const EhFde& fde) : table_(table), fde_(fde), at_(fde.start) {}
  void run();

 private:
  bool run_all(ByteReader reader);
  bool run_one(ByteReader& reader);
  bool run_extended(uint8_t opcode, ByteReader& reader);
  bool run_cfa(uint8_t opcode, ByteReader& reader);
  bool run_register(uint8_t opcode, ByteReader& reader);
  void advance(uint64_t delta);
  void define_cfa(uint64_t base, int64_t offset);
  void define_cfa_by(Bytes expression);
  void set_saved(uint64_t number, Saved saved);
  int64_t factored(int64_t value) const {
    return int64_t(uint64_t(value) * uint64_t(fde_.cie->data_alignment));
  }
  void emit();

  UnwindTable* table_;
  const EhFde& fde_;
  uint64_t at_;
  State now_, initial_;
  std::vector<State> remembered_;
};

void Machine::emit() {
  const uint32_t rule = pack_rule(rule_of(now_, fde_.cie->is_signal_frame));
  const auto start = uint32_t(at_ - table_->first);
  std::vector<UnwindRow>& rows = table_->rows;
  if (!rows.empty() && rows.back().start == start) rows.pop_back();
  if (rows.empty() || rows.back().rule != rule) rows.push_back({start, rule});
}

void Machine::advance(uint64_t delta) {
  emit();
  const uint64_t end = fde_.start + fde_.size;
  delta *= fde_.cie->code_alignment;
  at_ = delta < end - at_ ? at_ + delta : end;
}

void Machine::define_cfa(uint64_t base, int64_t offset) {
  now_.kind = base == kRsp   ? UnwindKind::kRsp
              : base == kRbp ? UnwindKind::kRbp
                             : UnwindKind::kUnsupported;
  now_.offset = offset;
}

void Machine::define_cfa_by(Bytes expression) {
  SimpleExpression simple;
  now_.kind = UnwindKind::kUnsupported;
  now_.offset = 0;
  int64_t from = 0;
  if (read_plt(expression, &from)) {
    now_.kind = UnwindKind::kPlt;
    now_.offset = from * 8;
  } else if (read_simple(expression, &simple)) {
    if (!simple.deref) define_cfa(simple.base, simple.offset);
    if (simple.deref && simple.base == kRbp) {
      now_.kind = UnwindKind::kDeref;
      now_.offset = simple.offset;
    } else if (simple.deref && simple.base == kRsp && simple.offset == kContextRsp) {
      now_.kind = UnwindKind::kSignal;
    }
  }
}

void Machine::set_saved(uint64_t number, Saved saved) {
  if (number == kRbp) now_.rbp = saved;
  if (number == fde_.cie->return_register) now_.return_address = saved;
}

bool Machine::run_cfa(uint8_t opcode, ByteReader& reader) {
  uint64_t base = 0;
  switch (opcode) {
    case 0x0c:  // def_cfa
      base = reader.uleb();
      define_cfa(base, int64_t(reader.uleb()));
      return true;
    case 0x12:  // def_cfa_sf
      base = reader.uleb();
      define_cfa(base, factored(reader.sleb()));
      return true;
    case 0x0d:  // def_cfa_register
      define_cfa(reader.uleb(), now_.offset);
      return true;
    case 0x0e:  // def_cfa_offset
      now_.offset = int64_t(reader.uleb());
      return true;
    default:  // 0x13 def_cfa_offset_sf
      now_.offset = factored(reader.sleb());
      return true;
  }
}

bool Machine::run_register(uint8_t opcode, ByteReader& reader) {
  using How = Saved::How;
  const uint64_t number = reader.uleb();
  switch (opcode) {
    case 0x05:  // offset_extended
      set_saved(number, {How::kAtCfa, factored(int64_t(reader.uleb()))});
      return true;
    case 0x11:  // offset_extended_sf
      set_saved(number, {How::kAtCfa, factored(reader.sleb())});
      return true;
    case 0x2f:  // GNU_negative_offset_extended
      set_saved(number, {How::kAtCfa, -factored(int64_t(reader.uleb()))});
      return true;
    case 0x06:  // restore_extended
      if (number == kRbp) now_.rbp = initial_.rbp;
      if (number == fde_.cie->return_register) now_.return_address = initial_.return_address;
      return true;
    case 0x07:  // undefined
      set_saved(number, {How::kUndefined, 0});
      return true;
    case 0x08:  // same_value
      set_saved(number, {How::kSame, 0});
      return true;
    default:  // 0x09 register, 0x14 val_offset, 0x15 val_offset_sf
      opcode == 0x15 ? void(reader.sleb()) : void(reader.uleb());
      set_saved(number, {How::kOther, 0});
      return true;
  }
}

bool Machine::run_extended(uint8_t opcode, ByteReader& reader) {
  uint64_t number = 0, size = 0;
  switch (opcode) {
    case 0x00:  // nop
      return true;
    case 0x0a:  // remember_state
      if (remembered_.size() == kMaxRemembered) return false;
      remembered_.push_back(now_);
      return true;
    case 0x0b:  // restore_state
      if (remembered_.empty()) return false;
      now_ = remembered_.back();
      remembered_.pop_back();
      return true;
    case 0x2d:  // GNU_window_save: no register of ours
      return true;
    case 0x2e:  // GNU_args_size
      reader.uleb();
      return true;
    case 0x10:  // expression
    case 0x16:  // val_expression
      number = reader.uleb();
      [[fallthrough]];
    case 0x0f: {  // def_cfa_expression
      size = reader.uleb();
      if (size > reader.remaining()) return false;
      Bytes expression = reader.take(size);
      if (opcode == 0x0f) return define_cfa_by(expression), true;
      SimpleExpression simple;
      const bool at_rbp = opcode == 0x10 && read_simple(expression, &simple) && !simple.deref &&
                          simple.base == kRbp && simple.offset == 0;
      set_saved(number, {at_rbp ? Saved::How::kAtRbp : Saved::How::kOther, 0});
      return true;
    }
    case 0x0c:
    case 0x0d:
    case 0x0e:
    case 0x12:
    case 0x13:
      return run_cfa(opcode, reader);
    case 0x05:
    case 0x06:
    case 0x07:
    case 0x08:
    case 0x09:
    case 0x11:
    case 0x14:
    case 0x15:
    case 0x2f:
      return run_register(opcode, reader);
    default:
      return false;
  }
}

bool Machine::run_one(ByteReader& reader) {
  const uint8_t opcode = reader.read<uint8_t>();
  const uint64_t low = opcode & 0x3f;
  switch (opcode >> 6) {
    case 1:
      advance(low);
      return true;
    case 2:
      set_saved(low, {Saved::How::kAtCfa, factored(int64_t(reader.uleb()))});
      return true;
    case 3:
      if (low == kRbp) now_.rbp = initial_.rbp;
      if (low == fde_.cie->return_register) now_.return_address = initial_.return_address;
      return true;
    default:
      break;
  }
  switch (opcode) {
    case 0x01:  // set_loc, which nobody makes
      return false;
    case 0x02:
      advance(reader.read<uint8_t>());
      return true;
    case 0x03:
      advance(reader.read<uint16_t>());
      return true;
    case 0x04:
      advance(reader.read<uint32_t>());
      return true;
    default:
      return run_extended(opcode, reader);
  }
}

bool Machine::run_all(ByteReader reader) {
  const uint64_t end = fde_.start + fde_.size;
  while (reader.remaining() > 0 && at_ < end)
    if (!run_one(reader)) return false;
  return reader.ok();
}

void Machine::run() {
  ByteReader rest = fde_.rest;
  if (fde_.cie->has_augmentation_data) rest.skip(rest.uleb());
  bool good = rest.ok() && fde_.cie->return_register == kReturnAddress &&
              run_all(ByteReader(fde_.cie->instructions)) && at_ == fde_.start;
  initial_ = now_;
  good = good && run_all(rest);
  if (!good) now_ = State{};  // from where it stopped on
  if (at_ < fde_.start + fde_.size) emit();
}

void end_rows(UnwindTable* table, uint64_t address) {
  const auto start = uint32_t(address - table->first);
  constexpr uint32_t kNothing = uint32_t(UnwindKind::kNone);
  if (table->rows.back().rule != kNothing) table->rows.push_back({start, kNothing});
}

void make_blocks(UnwindTable* table) {
  const uint64_t blocks = (table->last - table->first + kUnwindBlock - 1) / kUnwindBlock;
  table->blocks.reserve(blocks + 1);
  uint32_t row = 0;
  for (uint64_t block = 0; block <= blocks; block++) {
    const uint64_t offset = block * kUnwindBlock;
    while (row + 1 < table->rows.size() && table->rows[row + 1].start <= offset) row++;
    table->blocks.push_back(row);
  }
}

}  // namespace

UnwindTable Module::unwind_table() { return {}; }

UnwindTable make_unwind_table(const ElfImage& image) {
  UnwindTable table;
  const uint64_t header = eh_frame_header(image);
  if (!header) return table;
  EhRecords records(image, header);
  struct Range {
    uint64_t start, size, address;
  };
  std::vector<Range> ranges;
  records.for_each([&](uint64_t address) {
    EhFde fde;
    if (records.read_fde(address, &fde) != EhRecords::Kind::kFde) return;
    if (fde.size == 0 || fde.size >= kMaxTable || !image.is_executable(fde.start)) return;
    if (image.at(fde.start).empty() || image.at(fde.start + fde.size - 1).empty()) return;
    ranges.push_back({fde.start, fde.size, address});
  });
  std::ranges::stable_sort(ranges, {}, &Range::start);
  if (ranges.empty()) return table;
  table.first = table.last = ranges.front().start;
  for (const Range& range : ranges) {
    const uint64_t end = range.start + range.size;
    if (range.start < table.last || end - table.first >= kMaxTable) continue;  // an overlap
    if (range.start > table.last) end_rows(&table, table.last);
    EhFde fde;
    if (records.read_fde(range.address, &fde) != EhRecords::Kind::kFde) continue;
    Machine(&table, fde).run();
    table.last = end;
  }
  end_rows(&table, table.last);
  table.rows.shrink_to_fit();
  make_blocks(&table);
  return table;
}

}  // namespace patchbay
