// SPDX-License-Identifier: MIT
//
// What `patchbay top` shows: the sums of the tables trace_stat/function0, function1 …, less what
// they were at the start.
//
//     Function                               Hit    Time            Avg             s^2
//     --------                               ---    ----            ---             ---
//     parse                                   12    28.400 us       2.366 us        0.100 us
#pragma once

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
  // trace_stat cuts names to 30 bytes. The lines of available_filter_functions give the whole name
  // back, where only one begins so.
  void set_names(std::string_view available_filter_functions);

  // The counts begin at these, at the time `now_ns`.
  void reset(uint64_t now_ns, const std::vector<std::string>& untrusted_trace_stats = {});
  // They begin at those of the last look: of a process that cannot be asked.
  void restart(uint64_t now_ns);
  // One look at all CPUs.
  void look(uint64_t now_ns, const std::vector<std::string>& untrusted_trace_stats);
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
  std::string full_name(std::string_view cut) const;
  void begin_look(uint64_t now_ns);
  void add(std::string_view trace_stat);
  void subtract_base();
  std::map<std::string, std::string> names_;  // of 30 bytes: the whole one; "": several
  std::map<std::string, TopCounts> now_, before_, base_;
  uint64_t now_ns_ = 0, before_ns_ = 0;
};

// One line of trace_stat; false for the head and for what cannot be understood. Without times (only
// hits) time_ns is 0.
bool parse_stat_line(std::string_view line, std::string* name, TopCounts* counts);

std::string top_head(const TopView& view);
// At most `rows` lines of at most `columns` bytes, from row `first` on.
std::string top_text(const TopTable& table, const TopView& view, size_t first, size_t rows,
                     size_t columns);
// "[{"function": "parse", "calls": 12, …}, …]", at most `rows` of them.
std::string top_rows_json(const TopTable& table, const TopView& view, size_t rows);

}  // namespace patchbay::cmd
