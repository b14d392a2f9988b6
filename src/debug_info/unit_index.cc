// SPDX-License-Identifier: MIT
#include "debug_info/unit_index.h"

#include <dwarf.h>

#include <algorithm>
#include <cstring>
#include <map>

namespace patchbay {
namespace {

constexpr size_t kMaxTexts = 200000;  // places of a short name's bytes among strings

uint32_t word_at(std::string_view bytes, size_t position) {
  uint32_t word;
  std::memcpy(&word, bytes.data() + position, sizeof word);
  return word;
}

// Calls back with each position of `text` in `bytes`.
template <typename Found>
void for_each_text(std::string_view bytes, std::string_view text, Found found) {
  size_t count = 0, position = 0;
  while (position < bytes.size() && count++ < kMaxTexts) {
    const void* at =
        ::memmem(bytes.data() + position, bytes.size() - position, text.data(), text.size());
    if (!at) return;
    position = size_t(static_cast<const char*>(at) - bytes.data());
    found(position++);
  }
}

// Calls back with the position of each 4-byte number of the set, aligned or not.
template <typename Found>
void for_each_word(std::string_view bytes, const std::unordered_set<uint64_t>& words, Found found) {
  std::vector<bool> low(65536);  // dismisses nearly all
  for (uint64_t word : words) low[word & 0xffff] = true;
  for (size_t i = 0; i + 4 <= bytes.size(); i++) {
    uint32_t word = word_at(bytes, i);
    if (low[word & 0xffff] && words.contains(word)) found(i);
  }
}

std::string with_nul(std::string_view text) { return std::string(text) + '\0'; }

std::unordered_set<uint64_t> offsets_of(std::string_view strings, std::string_view name) {
  std::unordered_set<uint64_t> offsets;
  auto take = [&](size_t position) { offsets.insert(position); };
  for_each_text(strings, with_nul(name), take);
  for_each_text(strings, std::string(name) + '<', take);
  return offsets;
}

// File names may be stored with their directory in front.
std::unordered_set<uint64_t> offsets_of_file(std::string_view strings, std::string_view name) {
  std::unordered_set<uint64_t> offsets;
  for_each_text(strings, with_nul(name), [&](size_t position) {
    offsets.insert(position);
    for (size_t i = position; i > 0 && strings[i - 1] != '\0' && position - i < 4096; i--)
      offsets.insert(i - 1);
  });
  return offsets;
}

uint64_t read_leb(std::string_view bytes, size_t* position) {
  uint64_t value = 0;
  for (unsigned shift = 0; *position < bytes.size(); shift += 7) {
    uint8_t byte = uint8_t(bytes[(*position)++]);
    if (shift < 64) value |= uint64_t(byte & 0x7f) << shift;
    if (!(byte & 0x80)) break;
  }
  return value;
}

bool is_outside_form(uint64_t form) {
  return form == DW_FORM_ref_addr || form == DW_FORM_GNU_ref_alt || form == DW_FORM_ref_sup4 ||
         form == DW_FORM_ref_sup8;
}

}  // namespace

UnitIndex::UnitIndex(const DebugInfo& info, size_t large)
    : info_(info), bytes_(info.section(".debug_info")) {
  Dwarf_Off offset = 0, next = 0, abbreviations = 0;
  size_t header = 0;
  while (::dwarf_next_unit(info.dwarf(), offset, &next, &header, nullptr, &abbreviations, nullptr,
                           nullptr, nullptr, nullptr) == 0 &&
         next > offset) {
    units_.push_back({offset, next, offset + header, abbreviations});
    offset = next;
  }
  // One build-id may stand for several files: with and without what dwz has moved elsewhere.
  if (bytes_.size() < large || info.build_id().empty()) return;
  kept_ = std::make_unique<KeptUnits>(kept_units_directory(),
                                      info.build_id() + "-" + std::to_string(bytes_.size()));
}

std::vector<Dwarf_Die> UnitIndex::entries_of(const Marks& marks) const {
  std::vector<Dwarf_Die> entries;
  for (size_t i = 0; i < units_.size(); i++) {
    Dwarf_Die entry;
    if (marks[i] && ::dwarf_offdie(info_.dwarf(), units_[i].first_entry, &entry))
      entries.push_back(info_.split_units().rest_of(entry).value_or(entry));
  }
  return entries;
}

std::vector<Dwarf_Die> UnitIndex::all() const { return entries_of(Marks(units_.size(), true)); }

void UnitIndex::mark(uint64_t position, Marks* marks) const {
  auto after = std::upper_bound(units_.begin(), units_.end(), position,
                                [](uint64_t p, const Unit& unit) { return p < unit.begin; });
  if (after != units_.begin() && position < (after - 1)->end)
    (*marks)[size_t(after - units_.begin()) - 1] = true;
}

void UnitIndex::mark_offsets(const std::unordered_set<uint64_t>& offsets, Marks* marks) const {
  if (offsets.empty()) return;
  for_each_word(bytes_, offsets, [&](size_t position) { mark(position, marks); });
}

void UnitIndex::mark_texts(std::string_view text, Marks* marks) const {
  for_each_text(bytes_, text, [&](size_t position) { mark(position, marks); });
}

// Units of clang's DWARF 5 number their strings; each has a part of .debug_str_offsets.
void UnitIndex::mark_indexed(const std::unordered_set<uint64_t>& offsets, Marks* marks) const {
  std::string_view table = info_.section(".debug_str_offsets");
  std::vector<uint64_t> positions;
  if (table.empty() || offsets.empty()) return;
  for_each_word(table, offsets, [&](size_t position) { positions.push_back(position); });
  if (positions.empty()) return;
  std::multimap<uint64_t, size_t> parts;
  for (size_t i = 0; i < units_.size(); i++) {
    Dwarf_Die entry;
    Dwarf_Attribute attribute;
    Dwarf_Word base = 0;
    if (!::dwarf_offdie(info_.dwarf(), units_[i].first_entry, &entry)) continue;
    if (::dwarf_attr(&entry, DW_AT_str_offsets_base, &attribute) &&
        ::dwarf_formudata(&attribute, &base) == 0)
      parts.emplace(base, i);
  }
  for (uint64_t position : positions) {
    auto part = parts.upper_bound(position);
    if (part == parts.begin()) continue;
    auto [first, last] = parts.equal_range(std::prev(part)->first);
    for (; first != last; ++first) (*marks)[first->second] = true;
  }
}

// False: nothing is known, or it is of another file.
bool UnitIndex::mark_kept(std::string_view name, Marks* marks) const {
  const auto offsets = kept_ ? kept_->find(name) : std::nullopt;
  if (!offsets) return false;
  Marks found(units_.size());
  for (const uint64_t offset : *offsets) {
    const auto unit = std::ranges::lower_bound(units_, offset, {}, &Unit::begin);
    if (unit == units_.end() || unit->begin != offset) return false;
    found[size_t(unit - units_.begin())] = true;
  }
  *marks = std::move(found);
  return true;
}

void UnitIndex::keep(std::string_view name, const Marks& marks) const {
  std::vector<uint64_t> offsets;
  for (size_t i = 0; i < units_.size(); i++)
    if (marks[i]) offsets.push_back(units_[i].begin);
  kept_->add(name, offsets);
}

void UnitIndex::mark_split(std::string_view name, Marks* marks) const {
  if (!info_.split_units().is_any()) return;
  for (size_t i = 0; i < units_.size(); i++) {
    Dwarf_Die entry;
    if (!::dwarf_offdie(info_.dwarf(), units_[i].first_entry, &entry)) continue;
    const std::optional<Dwarf_Die> rest = info_.split_units().rest_of(entry);
    if (rest && SplitUnits::may_name(*rest, name)) (*marks)[i] = true;
  }
}

std::vector<Dwarf_Die> UnitIndex::naming(std::string_view name) const {
  Marks marks(units_.size());
  if (!mark_kept(name, &marks)) find_naming(name, &marks);
  mark_split(name, &marks);
  return entries_of(marks);
}

void UnitIndex::find_naming(std::string_view name, Marks* found) const {
  Marks& marks = *found;
  std::unordered_set<uint64_t> offsets = offsets_of(info_.section(".debug_str"), name);
  mark_offsets(offsets, &marks);
  mark_indexed(offsets, &marks);
  mark_texts(with_nul(name), &marks);
  mark_texts(std::string(name) + '<', &marks);
  if (kept_) keep(name, marks);
}

// Whether an abbreviation table has a form that refers to another unit.
bool UnitIndex::refers_outside(uint64_t abbreviations) const {
  std::string_view bytes = info_.section(".debug_abbrev");
  size_t position = abbreviations;
  while (position < bytes.size()) {
    if (read_leb(bytes, &position) == 0) return false;  // the end of the table
    (void)read_leb(bytes, &position);                   // tag
    position++;                                         // has children
    for (;;) {
      uint64_t attribute = read_leb(bytes, &position), form = read_leb(bytes, &position);
      if (is_outside_form(form)) return true;
      if (form == DW_FORM_implicit_const) (void)read_leb(bytes, &position);
      if ((attribute == 0 && form == 0) || position >= bytes.size()) break;
    }
  }
  return false;
}

std::vector<Dwarf_Die> UnitIndex::referring(const std::unordered_set<uint64_t>& entries) const {
  Marks marks(units_.size()), outside(units_.size());
  std::map<uint64_t, bool> tables;
  bool some = false;
  for (size_t i = 0; i < units_.size(); i++) {
    auto [table, is_new] = tables.try_emplace(units_[i].abbreviations, false);
    if (is_new) table->second = refers_outside(units_[i].abbreviations);
    outside[i] = table->second;
    some |= table->second;
  }
  if (!some) return {};
  mark_offsets(entries, &marks);
  for (size_t i = 0; i < units_.size(); i++) marks[i] = marks[i] && outside[i];
  return entries_of(marks);
}

std::vector<Dwarf_Die> UnitIndex::with_file(std::string_view base_name) const {
  std::string_view lines = info_.section(".debug_line");
  std::unordered_set<uint64_t> offsets =
      offsets_of_file(info_.section(".debug_line_str"), base_name);
  std::vector<uint64_t> positions;
  auto take = [&](size_t position) { positions.push_back(position); };
  if (!offsets.empty()) for_each_word(lines, offsets, take);
  for_each_text(lines, with_nul(base_name), take);
  std::sort(positions.begin(), positions.end());
  Marks marks(units_.size());
  for (size_t i = 0; i < units_.size(); i++) {
    Dwarf_Die entry;
    Dwarf_Attribute attribute;
    Dwarf_Word begin = 0;
    if (!::dwarf_offdie(info_.dwarf(), units_[i].first_entry, &entry) ||
        !::dwarf_attr(&entry, DW_AT_stmt_list, &attribute) ||
        ::dwarf_formudata(&attribute, &begin) != 0 || lines.size() < 4 || begin > lines.size() - 4)
      continue;
    uint64_t end = begin + 4 + word_at(lines, begin);
    auto first = std::lower_bound(positions.begin(), positions.end(), begin);
    marks[i] = first != positions.end() && *first < end;
  }
  return entries_of(marks);
}

}  // namespace patchbay
