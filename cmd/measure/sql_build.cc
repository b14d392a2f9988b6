// SPDX-License-Identifier: MIT
#include "cmd/measure/sql_build.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "hist/definition/hist_data.h"

namespace patchbay::cmd {
namespace {

using Kind = SqlExpression::Kind;
constexpr int kMaxOperators = 3;  // of an expression of a histogram

std::string upper(std::string text) {
  for (char& c : text)
    if (c >= 'a' && c <= 'z') c = char(c - 'a' + 'A');
  return text;
}

// What a field of the statement means.
struct Meaning {
  size_t side = 0;
  std::string text;  // in a hist trigger: "pid", "common_timestamp.usecs"
  SyntheticSlot slot;
  const EventField* field = nullptr;  // null: a timestamp, a stack
};

struct Side {
  const SqlEvent* written = nullptr;
  const EventCall* call = nullptr;
  std::vector<std::string> keys;
  std::vector<std::string> variables;              // "NAME=EXPRESSION"
  std::map<std::string, std::string> variable_of;  // an expression's
  std::vector<std::string> conditions;             // joined by &&

  std::string trigger() const {
    std::string text = "hist:keys=" + join(keys, ",");
    if (!variables.empty()) text += ":" + join(variables, ",");
    return text;
  }
  std::string filter() const { return conditions.empty() ? "" : " if " + join(conditions, " && "); }
};

class Builder {
 public:
  Builder(const SqlQuery& query, EventFormats& events, const std::string& name)
      : query_(query), events_(events), name_(name) {}
  SqlBuild run();

 private:
  bool fail(std::string text, size_t position);
  bool build(HistPlan* plan);
  bool find_event(const SqlEvent& written, Side* side);
  bool find_side(const SqlField& field, size_t* side);
  bool mean(const SqlField& field, Meaning* meaning);
  bool mean_field(const std::string& name, size_t position, Meaning* meaning);
  bool add_matches();

  // --- expressions
  bool check_parentheses(const SqlExpression& one);
  bool look_at(const SqlExpression& one, bool used[2], int* operators);
  bool render(const SqlExpression& one, bool as_end, std::string* out);
  bool first_slot(const SqlExpression& one, SyntheticSlot* slot);
  std::string variable(size_t side, const std::string& expression);

  // --- both kinds of statements
  bool add_histogram(HistPlan* plan);
  bool key_or_value(const SqlItem& item, std::vector<std::string>* values);
  bool add_join(HistPlan* plan);
  bool parameter(const SqlItem& item, std::string* field, std::string* parameter);
  bool operation(const SqlItem& item, SyntheticSlot* slot, std::string* parameter);
  bool delta(const SqlItem& item, SyntheticSlot* slot, std::string* parameter, bool* is_delta);

  // --- WHERE
  bool add_filters(const SqlFilter& filter);
  bool side_of(const SqlFilter& filter, std::optional<size_t>* side);
  bool render(const SqlFilter& filter, std::string* out);

