// SPDX-License-Identifier: MIT
// Definitions as text: how they are listed, and which ones a removal means.
#include "event/probe_event.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "base/text.h"
#include "event/probe_event_words.h"

namespace patchbay {

namespace {

char letter_of(const ProbeDefinition& definition) {
  switch (definition.kind) {
    case ProbeKind::kKprobe:
    case ProbeKind::kUprobe:
      return definition.on_return ? 'r' : 'p';
    case ProbeKind::kFprobe:
      return 'f';
    case ProbeKind::kTracepoint:
      return 't';
    case ProbeKind::kEprobe:
      return 'e';
  }
  return 'p';
}

}  // namespace

std::string ProbeDefinition::place() const {
  if (kind == ProbeKind::kEprobe) return source_group + "." + source_event;
  if (kind == ProbeKind::kUprobe) {
    char text[24];
    std::snprintf(text, sizeof text, ":0x%016llx", static_cast<unsigned long long>(offset));
    return symbol + text +
           (reference_counter ? "(" + hex_number(*reference_counter) + ")" : std::string());
  }
  if (symbol.empty()) return hex_number(address);
  if (int64_t(offset) < 0) return symbol + std::to_string(int64_t(offset));
  return offset ? symbol + "+" + std::to_string(offset) : symbol;
}

std::string ProbeDefinition::show() const {
  std::string line(1, letter_of(*this));
  if (on_return && max_active && kind != ProbeKind::kUprobe) line += std::to_string(*max_active);
  line += ":" + group + "/" + event + " " + place();
  if (kind == ProbeKind::kFprobe && on_return) line += "%return";
  for (const ProbeArgument& argument : arguments) line += " " + argument.text;
  return line;
}

bool ProbeDefinition::same_place(const ProbeDefinition& other) const {
  return kind == other.kind && symbol == other.symbol && offset == other.offset &&
         address == other.address && source_group == other.source_group &&
         source_event == other.source_event;
}

// --- removal

bool is_probe_removal(std::string_view line) {
  return line.starts_with('-') || line.starts_with('!');
}

[[gnu::cold]] ProbeRemovalParse parse_probe_removal(std::string_view line, ProbeFile file) {
  ProbeRemovalParse parsed;
  const std::vector<std::string_view> words = split_words(line);
  auto refuse = [&parsed](std::string help) {
    parsed.error = ProbeError{.error = EINVAL, .is_logged = false, .help = std::move(help)};
    return std::move(parsed);
  };
  if (words.empty()) return refuse("nothing is named");
  const bool by_line = words[0][0] == '!';
  if (by_line && file != ProbeFile::kDynamicEvents)
    return refuse("this file removes with -:[GROUP/]EVENT");
  const size_t colon = words[0].find(':');
  if (colon == std::string_view::npos || (!by_line && colon != 1))
    return refuse("the name to remove stands behind a colon");
  std::string_view event = words[0].substr(colon + 1);
  ProbeRemoval removal;
  const size_t slash = event.find('/');
  if (slash != event.npos) {
    removal.group = slash ? event.substr(0, slash) : ProbeRemoval::kNoGroup;
    event.remove_prefix(slash + 1);
  } else if (event.empty()) {
    return refuse("no name stands behind the colon");
  }
  removal.event = event;
  if (words.size() > 1) {
    removal.place = words[1];
    removal.arguments.assign(words.begin() + 2, words.end());
  }
  parsed.removal = std::move(removal);
  return parsed;
}

bool matches(const ProbeRemoval& removal, const ProbeDefinition& definition) {
  if (!removal.event.empty() && removal.event != definition.event) return false;
  if (!removal.group.empty() && removal.group != definition.group) return false;
  std::string place = removal.place;
  if (definition.kind == ProbeKind::kEprobe) {
    const size_t slash = place.find('/');
    if (slash != place.npos) place[slash] = '.';
  }
  if (!place.empty() && place != definition.place()) return false;
  if (removal.arguments.size() > definition.arguments.size()) return false;
  return std::equal(removal.arguments.begin(), removal.arguments.end(),
                    definition.arguments.begin(),
                    [](const std::string& given, const ProbeArgument& argument) {
                      return given == argument.text;
                    });
}

std::optional<size_t> different_argument(const ProbeDefinition& a, const ProbeDefinition& b) {
  if (a.arguments.size() != b.arguments.size())
    return std::min(a.arguments.size(), b.arguments.size());
  for (size_t i = 0; i < a.arguments.size(); i++) {
    const ProbeArgument &x = a.arguments[i], &y = b.arguments[i];
    if (x.type != y.type || x.array_len != y.array_len || x.name != y.name) return i;
  }
  return std::nullopt;
}

}  // namespace patchbay
