// SPDX-License-Identifier: MIT
#include "registry/sites/site_programs.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "codegen/probe_compile.h"

namespace patchbay {

namespace {

bool same_list(const SiteProgram& program, std::span<const SiteEvent> list) {
  return std::equal(list.begin(), list.end(), program.event, program.event + program.nr_events);
}

uint64_t hash_of(std::span<const SiteEvent> list, bool on_return) {
  uint64_t hash = on_return;
  const auto mix = [&hash](uint64_t word) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 29;
  };
  for (const SiteEvent& one : list) {
    mix(reinterpret_cast<uint64_t>(one.event));
    mix(reinterpret_cast<uint64_t>(one.fetch));
    mix(one.ip);
    mix(reinterpret_cast<uint64_t>(one.counts));
  }
  return hash;
}

uint32_t largest_record(std::span<const SiteEvent> list) {
  uint32_t size = 0;
  for (const SiteEvent& one : list)
    size = std::max({size, one.event->max_size, one.fetch ? one.fetch->max_size : 0});
  return size;
}

bool is_graph(const SiteEvent& one) {
  return one.event->kind == ConsumerKind::kGraph || one.event->kind == ConsumerKind::kProfile;
}

}  // namespace

struct alignas(SiteProgram) SitePrograms::Entry {
  uint64_t hash;
  uint32_t sites;  // that run it now
  bool on_return;
};

SitePrograms::Entry* SitePrograms::entry_of(const SiteProgram* program) {
  return reinterpret_cast<Entry*>(const_cast<SiteProgram*>(program)) - 1;
}
SiteProgram* SitePrograms::program_of(Entry* entry) {
  return reinterpret_cast<SiteProgram*>(entry + 1);
}

SitePrograms::~SitePrograms() {
  for (Entry* entry : table_) std::free(entry);
}

void SitePrograms::grow() {
  const std::vector<Entry*> old = std::move(table_);
  table_.assign(std::max<size_t>(64, old.size() * 2), nullptr);
  for (Entry* entry : old) {
    if (!entry) continue;
    size_t at = entry->hash & (table_.size() - 1);
    while (table_[at]) at = (at + 1) & (table_.size() - 1);
    table_[at] = entry;
  }
}

SitePrograms::Entry* SitePrograms::find(std::span<const SiteEvent> list, bool on_return,
                                        uint64_t hash) const {
  if (table_.empty()) return nullptr;
  for (size_t at = hash & (table_.size() - 1); table_[at]; at = (at + 1) & (table_.size() - 1)) {
    Entry* entry = table_[at];
    if (entry->hash != hash || entry->on_return != on_return) continue;
    if (same_list(*program_of(entry), list)) return entry;
  }
  return nullptr;
}

SitePrograms::Entry* SitePrograms::make(std::span<const SiteEvent> list, bool on_return,
                                        uint64_t hash) {
  auto* entry = static_cast<Entry*>(
      std::calloc(1, sizeof(Entry) + sizeof(SiteProgram) + list.size() * sizeof(SiteEvent)));
  if (!entry) return nullptr;
  entry->hash = hash;
  entry->on_return = on_return;
  SiteProgram* const made = program_of(entry);
  made->nr_events = uint32_t(list.size());
  made->max_record = largest_record(list);
  made->has_graph = std::any_of(list.begin(), list.end(), is_graph);
  made->has_calls = std::any_of(list.begin(), list.end(), is_whole_call);
  std::copy(list.begin(), list.end(), made->event);
  if (++used_ * 2 > table_.size()) grow();
  size_t at = hash & (table_.size() - 1);
  while (table_[at]) at = (at + 1) & (table_.size() - 1);
  return table_[at] = entry;
}

const SiteProgram* SitePrograms::get(std::span<const SiteEvent> list, bool on_return,
                                     const SiteProgram* likely) {
  // Neighbours mostly have the same.
  if (last_ && last_on_return_ == on_return && same_list(*last_, list)) return last_;
  Entry* entry = nullptr;
  if (likely && entry_of(likely)->on_return == on_return && same_list(*likely, list)) {
    entry = entry_of(likely);
  } else {
    const uint64_t hash = hash_of(list, on_return);
    entry = find(list, on_return, hash);
    if (!entry) entry = make(list, on_return, hash);
  }
  if (!entry) return nullptr;
  // A program that is used again may have rings with another clock by now.
  choose_code(program_of(entry), on_return);
  last_ = program_of(entry);
  last_on_return_ = on_return;
  return last_;
}

void SitePrograms::move(const SiteProgram* from, const SiteProgram* to) {
  if (from == to) return;
  if (from) entry_of(from)->sites--;
  if (to) entry_of(to)->sites++;
}

std::string SitePrograms::show(const std::function<std::string(const SiteProgram*)>& names) const {
  std::vector<std::pair<const Entry*, std::string>> list;
  for (Entry* entry : table_)
    if (entry && entry->sites > 0) list.emplace_back(entry, names(program_of(entry)));
  std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) {
    if (a.first->sites != b.first->sites) return a.first->sites > b.first->sites;
    if (a.first->on_return != b.first->on_return) return b.first->on_return;
    return a.second < b.second;
  });
  std::string text;
  for (const auto& [entry, consumers] : list)
    text +=
        std::to_string(entry->sites) + (entry->on_return ? " return" : " entry") + consumers + '\n';
  return text;
}

}  // namespace patchbay
