// SPDX-License-Identifier: MIT
#include "hist/definition/hist_parse.h"

#include <bit>
#include <cerrno>

#include "base/text.h"

namespace patchbay {

namespace {

using namespace hist_errors;

constexpr size_t kMaxLocation = 256;

bool take_prefix(std::string_view* text, std::string_view prefix) {
  if (!text->starts_with(prefix)) return false;
  text->remove_prefix(prefix.size());
  return true;
}

bool is_blank(char c) { return c == ' ' || c == '\t'; }

Error refuse(const HistErrors& errors, int errno_value = EINVAL) {
  return errors.refusal(errno_value, "A histogram has at least keys: hist:keys=FIELD[,FIELD]…");
}

}  // namespace

std::string_view take_until(std::string_view* text, char separator) {
  const std::string_view all = *text;
  const size_t end = all.find(separator);
  *text = end == all.npos ? std::string_view() : all.substr(end + 1);
  // An empty rest is a rest: its data() is not null.
  return all.substr(0, end);
}

// --- errors

HistErrors::HistErrors(ErrorLog* log, std::string_view system, std::string_view event,
                       std::string command)
    : log_(log), command_(std::move(command)) {
  location_ = "hist:";
  location_.append(system).append(":").append(event);
  if (location_.size() >= kMaxLocation) location_.resize(kMaxLocation - 1);
}

void HistErrors::add(const char* text, std::string_view word) {
  size_t at = command_.find(word);
  if (at == command_.npos) at = 0;
  log_->add(location_, text, command_, at);
  sentence_ = command_ + "\n" + std::string(at, ' ') + "^\n" + text;
}

Error HistErrors::refusal(int errno_value, std::string_view plain) const {
  return user_error(errno_value, sentence_.empty() ? std::string(plain) : sentence_);
}

// --- numbers

namespace {

uint64_t take_base(std::string_view* digits) {
  if (digits->size() > 2 && (*digits)[0] == '0' && ((*digits)[1] | 32) == 'x' &&
      digit_value((*digits)[2]) < 16) {
    digits->remove_prefix(2);
    return 16;
  }
  return digits->starts_with('0') ? 8 : 10;
}

}  // namespace

Result<uint64_t> parse_hist_number(std::string_view text) {
  const Error bad = user_error(EINVAL, "\"" + std::string(text) + "\" is no number.");
  std::string_view digits = text;
  if (digits.starts_with('+')) digits.remove_prefix(1);
  const uint64_t base = take_base(&digits);
  if (digits.ends_with('\n')) digits.remove_suffix(1);
  if (digits.empty()) return bad;
  uint64_t value = 0;
  bool overflow = false;
  for (char c : digits) {
    const uint64_t digit = uint64_t(digit_value(c));
    if (digit >= base) return bad;
    overflow |= __builtin_mul_overflow(value, base, &value);
    overflow |= __builtin_add_overflow(value, digit, &value);
  }
  if (overflow) return user_error(ERANGE, std::string(text) + " is too large.");
  return value;
}

// --- parts

namespace {

Result<uint32_t> parse_size(std::string_view text) {
  PB_ASSIGN(auto size, parse_hist_number(text));
  const uint32_t bits = size > 1 ? uint32_t(std::bit_width(size - 1)) : 0;
  if (bits < kMinHistBits || bits > kMaxHistBits)
    return user_error(EINVAL, "A histogram has room for 128 to 131072 keys.");
  return bits;
}

Status parse_assignment(std::string_view part, HistDefinition* out, HistErrors* errors) {
  std::string_view rest = part;
  if (take_prefix(&rest, "key=") || take_prefix(&rest, "keys=")) {
    out->keys = rest;
  } else if (take_prefix(&rest, "val=") || take_prefix(&rest, "vals=") ||
             take_prefix(&rest, "values=")) {
    out->values = rest;
    out->has_values = true;
  } else if (take_prefix(&rest, "sort=")) {
    out->sort = rest;
    out->has_sort = true;
  } else if (take_prefix(&rest, "name=")) {
    out->name = rest;
    out->has_name = true;
  } else if (take_prefix(&rest, "clock=")) {
    out->clock = trim(rest);
  } else if (take_prefix(&rest, "size=")) {
    PB_ASSIGN(auto bits, parse_size(rest));
    out->map_bits = bits;
  } else {
    if (out->assignments.size() == kMaxHistVariables) {
      errors->add(kTooManyVariables, part);
      return refuse(*errors);
    }
    out->assignments.emplace_back(part);
  }
  return {};
}

bool parse_switch(std::string_view part, HistDefinition* out) {
  if (part == "nohitcount" || part == "NOHC")
    out->no_hitcount = true;
  else if (part == "pause")
    out->pause = true;
  else if (part == "cont" || part == "continue")
    out->cont = true;
  else if (part == "clear")
    out->clear = true;
  else
    return false;
  return true;
}

Status parse_part(std::string_view part, HistDefinition* out, HistErrors* errors) {
  const size_t equals = part.find('=');
  if (equals != part.npos) {
    if (equals + 1 < part.size()) return parse_assignment(part, out, errors);
    errors->add(kEmptyAssignment, part);
    return refuse(*errors);
  }
  if (parse_switch(part, out)) return {};
  const bool is_action =
      part.starts_with("onmatch(") || part.starts_with("onmax(") || part.starts_with("onchange(");
  if (!is_action || out->actions.size() == kMaxHistActions)
    return user_error(EINVAL, "\"" + std::string(part) +
                                  "\" is no part of a histogram's definition" +
                                  (is_action ? ": there are eight actions at most." : "."));
  out->actions.emplace_back(part);
  return {};
}

// The word `if` with a blank on each side divides the definition from the filter.
Status split_filter(std::string_view text, std::string_view* definition,
                    std::optional<std::string>* filter) {
  *definition = text;
  for (size_t at = 0; (at = text.find("if", at)) != text.npos; at++) {
    if (at == 0) return user_error(EINVAL, "The keys stand before the filter.");
    if (!is_blank(text[at - 1])) continue;
    if (at + 3 >= text.size()) return user_error(EINVAL, "A filter follows the word if.");
    if (!is_blank(text[at + 2])) continue;
    const std::string_view rest = trim(text.substr(at));
    if (rest.size() <= 3) return user_error(EINVAL, "A filter follows the word if.");
    *definition = trim(text.substr(0, at - 1));
    // What the kernel takes the word off from leaves the blanks that follow the first.
    *filter = rest.substr(3);
    return {};
  }
  return {};
}

// A dash would be an operator in an expression.
std::string without_dashes(std::string_view definition) {
  constexpr std::string_view kModifier = ".sym-offset";
  std::string text(definition);
  for (size_t at = 0; (at = text.find(kModifier, at)) != text.npos; at += kModifier.size())
    text[at + 4] = 'X';
  return text;
}

}  // namespace

[[gnu::cold]] Result<HistDefinition> parse_hist(std::string_view text, HistErrors* errors) {
  HistDefinition out;
  std::string_view definition;
  PB_TRY(split_filter(text, &definition, &out.filter));
  const std::string parts = without_dashes(definition);
  for (std::string_view rest = parts; rest.data();)
    PB_TRY(parse_part(take_until(&rest, ':'), &out, errors));
  if (out.keys.empty()) return refuse(*errors);
  return out;
}

Result<std::vector<HistVariableText>> parse_hist_variables(const HistDefinition& definition,
                                                           HistErrors* errors) {
  std::vector<HistVariableText> out;
  for (const std::string& assignment : definition.assignments) {
    std::string_view rest = assignment;
    for (uint32_t i = 0; i < kMaxHistVariables && rest.data(); i++) {
      std::string_view expression = take_until(&rest, ',');
      const std::string_view name = take_until(&expression, '=');
      if (!expression.data()) {
        errors->add(kMalformedAssignment, name);
        return refuse(*errors);
      }
      if (out.size() == kMaxHistVariables) {
        errors->add(kTooManyVariables, name);
        return refuse(*errors);
      }
      out.push_back({std::string(name), std::string(expression)});
    }
  }
  return out;
}

// --- actions

namespace {

class ActionParser {
 public:
  ActionParser(HistErrors* errors) : errors_(errors) {}
  Status parse(std::string_view text,
               const std::function<bool(std::string_view, std::string_view)>& event_exists);
  std::unique_ptr<HistActionData> take() { return std::move(action_); }

