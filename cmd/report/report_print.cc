// SPDX-License-Identifier: MIT
#include "cmd/report/report_print.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "output/graph_times.h"
#include "output/line_columns.h"

namespace patchbay::cmd {

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

void ReportPrinter::print(std::string* out, EventMerger* merger, const MergedEvent& event,
                          ReportTotals* totals, std::optional<uint64_t>* before_ns) {
  const std::span<const uint8_t> record = converted(event, &record_);
  form_.lines->stand_at(event.ns, event.record);
  const uint64_t ns = shown_time(event.ns, before_ns);
  if (form_.options->json) return form_.lines->append_json(out, event.cpu, ns, record);
  if (event.lost_before) append_lost(out, event);
  if (form_.columns)
    return form_.columns->append_line(out, event.cpu, ns, record, form_.lines, form_.colors);
  const size_t start = out->size();
  append_line(out, merger, event, ns, record, totals);
  if (form_.colors) color_line(out, start, event, ns, record);
}

void ReportPrinter::print_lost(std::string* out, const MergedEvent& event) const {
  if (event.lost_before && !form_.options->json && !form_.options->stat) append_lost(out, event);
}

void ReportPrinter::append_line(std::string* out, EventMerger* merger, const MergedEvent& event,
                                uint64_t ns, std::span<const uint8_t> record,
                                ReportTotals* totals) {
  MergedEvent behind;
  if (form_.options->group == GroupBy::kEvent || !merger->peek_behind(&behind) ||
      !form_.lines->is_leaf(record, behind.record))
    return form_.lines->append_line(out, event.cpu, ns, record);
  totals->take(behind);
  form_.lines->append_leaf(out, event.cpu, ns, record, converted(behind, &behind_));
  merger->take_behind();
}

void ReportPrinter::append_lost(std::string* out, const MergedEvent& event) const {
  std::string line;
  TraceLineWriter::append_lost(&line, event.cpu, event.lost_before);
  *out += form_.colors ? in_color(kRed, line) : line;
}

void ReportPrinter::color_line(std::string* out, size_t start, const MergedEvent& event,
                               uint64_t ns, std::span<const uint8_t> record) {
  abi::RecordHeader header{};
  if (!record.empty()) std::memcpy(&header, record.data(), std::min(sizeof header, record.size()));
  columns_.clear();
  put_task(&columns_, form_.lines->comm_of(header.common_pid), header.common_pid);
  const size_t task = columns_.size();
  columns_.clear();
  form_.lines->append_columns(&columns_, event.cpu, ns, record);
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

std::span<const uint8_t> ReportPrinter::converted(const MergedEvent& event,
                                                  std::vector<uint8_t>* copy) const {
  if (!of_rings_) return event.record;
  copy->assign(event.record.begin(), event.record.end());
  convert_graph_times(*copy, [this](uint64_t ticks) { return pages_->to_ns(ticks); });
  return *copy;
}

}  // namespace patchbay::cmd
