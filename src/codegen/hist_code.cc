// SPDX-License-Identifier: MIT
//
// Registers from the hash to the first addition:
//   kControl  the HistTable          kTime   where in the slots, in bytes
//   kPublish  the slots; the entry   kSlot   the slot that is wanted, but for its number
//   kValue    the key, if it is one  kPlace  how a slot differs from it: 1 + its entry
#include "codegen/hist_code.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "codegen/record_code.h"
#include "hist/hist_quick.h"
#include "probe/triggers/trigger_hot.h"

namespace patchbay {
namespace {

using reg::kControl, reg::kPlace, reg::kPublish, reg::kSlot, reg::kTime, reg::kValue, reg::kWork;

constexpr uint32_t kSlotSize = sizeof(uint64_t), kSumSize = sizeof(uint64_t);
constexpr int64_t kKeyAt = sizeof(uint64_t);  // in an entry, behind its claim
constexpr int kSlotShift = std::countr_zero(kSlotSize);
constexpr uint64_t kMostBytes = 0x7fffffff;  // of a number in an instruction

uint32_t op_size(HistOp op) {
  switch (op) {
    case HistOp::kU8:
    case HistOp::kS8:
      return 1;
    case HistOp::kU16:
    case HistOp::kS16:
      return 2;
    case HistOp::kU32:
    case HistOp::kS32:
      return 4;
    default:
      return 8;
  }
}
bool is_signed(HistOp op) { return op == HistOp::kS8 || op == HistOp::kS16 || op == HistOp::kS32; }

// Of a record: the number that the histogram reads at this place of it.
std::optional<HistCodeNumber> number_at(const FetchProgram& fetch, HistOp op, uint32_t offset) {
  using enum HistCodeNumber::Source;
  const uint32_t size = op_size(op);
  if (offset == offsetof(abi::RecordHeader, common_pid) && size == 4)
    return HistCodeNumber{kThread, op, 0};
  const bool has_caller = fetch.head == RecordHead::kFunction;
  if (has_caller && offset == 8 && size == 8) return HistCodeNumber{kCaller, op, 0};
  if (offset == (has_caller ? 16 : 8) && size == 8) return HistCodeNumber{kPlace, op, 0};
  const FetchInsn* chain = find_chain(fetch, offset, size);
  if (!chain) return std::nullopt;
  return HistCodeNumber{kField, op, uint16_t(chain - fetch.insn)};
}

// The numbers of a histogram that counts and does nothing else; false: it is another one.
bool add_numbers(const FetchProgram& fetch, HistCode* made) {
  const HistProgram& hist = *made->hist;
  if (hist.is_simple) {
    const HistStep& key = hist.keys[0].value.steps[0];
    const auto number = number_at(fetch, key.op, key.offset);
    if (number) made->keys.push_back(*number);
    return number.has_value();
  }
  const HistQuick* quick = hist.quick;
  if (!quick || quick->shape != HistQuickShape::kCounts || quick->text) return false;
  for (uint32_t i = 0; i < quick->nr_keys; i++) {
    const auto number = number_at(fetch, quick->keys[i].load, quick->keys[i].offset);
    if (!number) return false;
    made->keys.push_back(*number);
  }
  for (uint32_t i = 0; i < quick->nr_sums; i++) {
    const HistQuickSum& sum = quick->sums[i];
    if (sum.value.kind != HistQuickKind::kField) return false;
    const auto number = number_at(fetch, sum.value.load, sum.value.offset);
    if (!number) return false;
    made->sums.push_back({*number, sum.index});
  }
  return made->keys.size() <= kMaxHistCodeKeys && made->sums.size() <= kMaxHistCodeSums &&
         made->keys.size() == hist.key_words;
}

bool has_small_table(const HistTable& table) {
  const uint64_t slots = (uint64_t{table.slot_mask} + 1) * kSlotSize;
  return slots <= kMostBytes && table.row_size <= kMostBytes;
}

bool counts_alone(const SiteEvent& event) {
  if (!has_triggers_alone(event) || event.event->triggers->nr_triggers != 1) return false;
  const Trigger& trigger = event.event->triggers->trigger[0];
  return trigger.kind == TriggerKind::kHist && !trigger.after &&
         has_small_table(*trigger.hist->table);
}

class HistEmitter {
 public:
  HistEmitter(const CodeFrame& frame, const HistCode& hist, const HistSequences& sequences,
              const Label& unusual)
      : frame_(frame),
        out_(frame.out),
        hist_(hist),
        table_(*hist.hist->table),
        sequences_(sequences),
        unusual_(unusual) {}

  void emit() {
    out_.begin_sequence(sequences_.first);
    frame_.ask_thread(unusual_);
    test_switches();
    for (size_t i = 0; i < hist_.sums.size(); i++) {
      load_number(hist_.sums[i].value);
      out_.store(sum_word(i), kValue);
    }
    load_keys();
    make_wanted();
    find_entry();
    add_hit();
    for (size_t i = 0; i < hist_.sums.size(); i++) add_sum(i);
  }

