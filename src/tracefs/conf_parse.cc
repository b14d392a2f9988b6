// SPDX-License-Identifier: MIT
#include "tracefs/conf_parse.h"

#include "base/text.h"

namespace patchbay::tracefs {

namespace {

constexpr std::string_view kBlanks = " \t\r";

// Takes one line with those that continue it (`\` at its end) from the front of `rest`. A comment
// is not continued.
struct Line {
  std::string text;
  uint32_t number = 0;
};
Line take_line(std::string_view& rest, uint32_t& number) {
  Line line;
  line.number = number;
  bool begun = false, comment = false;
  for (bool more = true; more && !rest.empty();) {
    const size_t end = rest.find('\n');
    std::string_view piece = rest.substr(0, end);
    rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
    number++;
    if (piece.ends_with('\r')) piece.remove_suffix(1);
    comment |= !begun && trim(piece, kBlanks).starts_with('#');
    begun |= !trim(piece, kBlanks).empty();
    more = piece.ends_with('\\') && !comment;
    if (more) piece.remove_suffix(1);
    line.text += piece;
  }
  return line;
}

bool is_tool_section(std::string_view word) {
  return word == "serve" || word == "ship" || word == "attach";
}

class Parser {
 public:
  Conf run(std::string_view rest) {
    for (uint32_t number = 1; !rest.empty();) {
      line_ = take_line(rest, number);
      take();
    }
    return std::move(conf_);
  }

 private:
  void mistake(size_t column, std::string sentence) {
    conf_.mistakes.push_back({line_.number, uint32_t(column), line_.text, std::move(sentence)});
  }
  size_t column_of(std::string_view part) const {
    return part.empty() ? 0 : size_t(part.data() - line_.text.data());
  }

  void take() {
    const std::string_view text = trim(line_.text, kBlanks);
    if (text.empty() || text.starts_with('#')) return;
    if (const size_t nul = line_.text.find('\0'); nul != std::string::npos) {
      line_.text.resize(nul);
      return mistake(nul, "A line cannot contain a NUL.");
    }
    if (text.starts_with('['))
      take_section(text);
    else
      take_assignment(text);
  }

  void take_section(std::string_view text) {
    // What follows a section that is not understood is meant for no other one.
    skip_ = true;
    is_tools_ = false;
    if (!text.ends_with(']'))
      return mistake(column_of(text) + text.size(), "A section ends with ].");
    const std::string_view inside = trim(text.substr(1, text.size() - 2), kBlanks);
    const size_t blank = inside.find_first_of(kBlanks);
    const std::string_view word = inside.substr(0, blank);
    const std::string_view name = blank == inside.npos ? "" : trim(inside.substr(blank), kBlanks);
    if (word == "top" && name.empty()) {
      skip_ = false;
      instance_.clear();
    } else if (is_tool_section(word) && name.empty()) {
      skip_ = false;
      is_tools_ = true;
      conf_.sections.push_back({line_.number, std::string(word), {}});
    } else if (word != "instance") {
      mistake(column_of(text) + 1,
              "A section is [instance NAME] or [top]; of the tool [serve], [ship] or [attach].");
    } else if (name.empty()) {
      mistake(column_of(text) + text.size() - 1, "An instance has a name: [instance NAME].");
    } else if (name == "." || name == ".." || name.find_first_of("/ \t") != name.npos) {
      mistake(column_of(name), "The name of an instance is one word without /.");
    } else {
      skip_ = false;
      instance_ = name;
      conf_.items.push_back({ConfKind::kInstance, false, line_.number, instance_, "", ""});
    }
  }

  void take_assignment(std::string_view text) {
    const size_t equals = text.find('=');
    if (equals == text.npos)
      return mistake(column_of(text) + text.size(), "A line is FILE = TEXT or FILE += TEXT.");
    const bool append = equals > 0 && text[equals - 1] == '+';
    const std::string_view name = trim(text.substr(0, equals - append), kBlanks);
    if (name.empty())
      return mistake(column_of(text), "Before = stands the name of a file or variable.");
    if (const size_t blank = name.find_first_of(kBlanks); blank != name.npos)
      return mistake(column_of(name) + blank, "The name of a file or variable is one word.");
    if (is_tools_) return take_setting(name, append, text.substr(equals + 1));
    const bool variable = name.starts_with(kConfVariablePrefix);
    if (variable && !instance_.empty())
      return mistake(column_of(name), "Variables stand in no section but [top].");
    if (skip_) return;
    conf_.items.push_back({variable ? ConfKind::kVariable : ConfKind::kWrite, append, line_.number,
                           instance_, std::string(name),
                           std::string(trim(text.substr(equals + 1), kBlanks))});
  }

  void take_setting(std::string_view name, bool append, std::string_view rest) {
    if (append) return mistake(column_of(name), "A setting of the tool is NAME = TEXT, without +.");
    const std::string_view text = trim(rest, kBlanks);
    const size_t column = text.empty() ? line_.text.size() : column_of(text);
    conf_.sections.back().settings.push_back(
        {line_.number, uint32_t(column), std::string(name), std::string(text), line_.text});
  }

  Conf conf_;
  Line line_;
  std::string instance_;
  bool skip_ = false;
  bool is_tools_ = false;  // in a section of the tool's
};

}  // namespace

Conf parse_conf(std::string_view text) { return Parser().run(text); }

}  // namespace patchbay::tracefs