 private:
  Status refuse_with(const char* text, std::string_view word = {}) {
    errors_->add(text, word);
    return refuse(*errors_);
  }
  Status parse_match(std::string_view* text,
                     const std::function<bool(std::string_view, std::string_view)>& event_exists);
  Status parse_track(std::string_view* text);
  Status parse_action(std::string_view text);
  Status parse_params(std::string_view params);
  Status check_handler();

  HistErrors* errors_;
  std::unique_ptr<HistActionData> action_ = std::make_unique<HistActionData>();
};

Status ActionParser::parse_match(
    std::string_view* text,
    const std::function<bool(std::string_view, std::string_view)>& event_exists) {
  std::string_view event = take_until(text, ')');
  if (!text->data()) return refuse_with(kNoClosingParen, event);
  const std::string_view system = take_until(&event, '.');
  if (!event.data()) return refuse_with(kMissingSubsystem, system);
  if (!event_exists(system, event)) return refuse_with(kInvalidEvent, event);
  action_->match_system = system;
  action_->match_event = event;
  return {};
}

Status ActionParser::parse_track(std::string_view* text) {
  action_->track_text = take_until(text, ')');
  if (text->data()) return {};
  return user_error(EINVAL, "No closing parenthesis after " + action_->track_text + ".");
}

Status ActionParser::parse_params(std::string_view params) {
  bool is_name = action_->uses_trace_keyword;
  while (params.data()) {
    if (action_->param_texts.size() == kMaxHistParams) return refuse_with(kTooManyParams);
    const std::string_view param = trim(take_until(&params, ','));
    if (param.size() < 2) return refuse_with(kInvalidParam, param);
    if (is_name)
      action_->synthetic_name = param;
    else
      action_->param_texts.emplace_back(param);
    is_name = false;
  }
  return {};
}

// save() and snapshot() are of onmax() and onchange().
Status ActionParser::check_handler() {
  if (action_->handler != HistHandler::kMatch) return {};
  return refuse_with(kActionMismatch, action_->action_name);
}

// What follows the handler's parenthesis: ".save(a,b)".
Status ActionParser::parse_action(std::string_view text) {
  take_until(&text, '.');
  if (!text.data()) return refuse_with(kNoAction);
  const std::string_view name = take_until(&text, '(');
  if (!text.data()) return refuse_with(kNoAction);
  action_->action_name = name;
  const std::string_view params = take_until(&text, ')');
  if (name.starts_with("save")) {
    action_->kind = HistActionKind::kSave;
    PB_TRY(parse_params(params));
    return check_handler();
  }
  if (name.starts_with("snapshot")) {
    action_->kind = HistActionKind::kSnapshot;
    if (!text.data()) return refuse_with(kNoClosingParen, params);
    return check_handler();
  }
  action_->kind = HistActionKind::kTrace;
  action_->uses_trace_keyword = name.starts_with("trace");
  if (!action_->uses_trace_keyword) action_->synthetic_name = name;
  return parse_params(params);
}

Status ActionParser::parse(
    std::string_view text,
    const std::function<bool(std::string_view, std::string_view)>& event_exists) {
  if (take_prefix(&text, "onmatch(")) {
    PB_TRY(parse_match(&text, event_exists));
  } else {
    action_->handler = take_prefix(&text, "onmax(") ? HistHandler::kMax : HistHandler::kChange;
    if (action_->handler == HistHandler::kChange) take_prefix(&text, "onchange(");
    PB_TRY(parse_track(&text));
  }
  return parse_action(text);
}

}  // namespace

[[gnu::cold]] Result<std::unique_ptr<HistActionData>> parse_hist_action(
    std::string_view text,
    const std::function<bool(std::string_view system, std::string_view event)>& event_exists,
    HistErrors* errors) {
  ActionParser parser(errors);
  PB_TRY(parser.parse(text, event_exists));
  return parser.take();
}

}  // namespace patchbay