 private:
  Mem table_word(size_t field) const { return {kControl, int64_t(field)}; }
  bool has_one_key() const { return hist_.keys.size() == 1; }
  // Spilled: the keys, where they are several, then the values.
  Mem key_word(size_t i) const { return frame_.spilled(int(i)); }
  Mem sum_word(size_t i) const { return frame_.spilled(int(kMaxHistCodeKeys + i)); }

  // Paused, for itself or with all of its event.
  void test_switches() {
    if (hist_.hist->event_switch) {
      frame_.later(kControl, CodeValue::kHistSwitch);
      out_.apply(Op::kCompare, Mem{kControl}, Number{kHistEach}, Width::k4);
      out_.jump_if(JumpCondition::kNotEqual, unusual_);
    }
    frame_.later(kControl, CodeValue::kHist);
    out_.apply(Op::kCompare, table_word(offsetof(HistProgram, paused)), Number{0}, Width::k4);
    out_.jump_if(JumpCondition::kNotEqual, unusual_);
    out_.load(kControl, table_word(offsetof(HistProgram, table)));
  }

  // As the record would have it, then as the histogram reads it: in kValue.
  void load_number(const HistCodeNumber& number) {
    using enum HistCodeNumber::Source;
    const uint32_t size = op_size(number.op);
    switch (number.source) {
      case kThread:
        out_.load(kValue, frame_.tid(), Width::k4);
        break;
      case kPlace:
        return frame_.later(kValue, CodeValue::kIp);
      case kCaller:
        return out_.load_return_address(kValue);
      case kField:
        emit_field(frame_, frame_.code.event.fetch->insn + number.insn);
    }
    if (size == 8) return;
    const int unused = 64 - 8 * int(size);
    if (size == 4 && !is_signed(number.op)) return out_.move(kValue, kValue, Width::k4);
    out_.shift_left(kValue, unused);
    is_signed(number.op) ? out_.shift_right_signed(kValue, unused)
                         : out_.shift_right(kValue, unused);
  }

  // kSlot becomes the sum that is hashed.
  void load_keys() {
    for (size_t i = 0; i < hist_.keys.size(); i++) {
      load_number(hist_.keys[i]);
      if (!has_one_key()) out_.store(key_word(i), kValue);
      const Reg product = i ? kPlace : kSlot;
      out_.set(product, kHistMultipliers.of[i]);
      out_.multiply(product, kValue);
      if (i) out_.apply(Op::kAdd, kSlot, kPlace);
    }
  }

  // hist_hash_sum() and hist_tag(): kSlot is what the slot is to be, kTime where it may be first.
  void make_wanted() {
    out_.load(kTime, table_word(offsetof(HistTable, generation)), Width::k4);
    out_.apply(Op::kTest, kTime, Number{1}, Width::k4);
    out_.jump_if(JumpCondition::kNotEqual, unusual_);
    if (!hist_.sums.empty()) out_.store(frame_.scratch(), kTime);
    out_.move(kPlace, kSlot);
    out_.shift_right(kPlace, 32);
    out_.apply(Op::kXor, kSlot, kPlace);
    out_.set(kPlace, kHistHashMultiplier);
    out_.multiply(kSlot, kPlace);
    out_.shift_right(kSlot, 32);
    out_.shift_left(kTime, kHistTagShift - 1, Width::k4);
    out_.apply(Op::kOr, kTime, Number{uint32_t(kHistValid)}, Width::k4);
    out_.move(kPlace, kSlot);
    out_.shift_left(kSlot, 32);
    out_.apply(Op::kOr, kSlot, kTime);
    out_.apply(Op::kAnd, kPlace, Number{table_.slot_mask}, Width::k4);
    out_.shift_left(kPlace, kSlotShift);
    out_.move(kTime, kPlace);
  }

  // Around the end of the slots the general way goes on: so the loop has an end.
  void find_entry() {
    Label next, look;
    out_.jump(look);
    out_.bind(next);
    out_.apply(Op::kTest, kPlace, Number{uint32_t(kHistTagMask)}, Width::k4);
    out_.jump_if(JumpCondition::kNotEqual, unusual_);
    out_.apply(Op::kXor, kPlace, kSlot);
    out_.apply(Op::kTest, kPlace, Number{uint32_t(kHistEntryMask)}, Width::k4);
    out_.jump_if(JumpCondition::kEqual, unusual_);
    out_.apply(Op::kAdd, kTime, Number{kSlotSize});
    out_.apply(Op::kCompare, kTime, Number{(table_.slot_mask + 1) * kSlotSize});
    out_.jump_if(JumpCondition::kNotBelow, unusual_);
    out_.bind(look);
    out_.load(kPlace, table_word(offsetof(HistTable, slots)));
    out_.load(kPlace, {kPlace, 0, kTime});
    out_.apply(Op::kXor, kPlace, kSlot);
    out_.apply(Op::kCompare, kPlace, Number{uint32_t(kHistEntryMask)});
    out_.jump_if(JumpCondition::kAbove, next);
    out_.move(kPublish, kPlace);
    out_.multiply(kPublish, Number{table_.entry_size});
    out_.apply(Op::kAdd, kPublish, table_word(offsetof(HistTable, entries)));
    for (size_t i = 0; i < hist_.keys.size(); i++) {
      if (!has_one_key()) out_.load(kValue, key_word(i));
      const int64_t at = kKeyAt + int64_t(kSlotSize * i) - int64_t(table_.entry_size);
      out_.apply(Op::kCompare, Mem{kPublish, at}, kValue);
      out_.jump_if(JumpCondition::kNotEqual, next);
    }
  }

