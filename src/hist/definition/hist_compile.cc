// SPDX-License-Identifier: MIT
//
// HistData says what is meant, HistProgram how a hit does it: fields become offsets, expressions
// steps in reverse Polish order, references the tables that they lead to.
#include "hist/definition/hist_compile.h"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/possible_cpus.h"
#include "base/shared_memory.h"
#include "event/synthetic_event.h"
#include "fetch/fetch_abi.h"
#include "hist/hist_clock.h"
#include "hist/hist_pair.h"
#include "hist/hist_program.h"
#include "hist/hist_quick.h"
#include "hist/hist_saves_hot.h"
#include "hist/hist_table.h"
#include "hist/quantile_buckets.h"

namespace patchbay {

namespace {

static_assert(kHistTextBytes == kMaxHistText && kHistStackFrames == kMaxHistStackDepth);
static_assert(kMaxHistKeySize / 8 < kMaxHistKeyWords);
static_assert(kHistTextBytes == kSyntheticTextSize && kHistStackFrames == kSyntheticStackDepth);

constexpr uint32_t kNoText = ~0u;
constexpr uint32_t kModifiers = kHistLog2 | kHistBucket;

Error does_not_fit(std::string_view what) {
  return user_error(EINVAL, std::string(what) + " does not fit into a histogram.");
}

// What a program points to is never freed: a thread may be on its way with it.
void* keep_bytes(size_t size) {
  static auto* const all = new std::vector<std::unique_ptr<uint64_t[]>>;
  all->push_back(std::make_unique<uint64_t[]>((size + 7) / 8));
  return all->back().get();
}
template <typename T>
const T* keep(const std::vector<T>& list) {
  if (list.empty()) return nullptr;
  auto* kept = static_cast<T*>(keep_bytes(list.size() * sizeof(T)));
  std::copy(list.begin(), list.end(), kept);
  return kept;
}

HistOp operation(HistOperator op) {
  switch (op) {
    case HistOperator::kPlus:
      return HistOp::kPlus;
    case HistOperator::kMinus:
      return HistOp::kMinus;
    case HistOperator::kTimes:
      return HistOp::kTimes;
    case HistOperator::kDivide:
      return HistOp::kDivide;
    default:
      return HistOp::kUnaryMinus;
  }
}

std::optional<HistOp> load_of(const EventField& field) {
  switch (field.size) {
    case 1:
      return field.is_signed ? HistOp::kS8 : HistOp::kU8;
    case 2:
      return field.is_signed ? HistOp::kS16 : HistOp::kU16;
    case 4:
      return field.is_signed ? HistOp::kS32 : HistOp::kU32;
    case 8:
      return HistOp::k64;
    default:
      return std::nullopt;
  }
}

// Where the text of a field stands, by its type as the format file shows it.
HistSource text_source(const EventField& field) {
  if (field.type.starts_with("__data_loc"))
    return field.is_counted ? HistSource::kCounted : HistSource::kDataLoc;
  if (field.type.starts_with("__rel_loc")) return HistSource::kRelLoc;
  if (field.type.ends_with("*")) return HistSource::kPointer;
  return field.size ? HistSource::kChars : HistSource::kRestText;
}

// A record of its own for the text behind a char pointer.
const FetchProgram* pointer_fetch(uint32_t offset) {
  constexpr uint32_t kInsns = 2;
  auto* made =
      static_cast<FetchProgram*>(keep_bytes(sizeof(FetchProgram) + kInsns * sizeof(FetchInsn)));
  made->fixed_size = 12;
  made->max_size = made->fixed_size + kHistTextBytes + 1;
  made->nr_insns = kInsns;
  made->head = RecordHead::kEvent;
  made->insn[0] = {FetchOp::kField, 0, 8, 0, 0, offset};
  made->insn[1] = {FetchOp::kString, 0, 4, 0, 8, kHistTextBytes + 1};  // one tells a longer text
  return made;
}

bool is_bytes(const HistField& field) {
  return (field.flags & (kHistString | kHistStacktrace)) &&
         !(field.flags & (kHistVarRef | kHistAlias));
}

class Compiler {
 public:
  explicit Compiler(HistData* data) : data_(data) {}
  Status run();

