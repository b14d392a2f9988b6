// SPDX-License-Identifier: MIT
#include "export/export_flows.h"

#include <algorithm>
#include <cstring>

#include "base/text.h"

namespace patchbay {
namespace {

constexpr size_t kMostMatches = 4096, kMostStarts = 1 << 20;
constexpr size_t kMostText = 255;  // bytes of a text that a key has

bool has(const std::vector<uint32_t>& numbers, uint32_t number) {
  return std::find(numbers.begin(), numbers.end(), number) != numbers.end();
}

void append_word(std::string* out, uint64_t word) {
  out->append(reinterpret_cast<const char*>(&word), sizeof word);
}

// As the bytes that a histogram compares: of a number its own, without what extends its sign.
bool append_key(const ExportField& field, std::span<const uint8_t> record, std::string* out) {
  const ExportValue value = field.value(record);
  switch (value.kind) {
    case ExportValue::Kind::kSigned:
    case ExportValue::Kind::kUnsigned: {
      const uint32_t bits = 8 * field.element_size;
      append_word(out, bits < 64 ? value.bits & ((uint64_t{1} << bits) - 1) : value.bits);
      return true;
    }
    case ExportValue::Kind::kText: {
      const std::string_view text = value.text.substr(0, kMostText);
      append_word(out, text.size());
      *out += text;
      return true;
    }
    default:
      return false;
  }
}

}  // namespace

bool ExportFlows::parse(std::string_view line, Match* out) {
  out->synthetic = "synthetic:" + std::string(cut_at(&line, '\t'));
  out->end = cut_at(&line, '\t');
  out->start = cut_at(&line, '\t');
  while (!line.empty()) {
    std::string_view pair = cut_at(&line, ',');
    const std::string_view of_end = cut_at(&pair, '=');
    if (of_end.empty() || pair.empty()) return false;
    out->keys.emplace_back(of_end, pair);
  }
  return !out->end.empty() && out->start.empty() == out->keys.empty();
}

void ExportFlows::define(uint32_t number, std::string_view lines) {
  while (inputs_.size() <= number) inputs_.emplace_back();
  std::vector<Match>& matches = inputs_[number].matches;
  lines = lines.substr(0, lines.find('\0'));
  while (!lines.empty() && matches.size() < kMostMatches) {
    Match match;
    if (!parse(cut_at(&lines, '\n'), &match)) continue;
    const bool is_known = std::any_of(matches.begin(), matches.end(), [&](const Match& other) {
      return other.synthetic == match.synthetic && other.end == match.end &&
             other.start == match.start && other.keys == match.keys;
    });
    if (!is_known) matches.push_back(std::move(match));
  }
}

void ExportFlows::resolve(const std::vector<std::unique_ptr<ExportSchema>>& schemas) {
  for (Input& input : inputs_) {
    if (input.matches.empty()) continue;
    input.roles.resize(schemas.size());
    for (const auto& schema : schemas) {
      const std::string name = schema->system + ":" + schema->name;
      Roles* roles = &input.roles[schema->index];
      for (uint32_t i = 0; i < input.matches.size(); i++) {
        const Match& match = input.matches[i];
        if (match.end == name) roles->makes.push_back(i);
        if (match.start == name) roles->starts.push_back(i);
        if (match.synthetic == name) roles->made_by.push_back(i);
      }
    }
  }
}

bool ExportFlows::key_of(const Match& match, uint32_t number, bool of_start,
                         const ExportEvent& event, std::string* out) {
  out->clear();
  append_word(out, number);
  for (const auto& [of_end, of_begin] : match.keys) {
    const std::string& name = of_start ? of_begin : of_end;
    if (name == "common_pid" && event.record.size() >= 8) {
      uint32_t tid = 0;
      std::memcpy(&tid, event.record.data() + 4, sizeof tid);
      append_word(out, tid);
      continue;
    }
    const ExportField* field = event.schema->find(name);
    if (!field || !append_key(*field, event.record, out)) return false;
  }
  return !match.keys.empty();
}

// The START of a hit, the first time that something comes of it.
void ExportFlows::take_start(const Link& link, Input* input, ExportEvent::Flows* out) {
  (*out)[2] = link.start;
  auto start = input->starts.find(link.key);
  if (start != input->starts.end() && start->second.flow == link.start)
    start->second.is_used = true;
}

void ExportFlows::take_makers(const Roles& roles, const std::vector<Hit>& hits, Input* input,
                              ExportEvent::Flows* out) {
  for (size_t i = hits.size(); i-- > 0;) {
    const Link* found = nullptr;
    uint32_t count = 0;
    for (const Link& link : hits[i].links) {
      if (!has(roles.made_by, link.match)) continue;
      found = &link;
      count++;
    }
    if (!found) continue;
    (*out)[1] = hits[i].flow;
    // Of several definitions one may be gone when this was made.
    if (count == 1) take_start(*found, input, out);
    return;
  }
}

ExportEvent::Flows ExportFlows::see(const ExportEvent& event, int32_t tid, bool is_wanted) {
  ExportEvent::Flows flows{};
  if (event.input >= inputs_.size() || inputs_[event.input].matches.empty()) return flows;
  Input* input = &inputs_[event.input];
  if (event.schema && event.schema->role == ExportSchema::Role::kStack) return flows;
  // Idle threads have one id, and are one a CPU.
  std::vector<Hit>& hits = input->hits[tid ? tid : -1 - int64_t(event.cpu)];
  const Roles none, *roles = event.schema ? &input->roles[event.schema->index] : &none;
  if (roles->made_by.empty()) {
    hits.clear();
  } else {
    take_makers(*roles, hits, input, &flows);
  }
  if (!roles->any()) return flows;
  if (is_wanted && (!roles->makes.empty() || !roles->starts.empty())) flows[0] = ++last_flow_;
  std::string key;
  if (!roles->makes.empty()) {
    Hit& hit = hits.emplace_back(Hit{flows[0], {}});
    for (const uint32_t number : roles->makes) {
      Link& link = hit.links.emplace_back(Link{number, 0, {}});
      if (!key_of(input->matches[number], number, false, event, &link.key)) continue;
      auto start = input->starts.find(link.key);
      if (start != input->starts.end() && !start->second.is_used) link.start = start->second.flow;
    }
  }
  if (input->starts.size() >= kMostStarts) input->starts.clear();
  for (const uint32_t number : roles->starts)
    if (key_of(input->matches[number], number, true, event, &key))
      input->starts[key] = {flows[0], false};
  return flows;
}

void ExportFlows::lose(uint32_t number) {
  if (number >= inputs_.size()) return;
  inputs_[number].starts.clear();
  inputs_[number].hits.clear();
}

}  // namespace patchbay
