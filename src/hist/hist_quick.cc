// SPDX-License-Identifier: MIT
#include "hist/hist_quick.h"

#include <optional>

#include "base/shared_memory.h"

namespace patchbay {
namespace {

class QuickMaker {
 public:
  explicit QuickMaker(const HistProgram& program) : program_(program) {}

  // False: it does not fit.
  bool run() {
    if (!set_keys() || !add_others() || !add_sums() || !add_variables() || !add_acts())
      return false;
    made_.is_word = made_.nr_keys == 1 && !made_.text;
    made_.shape = shape();
    return true;
  }
  const HistQuick& made() const { return made_; }

 private:
  bool set_keys() {
    for (uint32_t i = 0; i < program_.nr_keys; i++) {
      const HistValue& value = program_.keys[i].value;
      const bool is_last = i + 1 == program_.nr_keys;
      if (is_last && is_text_of_record(value)) {
        made_.text = &value;
        return true;
      }
      const auto key = number(value);
      if (made_.nr_keys == kMaxQuick || !key || key->kind != HistQuickKind::kField) return false;
      made_.keys[made_.nr_keys++] = *key;
    }
    return true;
  }
  static bool is_text_of_record(const HistValue& value) {
    return value.source == HistSource::kChars || value.source == HistSource::kDataLoc ||
           value.source == HistSource::kCounted || value.source == HistSource::kRelLoc ||
           value.source == HistSource::kRestText;
  }

  // References to own variables are for acts alone: in expressions they are what they were before.
  bool add_others() {
    for (uint32_t i = 0; i < program_.nr_references; i++) {
      const HistReference& reference = program_.references[i];
      if (reference.is_self) continue;
      if (made_.nr_others == kMaxQuick || reference.table->key_size != program_.key_words * 8)
        return false;
      slot_of_[i] = made_.nr_others;
      made_.others[made_.nr_others++] = {
          reference.table, variable_at(*reference.table, reference.variable), reference.read_once};
    }
    return true;
  }

  bool add_sums() {
    if (program_.nr_values > kMaxQuick) return false;
    for (uint32_t i = 0; i < program_.nr_values; i++) {
      const auto value = number(program_.values[i].value);
      if (!value || program_.values[i].quantiles) return false;
      made_.sums[made_.nr_sums++] = {*value, program_.values[i].index};
    }
    return true;
  }

  bool add_variables() {
    if (program_.nr_variables > kMaxQuick) return false;
    for (uint32_t i = 0; i < program_.nr_variables; i++) {
      const auto value = number(program_.variables[i].value);
      if (!value) return false;
      made_.variables[made_.nr_variables++] = {
          *value, variable_at(*program_.table, program_.variables[i].index)};
    }
    return true;
  }

  bool add_acts() {
    if (program_.nr_acts > kMaxQuickActs) return false;
    for (uint32_t i = 0; i < program_.nr_acts; i++)
      if (!add_act(program_.acts[i])) return false;
    return true;
  }

  bool add_act(const HistAct& act) {
    if (act.when != HistWhen::kAlways || act.what != HistDo::kTrace) return false;
    if (act.nr_params > kMaxQuickParams || act.fixed_size != 8 + 8 * act.nr_params) return false;
    HistQuickAct& made = made_.acts[made_.nr_acts++];
    made.target = act.target;
    made.nr_params = act.nr_params;
    for (uint32_t i = 0; i < act.nr_params; i++) {
      const HistParam& param = act.params[i];
      const auto slot = slot_of(param.reference);
      const bool is_number = param.kind == HistParamKind::kNumber && param.offset == 8 + 8 * i;
      if (!is_number || !slot) return false;
      const uint64_t mask = param.size == 8 ? ~uint64_t{0} : (uint64_t{1} << param.size * 8) - 1;
      made.params[i] = {mask, *slot};
    }
    return true;
  }

  HistQuickShape shape() const {
    if (made_.nr_others == 1 && made_.nr_acts == 1 && !made_.nr_sums)
      return HistQuickShape::kMatches;
    if (made_.nr_others || made_.nr_acts) return HistQuickShape::kAny;
    if (!made_.nr_variables)  // kCounts never reads the clock
      return made_.uses_time ? HistQuickShape::kAny : HistQuickShape::kCounts;
    return made_.nr_sums ? HistQuickShape::kAny : HistQuickShape::kRemembers;
  }

  // Of a reference in an act, where own variables have been set.
  std::optional<uint32_t> slot_of(uint32_t index) const {
    const HistReference& reference = program_.references[index];
    if (!reference.is_self) return slot_of_[index];
    for (uint32_t i = 0; i < program_.nr_variables; i++)
      if (program_.variables[i].index == reference.variable) return kQuickOwn + i;
    return std::nullopt;
  }

  std::optional<HistQuickNumber> number(const HistValue& value) {
    if (value.source != HistSource::kNumber) return std::nullopt;
    HistQuickNumber made = {};
    const HistStep* steps = value.steps;
    const bool is_time = steps[0].op == HistOp::kTime || steps[0].op == HistOp::kTimeUsecs;
    made.in_usecs = steps[0].op == HistOp::kTimeUsecs;
    made_.uses_time |= is_time;
    if (value.nr_steps == 1 && steps[0].op < HistOp::kConstant) {
      made.kind = HistQuickKind::kField;
      made.load = steps[0].op;
      made.offset = steps[0].offset;
      return made;
    }
    if (value.nr_steps == 1 && is_time) {
      made.kind = HistQuickKind::kTime;
      return made;
    }
    const bool is_since = value.nr_steps == 3 && is_time && steps[2].op == HistOp::kMinus;
    if (!is_since && value.nr_steps != 1) return std::nullopt;
    const HistStep& read = steps[is_since ? 1 : 0];
    if (read.op != HistOp::kReference || program_.references[read.offset].is_self)
      return std::nullopt;
    made.kind = is_since ? HistQuickKind::kTimeSince : HistQuickKind::kValue;
    made.slot = uint8_t(slot_of_[read.offset]);
    return made;
  }

  static uint32_t variable_at(const HistTable& table, uint32_t index) {
    return table.variables_at + index * uint32_t(sizeof(HistVariableWord));
  }

  const HistProgram& program_;
  HistQuick made_ = {};
  uint32_t slot_of_[kMaxHistReferences] = {};
};

}  // namespace

const HistQuick* make_hist_quick(const HistProgram& program) {
  QuickMaker maker(program);
  if (!maker.run()) return nullptr;
  auto* made = make_shared_forever<HistQuick>();
  *made = maker.made();
  return made;
}

}  // namespace patchbay
