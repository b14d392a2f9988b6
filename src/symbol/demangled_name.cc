// SPDX-License-Identifier: MIT
//
// The demangler prints `RETURN NAME(PARAMETERS) TRAILING`, with RETURN for templates only. The name
// may itself hold parentheses, angle brackets and blanks:
//
//   void ns::Box<int (*)(char)>::visit<long>(long) const
//   ns::f(int)::{lambda(char)#1}::operator()(char) const
//   (anonymous namespace)::operator<< <char>(ns::Out&, char)
//   ns::Box<int>::operator unsigned int() const
//   void (*ns::handler<int>(int))(char)
//
// So it is read from the left, whole bracket groups at a time. A group in parentheses is the
// parameter list unless `::` follows, when it belongs to the enclosing function.
#include "symbol/demangled_name.h"

#include <cxxabi.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/text.h"
#include "symbol/symbol.h"

namespace patchbay {
namespace {

constexpr std::string_view kAnonymous = "(anonymous namespace)";

bool is_word(char c) { return is_word_char(c) || c == '$'; }

bool starts_at(std::string_view text, size_t at, std::string_view what) {
  return text.substr(std::min(at, text.size())).starts_with(what);
}

bool is_operator_at(std::string_view text, size_t at) {
  constexpr std::string_view kOperator = "operator";
  if (!starts_at(text, at, kOperator) || (at > 0 && is_word(text[at - 1]))) return false;
  size_t end = at + kOperator.size();
  return end < text.size() && !is_word(text[end]);
}

size_t skip_group(std::string_view text, size_t at);

// Behind `operator` and its symbol; for a conversion, behind the type.
size_t skip_operator(std::string_view text, size_t at) {
  at += std::string_view("operator").size();
  if (starts_at(text, at, "\"\"")) {  // operator""_kg, operator"" _kg
    at += starts_at(text, at, "\"\" ") ? 3 : 2;
    while (at < text.size() && is_word(text[at])) at++;
    return at;
  }
  if (const size_t length = operator_sign(text.substr(std::min(at, text.size()))))
    return at + length;
  while (at < text.size() && text[at] != '(') {
    at = text[at] == '<' || text[at] == '[' ? skip_group(text, at) : at + 1;
  }
  return at;
}

// Behind the bracket that closes the one at `at`; the end of the text when there is none.
size_t skip_group(std::string_view text, size_t at) {
  std::string open;
  while (at < text.size()) {
    char c = text[at];
    if (c == 'o' && is_operator_at(text, at)) {
      at = std::min(skip_operator(text, at), text.size());
      continue;
    }
    if (c == '(' || c == '<' || c == '[' || c == '{') open += c;
    if (c == '>' && open.back() == '<' && text[at - 1] != '-') open.pop_back();
    if (c == ')' || c == ']' || c == '}') {
      char opener = c == ')' ? '(' : c == ']' ? '[' : '{';
      size_t match = open.rfind(opener);
      if (match != std::string::npos) open.resize(match);
    }
    ++at;
    if (open.empty()) break;
  }
  return at;
}

// Behind the qualifiers that may stand between `f()` and `::local`.
size_t skip_qualifiers(std::string_view text, size_t at) {
  static constexpr std::array<std::string_view, 9> kQualifiers = {
      " const", " volatile", " &&", " &", "[abi:cxx11]", "_const", "_volatile", "_&&", "_&"};
  for (bool again = true; again;) {
    again = false;
    for (std::string_view qualifier : kQualifiers) {
      if (!starts_at(text, at, qualifier)) continue;
      at += qualifier.size();
      again = true;
    }
  }
  return at;
}

bool returns_function_pointer(std::string_view text, size_t paren) {
  return paren > 0 && text[paren - 1] == ' ' && paren + 1 < text.size() &&
         (text[paren + 1] == '*' || text[paren + 1] == '&');
}

DemangledName split_plain(std::string_view text) {
  size_t start = 0, at = 0;
  while (at < text.size()) {
    char c = text[at];
    if (c == 'o' && is_operator_at(text, at)) {
      at = skip_operator(text, at);
      if (starts_at(text, at, " <")) ++at;  // operator<< <int>
    } else if (starts_at(text, at, kAnonymous)) {
      at += kAnonymous.size();
    } else if (c == '(' && returns_function_pointer(text, at)) {
      size_t end = skip_group(text, at);
      std::string_view inner = text.substr(at + 1, end - at - 2);
      return split_plain(inner.substr(std::min(inner.find_first_not_of("*& "), inner.size())));
    } else if (c == '(' && (text.substr(0, at).ends_with("decltype ") ||
                            text.substr(0, at).ends_with("decltype"))) {
      at = skip_group(text, at);
    } else if (c == '(') {
      size_t end = skip_group(text, at);
      size_t behind = skip_qualifiers(text, end);
      if (!starts_at(text, behind, "::")) {
        return {{}, text.substr(start, at - start), text.substr(at, end - at), text.substr(end)};
      }
      at = behind + 2;
    } else if (c == '<' || c == '[' || c == '{') {
      at = skip_group(text, at);
    } else if (starts_at(text, at, " [clone")) {
      break;
    } else {
      if (c == ' ') start = at + 1;
      ++at;
    }
  }
  at = std::min(at, text.size());
  return {{}, text.substr(start, at - start), {}, text.substr(at)};
}

std::string demangle_base(const std::string& mangled) {
  int status = 0;
  char* text = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
  std::string result = text && status == 0 ? text : "";
  std::free(text);
  // The demangler's blank was C++11's.
  constexpr std::string_view kLiteral = "operator\"\" ";
  for (size_t at = 0; (at = result.find(kLiteral, at)) != result.npos;)
    result.erase(at += kLiteral.size() - 1, 1);
  return result;
}

// Rust's older mangling ends with a hash: core::fmt::write::h0123456789abcdef.
std::string_view without_rust_hash(std::string_view name) {
  constexpr size_t kHash = 19;
  if (name.size() <= kHash || name.substr(name.size() - kHash, 3) != "::h") return name;
  for (char c : name.substr(name.size() - kHash + 3)) {
    if (!is_digit(c) && (c < 'a' || c > 'f')) return name;
  }
  return name.substr(0, name.size() - kHash);
}

}  // namespace

size_t operator_sign(std::string_view text) {
  static constexpr std::array<std::string_view, 44> kSymbols = {
      "()", "[]", "<<=", ">>=",    "<=>",       "->*",  "<<",      ">>",       "<=",
      ">=", "==", "!=",  "&&",     "||",        "++",   "--",      "+=",       "-=",
      "*=", "/=", "%=",  "^=",     "&=",        "|=",   "->",      "+",        "-",
      "*",  "/",  "%",   "^",      "&",         "|",    "~",       "!",        "=",
      "<",  ">",  ",",   " new[]", " delete[]", " new", " delete", " co_await"};
  for (std::string_view symbol : kSymbols) {
    if (text.starts_with(symbol)) return symbol.size();
  }
  return 0;
}

size_t special_prefix(std::string_view text) {
  static constexpr std::array<std::string_view, 13> kPrefixes = {"non-virtual thunk to ",
                                                                 "virtual thunk to ",
                                                                 "covariant return thunk to ",
                                                                 "vtable for ",
                                                                 "VTT for ",
                                                                 "typeinfo for ",
                                                                 "typeinfo name for ",
                                                                 "guard variable for ",
                                                                 "TLS init function for ",
                                                                 "TLS wrapper function for ",
                                                                 "transaction clone for ",
                                                                 "non-transaction clone for ",
                                                                 "hidden alias for "};
  const auto is_alike = [](char shown, char c) { return c == shown || (c == '_' && shown == ' '); };
  for (std::string_view prefix : kPrefixes) {
    if (text.size() > prefix.size() &&
        std::equal(prefix.begin(), prefix.end(), text.begin(), is_alike))
      return prefix.size();
  }
  return 0;
}

DemangledName split_demangled(std::string_view text) {
  std::string_view prefix = text.substr(0, special_prefix(text));
  DemangledName result = split_plain(text.substr(prefix.size()));
  result.prefix = prefix;
  return result;
}

std::string_view clone_suffix(std::string_view symbol) {
  size_t dot = symbol.find('.');
  return dot == std::string_view::npos || dot == 0 ? symbol.substr(symbol.size())
                                                   : symbol.substr(dot);
}

std::string_view shown_clone_suffix(std::string_view shown) {
  static constexpr std::array<std::string_view, 8> kWords = {
      "constprop", "isra", "part", "cold", "llvm", "lto_priv", "localalias", "clone"};
  const size_t last = shown.find_last_of(":)>}]\"");
  for (size_t dot = last == shown.npos ? 0 : last; (dot = shown.find('.', dot)) != shown.npos;
       dot++) {
    const std::string_view word = shown.substr(dot + 1, shown.find('.', dot + 1) - dot - 1);
    if (dot > 0 && std::find(kWords.begin(), kWords.end(), word) != kWords.end())
      return shown.substr(dot);
  }
  return shown.substr(shown.size());
}

bool is_cold_name(std::string_view symbol) {
  size_t at = symbol.rfind(".cold");
  if (at == std::string_view::npos || at == 0) return false;
  std::string_view rest = symbol.substr(at + 5);
  return rest.empty() || (rest[0] == '.' && rest.find_first_not_of(".0123456789") == rest.npos);
}

std::string demangle(std::string_view mangled, bool with_parameters) {
  if (!mangled.starts_with("_Z")) return std::string(mangled);
  std::string_view suffix = clone_suffix(mangled);
  std::string text = demangle_base(std::string(mangled.substr(0, mangled.size() - suffix.size())));
  if (text.empty()) return std::string(mangled);
  if (with_parameters) return text + (suffix.empty() ? "" : " [clone " + std::string(suffix) + "]");
  DemangledName parts = split_demangled(text);
  if (parts.name.empty()) return std::string(mangled);
  return std::string(parts.prefix) + std::string(without_rust_hash(parts.name)) +
         std::string(suffix);
}

std::string demangle_type(std::string_view name) {
  if (name.starts_with('*')) name.remove_prefix(1);  // of a type that one object alone has
  constexpr std::string_view kHead = "typeinfo name for ";
  const std::string shown = demangle("_ZTS" + std::string(name), true);
  return shown.starts_with(kHead) ? shown.substr(kHead.size()) : std::string(name);
}

std::string without_blanks(std::string_view name) {
  std::string result;
  for (char c : name) {
    bool blank = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (!blank) result += c;
    if (blank && (result.empty() || result.back() != ',')) result += '_';
  }
  return result;
}

std::string squeeze(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != ' ' && text[i] != '\t') {
      result += text[i];
      continue;
    }
    size_t next = text.find_first_not_of(" \t", i);
    if (next == std::string_view::npos) break;
    if (!result.empty() && is_word(result.back()) && is_word(text[next])) result += ' ';
    i = next - 1;
  }
  return result;
}

