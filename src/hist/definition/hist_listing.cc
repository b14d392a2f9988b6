// SPDX-License-Identifier: MIT
#include "hist/definition/hist_listing.h"

#include "base/text.h"

namespace patchbay {

namespace {

// One that was written out has its $ inside.
std::string reference_name(const HistField& field) {
  if (field.system.empty()) return field.name;
  return field.system + "." + field.event_name + ".$" + field.name;
}

std::string reference_text(const HistField& field) {
  return (field.system.empty() ? "$" : "") + reference_name(field);
}

// What a variable is set to; other fields are their own.
const HistField& value_of(const HistField& field) {
  return (field.flags & kHistVar) && field.operands[0] ? *field.operands[0] : field;
}

}  // namespace

std::string hist_name(const HistField& field) {
  const HistField& value = value_of(field);
  if (value.field) return value.field->name;
  // An old spelling of it stays a name, though it is listed as the new one.
  if (value.flags & kHistCpu) return value.name.empty() ? "common_cpu" : value.name;
  if (value.flags & (kHistExpr | kHistVarRef)) return reference_name(value);
  if (value.flags & kHistTimestamp) return "common_timestamp";
  if (value.flags & kHistStacktrace) return "common_stacktrace";
  if (value.flags & kHistHitcount) return "hitcount";
  return "";
}

std::string hist_modifier(const HistField& field) {
  struct Row {
    uint32_t flag;
    const char* name;
  };
  static constexpr Row kRows[] = {
      {kHistHex, "hex"},
      {kHistSym, "sym"},
      {kHistSymOffset, "sym-offset"},
      {kHistExecname, "execname"},
      {kHistSyscall, "syscall"},
      {kHistLog2, "log2"},
      {kHistBucket, "buckets"},
      {kHistTimestampUsecs, "usecs"},
      {kHistPercent, "percent"},
      {kHistGraph, "graph"},
      {kHistStacktrace, "stacktrace"},
      {kHistQuantiles, "quantiles"},
      {kHistCounters, "counters"},
  };
  for (const Row& row : kRows)
    if (field.flags & row.flag) return row.name;
  return "";
}

// --- expressions

namespace {

std::string operand_text(const HistField& field) {
  if (field.flags & kHistVarRef) return reference_text(field);
  std::string text = field.flags & kHistConst ? std::to_string(field.constant) : "";
  text += hist_name(field);
  const std::string modifier = hist_modifier(field);
  return modifier.empty() ? text : text + "." + modifier;
}

const char* operator_sign(HistOperator op) {
  switch (op) {
    case HistOperator::kPlus:
      return "+";
    case HistOperator::kMinus:
      return "-";
    case HistOperator::kTimes:
      return "*";
    case HistOperator::kDivide:
      return "/";
    default:
      return "";
  }
}

// Below a unary minus the kernel looks one level deep.
std::string expression_name(const HistField& field, int level) {
  if (level > 1) return "";
  if (!field.operands[0]) return operand_text(field);
  if (field.op == HistOperator::kUnaryMinus) {
    const std::string inner = expression_name(*field.operands[0], level + 1);
    return inner.empty() ? "" : "-(" + inner + ")";
  }
  return operand_text(*field.operands[0]) + operator_sign(field.op) +
         operand_text(*field.operands[1]);
}

}  // namespace

std::string hist_expression_name(const HistField& expression) {
  return expression_name(expression, 0);
}

// --- the line

namespace {

std::string field_text(const HistField& field) {
  std::string text;
  if (field.flags & kHistVar) text = field.name + "=";
  if (field.flags & kHistConst)
    text += std::to_string(field.constant);
  else if (field.flags & (kHistVarRef | kHistAlias))
    text += reference_text(value_of(field));
  else
    text += field.flags & kHistCpu ? "common_cpu" : hist_name(field);
  if (!(field.flags & (kHistVarRef | kHistExpr | kHistStacktrace))) {
    const std::string modifier = hist_modifier(field);
    if (!modifier.empty()) text += "." + modifier;
  }
  if (field.buckets) text += "=" + std::to_string(field.buckets);
  return text;
}

std::string key_text(const HistField& key) {
  if (!(key.flags & kHistStacktrace)) return field_text(key);
  return key.field ? key.field->name + ".stacktrace" : "common_stacktrace";
}

std::string values_text(const HistData& hist) {
  std::vector<std::string> words;
  if (!hist.no_hitcount) words.push_back("hitcount");
  for (size_t i = 1; i < hist.values.size(); i++) words.push_back(field_text(*hist.values[i]));
  return join(words, ",");
}

// Those that the definition names, not those made for actions.
std::string variables_text(const HistData& hist) {
  std::vector<std::string> words;
  for (const auto& variable : hist.variables)
    if (variable->operands[0]) words.push_back(field_text(*variable));
  return join(words, ",");
}

std::string sorts_text(const HistData& hist) {
  std::vector<std::string> words;
  for (const HistSort& sort : hist.sorts) {
    std::string word = "hitcount";
    if (sort.field >= hist.values.size())
      word = field_text(*hist.keys[sort.field - hist.values.size()]);
    else if (sort.field)
      word = field_text(*hist.values[sort.field]);
    words.push_back(word + (sort.descending ? ".descending" : ""));
  }
  return join(words, ",");
}

}  // namespace

[[gnu::cold]] std::string hist_action_text(const HistActionData& action) {
  std::string text;
  if (action.handler == HistHandler::kMatch)
    text = "onmatch(" + action.match_system + "." + action.match_event + ").";
  else
    text =
        (action.handler == HistHandler::kMax ? "onmax(" : "onchange(") + action.track_text + ").";
  text += action.action_name + "(";
  if (action.kind == HistActionKind::kSnapshot) return text + ")";
  std::vector<std::string> words = action.param_texts;
  if (action.uses_trace_keyword) words.insert(words.begin(), action.synthetic_name);
  // By the names of their variables.
  for (size_t i = 0; i < action.saved.size(); i++) words[i] = action.saved[i].var->name;
  return text + join(words, ",") + ")";
}

std::string hist_keys_text(const HistData& hist) {
  std::vector<std::string> words;
  for (const auto& key : hist.keys) words.push_back(key_text(*key));
  return join(words, ",");
}

[[gnu::cold]] std::string hist_listing(const HistData& hist) {
  const HistData& shown = hist.owner ? *hist.owner : hist;
  std::string text = "hist:";
  if (!shown.name.empty()) text += "name=" + shown.name + ":";
  text += "keys=" + hist_keys_text(shown) + ":vals=" + values_text(shown);
  const std::string variables = variables_text(shown);
  if (!variables.empty()) text += ":" + variables;
  text += ":sort=" + sorts_text(shown) + ":size=" + std::to_string(1u << shown.map_bits);
  if (shown.uses_timestamps) text += ":clock=" + shown.clock;
  if (shown.no_hitcount) text += ":nohitcount";
  for (const auto& action : shown.actions) text += ":" + hist_action_text(*action);
  if (!hist.filter_text.empty()) text += " if " + hist.filter_text;
  return text;
}

}  // namespace patchbay
