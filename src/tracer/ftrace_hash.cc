// SPDX-License-Identifier: MIT
//
// A pattern that is, letter by letter, the name of a function means that function and nothing else:
// C++ names are full of glob characters (operator*, operator[], f<char*>), and a name that was
// copied from available_filter_functions has to select what it names.
#include "tracer/ftrace_hash.h"

#include <algorithm>
#include <cerrno>

#include "base/text.h"
#include "symbol/demangled_name.h"
#include "symbol/symbol.h"

namespace patchbay {
namespace {

constexpr std::string_view kGlobCharacters = "*?[\\";

bool is_glob(std::string_view text) { return text.find_first_of(kGlobCharacters) != text.npos; }

// A character class at `pattern`, which starts behind the `[`. `length` is what it takes with its
// `]`; 0: it has no end, so the `[` stands for itself.
struct CharacterClass {
  bool matches = false;
  size_t length = 0;
};

CharacterClass match_class(std::string_view pattern, char c) {
  const auto wanted = static_cast<unsigned char>(c);
  const bool inverted = pattern.starts_with('!');
  bool found = false;
  for (size_t i = inverted ? 1 : 0, first = i; i < pattern.size();) {
    if (pattern[i] == ']' && i != first) return {found != inverted, i + 1};
    auto low = static_cast<unsigned char>(pattern[i++]), high = low;
    const bool is_range = i + 1 < pattern.size() && pattern[i] == '-' && pattern[i + 1] != ']';
    if (is_range) {
      high = static_cast<unsigned char>(pattern[i + 1]);
      i += 2;
    }
    found |= low <= wanted && wanted <= high;
  }
  return {};
}

// Whether one character matches the pattern's element at `*at`, which moves behind it.
bool match_one(std::string_view pattern, size_t* at, char c) {
  const char element = pattern[(*at)++];
  if (element == '?') return true;
  if (element == '[') {
    const CharacterClass one = match_class(pattern.substr(*at), c);
    *at += one.length;
    return one.length ? one.matches : c == '[';
  }
  if (element != '\\') return c == element;
  return *at < pattern.size() && c == pattern[(*at)++];
}

// An end of the pattern: nothing, or a backslash that escapes nothing.
bool is_end(std::string_view pattern, size_t at) {
  return at == pattern.size() || (at + 1 == pattern.size() && pattern[at] == '\\');
}

// --- lines

// A parameter of a generic lambda: {lambda(auto:1)#1}
bool is_auto_parameter(std::string_view before, std::string_view rest) {
  return before.ends_with("auto") && rest.size() > 1 && is_digit(rest[1]);
}

// Where the command begins: the first `:` that is no part of `::`, of an ABI tag ([abi:cxx11]) nor
// of a generic lambda.
size_t find_command(std::string_view text) {
  constexpr std::string_view kTag = "[abi:";
  for (size_t i = 0; i < text.size();) {
    const std::string_view rest = text.substr(i);
    const size_t tag_end = rest.starts_with(kTag) ? rest.find(']') : rest.npos;
    if (rest.starts_with("::")) {
      i += 2;
    } else if (tag_end != rest.npos) {
      i += tag_end + 1;
    } else if (rest.front() == ':' && !is_auto_parameter(text.substr(0, i), rest)) {
      return i;
    } else {
      i++;
    }
  }
  return text.npos;
}

// A number as in C: 12, 014, 0xc. False: it is none.
bool parse_index(std::string_view text, uint64_t* index) {
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    base = 16;
    text.remove_prefix(2);
  } else if (text.starts_with('0')) {
    base = 8;
  }
  return to_number(text, index, base);
}

void take_module(std::string_view module, FilterLine* line) {
  line->has_module = true;
  line->not_module = module.starts_with('!');
  line->module = module.substr(line->not_module ? 1 : 0);
}

// libsqlite3 means libsqlite3.so.0 too.
bool module_matches(std::string_view wanted, std::string_view name) {
  if (glob_match(wanted, name)) return true;
  if (is_glob(wanted) || !name.starts_with(wanted) || name.size() == wanted.size()) return false;
  return name[wanted.size()] == '.' || name[wanted.size()] == '-';
}

// Globs are about libraries: an empty one means any. The program itself is meant by its whole name.
bool is_meant(const FilterLine& line, const Module& module, bool in_program) {
  if (!line.has_module) return true;
  if (line.module.empty()) return in_program == line.not_module;
  const bool fits =
      in_program ? line.module == module.name() : module_matches(line.module, module.name());
  return fits != line.not_module;
}
bool in_module(const FilterLine& line, const DynFtrace& function) {
  return is_meant(line, *function.module, function.in_program);
}

bool means_all(const FilterLine& line) { return line.has_module && line.pattern.empty(); }

// Names are compared first, and only what fits is planned: one of a large program's functions
// costs what one costs.
void look_up(const FunctionTable& table, const FilterLine& line) {
  FunctionTable::Names names;
  names.module = [&](const Module& module, bool in_program) {
    return is_meant(line, module, in_program);
  };
  const bool glob = is_glob(line.pattern);
  names.name = [&](std::string_view shown) {
    return means_all(line) || shown == line.pattern || (glob && glob_match(line.pattern, shown));
  };
  if (!means_all(line)) names.fragment = symbol_fragment(line.pattern);
  table.look_up(names);
}

template <typename Functions>
std::vector<DynFtrace*> select(const Functions& functions, const FilterLine& line) {
  std::vector<DynFtrace*> exact, matching;
  const bool all = means_all(line);
  const bool glob = is_glob(line.pattern);
  for (DynFtrace* function : functions) {
    const bool is_name = function->name == line.pattern;
    if (!all && !is_name && !(glob && glob_match(line.pattern, function->name))) continue;
    if (!in_module(line, *function)) continue;
    (is_name ? exact : matching).push_back(function);
  }
  return exact.empty() ? matching : exact;
}

// --- what is wrong with a line

std::string nearest(const FunctionTable& table, const FilterLine& line) {
  std::string wanted;
  for (char c : line.pattern) {
    if (kGlobCharacters.find(c) == kGlobCharacters.npos) wanted += c;
  }
  std::vector<std::string_view> names;
  for (const DynFtrace* function : table.functions()) {
    if (in_module(line, *function)) names.push_back(function->name);
  }
  std::string text;
  for (const std::string& name : near_matches(wanted, names)) {
    text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

[[gnu::cold]] Error no_match(const FunctionTable& table, const FilterLine& line) {
  if (line.is_index) {
    return user_error(EINVAL, "There is no function number " + line.pattern +
                                  "; available_filter_functions has " +
                                  std::to_string(table.functions().size()) + ".");
  }
  const std::string near = nearest(table, line);
  std::string text = "No function matches '" + line.pattern + "'";
  if (line.has_module)
    text += std::string(line.not_module ? " outside" : " in") + " '" + line.module + "'";
  return user_error(EINVAL, text + (near.empty() ? "." : "; near: " + near + "."));
}

// Whether a library that is meant is there, and has any function that can be traced.
bool is_loaded(const FunctionTable& table, FilterLine line) {
  line.pattern.clear();
  look_up(table, line);
  return std::any_of(table.known().begin(), table.known().end(),
                     [&](const DynFtrace* function) { return in_module(line, *function); });
}

Status change_module_lines(const FunctionTable& table, const FilterLine& line, FtraceHash* hash) {
  if (!line.remove) {
    if (is_loaded(table, line)) return no_match(table, line);
    hash->modules.insert(hash->modules.begin(), line.text);
    return {};
  }
  const size_t removed = std::erase_if(hash->modules, [&](const std::string& remembered) {
    Result<FilterLine> other = parse_filter_line(remembered);
    return other.ok() && other->module == line.module && other->not_module == line.not_module &&
           (line.pattern == "*" || line.pattern == other->pattern);
  });
  return removed ? Status() : no_match(table, line);
}

}  // namespace

bool glob_match(std::string_view pattern, std::string_view name) {
  size_t at = 0, done = 0;                         // in the pattern, in the name
  size_t star = std::string_view::npos, from = 0;  // behind the last `*`; what it has not eaten
  for (;;) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = ++at;
      from = done;
      continue;
    }
    if (done == name.size()) return is_end(pattern, at);
    if (at < pattern.size() && match_one(pattern, &at, name[done])) {
      done++;
      continue;
    }
    if (star == pattern.npos) return false;
    at = star;
    done = ++from;
  }
}

