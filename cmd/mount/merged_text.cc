// SPDX-License-Identifier: MIT
#include "cmd/mount/merged_text.h"

#include <algorithm>
#include <array>
#include <unordered_set>

#include "base/text.h"

namespace patchbay::cmd {
namespace {

constexpr std::array<std::string_view, 24> kLineLists = {"set_event",
                                                         "available_events",
                                                         "available_filter_functions",
                                                         "kprobe_events",
                                                         "uprobe_events",
                                                         "dynamic_events",
                                                         "function_events",
                                                         "synthetic_events",
                                                         "set_ftrace_filter",
                                                         "set_ftrace_notrace",
                                                         "set_graph_function",
                                                         "set_graph_notrace",
                                                         "set_event_pid",
                                                         "set_event_notrace_pid",
                                                         "set_ftrace_pid",
                                                         "set_ftrace_notrace_pid",
                                                         "printk_formats",
                                                         "saved_cmdlines",
                                                         "saved_tgids",
                                                         "trigger",
                                                         "stack_trace_filter",
                                                         "refused_functions",
                                                         "function_kinds",
                                                         "kprobes_blacklist"};
constexpr std::array<std::string_view, 6> kSwitchValues = {"0\n",  "1\n",  "X\n",
                                                           "0*\n", "1*\n", "X*\n"};

template <size_t Count>
bool is_among(const std::array<std::string_view, Count>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool all_equal(const std::vector<ProcessText>& texts) {
  return std::all_of(texts.begin(), texts.end(),
                     [&](const ProcessText& text) { return text.text == texts[0].text; });
}

bool is_switch(std::string_view path) {
  const std::string_view name = base_name(path);
  return name == "enable" || name == "tracing_on" || name == "function_profile_enabled" ||
         path.starts_with("options/") || path.find("/options/") != path.npos;
}
bool has_switch_value(const ProcessText& text) { return is_among(kSwitchValues, text.text); }

// The lines with # that a text begins with: "#### all functions enabled ####".
std::string_view comment_of(std::string_view text) {
  size_t end = 0;
  while (end < text.size() && text[end] == '#') {
    const size_t newline = text.find('\n', end);
    end = newline == text.npos ? text.size() : newline + 1;
  }
  return text.substr(0, end);
}

std::string union_of_lines(const std::vector<ProcessText>& texts) {
  std::unordered_set<std::string_view> seen;
  std::string merged;
  for (const ProcessText& text : texts) {
    for (std::string_view rest = text.text; !rest.empty();) {
      const std::string_view line = cut_at(&rest, '\n');
      if (!seen.insert(line).second) continue;
      merged.append(line).append(1, '\n');
    }
  }
  return merged;
}

std::string sections(const std::vector<ProcessText>& texts) {
  std::vector<bool> shown(texts.size());
  std::string merged;
  for (size_t i = 0; i < texts.size(); i++) {
    if (shown[i]) continue;
    for (size_t same = i; same < texts.size(); same++) {
      if (shown[same] || texts[same].text != texts[i].text) continue;
      merged += process_head(texts[same].pid, texts[same].name);
      shown[same] = true;
    }
    merged += texts[i].text;
    if (!merged.ends_with('\n')) merged += '\n';
  }
  return merged;
}

}  // namespace

std::string process_head(int pid, std::string_view name) {
  return "# " + std::to_string(pid) + " " + std::string(name) + "\n";
}

std::string merge_texts(std::string_view path, std::vector<ProcessText> texts) {
  // A directory without events says ?, and nothing about the others.
  const auto has_none = [](const ProcessText& text) { return text.text == "?\n"; };
  if (base_name(path) == "enable" && !std::all_of(texts.begin(), texts.end(), has_none))
    std::erase_if(texts, has_none);
  if (texts.empty()) return "";
  if (all_equal(texts)) return texts[0].text;
  if (is_switch(path) && std::all_of(texts.begin(), texts.end(), has_switch_value)) return "X\n";
  const bool same_comment = std::all_of(texts.begin(), texts.end(), [&](const ProcessText& text) {
    return comment_of(text.text) == comment_of(texts[0].text);
  });
  // A comment says what the list means, so lists under different ones do not mix.
  if (same_comment && is_among(kLineLists, base_name(path))) return union_of_lines(texts);
  return sections(texts);
}

}  // namespace patchbay::cmd
