// SPDX-License-Identifier: MIT
#include "cmd/mount/kept_writes.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace patchbay::cmd {
namespace {

constexpr std::array<std::string_view, 10> kOnce = {
    "trace",     "trace_pipe", "snapshot",    "trace_marker", "trace_marker_raw",
    "error_log", "inject",     "free_buffer", "hist",         "hist_debug"};
constexpr std::array<std::string_view, 5> kDefinitions = {
    "kprobe_events", "uprobe_events", "synthetic_events", "function_events", "dynamic_events"};
constexpr std::array<std::string_view, 9> kLists = {
    "set_event",          "set_event_pid",  "set_event_notrace_pid",  "set_ftrace_filter",
    "set_ftrace_notrace", "set_ftrace_pid", "set_ftrace_notrace_pid", "set_graph_function",
    "set_graph_notrace"};

template <size_t Count>
bool is_among(const std::array<std::string_view, Count>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

size_t size_of(const KeptWrites::Entry& entry) { return entry.path.size() + entry.text.size(); }

}  // namespace

KeptWrites::Kind KeptWrites::kind_of(std::string_view path) {
  const std::string_view name = base_name(path);
  // The rings of one processor, and what shows how we work.
  if (path.starts_with("per_cpu/") || path.find("/per_cpu/") != path.npos) return Kind::kNothing;
  if (path.starts_with("debug/") || is_among(kOnce, name)) return Kind::kNothing;
  if (is_among(kDefinitions, name) || name == "trigger" || name == "trace_options")
    return Kind::kLines;
  return is_among(kLists, name) ? Kind::kWords : Kind::kValue;
}

std::vector<KeptWrites::Entry>::iterator KeptWrites::find(uint64_t id) {
  return std::find_if(entries_.begin(), entries_.end(),
                      [id](const Entry& entry) { return entry.id == id; });
}

bool KeptWrites::has_room(size_t more_entries, size_t more_bytes) const {
  return entries_.size() + more_entries <= kMostEntries && bytes_ + more_bytes <= kMostBytes;
}

uint64_t KeptWrites::add(Entry entry, bool* full) {
  *full = false;
  if (entry.does == Does::kWrite && kind_of(entry.path) == Kind::kNothing) return 0;
  *full = !has_room(1, size_of(entry));
  if (*full) return 0;
  entry.id = next_++;
  bytes_ += size_of(entry);
  entries_.push_back(std::move(entry));
  return entries_.back().id;
}

bool KeptWrites::append(uint64_t id, std::string_view text) {
  const auto entry = find(id);
  if (entry == entries_.end() || !has_room(0, text.size())) return false;
  entry->text += text;
  bytes_ += text.size();
  return true;
}

void KeptWrites::prove(uint64_t id) {
  if (const auto entry = find(id); entry != entries_.end()) entry->proven = true;
}

void KeptWrites::taken(uint64_t id, bool proven) {
  const auto found = find(id);
  if (found == entries_.end()) return;
  if (proven) found->proven = true;
  const Entry entry = *found;
  const Kind kind = kind_of(entry.path);
  const auto replaced = [&](const Entry& earlier) {
    if (earlier.id >= entry.id || earlier.does != entry.does) return false;
    // `> dynamic_events` removes what the other files have defined.
    if (entry.truncates && entry.path == "dynamic_events" && is_among(kDefinitions, earlier.path))
      return true;
    if (earlier.path != entry.path) return false;
    if (entry.does == Does::kMakeDirectory || kind == Kind::kValue) return true;
    // `>` of a trigger removes histograms only (docs/files.md).
    if (entry.truncates && base_name(entry.path) != "trigger") return true;
    return kind == Kind::kWords && !earlier.truncates && earlier.text == entry.text;
  };
  std::erase_if(entries_, [&](const Entry& earlier) {
    if (!replaced(earlier)) return false;
    bytes_ -= size_of(earlier);
    return true;
  });
}

void KeptWrites::refused(uint64_t id) {
  const auto entry = find(id);
  if (entry == entries_.end()) return;
  bytes_ -= size_of(*entry);
  entries_.erase(entry);
}

void KeptWrites::refused(uint64_t id, size_t bytes) {
  const auto entry = find(id);
  if (entry == entries_.end()) return;
  bytes = std::min(bytes, entry->text.size());
  entry->text.resize(entry->text.size() - bytes);
  bytes_ -= bytes;
  if (entry->text.empty() && !entry->truncates) refused(id);
}

void KeptWrites::removed(std::string_view directory) {
  std::erase_if(entries_, [&](const Entry& entry) {
    const bool inside =
        entry.path.starts_with(directory) &&
        (entry.path.size() == directory.size() || entry.path[directory.size()] == '/');
    if (inside) bytes_ -= size_of(entry);
    return inside;
  });
}

}  // namespace patchbay::cmd