  // kPlace becomes the offset of the entry's hitcount in a row, and the row is kPublish.
  void add_hit() {
    out_.multiply(kPlace, Number{table_.nr_values * kSumSize});
    load_row(unusual_);
    out_.add_one(sum_at(kPublish, 0));
    out_.commit_sequence(sequences_.first);
  }
  void load_row(const Label& other) {
    out_.load_cpu(kPublish, other);
    out_.apply(Op::kCompare, kPublish, Number{table_.nr_cpus}, Width::k4);
    out_.jump_if(JumpCondition::kNotBelow, other);
    out_.multiply(kPublish, Number{uint32_t(table_.row_size)});
    out_.apply(Op::kAdd, kPublish, table_word(offsetof(HistTable, sums)));
  }
  // Of kPlace, which counts entries from 1.
  Mem sum_at(Reg row, uint32_t index) const {
    const int64_t first = int64_t{kHistSumsAt} - table_.nr_values;
    return {row, (first + index) * int64_t{kSumSize}, kPlace};
  }

  void add_sum(size_t i) {
    const Sequence& sequence = sequences_.sums[i];
    Label locked, done;
    out_.load(kValue, sum_word(i));
    out_.load(kSlot, frame_.scratch());
    out_.begin_sequence(sequence);
    load_row(locked);
    out_.apply(Op::kCompare, kSlot, table_word(offsetof(HistTable, generation)), Width::k4);
    out_.jump_if(JumpCondition::kNotEqual, done);
    out_.apply(Op::kAdd, sum_at(kPublish, hist_.sums[i].index), kValue);
    out_.commit_sequence(sequence);
    out_.jump(done);
    out_.abort_sequence(sequence);
    out_.bind(locked);
    add_locked(hist_.sums[i].index);
    out_.bind(done);
  }
  // The last row, for whoever was interrupted (hist_add.S).
  void add_locked(uint32_t index) {
    Label unlock;
    const Mem users = table_word(offsetof(HistTable, locked_users));
    out_.add_locked(users, Number{1}, Width::k4);
    out_.apply(Op::kCompare, kSlot, table_word(offsetof(HistTable, generation)), Width::k4);
    out_.jump_if(JumpCondition::kNotEqual, unlock);
    out_.set(kPublish, table_.nr_cpus * table_.row_size);
    out_.apply(Op::kAdd, kPublish, table_word(offsetof(HistTable, sums)));
    out_.add_locked(sum_at(kPublish, index), kValue, Width::k8);
    out_.bind(unlock);
    out_.add_locked(users, Number{uint32_t(-1)}, Width::k4);
  }

  const CodeFrame& frame_;
  Emitter& out_;
  const HistCode& hist_;
  const HistTable& table_;
  const HistSequences& sequences_;
  const Label& unusual_;
};

}  // namespace

HistCode hist_code(const SiteEvent& event) {
  if (!counts_alone(event)) return {};
  HistCode made;
  made.hist = event.event->triggers->trigger[0].hist;
  if (!add_numbers(*event.fetch, &made)) return {};
  return made;
}

std::vector<uint64_t> hist_code_words(const HistCode& hist) {
  const HistTable& table = *hist.hist->table;
  std::vector<uint64_t> words = {hist.keys.size(),
                                 table.slot_mask,
                                 table.entry_size,
                                 table.nr_values,
                                 table.nr_cpus,
                                 table.row_size,
                                 hist.hist->event_switch != nullptr};
  const auto add = [&words](const HistCodeNumber& number, uint32_t index) {
    words.push_back(uint64_t{index} << 32 | uint64_t{number.insn} << 16 | uint64_t(number.op) << 8 |
                    uint64_t(number.source));
  };
  for (const HistCodeNumber& key : hist.keys) add(key, 0);
  for (const HistCodeSum& sum : hist.sums) add(sum.value, sum.index);
  return words;
}

void emit_hist(const CodeFrame& frame, const HistCode& hist, const HistSequences& sequences,
               const Label& unusual) {
  HistEmitter(frame, hist, sequences, unusual).emit();
}

}  // namespace patchbay