Result<FilterLine> parse_filter_line(std::string_view text) {
  FilterLine line;
  line.remove = text.starts_with('!');
  if (line.remove) text.remove_prefix(1);
  line.text = text;
  const size_t colon = find_command(text);
  line.pattern = text.substr(0, colon);
  const bool is_number = !text.empty() && is_digit(text[0]);
  line.is_index = is_number && parse_index(line.pattern, &line.index);
  if (colon == text.npos) return line;
  std::string_view command = text.substr(colon + 1);
  const size_t second = command.find(':');
  line.has_parameter = second != command.npos;
  if (line.has_parameter) line.parameter = command.substr(second + 1);
  command = command.substr(0, second);
  if (command == "mod") {
    if (line.has_parameter) take_module(line.parameter, &line);
    line.parameter.clear();
    line.has_parameter = false;
  } else if (command.empty()) {
    return user_error(EINVAL, "There is no command behind the ':' of '" + std::string(text) + "'.");
  } else {
    line.command = command;
  }
  return line;
}

std::vector<DynFtrace*> matching_functions(const FunctionTable& table, const FilterLine& line) {
  if (!line.is_index) {
    look_up(table, line);
    std::vector<DynFtrace*> listed = select(table.known(), line);
    if (!listed.empty() || line.has_module || is_glob(line.pattern)) return listed;
    return table.find_by_symbol(line.pattern);
  }
  if (line.index == 0 || line.index > table.functions().size()) return {};
  return {table.functions()[line.index - 1]};
}

