// SPDX-License-Identifier: MIT
#include "debug_info/probe_request.h"

#include <algorithm>
#include <cerrno>

#include "base/text.h"

namespace patchbay {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n'; }

// Walks over a text and knows when it is inside of brackets: (), [], and <> of a template.
class BracketDepth {
 public:
  bool inside(std::string_view text, size_t i, bool with_templates) {
    char c = text[i];
    bool is_arrow = c == '>' && i > 0 && text[i - 1] == '-';
    if (c == '(' || c == '[') depth_++;
    if ((c == ')' || c == ']') && depth_ > 0) depth_--;
    if (with_templates && c == '<') depth_++;
    if (with_templates && c == '>' && !is_arrow && depth_ > 0) depth_--;
    return depth_ > 0;
  }

 private:
  int depth_ = 0;
};

// A pattern behind ';' may have blanks only when it is quoted. Shells have taken the quotes
// already.
std::vector<std::string> split_outside_brackets(std::string_view text) {
  std::vector<std::string> words;
  BracketDepth depth;
  std::string word;
  for (size_t i = 0; i < text.size(); i++) {
    bool inside = depth.inside(text, i, words.empty());
    if (!is_blank(text[i]) || inside) {
      word += text[i];
      continue;
    }
    if (!word.empty()) words.push_back(word);
    word.clear();
    depth = {};
  }
  if (!word.empty()) words.push_back(word);
  return words;
}

// Position of a character outside of brackets; npos.
size_t find_outside(std::string_view text, char wanted) {
  BracketDepth depth;
  for (size_t i = 0; i < text.size(); i++) {
    if (!depth.inside(text, i, true) && text[i] == wanted) return i;
  }
  return std::string_view::npos;
}

bool parse_number(std::string_view text, uint64_t* value) {
  int base = text.starts_with("0x") ? 16 : 10;
  if (base == 16) text.remove_prefix(2);
  return to_number(text, value, base);
}

// The last single colon before a number, behind which a line stands. npos: there is none.
size_t find_line_colon(std::string_view text) {
  size_t colon = text.rfind(':');
  if (colon == text.npos || colon == 0 || colon + 1 >= text.size()) return text.npos;
  bool is_scope = text[colon - 1] == ':';
  bool digits = std::all_of(text.begin() + ptrdiff_t(colon) + 1, text.end(), is_digit);
  return is_scope || !digits ? text.npos : colon;
}

bool is_file_name(std::string_view text) {
  if (text.find('/') != text.npos) return true;
  size_t dot = text.rfind('.');
  if (dot == text.npos || dot + 1 == text.size() || text.size() - dot > 5) return false;
  std::string_view ending = text.substr(dot + 1);
  if (ending == "cold" || ending == "isra" || ending == "part") return false;
  return std::none_of(ending.begin(), ending.end(), is_digit) && text.find('(') == text.npos;
}

// "[GROUP:]EVENT=" at the head of a word is taken from it.
void take_names(std::string* word, ProbeRequest* request) {
  size_t equal = word->find('=');
  if (equal == word->npos || equal == 0) return;
  std::string_view names = std::string_view(*word).substr(0, equal);
  bool are_names = std::all_of(names.begin(), names.end(), [](char c) {
    return is_name_char(c) || c == ':' || c == '/' || c == '-';
  });
  if (!are_names || names.ends_with("operator")) return;
  size_t colon = names.find_first_of(":/");
  if (colon != names.npos) request->group = names.substr(0, colon);
  request->event = colon == names.npos ? names : names.substr(colon + 1);
  word->erase(0, equal + 1);
}

Error wrong(std::string sentence) { return user_error(EINVAL, std::move(sentence)); }

Status take_place(std::string place, ProbeRequest* request) {
  if (size_t semicolon = find_outside(place, ';'); semicolon != place.npos) {
    request->pattern = place.substr(semicolon + 1);
    place.resize(semicolon);
    if (request->pattern.empty()) return wrong("A pattern is missing behind ';'.");
  }
  if (size_t percent = find_outside(place, '%'); percent != place.npos) {
    if (place.substr(percent) != "%return")
      return wrong("'" + place.substr(percent) + "' is not %return.");
    request->on_return = true;
    place.resize(percent);
  }
  size_t colon = find_line_colon(place);
  if (colon != place.npos) {
    uint64_t line = 0;
    if (!parse_number(std::string_view(place).substr(colon + 1), &line) || line > INT32_MAX)
      return wrong("'" + place.substr(colon + 1) + "' is no line.");
    request->line = int(line);
    place.resize(colon);
  }
  if (size_t at = find_outside(place, '@'); at != place.npos) {
    request->file = place.substr(at + 1);
    place.resize(at);
    if (request->file.empty()) return wrong("A file is missing behind '@'.");
  }
  bool is_operator = place.find("operator") != place.npos;
  size_t plus = is_operator ? place.npos : find_outside(place, '+');
  if (plus != place.npos) {
    if (!parse_number(std::string_view(place).substr(plus + 1), &request->offset))
      return wrong("'" + place.substr(plus) + "' is no offset.");
    place.resize(plus);
  }
  bool by_line = request->line.has_value() || !request->pattern.empty();
  if (by_line && request->file.empty() && is_file_name(place))
    request->file = place;
  else
    request->function = place;
  if (request->function.empty() && (request->file.empty() || !by_line))
    return wrong("A function, or a file with a line, is missing.");
  int given = int(by_line) + int(request->on_return) + int(request->offset != 0);
  if (given > 1) return wrong("Only one of a line, an offset and %return can be given.");
  return {};
}

ProbeRequestArgument parse_argument(std::string_view word) {
  ProbeRequestArgument argument;
  size_t equal = word.find('=');
  bool has_name = equal != word.npos && equal > 0 &&
                  std::all_of(word.begin(), word.begin() + ptrdiff_t(equal), is_name_char);
  if (has_name) {
    argument.name = word.substr(0, equal);
    word.remove_prefix(equal + 1);
  }
  argument.expression = word;
  if (argument.is_plain()) return argument;
  for (size_t i = word.size(); i-- > 1;) {
    if (word[i] != ':' || word[i - 1] == ':' || (i + 1 < word.size() && word[i + 1] == ':'))
      continue;
    argument.expression = word.substr(0, i);
    argument.type = word.substr(i + 1);
    break;
  }
  return argument;
}

}  // namespace