namespace {

// The end of the type name that starts at `at`: identifiers, `::` and template arguments.
size_t skip_type_name(std::string_view text, size_t at) {
  static constexpr std::array<std::string_view, 4> kWords = {"unsigned ", "signed ", "long ",
                                                             "short "};
  for (bool again = true; again;) {
    again = false;
    for (std::string_view word : kWords) {
      if (!starts_at(text, at, word)) continue;
      at += word.size();
      again = true;
    }
  }
  while (at < text.size()) {
    if (starts_at(text, at, kAnonymous)) {
      at += kAnonymous.size();
    } else if (text[at] == '<') {
      at = skip_group(text, at);
    } else if (is_word(text[at]) || starts_at(text, at, "::")) {
      at += is_word(text[at]) ? 1 : 2;
    } else {
      break;
    }
  }
  return at;
}

void replace_word(std::string* text, std::string_view word, std::string_view by) {
  for (size_t at = text->find(word); at != std::string::npos; at = text->find(word, at)) {
    size_t end = at + word.size();
    bool whole = (at == 0 || (!is_word((*text)[at - 1]) && (*text)[at - 1] != ':')) &&
                 (end == text->size() || (!is_word((*text)[end]) && (*text)[end] != ':'));
    if (whole) text->replace(at, word.size(), by);
    at += whole ? by.size() : 1;
  }
}

}  // namespace

