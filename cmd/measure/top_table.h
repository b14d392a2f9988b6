// SPDX-License-Identifier: MIT
//
// What `patchbay top` shows: the counts of debug/profile_image (tracer/profile_image.h), less what
// they were at the start. Two functions of one name are two rows; of several processes what has one
// name and one place is one function.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace patchbay::cmd {

enum class TopSort : char { kCalls = 'c', kTime = 't', kAverage = 'a', kName = 'n' };

struct TopCounts {
  uint64_t calls = 0;
  uint64_t time_ns = 0;
};

struct TopRow {
  std::string name;
  std::string place;      // "libshop.so.1@0x1a40", which names it, too
  bool is_unique = true;  // no other row has its name
  TopCounts all, recent;  // since the start; since the last look
};

struct TopView {
  TopSort sort = TopSort::kTime;
  bool by_recent = false;  // sorts by what came since the last look
  bool self_time = false;  // times are without what a function calls
  std::string filter;      // a glob, or a part of a name; "": all
};

class TopTable {
 public:
  // The counts begin at these, at the time `now_ns`.
  void reset(uint64_t now_ns, std::string_view untrusted_image = {});
  // They begin at those of the last look: of a process that cannot be asked.
  void restart(uint64_t now_ns);
  void look(uint64_t now_ns, std::string_view untrusted_image);
  // The same of several processes: the sums of their tables.
  void look_at(uint64_t now_ns, const std::vector<const TopTable*>& tables);
  // Nobody can be asked: the counts are those of the look before.
  void stay(uint64_t now_ns) { now_ns_ = now_ns; }
  // Recent counts are those from here on.
  void begin_recent();

  double recent_seconds() const;
  TopCounts all() const;
  TopCounts recent() const;
  std::vector<TopRow> rows(const TopView& view) const;

 private:
  void begin_look(uint64_t now_ns);
  void add(std::string_view image);
  void subtract_base();
  struct Function {
    std::string name, place;  // as they are shown
    auto operator<=>(const Function&) const = default;
  };
  std::map<Function, TopCounts> now_, before_, base_;
  uint64_t now_ns_ = 0, before_ns_ = 0;
};

std::string top_head(const TopView& view);
// At most `rows` lines of at most `columns` bytes, from row `first` on.
std::string top_text(const TopTable& table, const TopView& view, size_t first, size_t rows,
                     size_t columns);
// "[{"function": "parse", "place": "libshop.so.1@0x1a40", "calls": 12, …}, …]", at most `rows`.
std::string top_rows_json(const TopTable& table, const TopView& view, size_t rows);

}  // namespace patchbay::cmd