bool ProbeRequestArgument::is_plain() const {
  if (expression.empty()) return false;
  if (expression.starts_with("$"))
    return !expression.starts_with("$retval") && expression != "$vars" && expression != "$params";
  return std::string_view("%@+-\\").find(expression[0]) != std::string_view::npos;
}

Result<ProbeRequest> parse_probe_request(std::string_view text) {
  ProbeRequest request;
  std::vector<std::string> words = split_outside_brackets(text);
  if (words.empty()) return wrong("A function, or a file with a line, is missing.");
  take_names(&words[0], &request);
  PB_TRY(take_place(words[0], &request));
  for (size_t i = 1; i < words.size(); i++) request.arguments.push_back(parse_argument(words[i]));
  return request;
}

bool looks_like_probe_request(std::string_view text) {
  std::vector<std::string> words = split_outside_brackets(text);
  if (words.empty()) return false;
  ProbeRequest names;
  take_names(&words[0], &names);
  std::string_view place = words[0];
  size_t at = find_outside(place, '@');
  bool is_unnamed_function = at != place.npos && place.substr(at + 1).starts_with("0x");
  if (is_unnamed_function) return false;  // file@0xOFFSET(ARGS) of function_events
  const bool has_list = at != place.npos && place.find('(', at) != place.npos;
  if (has_list && text.ends_with(')')) return false;  // f@file.c(ARGS), f@plt(ARGS)
  // f@file.c alone is a function's name; with variables behind it, it is a place.
  bool has_place = find_line_colon(place) != place.npos || place.ends_with("%return") ||
                   (at != place.npos && words.size() > 1) ||
                   find_outside(place, ';') != place.npos || place.find("+0x") != place.npos ||
                   !names.event.empty();
  if (has_place) return true;
  // With arguments, but not the argument list of a function event.
  return words.size() > 1 && !text.ends_with(')');
}

}  // namespace patchbay