std::string canonical_parameters(std::string_view parameters) {
  std::string text = squeeze(parameters);
  if (text == "(void)") text = "()";
  replace_word(&text, "std::string_view", "std::basic_string_view<char,std::char_traits<char>>");
  replace_word(&text, "std::string",
               "std::__cxx11::basic_string<char,std::char_traits<char>,std::allocator<char>>");
  // `const T` at the start of a type becomes `T const`.
  std::string result;
  for (size_t at = 0; at < text.size();) {
    bool at_start = at == 0 || text[at - 1] == '(' || text[at - 1] == ',' || text[at - 1] == '<';
    if (!at_start || !starts_at(text, at, "const ")) {
      result += text[at++];
      continue;
    }
    size_t type = at + 6;
    size_t end = skip_type_name(text, type);
    std::string_view name = std::string_view(text).substr(type, end - type);
    size_t bracket = name.find('<');
    result += bracket == name.npos ? std::string(name)
                                   : std::string(name.substr(0, bracket)) +
                                         canonical_parameters(name.substr(bracket));
    result += is_word(result.back()) ? " const" : "const";
    at = end;
  }
  return result;
}

std::string without_abi_tags(std::string_view name) {
  std::string result(name);
  for (size_t tag; (tag = result.find("[abi:")) != result.npos;)
    result.erase(tag, std::min(result.find(']', tag), result.size() - 1) - tag + 1);
  return result;
}

