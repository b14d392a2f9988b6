// SPDX-License-Identifier: MIT
// What stands in the values of predicates: CPU lists and globs.
#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "filter/filter_parse.h"

namespace patchbay {
namespace {

// One entry of a CPU list.
struct CpuRange {
  uint64_t first = 0, last = 0;
  uint64_t used = 1, group = 1;  // the first `used` of each `group`
};

class CpuRangeParser {
 public:
  CpuRangeParser(std::string_view text, uint32_t nr_cpus) : text_(text), nr_cpus_(nr_cpus) {}

  std::optional<CpuRange> parse() {
    CpuRange range;
    if (take("all")) {
      range.last = nr_cpus_ - 1;
    } else if (!number(&range.first)) {
      return std::nullopt;
    } else {
      range.last = range.first;
      if (take("-") && !number(&range.last)) return std::nullopt;
    }
    if (take(":") && !(number(&range.used) && take("/") && number(&range.group)))
      return std::nullopt;
    const bool sound = text_.empty() && range.first <= range.last && range.last < nr_cpus_ &&
                       range.group > 0 && range.used <= range.group;
    return sound ? std::optional(range) : std::nullopt;
  }

 private:
  bool take(std::string_view word) {
    if (!text_.starts_with(word)) return false;
    text_.remove_prefix(word.size());
    return true;
  }
  bool number(uint64_t* value) {
    if (take("N")) {
      *value = nr_cpus_ - 1;
      return true;
    }
    auto [end, status] = std::from_chars(text_.data(), text_.data() + text_.size(), *value);
    if (status != std::errc()) return false;
    text_.remove_prefix(size_t(end - text_.data()));
    return true;
  }

  std::string_view text_;
  uint32_t nr_cpus_;
};

// Where a class that opens at pattern[open] is closed; npos: nowhere, then the bracket is a plain
// character.
size_t class_end(std::string_view pattern, size_t open) {
  size_t first = open + 1;
  if (first < pattern.size() && pattern[first] == '!') first++;
  return pattern.find(']', first + 1);  // a bracket in the first place is a member
}

// The matcher relies on it that each class is closed.
std::string quote_open_brackets(std::string_view pattern) {
  std::string result;
  for (size_t i = 0; i < pattern.size(); i++) {
    if (pattern[i] == '\\' && i + 1 < pattern.size()) {
      result += pattern[i++];
    } else if (pattern[i] == '[') {
      const size_t end = class_end(pattern, i);
      if (end != std::string_view::npos) {
        result += pattern.substr(i, end - i);
        i = end;
      } else {
        result += '\\';
      }
    }
    result += pattern[i];
  }
  return result;
}

}  // namespace

std::optional<std::string> parse_cpulist(std::string_view list, uint32_t nr_cpus) {
  std::string cpus((nr_cpus + 7) / 8, '\0');
  auto is_separator = [](char c) { return c == ',' || is_space(c); };
  while (!list.empty()) {
    const auto end = std::find_if(list.begin(), list.end(), is_separator);
    const std::string_view entry = list.substr(0, size_t(end - list.begin()));
    list.remove_prefix(std::min(entry.size() + 1, list.size()));
    if (entry.empty()) continue;
    auto range = CpuRangeParser(entry, nr_cpus).parse();
    if (!range) return std::nullopt;
    for (uint64_t cpu = range->first; cpu <= range->last; cpu++) {
      if ((cpu - range->first) % range->group < range->used)
        cpus[cpu / 8] = char(uint8_t(cpus[cpu / 8]) | 1 << cpu % 8);
    }
  }
  return cpus;
}

void compile_glob(std::string_view pattern, FilterPred* pred) {
  FilterInsn& insn = pred->insn;
  insn.invert = pattern.starts_with('!');
  if (insn.invert) pattern.remove_prefix(1);
  const bool is_literal = !pattern.empty() && is_digit(pattern[0]);
  const bool open_begin = !is_literal && pattern.starts_with('*');
  const bool open_end = !is_literal && pattern.size() > open_begin && pattern.ends_with('*');
  const std::string_view middle =
      pattern.substr(open_begin, pattern.size() - open_begin - open_end);
  if (!is_literal && middle.find_first_of("*?[\\") != std::string_view::npos) {
    insn.match = TextMatch::kGlob;
    pred->data = quote_open_brackets(pattern);
    return;
  }
  insn.match = open_begin && open_end ? TextMatch::kContains
               : open_begin           ? TextMatch::kEnds
               : open_end             ? TextMatch::kBegins
                                      : TextMatch::kWhole;
  pred->data = middle;
}

}  // namespace patchbay
