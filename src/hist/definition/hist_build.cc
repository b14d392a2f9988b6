// SPDX-License-Identifier: MIT
#include "hist/definition/hist_build.h"

#include <algorithm>
#include <cerrno>

#include "hist/definition/hist_fields.h"
#include "hist/definition/hist_listing.h"

namespace patchbay {

namespace {

using namespace hist_errors;

uint32_t rounded(uint32_t size) { return (size + 7) & ~7u; }

// --- sort keys

class Sorts {
 public:
  Sorts(HistData* hist, HistErrors* errors) : hist_(hist), errors_(errors) {}
  Status make(const HistDefinition& definition);

 private:
  Status refuse(const char* text, std::string_view word) {
    errors_->add(text, word);
    return errors_->refusal(EINVAL, "");
  }
  Status add(std::string_view text);
  bool find(std::string_view name, uint32_t* index) const;

  HistData* hist_;
  HistErrors* errors_;
};

// Values first (0 is hitcount), then keys.
bool Sorts::find(std::string_view name, uint32_t* index) const {
  const auto& values = hist_->values;
  for (*index = name == "hitcount" ? 0 : 1; *index < values.size() + hist_->keys.size(); ++*index) {
    const bool is_value = *index < values.size();
    const HistField& field = is_value ? *values[*index] : *hist_->keys[*index - values.size()];
    if (hist_name(field) == name) return true;
  }
  return false;
}

Status Sorts::add(std::string_view text) {
  HistSort sort;
  const std::string_view name = take_until(&text, '.');
  if (name.empty()) return refuse(kEmptySortField, "sort=");
  if (!find(name, &sort.field)) return refuse(kInvalidSortField, name);
  sort.descending = text == "descending";
  if (text.data() && !sort.descending && text != "ascending") return refuse(kBadSortModifier, text);
  hist_->sorts.push_back(sort);
  return {};
}

Status Sorts::make(const HistDefinition& definition) {
  if (!definition.has_sort) {
    hist_->sorts.push_back({});
    return {};
  }
  for (std::string_view rest = definition.sort; rest.data();) {
    const std::string_view text = take_until(&rest, ',');
    if (text.empty()) return refuse(kEmptySortField, "sort=");
    if (hist_->sorts.size() + 1 == kMaxHistSortKeys && rest.data())
      return refuse(kTooManySortFields, "sort=");
    PB_TRY(add(text));
  }
  return {};
}

Status parse_actions(HistWorld& world, HistData* hist, const HistDefinition& definition,
                     HistErrors* errors) {
  for (const std::string& text : definition.actions) {
    auto action = parse_hist_action(
        text,
        [&](std::string_view system, std::string_view event) {
          return world.find_event(*hist->array, system, event) != nullptr;
        },
        errors);
    if (!action.ok()) return action.error();
    (*action)->text = hist_action_text(**action);
    hist->actions.push_back(std::move(*action));
  }
  return {};
}

}  // namespace

[[gnu::cold]] Result<std::unique_ptr<HistData>> make_hist(HistWorld& world, TraceArray& array,
                                                          LiveEvent* event,
                                                          const HistDefinition& definition,
                                                          bool remove, HistErrors* errors) {
  auto hist = std::make_unique<HistData>();
  hist->array = &array;
  hist->event = event;
  hist->name = definition.name;
  hist->map_bits = definition.map_bits;
  hist->no_hitcount = definition.no_hitcount;
  hist->clock = definition.clock;
  PB_TRY(parse_actions(world, hist.get(), definition, errors));
  PB_ASSIGN(auto variables, parse_hist_variables(definition, errors));
  HistFields fields(world, hist.get(), errors, remove);
  fields.use_variables(variables);
  PB_TRY(fields.make_values(definition));
  PB_TRY(fields.make_variables(std::move(variables)));
  PB_TRY(fields.make_keys(definition));
  PB_TRY(Sorts(hist.get(), errors).make(definition));
  return hist;
}

// --- actions

namespace {

// The fields of a synthetic event, as far as parameters have to fit them.
bool is_dynamic(const EventField& field) { return field.type.starts_with("__data_loc"); }
std::string synthetic_type(const EventField& field) {
  if (is_dynamic(field)) return field.type.substr(std::string_view("__data_loc ").size());
  if (!field.array_len) return field.type;
  return field.type + "[" + std::to_string(field.array_len) + "]";
}

bool fits(const HistField& value, const EventField& field) {
  const std::string type = synthetic_type(field);
  const bool is_text = type.find("char[") != type.npos;
  if (is_dynamic(field) && is_text && value.type.find("char[") != value.type.npos) return true;
  if (type.find("long[") != type.npos && value.type.find("long[") != value.type.npos) return true;
  if (type == value.type) return true;
  return field.size == value.size && (is_text || field.is_signed == value.is_signed);
}

bool same_keys(const HistData& a, const HistData& b) {
  return std::equal(a.keys.begin(), a.keys.end(), b.keys.begin(), b.keys.end(),
                    [](const auto& x, const auto& y) {
                      return x->type == y->type && rounded(x->size) == rounded(y->size) &&
                             x->is_signed == y->is_signed;
                    });
}

class Actions {
 public:
  Actions(HistWorld& world, HistData* hist, HistErrors* errors)
      : world_(world), hist_(hist), errors_(errors), fields_(world, hist, errors, false) {}
  Status make(HistActionData* action);

