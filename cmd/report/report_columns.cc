// SPDX-License-Identifier: MIT
#include "cmd/report/report_columns.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "abi/buffer_abi.h"
#include "base/text.h"
#include "export/export_text.h"
#include "output/line_columns.h"
#include "output/text_put.h"
#include "symbol/symbol.h"

namespace patchbay::cmd {
namespace {

constexpr std::string_view kNames[] = {"comm", "tid", "cpu", "flags", "time", "event", "trace"};

Error no_column(const std::string& name, const std::vector<EventCall>& events) {
  std::vector<std::string_view> names(std::begin(kNames), std::end(kNames));
  for (const EventCall& event : events)
    for (const EventField& field : event.fields) names.push_back(field.name);
  std::string sentence = "--fields: no column and no field of an event is named '" + name + "'";
  std::vector<std::string> near = near_matches(name, names);
  near.erase(std::unique(near.begin(), near.end()), near.end());
  for (size_t i = 0; i < near.size(); i++) sentence += (i ? ", " : "; near: ") + near[i];
  return user_error(EINVAL, sentence +
                                ". Columns are comm, tid, cpu, flags, time, event, trace and the "
                                "fields of events.");
}

abi::RecordHeader header_of(std::span<const uint8_t> record) {
  abi::RecordHeader header{};
  if (!record.empty()) std::memcpy(&header, record.data(), std::min(sizeof header, record.size()));
  return header;
}

}  // namespace

Result<std::unique_ptr<ReportColumns>> ReportColumns::parse(std::string_view list,
                                                            const std::vector<EventCall>& events) {
  auto made = std::make_unique<ReportColumns>();
  while (!list.empty()) {
    Column column;
    column.name = trim(cut_at(&list, ','));
    const auto* found = std::find(std::begin(kNames), std::end(kNames), column.name);
    column.kind = Kind(found - std::begin(kNames));
    made->columns_.push_back(column);
  }
  for (const EventCall& event : events) {
    Known& known = made->known_.emplace_back();
    known.schema = std::make_unique<ExportSchema>(event, 0);
    append_escaped(&known.name, event.name);
    for (const Column& column : made->columns_)
      known.fields.push_back(column.kind == Kind::kField ? known.schema->find(column.name)
                                                         : nullptr);
    made->by_id_[event.id] = uint32_t(made->known_.size());
  }
  for (size_t i = 0; i < made->columns_.size(); i++) {
    const bool has = std::any_of(made->known_.begin(), made->known_.end(),
                                 [&](const Known& known) { return known.fields[i]; });
    if (made->columns_[i].kind == Kind::kField && !has)
      return no_column(made->columns_[i].name, events);
  }
  return made;
}

std::string ReportColumns::head() const {
  std::string text = "# ";
  for (const Column& column : columns_) {
    if (&column != &columns_.front()) text += '\t';
    append_escaped(&text, column.name);
  }
  return text + "\n";
}

const ReportColumns::Known* ReportColumns::known_of(std::span<const uint8_t> record) const {
  const uint32_t index = record.size() < 2 ? 0 : by_id_[header_of(record).common_type];
  return index ? &known_[index - 1] : nullptr;
}

void ReportColumns::append_column(std::string* out, size_t index, uint32_t cpu, uint64_t ns,
                                  std::span<const uint8_t> record, TraceLineWriter* lines) const {
  const abi::RecordHeader header = header_of(record);
  const Known* known = known_of(record);
  std::string text;
  switch (columns_[index].kind) {
    case Kind::kComm:
      *out += lines->comm_of(header.common_pid);
      return;
    case Kind::kTid:
      return put_number(out, header.common_pid);
    case Kind::kCpu:
      return put_number(out, cpu);
    case Kind::kFlags:
      return TraceLineWriter::append_flags(out, record);
    case Kind::kTime:
      put_seconds(&text, ns);
      *out += trim(text);
      return;
    case Kind::kEvent:
      *out += known ? known->name : "unknown event " + std::to_string(header.common_type);
      return;
    case Kind::kTrace:
      return lines->append_text(out, record);
    case Kind::kField:
      break;
  }
  if (!known || !known->fields[index]) return void(*out += '-');
  append_plain_value(&text, *known->fields[index], record, lines->addresses());
  append_escaped(out, text);
}

void ReportColumns::color_column(std::string* out, size_t index, std::string_view text,
                                 std::span<const uint8_t> record,
                                 const ReportColors& colors) const {
  switch (columns_[index].kind) {
    case Kind::kComm:
    case Kind::kTid:
      *out += in_color(kDim, text);
      return;
    case Kind::kEvent:
      *out += in_color(kCyan, text);
      return;
    case Kind::kTrace:
      return colors.append_text(out, text, record);
    default:
      *out += text;
  }
}

void ReportColumns::append_line(std::string* out, uint32_t cpu, uint64_t ns,
                                std::span<const uint8_t> record, TraceLineWriter* lines,
                                const ReportColors* colors) const {
  std::string text;
  for (size_t i = 0; i < columns_.size(); i++) {
    if (i) *out += '\t';
    if (!colors) {
      append_column(out, i, cpu, ns, record, lines);
      continue;
    }
    text.clear();
    append_column(&text, i, cpu, ns, record, lines);
    color_column(out, i, text, record, *colors);
  }
  *out += '\n';
}

}  // namespace patchbay::cmd