std::string without_template_arguments(std::string_view name) {
  std::string result;
  for (size_t at = 0; at < name.size();) {
    if (name[at] == 'o' && is_operator_at(name, at)) {
      size_t end = std::min(skip_operator(name, at), name.size());
      result += name.substr(at, end - at);
      at = starts_at(name, end, " <") ? end + 1 : end;
    } else if (name[at] == '<' || starts_at(name, at, "[abi:")) {
      at = skip_group(name, at);
    } else if (name[at] == '(' || name[at] == '{') {
      size_t end = skip_group(name, at);
      result += name.substr(at, end - at);
      at = end;
    } else {
      result += name[at++];
    }
  }
  return result;
}

std::vector<std::string> mangled_needles(std::string_view name) {
  static constexpr std::array<std::string_view, 10> kAbbreviated = {
      "std",           "allocator",      "basic_string", "string",  "basic_istream",
      "basic_ostream", "basic_iostream", "istream",      "ostream", "iostream"};
  std::vector<std::string> needles;
  for (size_t at = 0; at < name.size();) {
    char c = name[at];
    if (c == 'o' && is_operator_at(name, at)) break;
    if (c == '<' || c == '(' || c == '[' || c == '{') {
      at = skip_group(name, at);
      // f() const::{lambda()#1}, with its blanks or without them
      for (bool again = c == '('; again;) {
        at = std::min(name.find_first_not_of(" _&", at), name.size());
        again = starts_at(name, at, "const") || starts_at(name, at, "volatile");
        if (again) at += name[at] == 'c' ? 5 : 8;
      }
      continue;
    }
    size_t end = at;
    while (end < name.size() && is_word(name[end])) ++end;
    std::string_view word = name.substr(at, end - at);
    // "T::operator_bool", as lists show T::operator bool, or a function that is called so.
    if (word.starts_with("operator_")) break;
    bool known = std::find(kAbbreviated.begin(), kAbbreviated.end(), word) != kAbbreviated.end();
    if (!word.empty() && !is_digit(word[0]) && !known) {
      needles.push_back(std::to_string(word.size()) + std::string(word));
    }
    at = std::max(end, at + 1);
  }
  return needles;
}

namespace {

// What the demangler writes that the mangled name does not spell out, blanks between.
constexpr std::string_view kWritten =
    "operator std allocator basic_string string char_traits basic_istream basic_ostream "
    "basic_iostream istream ostream iostream anonymous namespace lambda unnamed type auto const "
    "volatile restrict unsigned signed char short int long float double bool void wchar_t char8_t "
    "char16_t char32_t nullptr nullptr_t decltype ellipsis decimal32 decimal64 decimal128 half "
    "__int128 __float128 _Float16 complex imaginary non virtual thunk covariant vtable VTT "
    "construction typeinfo name guard variable TLS init wrapper function transaction clone hidden "
    "alias global constructors destructors keyed reference temporary default arg this new delete "
    "co_await co_yield true false sizeof alignof noexcept throw requires typename template typeid "
    "static_cast dynamic_cast const_cast reinterpret_cast java resource fn parm abi cxx11 string "
    "literal for to return vector Complex Imaginary Float32x Float64x Float128x bfloat16";

// Behind a character class; where it has none, behind its `[`.
size_t skip_class(std::string_view glob, size_t at) {
  const size_t end = glob.find(']', at + 2);
  return end == glob.npos ? at + 1 : end + 1;
}

}  // namespace

std::string_view symbol_fragment(std::string_view glob) {
  std::string_view longest;
  for (size_t at = 0; at < glob.size();) {
    size_t end = at;
    // A `_` may stand for a blank of the demangled name.
    while (end < glob.size() && is_word(glob[end]) && glob[end] != '_') ++end;
    const std::string_view word = glob.substr(at, end - at);
    const bool is_sure = word.size() > 1 && !is_digit(word[0]) && kWritten.find(word) == word.npos;
    if (is_sure && word.size() > longest.size()) longest = word;
    if (end == glob.size()) break;
    at = glob[end] == '[' ? skip_class(glob, end) : end + (glob[end] == '\\' ? 2 : 1);
  }
  return longest;
}

}  // namespace patchbay
