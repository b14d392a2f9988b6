// SPDX-License-Identifier: MIT
#include "registry/sites/site_programs.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

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

void SitePrograms::Free::operator()(SiteProgram* program) const { std::free(program); }

const SiteProgram* SitePrograms::make(std::span<const SiteEvent> list, bool on_return,
                                      uint64_t hash) {
  auto* made = static_cast<SiteProgram*>(
      std::calloc(1, sizeof(SiteProgram) + list.size() * sizeof(SiteEvent)));
  if (!made) return nullptr;
  made->nr_events = uint32_t(list.size());
  made->max_record = largest_record(list);
  made->has_graph = std::any_of(list.begin(), list.end(), is_graph);
  made->has_calls = std::any_of(list.begin(), list.end(), is_whole_call);
  std::copy(list.begin(), list.end(), made->event);
  Entry& entry = entries_[made];
  entry.program.reset(made);
  entry.hash = hash;
  entry.on_return = on_return;
  by_hash_.emplace(hash, made);
  return made;
}

const SiteProgram* SitePrograms::get(std::span<const SiteEvent> list, bool on_return,
                                     const std::function<std::string()>& names) {
  // Neighbours mostly have the same.
  if (last_ && last_on_return_ == on_return && same_list(*last_, list)) return last_;
  const uint64_t hash = hash_of(list, on_return);
  const SiteProgram* found = nullptr;
  for (auto [one, end] = by_hash_.equal_range(hash); one != end && !found; ++one)
    if (entries_[one->second].on_return == on_return && same_list(*one->second, list))
      found = one->second;
  if (!found) {
    found = make(list, on_return, hash);
    if (!found) return nullptr;
    entries_[found].names = names();
  }
  // A program that is used again may have rings with another clock by now.
  choose_code(const_cast<SiteProgram*>(found), on_return);
  last_ = found;
  last_on_return_ = on_return;
  return found;
}

void SitePrograms::count(const SiteProgram* program, int sites) {
  if (!program) return;
  auto& counted = counted_[reinterpret_cast<uint64_t>(program) / 64 % std::size(counted_)];
  if (counted.first != program) counted = {program, &entries_[program]};
  counted.second->sites += uint32_t(sites);
}

void SitePrograms::move(const SiteProgram* from, const SiteProgram* to) {
  if (from == to) return;
  count(from, -1);
  count(to, +1);
}

std::string SitePrograms::show() const {
  std::vector<const Entry*> list;
  for (const auto& [program, entry] : entries_)
    if (entry.sites > 0) list.push_back(&entry);
  std::sort(list.begin(), list.end(), [](const Entry* a, const Entry* b) {
    if (a->sites != b->sites) return a->sites > b->sites;
    return a->on_return != b->on_return ? b->on_return : a->names < b->names;
  });
  std::string text;
  for (const Entry* entry : list)
    text += std::to_string(entry->sites) + (entry->on_return ? " return" : " entry") +
            entry->names + '\n';
  return text;
}

}  // namespace patchbay