  const SqlQuery& query_;
  EventFormats& events_;
  const std::string& name_;
  Side sides_[2];
  int nr_variables_ = 0;
  std::optional<SqlError> error_;
};

bool Builder::fail(std::string text, size_t position) {
  if (!error_) error_ = SqlError{std::move(text), position};
  return false;
}

// --- what words mean

bool Builder::find_event(const SqlEvent& written, Side* side) {
  side->written = &written;
  Result<const EventCall*> call = events_.find(join(written.words, ":"));
  if (!call.ok()) return fail(call.error().message(), written.position);
  side->call = *call;
  return true;
}

bool Builder::find_side(const SqlField& field, size_t* side) {
  const std::vector<std::string> event(field.words.begin(), field.words.end() - 1);
  const size_t nr_sides = query_.join ? 2 : 1;
  if (event.empty() && nr_sides == 1) return *side = 0, true;
  if (event.empty())
    return fail("'" + field.words[0] + "' of which event? Write EVENT." + field.words[0],
                field.position);
  for (size_t i = 0; i < nr_sides; i++) {
    const Side& one = sides_[i];
    const bool is_label = event.size() == 1 && event[0] == one.written->label;
    const bool is_event = event.size() == 1 && event[0] == one.call->name;
    const bool is_whole =
        event.size() == 2 && event[0] == one.call->system && event[1] == one.call->name;
    if (is_label || is_event || is_whole) return *side = i, true;
  }
  return fail("'" + join(event, ".") + "' is no event of this statement", field.position);
}

bool Builder::mean_field(const std::string& name, size_t position, Meaning* meaning) {
  const EventCall& call = *sides_[meaning->side].call;
  meaning->field = call.find(name);
  if (!meaning->field)
    return fail("'" + name + "' is no field of " + call.system + ":" + call.name, position);
  meaning->text = name;
  meaning->slot = synthetic_slot(*meaning->field);
  return true;
}

bool Builder::mean(const SqlField& field, Meaning* meaning) {
  if (!find_side(field, &meaning->side)) return false;
  const std::string& name = field.words.back();
  const std::string word = upper(name);
  meaning->slot = {"u64", ""};
  if (word == "TIMESTAMP") return meaning->text = "common_timestamp", true;
  if (word == "TIMESTAMP_USECS") return meaning->text = "common_timestamp.usecs", true;
  if (name == "common_cpu") return meaning->text = name, true;
  if (word == "STACKTRACE" || name == "common_stacktrace") {
    meaning->slot = {"long", "[]"};
    return meaning->text = "common_stacktrace", true;
  }
  return mean_field(name, field.position, meaning);
}

bool Builder::add_matches() {
  for (const SqlMatch& match : query_.matches) {
    Meaning left, right;
    if (!mean(match.left, &left) || !mean(match.right, &right)) return false;
    if (left.side == right.side)
      return fail("ON compares a field of one event with one of the other", match.left.position);
    const bool texts = left.field && is_text_field(*left.field);
    if (texts != (right.field && is_text_field(*right.field)))
      return fail(
          "'" + match.left.text() + "' and '" + match.right.text() + "' are a text and a number",
          match.left.position);
    sides_[left.side].keys.push_back(left.text);
    sides_[right.side].keys.push_back(right.text);
  }
  if (query_.matches.size() <= kMaxHistKeys) return true;
  return fail("at most 3 fields can be compared", query_.matches[kMaxHistKeys].left.position);
}

// --- expressions

// The expressions of a histogram have no parentheses. Only parentheses that change nothing may be
// left out.
bool Builder::check_parentheses(const SqlExpression& one) {
  if (one.kind != Kind::kOperation) return true;
  const bool is_product = one.operation == '*' || one.operation == '/';
  for (const auto* side : {&one.left, &one.right}) {
    const SqlExpression& inner = **side;
    if (!check_parentheses(inner)) return false;
    if (!inner.in_parentheses) continue;
    const bool inner_product = inner.operation == '*' || inner.operation == '/';
    const bool is_left = side == &one.left;
    bool same = is_left ? inner_product || !is_product : one.operation == '+';
    if (!is_left && one.operation == '*') same = inner.operation == '*';
    if (!is_left && one.operation == '-') same = inner_product;
    if (!same)
      return fail("a histogram cannot compute this: it has no parentheses", inner.position);
  }
  return true;
}

bool Builder::look_at(const SqlExpression& one, bool used[2], int* operators) {
  if (one.kind == Kind::kOperation) {
    ++*operators;
    return look_at(*one.left, used, operators) && look_at(*one.right, used, operators);
  }
  if (one.kind == Kind::kNumber) return true;
  Meaning meaning;
  if (!mean(one.field, &meaning)) return false;
  if (meaning.field && is_text_field(*meaning.field))
    return fail("'" + one.field.text() + "' is a text", one.position);
  used[meaning.side] = true;
  return true;
}

// `as_end`: in the histogram of the second event, which has the fields of the first as variables.
bool Builder::render(const SqlExpression& one, bool as_end, std::string* out) {
  if (one.kind == Kind::kNumber) return *out += one.number, true;
  if (one.kind == Kind::kField) {
    Meaning meaning;
    if (!mean(one.field, &meaning)) return false;
    *out += as_end && meaning.side == 0 ? "$" + variable(0, meaning.text) : meaning.text;
    return true;
  }
  if (!render(*one.left, as_end, out)) return false;
  *out += one.operation;
  return render(*one.right, as_end, out);
}

// An expression has the type of its first operand, as in the kernel.
bool Builder::first_slot(const SqlExpression& one, SyntheticSlot* slot) {
  if (one.kind == Kind::kOperation) return first_slot(*one.left, slot);
  if (one.kind == Kind::kNumber) return *slot = {"u64", ""}, true;
  Meaning meaning;
  if (!mean(one.field, &meaning)) return false;
  *slot = meaning.slot;
  return true;
}

std::string Builder::variable(size_t side, const std::string& expression) {
  std::string& known = sides_[side].variable_of[expression];
  if (known.empty()) {
    known = "__" + name_ + "_" + std::to_string(++nr_variables_);
    sides_[side].variables.push_back(known + "=" + expression);
  }
  return known;
}

// --- a histogram

bool is_counter(const std::string& cast) {
  return cast == "_counter_" || cast == "__counter__" || cast == "counter";
}

// The modifier of a key; empty: no such cast.
std::string modifier_of(const std::string& cast) {
  if (cast == "hex" || cast == "sym" || cast == "sym-offset" || cast == "syscall") return cast;
  if (cast == "id") return "syscall";
  if (cast == "execname" || cast == "comm") return "execname";
  if (cast == "log" || cast == "log2") return "log2";
  return cast.starts_with("buckets=") ? cast : "";
}

bool is_value_cast(const std::string& cast) {
  return is_counter(cast) || cast == "quantiles" || cast == "percent" || cast == "graph";
}

bool Builder::key_or_value(const SqlItem& item, std::vector<std::string>* values) {
  bool used[2] = {};
  int operators = 0;
  Meaning meaning;
  if (item.value->kind == Kind::kField) {
    if (!mean(item.value->field, &meaning)) return false;
  } else if (!look_at(*item.value, used, &operators) || !check_parentheses(*item.value)) {
    return false;
  }
  if (operators > kMaxOperators) return fail("at most 3 operators", item.position);
  std::string text;
  if (!render(*item.value, false, &text)) return false;
  if (is_value_cast(item.cast)) {
    values->push_back(is_counter(item.cast) ? text : text + "." + item.cast);
    return true;
  }
  const std::string modifier = modifier_of(item.cast);
  if (!item.cast.empty() && modifier.empty())
    return fail("there is no type '" + item.cast +
                    "'; there are HEX, SYM, SYM-OFFSET, SYSCALL, "
                    "EXECNAME, LOG2, BUCKETS=N, _COUNTER_, PERCENT, GRAPH and QUANTILES",
                item.position);
  if (!item.cast.empty() && meaning.field && is_text_field(*meaning.field))
    return fail("a text cannot be CAST", item.position);
  sides_[0].keys.push_back(modifier.empty() ? text : text + "." + modifier);
  return true;
}

bool Builder::add_histogram(HistPlan* plan) {
  Side& side = sides_[0];
  std::vector<std::string> values;
  for (const SqlItem& item : query_.items) {
    if (!key_or_value(item, &values)) return false;
    if (side.keys.size() > kMaxHistKeys) return fail("at most 3 keys", item.position);
    if (values.size() >= kMaxHistValues) return fail("at most 2 values", item.position);
  }
  if (side.keys.empty())
    return fail("one item at least must not be a value", query_.items[0].position);
  std::string text = side.trigger();
  if (!values.empty()) text += ":vals=" + join(values, ",");
  plan->writes.push_back({trigger_path(*side.call), text + side.filter()});
  plan->histograms.push_back("events/" + side.call->system + "/" + side.call->name);
  return true;
}

// --- a synthetic event

// TIMESTAMP_DELTA and TIMESTAMP_DELTA_USECS: between the two events.
bool Builder::delta(const SqlItem& item, SyntheticSlot* slot, std::string* parameter,
                    bool* is_delta) {
  if (item.value->kind != Kind::kField || item.value->field.words.size() != 1) return true;
  const std::string word = upper(item.value->field.words[0]);
  if (word != "TIMESTAMP_DELTA" && word != "TIMESTAMP_DELTA_USECS") return true;
  const std::string time =
      word == "TIMESTAMP_DELTA" ? "common_timestamp" : "common_timestamp.usecs";
  *is_delta = true;
  *slot = {"u64", ""};
  *parameter = "$" + variable(1, time + "-$" + variable(0, time));
  return true;
}

bool Builder::operation(const SqlItem& item, SyntheticSlot* slot, std::string* parameter) {
  bool used[2] = {};
  int operators = 0;
  if (!look_at(*item.value, used, &operators) || !check_parentheses(*item.value)) return false;
  if (operators > kMaxOperators) return fail("at most 3 operators", item.position);
  const size_t side = used[1] || !used[0] ? 1 : 0;
  std::string text;
  if (!first_slot(*item.value, slot) || !render(*item.value, side == 1, &text)) return false;
  *parameter = "$" + variable(side, text);
  return true;
}

bool Builder::parameter(const SqlItem& item, std::string* field, std::string* parameter) {
  if (!item.cast.empty()) return fail("CAST is for histograms, which have no JOIN", item.position);
  SyntheticSlot slot;
  bool is_delta = false;
  std::string name = item.name;
  if (!delta(item, &slot, parameter, &is_delta)) return false;
  if (!is_delta && item.value->kind == Kind::kField) {
    Meaning meaning;
    if (!mean(item.value->field, &meaning)) return false;
    if (name.empty()) name = item.value->field.words.back();
    slot = meaning.slot;
    // Always by a variable: the kernel takes a plain field for unsigned, and none of one letter.
    *parameter = "$" + variable(meaning.side, meaning.text);
  } else if (!is_delta && !operation(item, &slot, parameter)) {
    return false;
  }
  if (is_delta && name.empty()) name = "delta";
  if (name.empty()) return fail("an expression needs a name: AS NAME", item.position);
  *field = slot.with(name);
  return true;
}

bool Builder::add_join(HistPlan* plan) {
  if (!add_matches()) return false;
  std::vector<std::string> fields, parameters;
  for (const SqlItem& item : query_.items)
    if (!parameter(item, &fields.emplace_back(), &parameters.emplace_back())) return false;
  if (fields.size() > kMaxHistParams) return fail("too many items", query_.items[64].position);
  const Side &start = sides_[0], &end = sides_[1];
  plan->synthetic = name_;
  plan->writes.push_back({"dynamic_events", "s:" + name_ + " " + join(fields, "; ")});
  plan->writes.push_back({trigger_path(*start.call), start.trigger() + start.filter()});
  plan->writes.push_back({trigger_path(*end.call), end.trigger() + ":onmatch(" +
                                                       start.call->system + "." + start.call->name +
                                                       ")." + name_ + "(" + join(parameters, ",") +
                                                       ")" + end.filter()});
  return true;
}

// --- WHERE

bool Builder::side_of(const SqlFilter& filter, std::optional<size_t>* side) {
  if (filter.kind != SqlFilter::Kind::kComparison)
    return side_of(*filter.left, side) && (!filter.right || side_of(*filter.right, side));
  Meaning meaning;
  if (!mean(filter.field, &meaning)) return false;
  if (!meaning.field && meaning.text != "common_cpu")
    return fail("'" + filter.field.text() + "' cannot be in a filter", filter.position);
  if (*side && **side != meaning.side)
    return fail("only AND may stand between conditions on different events", filter.position);
  *side = meaning.side;
  return true;
}

bool Builder::render(const SqlFilter& filter, std::string* out) {
  if (filter.kind == SqlFilter::Kind::kComparison) {
    Meaning meaning;
    if (!mean(filter.field, &meaning)) return false;
    const std::string name = meaning.field ? meaning.text : "CPU";
    *out += name + " " + filter.operation + " " + filter.value;
    return true;
  }
  if (filter.kind == SqlFilter::Kind::kNot) {
    *out += "!(";
    return render(*filter.left, out) && (*out += ")", true);
  }
  const bool is_or = filter.kind == SqlFilter::Kind::kOr;
  auto part = [&](const SqlFilter& one) {
    const bool wrapped = !is_or && one.kind == SqlFilter::Kind::kOr;
    if (wrapped) *out += "(";
    const bool right = render(one, out);
    if (wrapped) *out += ")";
    return right;
  };
  return part(*filter.left) && (*out += is_or ? " || " : " && ", true) && part(*filter.right);
}

// Each condition goes to the event that it is about.
bool Builder::add_filters(const SqlFilter& filter) {
  if (filter.kind == SqlFilter::Kind::kAnd)
    return add_filters(*filter.left) && add_filters(*filter.right);
  std::optional<size_t> side;
  std::string text;
  if (!side_of(filter, &side) || !render(filter, &text)) return false;
  const bool wrapped = filter.kind == SqlFilter::Kind::kOr;
  sides_[*side].conditions.push_back(wrapped ? "(" + text + ")" : text);
  return true;
}

bool Builder::build(HistPlan* plan) {
  if (!find_event(query_.from, &sides_[0])) return false;
  if (query_.join && !find_event(*query_.join, &sides_[1])) return false;
  if (query_.filter && !add_filters(*query_.filter)) return false;
  return query_.join ? add_join(plan) : add_histogram(plan);
}

SqlBuild Builder::run() {
  HistPlan plan;
  SqlBuild made;
  if (build(&plan) && !error_)
    made.plan = std::move(plan);
  else
    made.error = std::move(error_);
  return made;
}

}  // namespace

SqlBuild build_sql(const SqlQuery& query, EventFormats& events, const std::string& name) {
  return Builder(query, events, name).run();
}

}  // namespace patchbay::cmd