Status apply_filter_line(const FunctionTable& table, const FilterLine& line, FtraceHash* hash) {
  const std::vector<DynFtrace*> functions = matching_functions(table, line);
  if (functions.empty()) {
    if (!line.has_module || line.is_index) return no_match(table, line);
    return change_module_lines(table, line, hash);
  }
  for (DynFtrace* function : functions) {
    if (line.remove)
      hash->functions.erase(function);
    else
      hash->functions.insert(function);
  }
  return {};
}

namespace {

// In the order of names.
bool is_named_before(const DynFtrace* a, const DynFtrace* b) { return a->name < b->name; }

bool bring_back(std::span<DynFtrace* const> came, FtraceHash* hash) {
  if (hash->gone.empty() || came.empty()) return false;
  std::vector<DynFtrace*> by_name(hash->gone.begin(), hash->gone.end());
  std::sort(by_name.begin(), by_name.end(), is_named_before);
  bool any = false;
  for (DynFtrace* function : came) {
    auto [first, last] =
        std::equal_range(by_name.begin(), by_name.end(), function, is_named_before);
    const auto found = std::find_if(first, last, [function](const DynFtrace* was) {
      return was == function || was->module->path() == function->module->path();
    });
    if (found == last) continue;
    hash->functions.insert(function);
    hash->gone.erase(*found);
    any = true;
  }
  return any;
}

}  // namespace

std::string list_functions(const FunctionTable& table, const FtraceHash& hash,
                           std::string_view prefix) {
  std::string text;
  if (hash.functions.empty()) return text;
  for (DynFtrace* function : table.known())
    if (hash.functions.contains(function))
      text.append(prefix).append(FunctionTable::listed_name(*function)).append("\n");
  return text;
}

bool apply_module_lines(const FunctionTable&, std::span<DynFtrace* const> came, FtraceHash* hash) {
  const bool any_back = bring_back(came, hash);
  const size_t before = hash->modules.size();
  std::erase_if(hash->modules, [&](const std::string& remembered) {
    Result<FilterLine> line = parse_filter_line(remembered);
    if (!line.ok()) return true;
    const bool is_here = std::any_of(came.begin(), came.end(), [&](const DynFtrace* function) {
      return in_module(*line, *function);
    });
    if (!is_here) return false;
    for (DynFtrace* function : select(came, *line)) hash->functions.insert(function);
    return true;
  });
  return any_back || hash->modules.size() != before;
}

}  // namespace patchbay