 private:
  Status add_step(HistOp op, uint64_t constant = 0);
  Status add_field(const HistField& field);
  Status add_steps(const HistField& field, uint32_t modifiers);
  Status add_operation(const HistField& field);
  Status make_number(const HistField& field, HistValue* value);
  Status make_bytes(const HistField& field, HistValue* value);
  Status make_value(const HistField& field, HistValue* value);
  Status make_key(HistField* field);
  Status make_keys();
  Status make_values();
  Status make_variable(const HistField& variable, const HistField& value,
                       std::vector<HistVariable>* list);
  Status make_variables();
  Status make_references();
  Status make_params(const HistActionData& action, HistAct* act);
  Status make_saved(const HistActionData& action, HistAct* act);
  Status make_act(const HistActionData& action);
  Status make_acts();
  Status make_table();
  bool fits_table() const;
  void find_clock();
  void finish();

  HistData* data_;
  HistShape shape_;
  HistProgram made_ = {};
  TraceClock clock_ = TraceClock::kGlobal;
  bool in_usecs_ = false;  // one of its timestamps is
  bool uses_time_ = false;
  std::vector<HistStep> steps_;
  uint32_t waiting_ = 0;  // numbers, while steps are made
  std::vector<HistKeyField> keys_;
  std::vector<HistSum> values_;
  std::vector<HistVariable> variables_;
  std::vector<HistReference> references_;
  std::vector<HistAct> acts_;
  std::vector<uint32_t> texts_;
};

// --- numbers

Status Compiler::add_step(HistOp op, uint64_t constant) {
  if (op < HistOp::kLog2) waiting_++;
  uses_time_ |= op == HistOp::kTime || op == HistOp::kTimeUsecs;
  PB_CHECK_VALUES(op < HistOp::kLog2 || waiting_ > (op > HistOp::kUnaryMinus), op, waiting_);
  if (op > HistOp::kUnaryMinus) waiting_--;
  if (waiting_ > kMaxHistStack || steps_.size() == 255) return does_not_fit("The expression");
  steps_.push_back({op, {}, 0, constant});
  return {};
}

Status Compiler::add_field(const HistField& field) {
  const EventField& from = *field.field;
  const auto op = load_of(from);
  if (!op) return does_not_fit("The field " + from.name);
  PB_TRY(add_step(*op));
  steps_.back().offset = from.offset;
  return {};
}

Status Compiler::add_operation(const HistField& field) {
  for (const auto& operand : field.operands)
    if (operand) PB_TRY(add_steps(*operand, kModifiers));
  return add_step(operation(field.op));
}

Status Compiler::add_steps(const HistField& field, uint32_t modifiers) {
  if (field.op != HistOperator::kNone) {
    PB_TRY(add_operation(field));
  } else if (field.flags & kHistConst) {
    PB_TRY(add_step(HistOp::kConstant, field.constant));
  } else if (field.flags & kHistVarRef) {
    PB_TRY(add_step(HistOp::kReference));
    steps_.back().offset = field.ref_index;
  } else if (field.operands[0]) {
    PB_TRY(add_steps(*field.operands[0], modifiers & ~field.flags));
  } else if (field.flags & kHistTimestamp) {
    PB_TRY(add_step(in_usecs_ ? HistOp::kTimeUsecs : HistOp::kTime));
  } else if (field.flags & kHistCpu) {
    PB_TRY(add_step(HistOp::kCpu));
  } else if (field.field) {
    PB_TRY(add_field(field));
  } else {
    PB_TRY(add_step(HistOp::kConstant, 1));  // hitcount
  }
  if (field.flags & modifiers & kHistLog2) PB_TRY(add_step(HistOp::kLog2));
  if (field.flags & modifiers & kHistBucket && field.buckets)
    PB_TRY(add_step(HistOp::kBucket, field.buckets));
  return {};
}

Status Compiler::make_number(const HistField& field, HistValue* value) {
  steps_.clear();
  waiting_ = 0;
  PB_TRY(add_steps(field, kModifiers));
  value->source = HistSource::kNumber;
  value->nr_steps = uint8_t(steps_.size());
  value->steps = keep(steps_);
  return {};
}

// --- texts and stacks

Status Compiler::make_bytes(const HistField& field, HistValue* value) {
  const bool is_stack = field.flags & kHistStacktrace;
  value->source = HistSource::kCallStack;
  value->size = is_stack ? kHistStackBytes : kHistTextBytes;
  if (!field.field) return is_stack ? Status() : Status(does_not_fit("A text without a field"));
  if (field.flags & kHistExecname) {
    value->source = HistSource::kComm;
    return {};
  }
  value->offset = field.field->offset;
  value->field_size = field.field->size;
  value->source = is_stack ? HistSource::kFieldStack : text_source(*field.field);
  if (value->source == HistSource::kChars)
    value->size = uint16_t(std::clamp<uint32_t>(field.field->size, 1, kHistTextBytes));
  if (value->source == HistSource::kPointer) value->fetch = pointer_fetch(value->offset);
  return {};
}

Status Compiler::make_value(const HistField& field, HistValue* value) {
  *value = {};
  return is_bytes(field) ? make_bytes(field, value) : make_number(field, value);
}

// --- the parts of a program

// The room of a text in a key is whole words, so that only its last byte is surely a NUL.
Status Compiler::make_key(HistField* field) {
  HistKeyField key = {};
  PB_TRY(make_value(*field, &key.value));
  uint32_t size = 8;
  if (field->flags & kHistStacktrace && is_bytes(*field))
    size = kHistStackFrames * 8;
  else if (is_bytes(*field))
    size = (uint32_t{key.value.size} + 7) & ~7u;
  if (is_bytes(*field)) key.value.size = uint16_t(size);
  field->key_offset = shape_.key_size;
  key.first = shape_.key_size / 8;
  key.words = size / 8;
  shape_.key_size += size;
  if (shape_.key_size > kMaxHistKeySize) return does_not_fit("The key");
  keys_.push_back(key);
  return {};
}

Status Compiler::make_keys() {
  if (data_->keys.empty() || data_->keys.size() > kMaxHistKeys) return does_not_fit("The key");
  for (bool bytes : {false, true})
    for (const auto& field : data_->keys)
      if (is_bytes(*field) == bytes) PB_TRY(make_key(field.get()));
  return {};
}

Status Compiler::make_values() {
  shape_.nr_values = uint32_t(std::max<size_t>(data_->values.size(), 1));
  for (size_t i = 1; i < data_->values.size(); i++) {
    HistSum sum = {};
    PB_TRY(make_number(*data_->values[i], &sum.value));
    sum.index = uint32_t(i);
    if (data_->values[i]->flags & kHistRanges) {
      sum.quantiles = shape_.quantile_buckets + 1;
      sum.is_signed = data_->values[i]->is_signed;
      shape_.quantile_buckets += quantile_counters(sum.is_signed);
    }
    values_.push_back(sum);
  }
  return {};
}

Status Compiler::make_variable(const HistField& variable, const HistField& value,
                               std::vector<HistVariable>* list) {
  HistVariable made = {};
  PB_TRY(make_value(value, &made.value));
  made.index = variable.var_index;
  if (made.index >= texts_.size()) return does_not_fit("A variable");
  if (made.value.source != HistSource::kNumber) {
    made.text = shape_.text_bytes;
    texts_[made.index] = made.text;
    shape_.text_bytes +=
        made.value.source >= HistSource::kCallStack ? kHistStackBytes : kHistTextBytes;
  }
  list->push_back(made);
  return {};
}

Status Compiler::make_variables() {
  shape_.nr_variables = uint32_t(data_->variables.size());
  texts_.assign(data_->variables.size(), kNoText);
  for (const auto& variable : data_->variables)
    if (variable->operands[0])
      PB_TRY(make_variable(*variable, *variable->operands[0], &variables_));
  for (const HistFieldVar& one : data_->field_vars)
    PB_TRY(make_variable(*one.var, *one.value, &variables_));
  return {};
}

Status Compiler::make_references() {
  if (data_->var_refs.size() > kMaxHistReferences) return does_not_fit("So many references");
  if (variables_.size() > kMaxHistOwn) return does_not_fit("So many variables");
  for (const auto& field : data_->var_refs) {
    HistReference reference = {};
    reference.is_self = field->var_data == data_;
    for (size_t i = 0; reference.is_self && i < variables_.size(); i++)
      if (variables_[i].index == field->var_index) reference.own = uint16_t(i + 1);
    reference.table = reference.is_self ? data_->table : field->var_data->table;
    if (!reference.table) return user_error(EINVAL, "The histogram of this variable is gone.");
    reference.variable = field->var_index;
    reference.read_once = field->read_once;
    made_.has_others |= !reference.is_self;
    made_.has_self |= reference.is_self;
    references_.push_back(reference);
  }
  return {};
}

// --- actions

HistParam param_of(const EventField& field) {
  HistParam param = {};
  param.offset = field.offset;
  param.size = uint8_t(field.size);
  if (field.type == "__data_loc char[]")
    param.kind = HistParamKind::kDynamicText;
  else if (field.type.starts_with("__data_loc"))
    param.kind = HistParamKind::kStack;
  else if (!field.brackets.empty() || field.array_len)
    param.kind = HistParamKind::kChars;
  return param;
}

Status Compiler::make_params(const HistActionData& action, HistAct* act) {
  const std::vector<EventField>& fields = action.synthetic->call.fields;
  if (fields.size() != action.params.size()) return does_not_fit("The list of parameters");
  std::vector<HistParam> params;
  act->fixed_size = 8;
  uint32_t dynamic = 0;
  for (size_t i = 0; i < fields.size(); i++) {
    HistParam param = param_of(fields[i]);
    param.reference = uint16_t(action.params[i]->ref_index);
    if (param.reference >= references_.size()) return does_not_fit("A parameter");
    const bool is_text = param.kind == HistParamKind::kChars;
    act->fixed_size = std::max(act->fixed_size, param.offset + (is_text ? kHistTextBytes : 8));
    if (param.kind == HistParamKind::kDynamicText) dynamic += kHistTextBytes;
    if (param.kind == HistParamKind::kStack) dynamic += kHistStackBytes + 8;
    params.push_back(param);
  }
  act->max_size = act->fixed_size + dynamic + 8;
  act->nr_params = uint32_t(params.size());
  act->params = keep(params);
  act->target = static_cast<const SyntheticTarget*>(action.synthetic->data);
  return act->target ? Status() : Status(user_error(EINVAL, "No synthetic event."));
}

// A histogram has one save() at most.
Status Compiler::make_saved(const HistActionData& action, HistAct* act) {
  if (shape_.save_bytes || act->when == HistWhen::kAlways) return does_not_fit("Such a save()");
  std::vector<HistVariable> saved;
  for (const HistFieldVar& one : action.saved) {
    PB_TRY(make_variable(*one.var, *one.value, &saved));
    saved.back().kept = shape_.save_bytes;
    shape_.save_bytes += is_kept_text(saved.back()) ? kHistTextBytes : 8;
  }
  if (!shape_.save_bytes) shape_.save_bytes = 8;
  act->nr_saved = uint32_t(saved.size());
  act->saved = keep(saved);
  return {};
}

Status Compiler::make_act(const HistActionData& action) {
  HistAct act = {};
  act.when = action.handler == HistHandler::kMatch ? HistWhen::kAlways
             : action.handler == HistHandler::kMax ? HistWhen::kMax
                                                   : HistWhen::kChange;
  if (act.when != HistWhen::kAlways) {
    if (!action.track_ref || !action.track_var) return does_not_fit("A handler without variable");
    act.reference = uint16_t(action.track_ref->ref_index);
    act.track = action.track_var->var_index;
    if (act.reference >= references_.size() || act.track >= texts_.size())
      return does_not_fit("A tracked variable");
  }
  if (action.kind == HistActionKind::kTrace) {
    act.what = HistDo::kTrace;
    PB_TRY(make_params(action, &act));
  } else if (action.kind == HistActionKind::kSave) {
    act.what = HistDo::kSave;
    PB_TRY(make_saved(action, &act));
  } else {
    act.what = HistDo::kSnapshot;
    act.snapshot = action.snapshot;
    act.tracked = agreed_shared<HistTracked>("hist tracked");
  }
  acts_.push_back(act);
  return {};
}

Status Compiler::make_acts() {
  for (const auto& action : data_->actions) PB_TRY(make_act(*action));
  return {};
}

// --- the whole

bool Compiler::fits_table() const {
  const HistTable* table = data_->table;
  return table->key_size == shape_.key_size && table->nr_values == shape_.nr_values &&
         table->nr_variables == shape_.nr_variables && table->text_bytes == shape_.text_bytes &&
         table->quantile_buckets == shape_.quantile_buckets &&
         table->save_bytes == shape_.save_bytes;
}

Status Compiler::make_table() {
  if (!data_->table && data_->owner && data_->owner != data_) data_->table = data_->owner->table;
  if (data_->table)
    return fits_table() ? Status() : Status(does_not_fit("What is counted, into that table,"));
  shape_.bits = std::clamp(data_->map_bits, kMinHistBits, kMaxHistBits);
  shape_.nr_cpus = possible_cpus();
  PB_ASSIGN(auto table, make_hist_table(shape_));
  data_->table = table;
  return {};
}

bool has_usecs(const HistField* field) {
  constexpr uint32_t kUsecs = kHistTimestamp | kHistTimestampUsecs;
  if (!field || field->flags & kHistVarRef) return false;
  return (field->flags & kUsecs) == kUsecs || has_usecs(field->operands[0].get()) ||
         has_usecs(field->operands[1].get());
}

// One timestamp in microseconds makes all of them so, as in the kernel; only where the clock has
// nanoseconds.
void Compiler::find_clock() {
  if (data_->array) clock_ = data_->array->clock;
  for (size_t i = 0; i < kTraceClocks.size(); i++)
    if (kTraceClocks[i].name == data_->clock) clock_ = TraceClock(i);
  const auto usecs = [](const auto& field) { return has_usecs(field.get()); };
  in_usecs_ = std::any_of(data_->values.begin(), data_->values.end(), usecs) ||
              std::any_of(data_->keys.begin(), data_->keys.end(), usecs) ||
              std::any_of(data_->variables.begin(), data_->variables.end(), usecs);
  for (const HistFieldVar& one : data_->field_vars) in_usecs_ |= has_usecs(one.value.get());
  for (const auto& action : data_->actions)
    for (const HistFieldVar& one : action->saved) in_usecs_ |= has_usecs(one.value.get());
  in_usecs_ = in_usecs_ && kTraceClocks[size_t(clock_)].in_ns;
}

void Compiler::finish() {
  const bool has_buffer = data_->array && data_->array->buffer;
  const uint32_t raw = has_buffer ? data_->array->buffer->rings()->clock : abi::kClockTsc;
  if (uses_time_) made_.clock = hist_clock(clock_, raw);
  auto* program = make_shared_forever<HistProgram>();
  const HistValue& first = keys_[0].value;
  made_.is_simple = keys_.size() == 1 && first.nr_steps == 1 &&
                    first.steps[0].op < HistOp::kConstant && values_.empty() &&
                    variables_.empty() && references_.empty() && acts_.empty();
  made_.paused = data_->paused;
  made_.nr_keys = uint32_t(keys_.size());
  made_.nr_values = uint32_t(values_.size());
  made_.nr_variables = uint32_t(variables_.size());
  made_.nr_references = uint32_t(references_.size());
  made_.nr_acts = uint32_t(acts_.size());
  made_.nr_texts = uint32_t(texts_.size());
  made_.key_words = shape_.key_size / 8;
  made_.table = data_->table;
  made_.keys = keep(keys_);
  made_.references = keep(references_);
  made_.values = keep(values_);
  made_.variables = keep(variables_);
  made_.acts = keep(acts_);
  made_.texts = keep(texts_);
  made_.quick = made_.is_simple ? nullptr : make_hist_quick(made_);
  made_.half = make_hist_pair_half(made_, program);
  *program = made_;
  data_->program = program;
}

// References lead to this table too, and actions have their own variables: so the table is made
// when all is known of it, and then looked at again.
Status Compiler::run() {
  find_clock();
  PB_TRY(make_keys());
  PB_TRY(make_values());
  PB_TRY(make_variables());
  references_.resize(data_->var_refs.size());
  PB_TRY(make_acts());
  PB_TRY(make_table());
  references_.clear();
  PB_TRY(make_references());
  finish();
  return {};
}

}  // namespace

Status compile_hist(HistData* data) { return Compiler(data).run(); }

uint32_t hist_variable_text(const HistProgram& program, uint32_t index) {
  return index < program.nr_texts ? program.texts[index] : kNoText;
}

bool read_hist_saved(const HistProgram& program, uint32_t entry, HistSavedFields* out) {
  if (!program.table->nr_saves) return false;
  HistKept kept;
  out->bytes.assign((program.table->save_size - kHistSaveHead) / 8, 0);
  out->is_set = hist_copy_save(program.table, entry, &kept, out->bytes.data());
  out->value = kept.value;
  return true;
}

bool find_hist_saved(const HistProgram& program, uint32_t variable, uint32_t* at) {
  for (uint32_t i = 0; i < program.nr_acts; i++) {
    const HistAct& act = program.acts[i];
    if (act.what != HistDo::kSave) continue;
    if (act.track == variable) return *at = kHistSavedValue, true;
    for (uint32_t k = 0; k < act.nr_saved; k++)
      if (act.saved[k].index == variable) return *at = act.saved[k].kept, true;
  }
  return false;
}

bool read_hist_tracked(const HistProgram& program, uint32_t action, uint64_t* value,
                       uint32_t* entry) {
  if (action >= program.nr_acts || !program.acts[action].tracked) return false;
  const HistTracked tracked = *program.acts[action].tracked;
  if (!tracked.entry) return false;
  *value = tracked.value;
  *entry = uint32_t(tracked.entry) - 1;
  return true;
}

}  // namespace patchbay