 private:
  Status refuse(const char* text, std::string_view word = {}, int errno_value = EINVAL) {
    errors_->add(text, word);
    return refuse(errno_value);
  }
  Status refuse(int errno_value) { return errors_->refusal(errno_value, "That is no action."); }
  Status make_track(HistActionData* action);
  Status make_save(HistActionData* action);
  Status make_trace(HistActionData* action);
  Status make_param(HistActionData* action, std::string_view text);
  bool make_field_variable(std::string_view text, HistFieldVar* out);
  HistField* find_variable(const HistActionData& action, std::string_view system,
                           std::string_view event, std::string_view name);
  HistField* variable_of_field(const HistActionData& action, std::string_view system,
                               std::string_view event, std::string_view name);
  HistField* matched_variable(std::string_view system, std::string_view event,
                              std::string_view name);
  HistField* give_up(const char* text, std::string_view word) {
    errors_->add(text, word);
    return nullptr;
  }

  HistWorld& world_;
  HistData* hist_;
  HistErrors* errors_;
  HistFields fields_;
};

// What onmax() and onchange() compare with is a variable, too.
Status Actions::make_track(HistActionData* action) {
  std::string_view name = action->track_text;
  if (!name.starts_with('$')) return refuse(kTrackNoVariable, name);
  name.remove_prefix(1);
  HistField* variable = fields_.find_own_variable({}, {}, name);
  if (!variable) return refuse(kTrackNotFound, name);
  action->track_ref = fields_.refer_to(variable, {}, {});
  if (!action->track_ref) return refuse(ENOMEM);
  const bool is_max = action->handler == HistHandler::kMax;
  action->track_var = fields_.add_variable(is_max ? "__max" : "__change", 8, "u64");
  if (!action->track_var) return refuse(kTrackNotMade);
  return {};
}

// A variable for a field of this event.
bool Actions::make_field_variable(std::string_view text, HistFieldVar* out) {
  if (hist_->field_vars.size() == kMaxHistParams) return give_up(kTooManyFieldVariables, text);
  // What the kernel's in-place parsing leaves of a name with two dots.
  const bool is_qualified = std::count(text.begin(), text.end(), '.') > 1;
  const std::string_view name = is_qualified ? text.substr(0, text.find('.')) : text;
  out->value = fields_.parse_atom(text, kHistVar);
  if (!out->value) return give_up(kFieldVariableParse, name);
  out->value->flags &= ~uint32_t{kHistVar};
  out->var = fields_.add_variable(name, out->value->size, out->value->type);
  if (!out->var) return give_up(kVariableNotMade, name);
  out->var->flags |= out->value->flags & (kHistString | kHistStacktrace);
  return true;
}

Status Actions::make_save(HistActionData* action) {
  for (const auto& other : hist_->actions)
    if (!other->saved.empty()) return refuse(kSecondSave, {}, EEXIST);
  for (const std::string& text : action->param_texts) {
    HistFieldVar saved;
    if (!make_field_variable(text, &saved)) return refuse(kFieldVariableNotMade, text);
    action->saved.push_back(std::move(saved));
  }
  return {};
}

HistField* Actions::find_variable(const HistActionData& action, std::string_view system,
                                  std::string_view event, std::string_view name) {
  HistField* variable = fields_.find_own_variable(system, event, name);
  if (variable) return variable;
  if (!system.data() && action.handler == HistHandler::kMatch) {
    system = action.match_system;
    event = action.match_event;
  }
  variable = fields_.find_event_variable(system, event, name);
  return variable ? variable : give_up(kNoParam, name);
}

// A histogram with the same keys is made on the matched event, for a variable that has the field.
HistField* Actions::matched_variable(std::string_view system, std::string_view event_name,
                                     std::string_view name) {
  LiveEvent* event = world_.find_event(*hist_->array, system, event_name);
  if (!event) return give_up(kNoEventFile, name);
  const std::vector<HistData*> hists = world_.hists_of(*hist_->array, event);
  auto model = std::find_if(hists.begin(), hists.end(),
                            [&](const HistData* other) { return same_keys(*other, *hist_); });
  if (model == hists.end()) return give_up(kNoMatchingHist, name);
  const std::string variable = "synthetic_" + std::string(name);
  if (HistField* there = fields_.find_event_variable(system, event_name, variable)) return there;
  std::string text = "keys=" + hist_keys_text(**model);
  text.append(":").append(variable).append("=").append(name);
  if (!(*model)->filter_text.empty()) text += " if " + (*model)->filter_text;
  if (!world_.add_auxiliary(*hist_->array, event, text, errors_).ok())
    return give_up(kHistNotCreated, name);
  HistField* made = fields_.find_event_variable(system, event_name, variable);
  return made ? made : give_up(kNoSyntheticVariable, name);
}

HistField* Actions::variable_of_field(const HistActionData& action, std::string_view system,
                                      std::string_view event, std::string_view name) {
  HistFieldVar made;
  if (fields_.is_own_event(system, event) && make_field_variable(name, &made)) {
    hist_->field_vars.push_back(std::move(made));
    return hist_->field_vars.back().var;
  }
  if (!system.data() && action.handler == HistHandler::kMatch) {
    system = action.match_system;
    event = action.match_event;
  }
  return event.data() ? matched_variable(system, event, name) : nullptr;
}

// $var, field, system.event.$var, system.event.field.
Status Actions::make_param(HistActionData* action, std::string_view text) {
  std::string_view system, event, name = text;
  if (text.find('.') != text.npos) {
    system = take_until(&name, '.');
    event = take_until(&name, '.');
    if (!name.data()) return refuse(EINVAL);
  }
  HistField* variable = name.starts_with('$')
                            ? find_variable(*action, system, event, name.substr(1))
                            : variable_of_field(*action, system, event, name);
  if (!variable) return refuse(EINVAL);
  const std::vector<EventField>& fields = action->synthetic->call.fields;
  const size_t at = action->params.size();
  if (at >= fields.size() || !fits(*variable, fields[at])) return refuse(kParamType, name);
  HistField* ref = fields_.refer_to(variable, system, event);
  if (!ref) return refuse(ENOMEM);
  action->params.push_back(ref);
  return {};
}

Status Actions::make_trace(HistActionData* action) {
  action->synthetic = world_.find_synthetic(action->synthetic_name);
  if (!action->synthetic) return refuse(kNoSyntheticEvent, action->synthetic_name);
  for (const std::string& text : action->param_texts) PB_TRY(make_param(action, text));
  if (action->params.size() != action->synthetic->call.fields.size())
    return refuse(kParamCount, action->synthetic_name);
  return {};
}

Status Actions::make(HistActionData* action) {
  if (action->handler != HistHandler::kMatch) PB_TRY(make_track(action));
  switch (action->kind) {
    case HistActionKind::kTrace:
      return make_trace(action);
    case HistActionKind::kSave:
      return make_save(action);
    default:
      return world_.take_snapshot(*hist_->array, hist_);
  }
}

}  // namespace

[[gnu::cold]] Status make_hist_actions(HistWorld& world, HistData* hist, HistErrors* errors) {
  Actions actions(world, hist, errors);
  for (const auto& action : hist->actions) PB_TRY(actions.make(action.get()));
  return {};
}

// --- comparison

namespace {

bool same_event_field(const EventField* a, const EventField* b) {
  if (!a || !b) return a == b;
  return a->name == b->name && a->type == b->type && a->array_len == b->array_len &&
         a->size == b->size && a->is_signed == b->is_signed;
}

bool same_field(const HistField& a, const HistField& b) {
  const bool same_name = !((a.flags | b.flags) & kHistVar) || a.name == b.name;
  return a.flags == b.flags && same_event_field(a.field, b.field) &&
         rounded(a.size) == rounded(b.size) && a.is_signed == b.is_signed && same_name;
}

std::vector<const HistField*> defined_fields(const HistData& hist) {
  std::vector<const HistField*> fields;
  for (const auto& value : hist.values) fields.push_back(value.get());
  for (const auto& variable : hist.variables)
    if (variable->operands[0]) fields.push_back(variable.get());
  for (const auto& key : hist.keys) fields.push_back(key.get());
  return fields;
}

bool same_fields(const HistData& a, const HistData& b) {
  const auto x = defined_fields(a), y = defined_fields(b);
  return a.keys.size() == b.keys.size() &&
         std::equal(x.begin(), x.end(), y.begin(), y.end(),
                    [](const HistField* f, const HistField* g) { return same_field(*f, *g); });
}

bool same_action(const HistActionData& a, const HistActionData& b) {
  const std::string& name = a.kind == HistActionKind::kTrace ? a.synthetic_name : a.action_name;
  const std::string& other = b.kind == HistActionKind::kTrace ? b.synthetic_name : b.action_name;
  return a.handler == b.handler && a.kind == b.kind && a.param_texts == b.param_texts &&
         name == other && a.match_system == b.match_system && a.match_event == b.match_event &&
         a.track_text == b.track_text;
}

}  // namespace

bool same_hist(const HistData& a, const HistData& b, bool filters_count) {
  if (filters_count && a.filter_text != b.filter_text) return false;
  const bool same_sorts = std::equal(a.sorts.begin(), a.sorts.end(), b.sorts.begin(), b.sorts.end(),
                                     [](const HistSort& x, const HistSort& y) {
                                       return x.field == y.field && x.descending == y.descending;
                                     });
  return same_sorts && same_fields(a, b) &&
         std::equal(a.actions.begin(), a.actions.end(), b.actions.begin(), b.actions.end(),
                    [](const auto& x, const auto& y) { return same_action(*x, *y); });
}

}  // namespace patchbay
