// SPDX-License-Identifier: MIT
#include "hist/definition/hist_fields.h"

#include <algorithm>
#include <cerrno>

#include "base/text.h"
#include "event/sdt_event.h"
#include "hist/definition/hist_listing.h"

namespace patchbay {

namespace {

using namespace hist_errors;

constexpr uint32_t kTimestampFlags = kHistTimestamp | kHistTimestampUsecs;
constexpr uint32_t kMaxKeyBytes = kMaxHistText + 8 * kMaxHistStackDepth;
constexpr int kMaxSubexpressions = 3;

bool is_reference(std::string_view text) { return text.size() >= 2 && text[0] == '$'; }
bool has_two_dots(std::string_view text) {
  const size_t first = text.find('.');
  return first != text.npos && text.find('.', first + 1) != text.npos;
}

// The operator that is applied last: the last + or -, else the last * or /. A minus at the very
// begin goes before all, when no other one follows.
HistOperator root_operator(std::string_view text, size_t* at) {
  const size_t minus = text.rfind('-'), plus = text.rfind('+');
  if (minus == 0) return HistOperator::kUnaryMinus;
  if (minus != text.npos || plus != text.npos) {
    const bool is_plus = minus == text.npos || (plus != text.npos && plus > minus);
    *at = is_plus ? plus : minus;
    return is_plus ? HistOperator::kPlus : HistOperator::kMinus;
  }
  const size_t slash = text.rfind('/'), star = text.rfind('*');
  if (slash == text.npos && star == text.npos) return HistOperator::kNone;
  const bool is_times = slash == text.npos || (star != text.npos && star > slash);
  *at = is_times ? star : slash;
  return is_times ? HistOperator::kTimes : HistOperator::kDivide;
}

bool has_operator(std::string_view text) { return text.find_first_of("-+/*") != text.npos; }

uint64_t calculate(HistOperator op, uint64_t a, uint64_t b) {
  switch (op) {
    case HistOperator::kPlus:
      return a + b;
    case HistOperator::kMinus:
      return a - b;
    case HistOperator::kTimes:
      return a * b;
    default:
      return b ? a / b : ~uint64_t{0};
  }
}

// --- fields of an event

bool is_text(const EventField& field) {
  return field.type.find("char") != std::string::npos &&
         (field.array_len || !field.brackets.empty() || field.type.find('[') != std::string::npos);
}
bool is_real(const EventField& field) { return field.type == "float" || field.type == "double"; }
bool is_dynamic(const EventField& field) {
  return field.type.starts_with("__data_loc") || field.type.starts_with("__rel_loc");
}
bool is_stack(const EventField& field) {
  return is_dynamic(field) && field.type.find("long[") != std::string::npos;
}
// Of a size that a histogram can take; not so a structure, or an array of numbers, which the kernel
// would count by where it stands.
bool is_number(const EventField& field) {
  if (is_dynamic(field) && !is_stack(field)) return false;
  return field.size == 1 || field.size == 2 || field.size == 4 || field.size == 8;
}
// As the kernel has it: "char[16]", where a format file shows `char comm[16]`.
std::string type_text(const EventField& field) {
  if (!field.array_len || field.type.find('[') != std::string::npos) return field.type;
  return field.type + "[" + std::to_string(field.array_len) + "]";
}

const EventField* find_in(const std::vector<EventField>& fields, std::string_view name) {
  for (const EventField& field : fields)
    if (field.name == name) return &field;
  return nullptr;
}

bool has_variables(const HistField* field) {
  if (!field) return false;
  return (field->flags & (kHistVar | kHistVarRef)) || has_variables(field->operands[0].get()) ||
         has_variables(field->operands[1].get());
}

std::unique_ptr<HistField> copy_reference(const HistField& ref) {
  auto copy = std::make_unique<HistField>();
  copy->flags = ref.flags;
  copy->type = ref.type;
  copy->size = ref.size;
  copy->is_signed = ref.is_signed;
  copy->name = ref.name;
  copy->system = ref.system;
  copy->event_name = ref.event_name;
  copy->var_data = ref.var_data;
  copy->var_index = ref.var_index;
  copy->ref_index = ref.ref_index;
  return copy;
}

void set_type(HistField* field, std::string_view type, uint32_t size, bool is_signed = false) {
  field->type = type;
  field->size = size;
  field->is_signed = is_signed;
}

}  // namespace

std::string_view first_atom(std::string_view text) {
  text = text.substr(0, text.find_first_of("-+/*", text.starts_with('-') ? 1 : 0));
  return has_two_dots(text) ? text.substr(0, text.find('.')) : text;
}

// --- variables

bool HistFields::is_own_event(std::string_view system, std::string_view event) const {
  if (!system.data()) return true;
  return system == hist_->event->call.system && event == hist_->event->call.name;
}

HistField* HistFields::find_own_variable(std::string_view system, std::string_view event,
                                         std::string_view name) const {
  if (!is_own_event(system, event)) return nullptr;
  for (const auto& variable : hist_->variables)
    if (variable->operands[0] && variable->name == name) return variable.get();
  return nullptr;
}

HistField* HistFields::find_in_event(const LiveEvent* event, std::string_view name) {
  for (HistData* other : world_.hists_of(*hist_->array, event))
    for (const auto& variable : other->variables)
      if (variable->operands[0] && variable->name == name) return variable.get();
  return nullptr;
}

bool HistFields::is_variable_here(std::string_view name) const {
  if (find_own_variable({}, {}, name)) return true;
  for (HistData* other : world_.hists_of(*hist_->array, hist_->event))
    for (const auto& variable : other->variables)
      if (variable->operands[0] && variable->name == name) return true;
  return false;
}

// Whose variable it is. Without a system only one event may have a variable of this name.
LiveEvent* HistFields::find_variable_event(std::string_view system, std::string_view event,
                                           std::string_view name) {
  if (system.data()) {
    LiveEvent* found = world_.find_event(*hist_->array, system, event);
    return found && found->can_enable ? found : nullptr;
  }
  LiveEvent* found = nullptr;
  for (HistData* other : world_.hists_with_variables(*hist_->array)) {
    if (other->event == found) continue;
    const bool has_it = std::any_of(
        other->variables.begin(), other->variables.end(),
        [&](const auto& variable) { return variable->operands[0] && variable->name == name; });
    if (!has_it) continue;
    if (found) {
      errors_->add(kNotUnique, name);
      return nullptr;
    }
    found = other->event;
  }
  return found;
}

// In the events that onmatch() names.
HistField* HistFields::find_matched_variable(std::string_view name, bool* ambiguous) {
  HistField* found = nullptr;
  for (const auto& action : hist_->actions) {
    if (action->handler != HistHandler::kMatch) continue;
    LiveEvent* event = find_variable_event(action->match_system, action->match_event, name);
    HistField* variable = event ? find_in_event(event, name) : nullptr;
    if (!variable) continue;
    if (found) {
      errors_->add(kNotUnique, name);
      *ambiguous = true;
      return nullptr;
    }
    found = variable;
  }
  return found;
}

HistField* HistFields::find_event_variable(std::string_view system, std::string_view event,
                                           std::string_view name) {
  if (!system.data()) {
    bool ambiguous = false;
    HistField* found = find_matched_variable(name, &ambiguous);
    if (found || ambiguous) return found;
  }
  LiveEvent* owner = find_variable_event(system, event, name);
  return owner ? find_in_event(owner, name) : nullptr;
}

HistField* HistFields::refer_to(HistField* variable, std::string_view system,
                                std::string_view event) {
  auto& refs = hist_->var_refs;
  for (const auto& ref : refs)
    if (ref->var_data == variable->var_data && ref->var_index == variable->var_index)
      return ref.get();
  if (refs.size() == kMaxHistVariables) return nullptr;
  auto ref = std::make_unique<HistField>();
  ref->flags = kHistVarRef | (variable->flags & kTimestampFlags);
  set_type(ref.get(), variable->type, variable->size, variable->is_signed);
  ref->name = variable->name;
  ref->system = system;
  ref->event_name = event;
  ref->var_data = variable->var_data;
  ref->var_index = variable->var_index;
  ref->ref_index = uint32_t(refs.size());
  refs.push_back(std::move(ref));
  return refs.back().get();
}

HistField* HistFields::add_variable(std::string_view name, uint32_t size, std::string_view type) {
  if (is_variable_here(name) && !remove_) return nullptr;
  if (hist_->variables.size() == kMaxHistVariables) return nullptr;
  auto variable = std::make_unique<HistField>();
  variable->flags = kHistVar;
  set_type(variable.get(), type, size);
  variable->name = name;
  variable->var_data = hist_;
  variable->var_index = uint32_t(hist_->variables.size());
  hist_->variables.push_back(std::move(variable));
  return hist_->variables.back().get();
}

// `$x` of this very definition stands for the field that x is set to. None: a null view.
std::string_view HistFields::text_of_variable(std::string_view system, std::string_view event,
                                              std::string_view name) const {
  if (!is_own_event(system, event) || !is_reference(name)) return {};
  for (const HistVariableText& variable : variable_texts_)
    if (variable.name == name.substr(1) && !has_operator(variable.expression) &&
        !is_reference(variable.expression))
      return variable.expression;
  return {};
}

// --- fields

bool HistFields::parse_modifier(std::string_view field, std::string_view modifier, uint32_t* flags,
                                uint64_t* buckets) {
  struct Row {
    std::string_view name;
    uint32_t flag;
  };
  static constexpr Row kRows[] = {{"hex", kHistHex},
                                  {"sym", kHistSym},
                                  {"symXoffset", kHistSymOffset},
                                  {"syscall", kHistSyscall},
                                  {"stacktrace", kHistStacktrace},
                                  {"log2", kHistLog2},
                                  {"usecs", kHistTimestampUsecs}};
  for (const Row& row : kRows)
    if (row.name == modifier) return *flags |= row.flag;
  if (modifier == "execname" && field == "common_pid") return *flags |= kHistExecname;
  std::string_view rest = modifier;
  if (rest.starts_with("bucket")) {
    rest.remove_prefix(rest.starts_with("buckets") ? 7 : 6);
    if (rest.starts_with('=')) {
      rest.remove_prefix(1);
      auto number = parse_hist_number(rest);
      *buckets = number.ok() ? *number : 0;
      if (*buckets) return *flags |= kHistBucket;
    }
  } else if (!(*flags & (kHistVar | kHistKey))) {
    // Only values have a share of a total.
    if (rest.starts_with("percent")) return *flags |= kHistPercent;
    if (rest.starts_with("graph")) return *flags |= kHistGraph;
    if (rest == "quantiles") return *flags |= kHistQuantiles;
    if (rest == "counters") return *flags |= kHistCounters;
  }
  errors_->add(kBadModifier, rest);
  return false;
}

// The event's own fields, generic ones, common ones.
bool HistFields::find_field(std::string_view name, uint32_t* flags, const EventField** field) {
  if (name == "common_timestamp") {
    *flags |= kHistTimestamp;
    hist_->uses_timestamps = true;
    hist_->timestamps_in_usecs |= (*flags & kHistTimestampUsecs) != 0;
    return true;
  }
  if (name == "common_stacktrace") return *flags |= kHistStacktrace;
  if (name == "common_cpu") return *flags |= kHistCpu;
  if (name == "hitcount") return *flags |= kHistHitcount;
  const EventCall& call = hist_->event->call;
  *field = find_in(call.fields, name);
  if (!*field) {
    if (name == "cpu" || name == "CPU") return *flags |= kHistCpu;
    if (name == "stacktrace" || name == "STACKTRACE") return *flags |= kHistStacktrace;
    *field = find_in(call.common, name);
  }
  if (*field && (*field)->size) return true;
  errors_->add(kNoField, name);
  return false;
}

HistFields::FieldPtr HistFields::parse_field(std::string_view text, uint32_t flags) {
  std::string_view modifier = text;
  const std::string_view name = take_until(&modifier, '.');
  uint64_t buckets = 0;
  const EventField* field = nullptr;
  if (modifier.data() && !parse_modifier(name, modifier, &flags, &buckets)) return fail(EINVAL);
  if (!find_field(name, &flags, &field)) return fail(EINVAL);
  if (modifier == "stacktrace" && !(field && is_stack(*field))) return fail(kBadModifier, text);
  // The kernel would count addresses of texts.
  const uint32_t numeric = kHistLog2 | kHistBucket | kHistPercent | kHistGraph | kHistRanges;
  if (field && is_real(*field)) return fail(kReal, name);
  if (field && sdt_known(hist_->event->call, name)) return fail(kNotEverywhere, name);
  if ((flags & numeric) && field && is_text(*field)) return fail(kBadModifier, text);
  // Of these the kernel says ENOMEM, and no word.
  const uint32_t without_field = kHistHitcount | kHistTimestamp | kHistStacktrace | kHistCpu;
  if (field && !(flags & without_field) && !is_text(*field) && !is_number(*field))
    return fail(kNoNumber, name, ENOMEM);
  FieldPtr made = make_field(field, flags);
  if (!made) return made;
  made->buckets = buckets;
  if (flags & kHistCpu && name != "common_cpu") made->name = name;
  return made;
}

HistFields::FieldPtr HistFields::make_field(const EventField* field, uint32_t flags) {
  auto made = std::make_unique<HistField>();
  made->flags = flags;
  if (field) {
    hist_->event_fields.push_back(std::make_unique<EventField>(*field));
    made->field = hist_->event_fields.back().get();
  }
  if (flags & kHistHitcount || (flags & kHistTimestamp && !(flags & kHistStacktrace))) {
    set_type(made.get(), "u64", 8);
  } else if (flags & kHistStacktrace) {
    set_type(made.get(), "unsigned long[]", 8 * kMaxHistStackDepth);
  } else if (flags & kHistCpu) {
    set_type(made.get(), "unsigned int", 4);
  } else if (is_text(*field)) {
    made->flags |= kHistString;
    const uint32_t size = is_dynamic(*field) ? kMaxHistText : field->size;
    set_type(made.get(), type_text(*field), std::min(size, kMaxHistText));
  } else {
    const uint32_t size = field->size;
    if (!is_number(*field)) return fail(ENOMEM);
    const bool is_derived = flags & (kHistLog2 | kHistBucket);
    set_type(made.get(), type_text(*field), size, field->is_signed && !is_derived);
  }
  return made;
}

HistFields::FieldPtr HistFields::parse_constant(std::string_view text, uint32_t flags) {
  auto number = parse_hist_number(text);
  if (!number.ok()) return fail(kExpectNumber, text);
  auto made = std::make_unique<HistField>();
  made->flags = flags | kHistConst;
  made->constant = *number;
  set_type(made.get(), "u64", 8);
  return made;
}

HistFields::FieldPtr HistFields::parse_reference(std::string_view system, std::string_view event,
                                                 std::string_view name) {
  HistField* variable = find_event_variable(system, event, name);
  HistField* ref = variable ? refer_to(variable, system, event) : nullptr;
  if (!ref) return fail(kNoVariable, name);
  return copy_reference(*ref);
}

HistFields::FieldPtr HistFields::parse_atom(std::string_view text, uint32_t flags) {
  if (!text.empty() && is_digit(text[0])) return parse_constant(text, flags);
  std::string_view system, event, name = text;
  if (has_two_dots(text)) {
    system = take_until(&name, '.');
    event = take_until(&name, '.');
  }
  const std::string_view own = text_of_variable(system, event, name);
  if (own.data()) return parse_field(own, flags);
  if (is_reference(name))
    if (FieldPtr ref = parse_reference(system, event, name.substr(1))) return ref;
  return parse_field(name, flags);
}

// --- expressions

HistFields::FieldPtr HistFields::parse_expression(std::string_view text, uint32_t flags,
                                                  int* subexpressions) {
  if (*subexpressions > kMaxSubexpressions) return fail(kTooManySubexpressions, text);
  size_t at = 0;
  switch (root_operator(text, &at)) {
    case HistOperator::kNone:
      return parse_atom(text, flags);
    case HistOperator::kUnaryMinus:
      return parse_unary(text, flags, subexpressions);
    default:
      return parse_binary(text, at, flags, subexpressions);
  }
}

// What stands beside an operator; texts cannot.
HistFields::FieldPtr HistFields::parse_operand(std::string_view text, int* subexpressions) {
  FieldPtr operand = parse_expression(text, 0, subexpressions);
  if (!operand) return operand;
  const HistField* meaning = meaning_of(*operand);
  if (meaning && (meaning->flags & kHistString)) return fail(kTextOperand, first_atom(text));
  return operand;
}

// Only -(…) around everything.
HistFields::FieldPtr HistFields::parse_unary(std::string_view text, uint32_t flags,
                                             int* subexpressions) {
  if (++*subexpressions > kMaxSubexpressions) return fail(kTooManySubexpressions, text);
  text.remove_prefix(1);
  if (text.find('(') == text.npos) return fail(EINVAL);
  text.remove_prefix(1);
  const size_t close = text.rfind(')');
  if (close == text.npos) return fail(EINVAL);
  if (close + 1 != text.size()) return fail(kUnaryMinus, text);
  FieldPtr operand = parse_operand(text.substr(0, close), subexpressions);
  if (!operand) return operand;
  auto made = std::make_unique<HistField>();
  made->flags = flags | kHistExpr | (operand->flags & kTimestampFlags);
  made->op = HistOperator::kUnaryMinus;
  set_type(made.get(), operand->type, operand->size, operand->is_signed);
  made->operands[0] = std::move(operand);
  made->name = hist_expression_name(*made);
  return made;
}

HistFields::FieldPtr HistFields::parse_binary(std::string_view text, size_t at, uint32_t flags,
                                              int* subexpressions) {
  size_t unused = 0;
  const HistOperator op = root_operator(text, &unused);
  ++*subexpressions;
  const std::string_view left_text = text.substr(0, at), right_text = text.substr(at + 1);
  if (left_text.empty() || right_text.empty()) return fail(EINVAL);
  FieldPtr left = parse_operand(left_text, subexpressions);
  if (!left) return left;
  FieldPtr right = parse_operand(right_text, subexpressions);
  if (!right) return right;
  return combine(op, std::move(left), std::move(right), first_atom(right_text), flags);
}

// The variable that a reference means; other fields are what they are.
const HistField* HistFields::meaning_of(const HistField& operand) const {
  if (!(operand.flags & kHistVarRef)) return &operand;
  for (const auto& variable : operand.var_data->variables)
    if (variable->operands[0] && variable->name == operand.name) return variable.get();
  return nullptr;
}

HistFields::FieldPtr HistFields::combine(HistOperator op, FieldPtr left, FieldPtr right,
                                         std::string_view right_text, uint32_t flags) {
  const HistField *a = meaning_of(*left), *b = meaning_of(*right);
  if (!a || !b) return fail(EINVAL);
  if ((a->flags ^ b->flags) & kHistTimestampUsecs) return fail(kTimestampMismatch);
  // A reference in an expression takes the variable: it is unset then.
  for (const HistField* operand : {left.get(), right.get()})
    if (operand->flags & kHistVarRef) hist_->var_refs[operand->ref_index]->read_once = true;
  left->read_once = right->read_once = true;
  if (op == HistOperator::kDivide && (b->flags & kHistConst) && !b->constant)
    return fail(kDivisionByZero, right_text, EDOM);
  auto made = std::make_unique<HistField>();
  made->flags = flags | (left->flags & kTimestampFlags);
  if (a->flags & b->flags & kHistConst) {
    made->flags |= kHistConst;
    made->constant = calculate(op, a->constant, b->constant);
    set_type(made.get(), "u64", 8);
    return made;
  }
  made->flags |= kHistExpr;
  made->op = op;
  set_type(made.get(), left->type, left->size, left->is_signed);
  made->operands[0] = std::move(left);
  made->operands[1] = std::move(right);
  made->name = hist_expression_name(*made);
  return made;
}

// --- values, variables, keys

Status HistFields::make_value(std::string_view text) {
  int subexpressions = 0;
  FieldPtr value = parse_expression(text, 0, &subexpressions);
  if (!value) return error();
  const uint32_t refused = kHistBucket | kHistLog2 | kHistSym | kHistSymOffset | kHistSyscall |
                           kHistStacktrace | kHistString;
  if (value->flags & refused) {
    fail(kBadModifier, first_atom(text));
    return error();
  }
  hist_->values.push_back(std::move(value));
  return {};
}

Status HistFields::make_values(const HistDefinition& definition) {
  hist_->values.push_back(make_field(nullptr, kHistHitcount));
  std::string_view rest =
      definition.has_values ? std::string_view(definition.values) : std::string_view();
  bool seen_hitcount = false;
  for (uint32_t i = 0; i < kMaxHistValues && hist_->values.size() < kMaxHistValues && rest.data();
       i++) {
    const std::string_view text = take_until(&rest, ',');
    if (text == "hitcount" && !std::exchange(seen_hitcount, true)) continue;
    PB_TRY(make_value(text));
  }
  if (hist_->values.size() == 1 && definition.no_hitcount) {
    fail(kOnlyHitcount, {}, ENOENT);
    return error();
  }
  if (rest.data() && rest != "hitcount")
    return user_error(EINVAL, "There are two values at most, beside hitcount.");
  return {};
}

Status HistFields::make_variable(const HistVariableText& text) {
  if (is_variable_here(text.name) && !remove_) {
    fail(kDuplicateVariable, text.name);
    return error();
  }
  int subexpressions = 0;
  FieldPtr value = parse_expression(text.expression, kHistVar, &subexpressions);
  if (!value) return error();
  if (value->flags & (kHistBucket | kHistLog2)) {
    fail(kBadModifier, first_atom(text.expression));
    return error();
  }
  value->flags &= ~uint32_t{kHistVar};
  if (value->flags & kHistExecname) {  // the name, not the number
    value->flags = kHistString | kHistExecname;
    set_type(value.get(), "char[]", kMaxHistText);
  }
  auto variable = std::make_unique<HistField>();
  variable->flags = kHistVar | value->flags;
  if (value->flags & kHistVarRef)
    variable->flags = kHistVar | kHistAlias | (value->flags & kTimestampFlags);
  set_type(variable.get(), value->type, value->size, value->is_signed);
  variable->field = value->field;
  variable->constant = value->constant;
  variable->ref_index = value->ref_index;
  variable->name = text.name;
  variable->var_data = hist_;
  variable->var_index = uint32_t(hist_->variables.size());
  variable->operands[0] = std::move(value);
  hist_->variables.push_back(std::move(variable));
  return {};
}

Status HistFields::make_variables(std::vector<HistVariableText> texts) {
  for (const HistVariableText& text : texts) PB_TRY(make_variable(text));
  return {};
}

Status HistFields::make_key(std::string_view text) {
  FieldPtr key;
  int subexpressions = 0;
  if (text == "stacktrace")
    key = make_field(nullptr, kHistKey | kHistStacktrace);
  else
    key = parse_expression(text, kHistKey, &subexpressions);
  if (key && has_variables(key.get())) key = fail(kReferenceInKey, first_atom(text));
  if (!key) return error();
  hist_->keys.push_back(std::move(key));
  uint32_t bytes = 0;
  for (const auto& one : hist_->keys) bytes += (one->size + 7) & ~7u;
  if (bytes > kMaxKeyBytes)
    return user_error(EINVAL, "The keys are longer than 504 bytes together.");
  return {};
}

Status HistFields::make_keys(const HistDefinition& definition) {
  std::string_view rest = definition.keys;
  for (uint32_t i = 0; i < kMaxHistKeys && rest.data(); i++)
    PB_TRY(make_key(take_until(&rest, ',')));
  if (rest.data()) return user_error(EINVAL, "There are three keys at most.");
  return {};
}

}  // namespace patchbay
