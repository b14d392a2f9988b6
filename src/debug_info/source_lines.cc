// SPDX-License-Identifier: MIT
#include "debug_info/source_lines.h"

#include <dwarf.h>

#include <algorithm>
#include <cstring>

#include "base/text.h"

namespace patchbay {
namespace {

constexpr size_t kMaxRows = 1 << 22;
constexpr size_t kMaxPlaces = 4096;  // of one line

bool same_text(const char* a, const char* b) {
  return a == b || (a && b && std::strcmp(a, b) == 0);
}

}  // namespace

std::string SourceLines::file_of(const FunctionInstance& instance) {
  return declaration_file(instance.die);
}

int SourceLines::first_line_of(const FunctionInstance& instance) {
  Dwarf_Die die = instance.die;
  int line = 0;
  return ::dwarf_decl_line(&die, &line) == 0 ? line : 0;
}

const std::vector<SourceLines::Row>& SourceLines::rows_of(Dwarf_Die die) {
  Dwarf_Die unit;
  static const std::vector<Row> kNone;
  if (!::dwarf_diecu(&die, &unit, nullptr, nullptr)) return kNone;
  auto [entry, is_new] = rows_.try_emplace(unit.addr);
  std::vector<Row>& rows = entry->second;
  Dwarf_Lines* lines = nullptr;
  size_t count = 0;
  if (!is_new || ::dwarf_getsrclines(&unit, &lines, &count) != 0) return rows;
  for (size_t i = 0; i < count && i < kMaxRows; i++) {
    Dwarf_Line* line = ::dwarf_onesrcline(lines, i);
    Dwarf_Addr address = 0;
    int number = 0;
    bool is_end = true, is_statement = false;
    const char* file = ::dwarf_linesrc(line, nullptr, nullptr);
    (void)::dwarf_lineendsequence(line, &is_end);
    (void)::dwarf_linebeginstatement(line, &is_statement);
    if (is_end || !file || ::dwarf_lineaddr(line, &address) != 0 ||
        ::dwarf_lineno(line, &number) != 0 || number <= 0)
      continue;
    rows.push_back({address, number, file, is_statement});
  }
  return rows;
}

namespace {

// The parts of a function's code, the one that is entered first.
class CodeParts {
 public:
  explicit CodeParts(Dwarf_Die function) {
    Dwarf_Addr base = 0, begin = 0, end = 0;
    ptrdiff_t next = 0;
    while (function.addr && begins_.size() < kMaxParts) {
      next = ::dwarf_ranges(&function, next, &base, &begin, &end);
      if (next <= 0) break;
      if (begin < end) begins_.emplace_back(begin, end);
    }
  }
  size_t of(uint64_t address) const {
    for (size_t i = 0; i < begins_.size(); i++)
      if (address >= begins_[i].first && address < begins_[i].second) return i;
    return begins_.size();
  }
  // Keeps the first address of each part.
  void add(uint64_t address, std::vector<uint64_t>* addresses) const {
    const auto same = [&](uint64_t other) { return of(other) == of(address); };
    const auto known = std::find_if(addresses->begin(), addresses->end(), same);
    if (known != addresses->end())
      *known = std::min(*known, address);
    else
      addresses->push_back(address);
  }

 private:
  static constexpr size_t kMaxParts = 64;
  std::vector<std::pair<uint64_t, uint64_t>> begins_;
};

}  // namespace

SourceLines::Addresses SourceLines::lines_of(const FunctionInstance& instance) {
  Addresses lines;
  const CodeParts parts(instance.concrete);
  std::string file = file_of(instance);
  for (const Row& row : rows_of(instance.die)) {
    bool is_ours = row.is_statement && same_text(row.file, file.c_str());
    if (is_ours && holds(instance.die, row.address)) parts.add(row.address, &lines[row.line]);
  }
  for (auto& [line, addresses] : lines)
    std::sort(addresses.begin(), addresses.end(),
              [&](uint64_t a, uint64_t b) { return parts.of(a) < parts.of(b); });
  return lines;
}

std::vector<SourceLines::Place> SourceLines::places_of(const UnitIndex& index,
                                                       FunctionFinder& finder,
                                                       std::string_view file, int line,
                                                       std::vector<int>* lines) {
  std::vector<Place> places;
  std::string_view base = base_name(file);
  for (const Dwarf_Die& unit : index.with_file(base)) {
    for (const Row& row : rows_of(unit)) {
      if (!row.is_statement || !is_file(row.file, file) || !finder.is_code(row.address)) continue;
      lines->push_back(row.line);
      if (row.line != line || places.size() >= kMaxPlaces) continue;
      std::optional<FunctionInstance> instance = finder.innermost(unit, row.address);
      if (!instance) continue;
      const CodeParts parts(instance->concrete);
      auto same = [&](const Place& place) {
        return same_entry(place.instance.die, instance->die) &&
               parts.of(place.address) == parts.of(row.address);
      };
      auto known = std::find_if(places.begin(), places.end(), same);
      if (known == places.end())
        places.push_back({*instance, row.address});
      else
        known->address = std::min(known->address, row.address);
    }
  }
  std::sort(lines->begin(), lines->end());
  lines->erase(std::unique(lines->begin(), lines->end()), lines->end());
  std::sort(places.begin(), places.end(),
            [](const Place& a, const Place& b) { return a.address < b.address; });
  return places;
}

int SourceLines::line_at(Dwarf_Die die, uint64_t address) {
  int line = 0;
  uint64_t best = 0;
  for (const Row& row : rows_of(die)) {
    if (row.address > address || row.address < best) continue;
    best = row.address;
    line = row.line;
  }
  return line;
}

std::string nearest_lines(const std::vector<int>& lines, int line) {
  auto after = std::lower_bound(lines.begin(), lines.end(), line);
  if (lines.empty()) return "";
  if (after == lines.end()) return "; nearest " + std::to_string(lines.back());
  if (after == lines.begin()) return "; nearest " + std::to_string(*after);
  int below = line - *(after - 1), above = *after - line;
  std::string text = "; nearest " + std::to_string(below <= above ? *(after - 1) : *after);
  return below == above ? text + " and " + std::to_string(*after) : text;
}

}  // namespace patchbay
