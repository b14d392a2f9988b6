// SPDX-License-Identifier: MIT
#include "export/export_choice.h"

#include <fnmatch.h>

#include <cerrno>
#include <optional>

#include "base/text.h"
#include "symbol/symbol.h"

namespace patchbay {
namespace {

bool fits(const std::string& glob, const ExportSchema& schema) {
  const std::string full = schema.system + ":" + schema.name;
  for (const std::string& text : {full, schema.name, schema.system})
    if (::fnmatch(glob.c_str(), text.c_str(), 0) == 0) return true;
  return false;
}

// As a filter file of the agent has it, but for what is elsewhere by now: pointers are numbers,
// nothing is followed, and the thread that asks is not the one that recorded.
std::optional<FilterField> filter_field(const ExportSchema& schema, std::string_view name) {
  using Kind = FilterField::Kind;
  const EventField* found = schema.call->find(name);
  if (!found) {
    for (const char* generic : {"CPU", "cpu", "common_cpu", "COMM", "comm"})
      if (name == generic) return FilterField{Kind::kOther, 0, 0, false};
    return std::nullopt;
  }
  FilterField made{Kind::kNumber, found->offset, found->size, found->is_signed};
  const ExportField field(*found, is_function_event(*schema.call));
  const bool is_text = field.type == ExportField::Type::kText;
  made.is_counted = field.is_counted;
  if (const auto known = sdt_known(*schema.call, name)) {
    made.known_offset = known->offset;
    made.known_bit = known->bit;
  }
  if (field.place == ExportField::Place::kDataLoc)
    made.kind = is_text && field.count == 1 ? Kind::kDataLoc : Kind::kOther;
  else if (field.place == ExportField::Place::kRelLoc)
    made.kind = is_text && field.count == 1 ? Kind::kRelLoc : Kind::kOther;
  else if (is_text)
    made.kind = field.place == ExportField::Place::kRest ? Kind::kRestText : Kind::kChars;
  else if (field.is_array)
    made.kind = Kind::kOther;
  else if (field.type == ExportField::Type::kReal)
    made.kind = Kind::kReal;
  return made;
}

FilterResult compile(const std::string& text, const ExportSchema& schema) {
  FilterContext context;
  context.field = [&schema](std::string_view name) { return filter_field(schema, name); };
  context.function = [](std::string_view, uint64_t, uint64_t*, uint64_t*) { return false; };
  return compile_filter(text, context);
}

}  // namespace

Status ExportSelection::set(const ExportChoice& choice,
                            const std::vector<std::unique_ptr<ExportSchema>>& schemas) {
  if (choice.events.empty() && choice.filter.empty()) return {};
  rules_.resize(schemas.size());
  PB_TRY(set_events(choice, schemas));
  return choice.filter.empty() ? Status{} : set_filter(choice.filter, schemas);
}

Status ExportSelection::set_events(const ExportChoice& choice,
                                   const std::vector<std::unique_ptr<ExportSchema>>& schemas) {
  if (choice.events.empty()) return {};
  for (Rule& rule : rules_) rule.wanted = false;
  for (const std::string& glob : choice.events) {
    bool any = false;
    std::vector<std::string_view> names;
    for (const auto& schema : schemas) {
      names.push_back(schema->name);
      if (!fits(glob, *schema)) continue;
      rules_[schema->index].wanted = any = true;
    }
    if (any) continue;
    std::string sentence = "No event of the recording is called '" + glob + "'";
    const std::vector<std::string> near = near_matches(glob, names);
    for (size_t i = 0; i < near.size(); i++) sentence += (i == 0 ? "; near: " : ", ") + near[i];
    return user_error(ENOENT, sentence + ".");
  }
  return {};
}

Status ExportSelection::set_filter(const std::string& text,
                                   const std::vector<std::unique_ptr<ExportSchema>>& schemas) {
  const std::string expression(trim(text));
  std::optional<FilterError> first;
  bool any = false;
  for (const auto& schema : schemas) {
    Rule& rule = rules_[schema->index];
    if (!rule.wanted) continue;
    FilterResult result = compile(expression, *schema);
    rule.wanted = result.program != nullptr;
    if (!rule.wanted) {
      if (!first) first = result.error;
      continue;
    }
    any = true;
    rule.filter = std::move(result.program);
    for (const ExportField& field : schema->fields)
      if (field.place == ExportField::Place::kDataLoc || field.place == ExportField::Place::kRelLoc)
        rule.dynamic.push_back(&field);
  }
  if (any || !first) return {};
  return user_error(EINVAL, filter_caret(expression, *first) +
                                "No event can be filtered by this: " +
                                (first->text.empty() ? "it is no filter." : first->text + "."));
}

// A program that a traced thread would run trusts its record. This one is foreign: what the program
// may read has to be there.
bool ExportSelection::passes(const Rule& rule, const ExportSchema& schema,
                             std::span<const uint8_t> record) const {
  for (const ExportField& field : schema.fields)
    if (field.size > record.size() || field.offset > record.size() - field.size) return false;
  for (const ExportField* field : rule.dynamic) {
    const ExportValue value = field->value(record);
    if (value.kind == ExportValue::Kind::kCut) return false;
  }
  return filter_match(rule.filter.get(), record.data(), uint32_t(record.size()));
}

bool ExportSelection::wants(const ExportSchema* schema, std::span<const uint8_t> record) const {
  if (rules_.empty()) return true;
  if (!schema || !rules_[schema->index].wanted) return false;
  const Rule& rule = rules_[schema->index];
  return !rule.filter || passes(rule, *schema, record);
}

}  // namespace patchbay
