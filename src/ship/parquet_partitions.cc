// SPDX-License-Identifier: MIT
#include "ship/parquet_partitions.h"

#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "base/output_file.h"
#include "export/parquet/parquet_row.h"
#include "ship/http_client.h"

namespace patchbay {
namespace {

constexpr uint64_t kHourNs = 3'600'000'000'000;
constexpr ParquetLimits kLimits{.row_group_rows = 1 << 20, .row_group_bytes = 16 << 20};

std::vector<TypedColumn> head() {
  return {
      {"boot_id", ColumnType::kText, false, true},   {"pid", ColumnType::kInt32, false, true},
      {"tid", ColumnType::kInt32, false, true},      {"comm", ColumnType::kText, false, true},
      {"exe", ColumnType::kText, false, true},       {"instance", ColumnType::kText, false, true},
      {"cpu", ColumnType::kUint32, false, true},     {"ts", ColumnType::kUint64, false, true},
      {"time", ColumnType::kTimestamp, false, true}, {"row", ColumnType::kUint32, false, true}};
}

std::string hour_path(uint64_t hour) {
  const time_t seconds = time_t(hour * 3600);
  tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[64];
  std::strftime(text, sizeof text, "date=%Y-%m-%d/hour=%H", &parts);
  return text;
}

}  // namespace

ParquetPartitions::Table* ParquetPartitions::add_table(const std::string& name,
                                                       const std::vector<TypedColumn>& own) {
  auto table = std::make_unique<Table>();
  table->name = name;
  table->columns = head();
  table->columns.insert(table->columns.end(), own.begin(), own.end());
  return (tables_[name] = std::move(table)).get();
}

Status ParquetPartitions::begin(const ExportMeta& meta, ExportSource* source) {
  meta_ = &meta;
  events_ = std::make_unique<EventTables>(meta, source);
  last_ns_ = meta.first_ns;
  return {};
}

Status ParquetPartitions::schema(const ExportSchema& schema) {
  if (schema.index >= by_schema_.size()) by_schema_.resize(schema.index + 1);
  std::string name = ship_table_name(schema.system, schema.name);
  // Layouts of one event with other fields: a file each, beside each other.
  while (tables_.count(name)) name += "#";
  std::set<std::string> reserved{"stack", "host", "event", "date", "hour"};
  for (const TypedColumn& column : head()) reserved.insert(column.name);
  std::vector<TypedColumn> own = events_->columns(&schema, reserved);
  own.push_back({"stack", ColumnType::kText, true});
  by_schema_[schema.index] = add_table(name, own);
  return {};
}

Status ParquetPartitions::finish_hour(Table* table) {
  if (!table->file) return {};
  const uint64_t rows = table->file->rows();
  PB_TRY(table->file->finish());
  table->file.reset();
  std::error_code error;
  std::filesystem::rename(table->path + ".part", table->path, error);
  if (error) return sys_error("rename " + table->path + ".part", error.value());
  counts_.bytes += uint64_t(std::filesystem::file_size(table->path, error));
  counts_.rows += rows;
  counts_.blocks++;
  return {};
}

Status ParquetPartitions::open_hour(Table* table, uint64_t hour) {
  if (table->file && table->hour == hour) return {};
  PB_TRY(finish_hour(table));
  table->hour = hour;
  const size_t layout = table->name.find('#');
  const std::string folder = directory_ + "/host=" + HttpClient::escape(origin_.host) +
                             "/event=" + table->name.substr(0, layout) + "/" + hour_path(hour);
  PB_TRY(OutputPlace::of(folder + "/.", true));
  char source[40];
  std::snprintf(source, sizeof source, "/%016llx", static_cast<unsigned long long>(origin_.source));
  table->path = folder + source;
  if (layout != table->name.npos)
    table->path += "-" + std::to_string(table->name.size() - layout + 1);
  // Losses may be told late: an hour that comes again gets another file.
  if (const uint32_t again = made_[table->path]++) table->path += "-again" + std::to_string(again);
  table->path += ".parquet";
  ::unlink((table->path + ".part").c_str());  // of one that was killed, or planted
  PB_ASSIGN(table->file,
            ParquetFile::create(table->path + ".part", table->columns, {}, &compressor_, kLimits));
  return {};
}

Status ParquetPartitions::event(const ExportEvent& event) {
  if (event.record.empty()) return {};
  Table* table = nullptr;
  if (event.schema) {
    table = by_schema_[event.schema->index];
  } else {
    const auto found = tables_.find("patchbay_unknown");
    std::vector<TypedColumn> own = events_->columns(nullptr);
    own.push_back({"stack", ColumnType::kText, true});
    table = found != tables_.end() ? found->second.get() : add_table("patchbay_unknown", own);
  }
  last_ns_ = event.ns;
  PB_TRY(open_hour(table, wall(event.ns) / kHourNs));
  ParquetRow row(table->file.get());
  const ExportThread* thread = event.thread;
  const ExportProcess* process = thread ? thread->process : nullptr;
  row.text(boot_id_text(origin_.boot_id));
  row.number(uint64_t(int64_t(process && process->is_known ? process->pid : 0)));
  row.number(uint64_t(int64_t(event.tid())));
  row.text(thread ? std::string_view(events_->comm(event)) : std::string_view());
  row.text(process ? as_utf8(process->exe, &room_) : std::string_view());
  row.text(as_utf8(meta_->inputs[event.input].buffers[event.buffer], &room_));
  row.number(event.cpu);
  row.number(event.ns);
  row.number(wall(event.ns));
  row.number(table->rows++);
  events_->put(event, row);
  events_->put_stack(event, row);
  return table->file->end_row();
}

Status ParquetPartitions::loss(const ExportEvent& event) {
  const bool is_unknown = event.lost == kLostUnknown;
  return add_loss({event.ns, event.cpu, 0, "", "overwritten",
                   meta_->inputs[event.input].buffers[event.buffer], is_unknown ? 1 : event.lost,
                   is_unknown});
}

Status ParquetPartitions::add_loss(const ShipLoss& loss) {
  const std::string name(kLossesTable);
  const auto found = tables_.find(name);
  Table* table = found != tables_.end()
                     ? found->second.get()
                     : add_table(name, {{"reason", ColumnType::kText, false, true},
                                        {"lost", ColumnType::kUint64, false, true},
                                        {"at_least", ColumnType::kUint8, false, true}});
  const uint64_t ns = loss.ns ? loss.ns : last_ns_;
  PB_TRY(open_hour(table, wall(ns) / kHourNs));
  ParquetRow row(table->file.get());
  row.text(boot_id_text(origin_.boot_id));
  row.number(uint64_t(int64_t(loss.pid)));
  row.number(0);
  row.text("");
  row.text("");
  row.text(as_utf8(loss.instance, &room_));
  row.number(loss.cpu);
  row.number(ns);
  row.number(wall(ns));
  row.number(table->rows++);
  row.text(loss.reason);
  row.number(loss.lost);
  row.number(loss.at_least);
  counts_.lost += loss.lost;
  return table->file->end_row();
}

Status ParquetPartitions::end(const ExportStats& stats) {
  if (stats.damaged_pages)
    PB_TRY(add_loss({0, 0, 0, "", "damaged", "", stats.damaged_pages, true}));
  for (const auto& [name, table] : tables_) PB_TRY(finish_hour(table.get()));
  return {};
}

}  // namespace patchbay
