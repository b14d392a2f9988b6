// SPDX-License-Identifier: MIT
//
// hist_debug: a histogram as it was understood, in the order of the kernel's hist_debug
// (hist_trigger_debug_show). There the variables that a hit sets stand among the fields, behind the
// values; here they are the variables that have a value.
//
//   fields[]      hitcount, values, variables that have a value, keys
//   var_refs[]    field_vars[]    actions[]    save_vars[]
#include <cstdint>

#include "hist/hist_program.h"
#include "hist/text/hist_text.h"
#include "output/text_put.h"

namespace patchbay {

namespace {

constexpr std::string_view kIndent = "      ";

void put_line(std::string* out, std::string_view name, std::string_view value) {
  out->append(kIndent).append(name).append(": ").append(value).append("\n");
}

void put_line(std::string* out, std::string_view name, uint64_t value) {
  put_line(out, name, std::to_string(value));
}

// As %p: 16 digits.
void put_pointer(std::string* out, const HistData* hist) {
  put_padded(out, uint64_t(reinterpret_cast<uintptr_t>(hist)), 16, '0', 16);
  *out += '\n';
}

bool is_power_of_two(uint64_t value) { return value && !(value & (value - 1)); }

// How the kernel divides by a constant depends on it.
std::string_view division_function(const HistField& divisor) {
  if (!(divisor.flags & kHistConst)) return "div";
  if (is_power_of_two(divisor.constant)) return "div_power2";
  return divisor.constant < (1u << 20) ? "div_mult_shift" : "div_not_power2";
}

std::string expression_function(const HistField& field) {
  switch (field.op) {
    case HistOperator::kPlus:
      return "plus";
    case HistOperator::kMinus:
      return "minus";
    case HistOperator::kTimes:
      return "mult";
    case HistOperator::kDivide:
      return std::string(division_function(*field.operands[1]));
    case HistOperator::kUnaryMinus:
      return "unary_minus";
    default:
      return "nop";
  }
}

std::string text_function(const HistField& field) {
  const std::string type = field.field ? field.field->type : field.type;
  if (type.starts_with("__data_loc")) return "dynstring";
  if (type.starts_with("__rel_loc")) return "reldynstring";
  return type.find('*') == std::string::npos ? "string" : "pstring";
}

// The name of what gives the field its value, in the kernel's table of them.
std::string function_of(const HistField& field) {
  const uint32_t flags = field.flags;
  if (flags & kHistHitcount) return "counter";
  if (flags & (kHistVarRef | kHistAlias)) return "var_ref";
  if (flags & kHistExpr) return expression_function(field);
  if (flags & kHistConst) return "const";
  if (flags & kHistStacktrace) return field.field ? "stack" : "nop";
  if (flags & kHistLog2) return "log2";
  if (flags & kHistBucket) return "bucket";
  if (flags & (kHistTimestamp | kHistTimestampUsecs)) return "timestamp";
  if (flags & kHistCpu) return "cpu";
  if (flags & kHistString) return flags & kHistExecname ? "execname" : text_function(field);
  if (!field.field) return "nop";
  const uint32_t bits = field.field->size ? field.field->size * 8 : 64;
  return (field.field->is_signed ? "s" : "u") + std::to_string(bits);
}

// A variable is shown with what its value is.
const HistField& value_of(const HistField& field) {
  return field.flags & kHistVar && field.operands[0] ? *field.operands[0] : field;
}

void put_flags(std::string* out, uint32_t flags) {
  out->append(kIndent).append("flags:\n");
  const char* kind = "VAL: normal u64 value";
  if (flags & kHistVarRef) kind = "HIST_FIELD_FL_VAR_REF";
  if (flags & kHistVar) kind = "HIST_FIELD_FL_VAR";
  if (flags & kHistHitcount) kind = "VAL: HIST_FIELD_FL_HITCOUNT";
  if (flags & kHistKey) kind = "HIST_FIELD_FL_KEY";
  out->append("        ").append(kind).append("\n");
  if (flags & kHistAlias) {
    *out += "        HIST_FIELD_FL_ALIAS\n";
  } else if (flags & kHistConst) {
    *out += "        HIST_FIELD_FL_CONST\n";
  }
}

void put_variable(std::string* out, const HistField& field) {
  put_line(out, "var.name", field.name);
  put_line(out, "var.idx (into tracing_map_elt.vars[])", field.var_index);
}

void put_type(std::string* out, const HistField& field) {
  put_line(out, "type", field.type);
  put_line(out, "size", field.flags & kHistKey ? (field.size + 7) / 8 * 8 : field.size);
  put_line(out, "is_signed", field.is_signed);
}

void put_reference(std::string* out, const HistField& field) {
  put_line(out, "name", field.name);
  put_line(out, "var.idx (into tracing_map_elt.vars[])", field.var_index);
  out->append(kIndent).append("var.hist_data: ");
  put_pointer(out, field.var_data);
  put_line(out, "var_ref_idx (into hist_data->var_refs[])", field.ref_index);
  if (!field.system.empty()) put_line(out, "system", field.system);
  if (!field.event_name.empty()) put_line(out, "event_name", field.event_name);
}

void put_field(std::string* out, const HistField& field) {
  const HistField& value = value_of(field);
  const bool is_variable = field.flags & kHistVar;
  const uint32_t more = is_variable ? value.flags & (kHistAlias | kHistConst) : 0;
  const uint32_t flags = field.flags | more;
  put_flags(out, flags);
  if (value.field && !(value.flags & (kHistLog2 | kHistBucket)))
    put_line(out, "ftrace_event_field name", value.field->name);
  if (is_variable) put_variable(out, field);
  if (flags & kHistConst) put_line(out, "constant", value.constant);
  if (flags & kHistAlias) {
    const HistField& reference = value.operands[0] ? *value.operands[0] : value;
    put_line(out, "var_ref_idx (into hist_data->var_refs[])", reference.ref_index);
  }
  if (flags & kHistVarRef) put_reference(out, field);
  put_type(out, value);
  out->append(kIndent).append("function: hist_field_").append(function_of(value)).append("()\n");
}

// "hist_data->fields[2]:" and what follows in it.
void put_head(std::string* out, std::string_view name, size_t index, std::string_view rest = "") {
  out->append("\n    hist_data->").append(name).append("[");
  put_number(out, index);
  out->append("]").append(rest).append(":\n");
}

void put_field_variable(std::string* out, const HistFieldVar& one, std::string_view name,
                        size_t index) {
  const std::string own = std::string(name) + "[" + std::to_string(index) + "]";
  put_head(out, name, index);
  out->append("\n").append(kIndent).append(own).append(".var:\n");
  put_flags(out, one.var->flags);
  put_variable(out, *one.var);
  out->append("\n").append(kIndent).append(own).append(".val:\n");
  if (one.value->field) put_line(out, "ftrace_event_field name", one.value->field->name);
  put_type(out, *one.value);
}

void put_action(std::string* out, const HistActionData& action, size_t index) {
  if (action.handler == HistHandler::kMatch) {
    const std::string own = "    hist_data->actions[" + std::to_string(index) + "].match_data.";
    out->append("\n").append(own).append("event_system: ").append(action.match_system);
    out->append("\n").append(own).append("event: ").append(action.match_event).append("\n");
    return;
  }
  put_head(out, "actions", index, ".track_data.var_ref");
  put_field(out, *action.track_ref);
  put_head(out, "actions", index, ".track_data.track_var");
  put_field(out, *action.track_var);
}

void put_actions(std::string* out, const HistData& hist) {
  if (!hist.actions.empty())
    *out += "\n  action tracking variables (for onmax()/onchange()/onmatch()):\n";
  for (size_t i = 0; i < hist.actions.size(); i++) put_action(out, *hist.actions[i], i);
  size_t nr_saved = 0;
  for (const auto& action : hist.actions) {
    for (const HistFieldVar& saved : action->saved) {
      if (nr_saved == 0) *out += "\n  save action variables (save() params):\n";
      put_field_variable(out, saved, "save_vars", nr_saved++);
    }
  }
}

// Values and what the kernel has among them.
std::vector<const HistField*> value_fields(const HistData& hist) {
  std::vector<const HistField*> fields;
  for (const auto& value : hist.values) fields.push_back(value.get());
  for (const auto& variable : hist.variables)
    if (variable->operands[0]) fields.push_back(variable.get());
  return fields;
}

}  // namespace

[[gnu::cold]] std::string hist_debug_text(const HistData& hist, std::string_view definition) {
  const std::vector<const HistField*> values = value_fields(hist);
  std::string text = "# event histogram\n#\n# trigger info: ";
  const bool is_paused = hist.program ? hist_is_paused(hist.program) : hist.paused;
  text.append(definition).append(is_paused ? " [paused]" : " [active]");
  text += "\n#\n\nhist_data: ";
  put_pointer(&text, &hist);
  text += "\n  n_vals: " + std::to_string(values.size());
  text += "\n  n_keys: " + std::to_string(hist.keys.size());
  text += "\n  n_fields: " + std::to_string(values.size() + hist.keys.size());
  text += "\n\n  val fields:\n";
  size_t index = 0;
  for (const HistField* field : values) {
    put_head(&text, "fields", index++);
    put_field(&text, *field);
  }
  text += "\n  key fields:\n";
  for (const auto& key : hist.keys) {
    put_head(&text, "fields", index++);
    put_field(&text, *key);
  }
  if (!hist.var_refs.empty()) text += "\n  variable reference fields:\n";
  for (size_t i = 0; i < hist.var_refs.size(); i++) {
    put_head(&text, "var_refs", i);
    put_field(&text, *hist.var_refs[i]);
  }
  if (!hist.field_vars.empty()) text += "\n  field variables:\n";
  for (size_t i = 0; i < hist.field_vars.size(); i++)
    put_field_variable(&text, hist.field_vars[i], "field_vars", i);
  put_actions(&text, hist);
  return text;
}

}  // namespace patchbay
