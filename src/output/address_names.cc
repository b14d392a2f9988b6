// SPDX-License-Identifier: MIT
#include "output/address_names.h"

#include <algorithm>
#include <charconv>
#include <unordered_map>

#include "base/text.h"

namespace patchbay {

AddressNames AddressNames::from_kallsyms(std::string_view text) {
  auto lines = std::make_shared<Lines>();
  while (!text.empty()) {
    std::string_view line = cut_at(&text, '\n');
    uint64_t address = 0;
    auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), address, 16);
    size_t at = size_t(end - line.data());
    if (error != std::errc() || line.size() < at + 4 || line[at] != ' ' || line[at + 2] != ' ')
      continue;
    char kind = line[at + 1];
    std::string_view name = line.substr(at + 3, line.find_first_of(" \t", at + 3) - (at + 3));
    if (name.empty() || name[0] == '$' || kind == 'A' || kind == 'a')
      continue;  // as libtraceevent does
    lines->push_back({address, std::string(name), kind == 'd'});
  }
  std::stable_sort(lines->begin(), lines->end(),
                   [](const Line& a, const Line& b) { return a.address < b.address; });
  AddressNames names;
  names.lines_ = std::move(lines);
  return names;
}

AddressNames AddressNames::from_symbols(std::unique_ptr<SymbolTable> symbols) {
  AddressNames names;
  names.owned_ = std::move(symbols);
  names.symbols_ = names.owned_.get();
  return names;
}

AddressNames AddressNames::from_symbols(SymbolTable& symbols) {
  AddressNames names;
  names.symbols_ = &symbols;
  return names;
}

AddressNames AddressNames::like_these(OwnerOf owner_of) const {
  AddressNames names;
  names.lines_ = lines_;
  names.tables_ = tables_;
  names.table_of_image_ = table_of_image_;
  names.owner_of_ = std::move(owner_of);
  return names;
}

void AddressNames::set_images(std::vector<std::vector<Range>> ranges, OwnerOf owner_of) {
  const auto hash = [](const std::vector<Range>& table) {
    size_t sum = table.size();
    for (const Range& range : table)
      sum = sum * 31 + range.start + std::hash<std::string>()(range.name);
    return sum;
  };
  std::unordered_multimap<size_t, uint32_t> known;
  auto tables = std::make_shared<Tables>(1);
  table_of_image_.clear();
  for (std::vector<Range>& table : ranges) {
    uint32_t number = 0;
    if (!table.empty()) {
      const size_t key = hash(table);
      const auto [first, last] = known.equal_range(key);
      const auto same = std::find_if(
          first, last, [&](const auto& one) { return (*tables)[one.second] == table; });
      number = same != last ? same->second : uint32_t(tables->size());
      if (same == last) {
        known.emplace(key, number);
        tables->push_back(std::move(table));
      }
    }
    table_of_image_.push_back(number);
  }
  tables_ = std::move(tables);
  owner_of_ = std::move(owner_of);
}

bool AddressNames::lookup(uint64_t address, Name* out) {
  if (const uint32_t number = table(); number != 0) {
    const std::vector<Range>& ranges = (*tables_)[number];
    const auto next =
        std::upper_bound(ranges.begin(), ranges.end(), address,
                         [](uint64_t a, const Range& range) { return a < range.start; });
    if (next != ranges.begin() && address < std::prev(next)->end) {
      const Range& range = *std::prev(next);
      *out = {range.name, address - range.start, range.end - range.start, false};
      return !range.name.empty();
    }
  }
  if (symbols_) {
    SymbolizedAddress found;
    if (!symbols_->symbolize(address, &found)) return false;
    last_ = std::move(found.name);
    *out = {last_, found.offset, found.size, found.is_variable, found.module};
    return true;
  }
  auto next = std::upper_bound(lines_->begin(), lines_->end(), address,
                               [](uint64_t a, const Line& line) { return a < line.address; });
  if (next == lines_->begin()) return false;
  const Line& line = *std::prev(next);
  // 0x…: a line that only ends the function before it, or an address that had no name when
  // recorded.
  if (line.name.starts_with("0x")) return false;
  *out = {line.name, address - line.address,
          next == lines_->end() ? 0 : next->address - line.address, line.is_variable};
  return true;
}

}  // namespace patchbay
