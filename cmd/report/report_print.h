// SPDX-License-Identifier: MIT
//
// One event of a recording as what `patchbay report` prints for it: a line in the columns of the
// kernel's trace file, chosen columns, or a JSON object.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "cmd/common/losses.h"
#include "cmd/report/report_color.h"
#include "cmd/report/report_columns.h"
#include "cmd/report/report_group.h"
#include "cmd/report/report_select.h"
#include "output/merge.h"
#include "output/trace_line.h"

namespace patchbay::cmd {

struct ReportOptions {
  std::string input = "trace.dat";
  bool json = false, stat = false, processes = false, no_pager = false;
  bool reltime = false, deltatime = false;
  std::string fields;  // empty: lines as the kernel has them
  GroupBy group = GroupBy::kNone;
  ReportChoice choice;
};

// To standard output; `text` is empty then. False: it was not taken, and errno says why.
bool write_out(std::string* text);

// Of all events that are wanted, and of all losses.
struct ReportTotals {
  uint64_t events = 0;
  LossCounter losses;
  uint32_t malformed = 0;
  std::map<uint32_t, uint64_t> by_cpu;
  std::vector<uint64_t> by_id = std::vector<uint64_t>(65536, 0);
  struct Group {  // of --stat --group
    std::string name;
    uint64_t events = 0;
    std::map<uint16_t, uint64_t> by_id;
  };
  std::vector<Group> groups;  // in the order of their first events
  std::unordered_map<uint32_t, size_t> group_by_key;

  void count_of_group(GroupNames* names, const MergedEvent& event);

  void take(const MergedEvent& event) {
    events++;
    losses.take(event);
  }
};

// What all buffers of a recording are printed with.
struct ReportForm {
  const ReportOptions* options = nullptr;
  const ReportColumns* columns = nullptr;  // null: whole lines
  const ReportColors* colors = nullptr;    // null: none
  uint64_t start_ns = 0;                   // where --reltime begins
  TraceLineWriter* lines = nullptr;
  ReportSelection* selection = nullptr;  // null: all events are wanted
};

// One event, as far as the events before it say what is printed for it.
struct ReportItem {
  uint64_t event_ns = 0;
  uint64_t ns = 0;  // as shown
  uint32_t cpu = 0;
  bool is_wanted = true;  // false: only what was lost before it is printed
  bool is_leaf = false;   // a call of function_graph with its end in `behind`
  uint64_t lost_before = 0;
  std::span<const uint8_t> record, behind;
};

// Events become items in their order; items become text anywhere, each thread with a printer.
class ReportPrinter {
 public:
  // `of_rings`: the pages are those of a buffer file, whose graph records have times of its clock.
  ReportPrinter(const ReportForm& form, PageSource* pages, bool of_rings)
      : form_(form), pages_(pages), of_rings_(of_rings) {}
  // A call of function_graph that calls nothing is printed with its end, which is then taken off
  // `merger` and counted; with --group event they are lines of two groups. `before_ns`: the time of
  // the event that --deltatime counts from. The records are valid until merger->next().
  ReportItem take(EventMerger* merger, const MergedEvent& event, ReportTotals* totals,
                  std::optional<uint64_t>* before_ns) const;
  void print(std::string* out, const ReportItem& item);

 private:
  uint64_t shown_time(uint64_t ns, std::optional<uint64_t>* before_ns) const;
  std::span<const uint8_t> converted(std::span<const uint8_t> record,
                                     std::vector<uint8_t>* copy) const;
  void append_lost(std::string* out, const ReportItem& item) const;
  void color_line(std::string* out, size_t start, const ReportItem& item,
                  std::span<const uint8_t> record);

  const ReportForm form_;
  PageSource* pages_;
  const bool of_rings_;
  std::vector<uint8_t> record_, behind_;
  std::string line_, columns_;
};

}  // namespace patchbay::cmd
