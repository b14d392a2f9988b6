// SPDX-License-Identifier: MIT
#include "cmd/report/report_print.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "output/graph_times.h"
#include "output/line_columns.h"

namespace patchbay::cmd {

void ReportTotals::count_of_group(GroupNames* names, const MergedEvent& event) {
  const uint32_t key = names->key_of(event);
  const auto [found, is_new] = group_by_key.try_emplace(key, groups.size());
  if (is_new) groups.push_back({names->name_of(key), 0, {}});
  Group& group = groups[found->second];
  uint16_t id = 0;
  if (event.record.size() >= 2) std::memcpy(&id, event.record.data(), 2);
  group.events++;
  group.by_id[id]++;
}

bool write_out(std::string* text) {
  const char* at = text->data();
  size_t left = text->size();
  while (left > 0) {
    ssize_t count = ::write(STDOUT_FILENO, at, left);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    at += count;
    left -= size_t(count);
  }
  text->clear();
  return true;
}

ReportItem ReportPrinter::take(EventMerger* merger, const MergedEvent& event, ReportTotals* totals,
                               std::optional<uint64_t>* before_ns) const {
  ReportItem item{.event_ns = event.ns,
                  .ns = shown_time(event.ns, before_ns),
                  .cpu = event.cpu,
                  .lost_before = event.lost_before,
                  .record = event.record,
                  .behind = {}};
  MergedEvent behind;
  if (form_.options->json || form_.columns || form_.options->group == GroupBy::kEvent ||
      !form_.lines->may_be_leaf(event.record) || !merger->peek_behind(&behind) ||
      !form_.lines->is_leaf(event.record, behind.record))
    return item;
  totals->take(behind);
  merger->take_behind();
  item.is_leaf = true;
  item.behind = behind.record;
  return item;
}

void ReportPrinter::print(std::string* out, const ReportItem& item) {
  if (item.lost_before && !form_.options->json) append_lost(out, item);
  if (!item.is_wanted) return;
  const std::span<const uint8_t> record = converted(item.record, &record_);
  form_.lines->stand_at(item.event_ns, item.record);
  if (form_.options->json) return form_.lines->append_json(out, item.cpu, item.ns, record);
  if (form_.columns)
    return form_.columns->append_line(out, item.cpu, item.ns, record, form_.lines, form_.colors);
  const size_t start = out->size();
  if (item.is_leaf) {
    form_.lines->append_leaf(out, item.cpu, item.ns, record, converted(item.behind, &behind_));
  } else {
    form_.lines->append_line(out, item.cpu, item.ns, record);
  }
  if (form_.colors) color_line(out, start, item, record);
}

void ReportPrinter::append_lost(std::string* out, const ReportItem& item) const {
  std::string line;
  TraceLineWriter::append_lost(&line, item.cpu, item.lost_before);
  *out += form_.colors ? in_color(kRed, line) : line;
}

void ReportPrinter::color_line(std::string* out, size_t start, const ReportItem& item,
                               std::span<const uint8_t> record) {
  abi::RecordHeader header{};
  if (!record.empty()) std::memcpy(&header, record.data(), std::min(sizeof header, record.size()));
  columns_.clear();
  put_task(&columns_, form_.lines->comm_of(header.common_pid), header.common_pid);
  const size_t task = columns_.size();
  columns_.clear();
  form_.lines->append_columns(&columns_, item.cpu, item.ns, record);
  line_.assign(*out, start);
  out->resize(start);
  form_.colors->append_line(out, line_, task, columns_.size(), record);
}

uint64_t ReportPrinter::shown_time(uint64_t ns, std::optional<uint64_t>* before_ns) const {
  if (form_.options->reltime) return ns - std::min(ns, form_.start_ns);
  if (!form_.options->deltatime) return ns;
  const uint64_t before = before_ns->value_or(ns);
  *before_ns = ns;
  return ns - std::min(ns, before);
}

std::span<const uint8_t> ReportPrinter::converted(std::span<const uint8_t> record,
                                                  std::vector<uint8_t>* copy) const {
  if (!of_rings_) return record;
  copy->assign(record.begin(), record.end());
  convert_graph_times(*copy, [this](uint64_t ticks) { return pages_->to_ns(ticks); });
  return *copy;
}

}  // namespace patchbay::cmd
