// SPDX-License-Identifier: MIT
#include "export/parquet/parquet_sink.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "export/export_formats.h"
#include "export/parquet/parquet_row.h"

namespace patchbay {
namespace {

constexpr uint64_t kRowsBetweenLooks = 4096;  // at the memory of all files
constexpr size_t kMostName = 200;             // bytes of a file's name; the system's bound is 255

// A file name without what a file system or a shell takes amiss.
std::string file_name(std::string_view name) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const char c : name.substr(0, kMostName)) {
    const bool is_plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                          (c >= 'A' && c <= 'Z') || c == '_' || c == '-' || c == '.' || c == '@' ||
                          c == '+' || c == '=' || c == ',';
    if (is_plain) {
      out += c;
    } else {
      out += '%';
      out += {kDigits[uint8_t(c) >> 4], kDigits[uint8_t(c) & 15]};
    }
  }
  if (out.size() > kMostName) out.resize(kMostName);
  if (out.starts_with('.')) out.insert(0, "_");
  return out;
}

Status check_directory(const std::string& path) {
  std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(path.c_str()), ::closedir);
  if (!directory) return sys_error("open the directory " + path, errno);
  while (const dirent* entry = ::readdir(directory.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..")
      return user_error(EEXIST, path +
                                    " is not empty, and all files in it would seem to be of one "
                                    "recording: name another directory with -o.");
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<ParquetSink>> ParquetSink::create(const std::string& directory,
                                                         size_t most_memory) {
  std::unique_ptr<ParquetSink> sink(new ParquetSink);
  sink->directory_ = directory;
  sink->most_memory_ = most_memory;
  PB_ASSIGN(sink->made_directory_, OutputPlace::make_directory(directory));
  if (!sink->made_directory_) PB_TRY(check_directory(directory));
  return sink;
}

ParquetSink::~ParquetSink() {
  if (finished_) return;
  for (const auto& table : tables_)  // those that are finished, too
    if (table && table->file) ::unlink(table->file->path().c_str());
  for (const char* name : {"_threads", "_losses", "_events"})
    ::unlink((directory_ + "/" + name + ".parquet").c_str());
  tables_.clear();
  losses_.reset();
  if (made_directory_) ::rmdir(directory_.c_str());
}

Result<std::unique_ptr<ParquetFile>> ParquetSink::create_file(
    const std::string& name, std::vector<TypedColumn> columns) const {
  ParquetFile::Metadata metadata;
  std::string inputs, room;
  for (const ExportInputInfo& input : meta_->inputs)
    inputs += (inputs.empty() ? "" : "\n") + input.path;
  metadata.emplace_back("patchbay.inputs", as_utf8(inputs, &room));
  if (!meta_->inputs.empty()) metadata.emplace_back("patchbay.clock", meta_->inputs[0].clock);
  return ParquetFile::create(directory_ + "/" + name + ".parquet", std::move(columns),
                             std::move(metadata), compressor_.get());
}

Status ParquetSink::begin(const ExportMeta& meta, ExportSource* source) {
  meta_ = &meta;
  tables_of_events_ = std::make_unique<EventTables>(meta, source);
  threads_ = {meta.threads.begin(), meta.threads.end()};
  PB_ASSIGN(losses_, create_file("_losses", {{"ts", ColumnType::kTimestamp, false, true},
                                             {"cpu", ColumnType::kUint32, false, true},
                                             {"lost", ColumnType::kUint64}}));
  return {};
}

Status ParquetSink::schema(const ExportSchema& schema) { return add_table(&schema); }

Status ParquetSink::add_table(const ExportSchema* schema) {
  const size_t index = schema ? schema->index + 1 : 0;
  if (index >= tables_.size()) tables_.resize(index + 1);
  auto table = std::make_unique<Table>();
  std::string room;
  table->system = schema ? as_utf8(schema->system, &room) : "";
  table->event = schema ? as_utf8(schema->name, &room) : "unknown";
  table->name = names_.unique(schema ? file_name(schema->system) + "." + file_name(schema->name)
                                     : "_unknown");
  std::vector<TypedColumn> columns = tables_of_events_->head_columns();
  for (TypedColumn& column : tables_of_events_->columns(schema, {"stack"}))
    columns.push_back(std::move(column));
  columns.push_back({"stack", ColumnType::kText, true});
  PB_ASSIGN(table->file, create_file(table->name, std::move(columns)));
  tables_[index] = std::move(table);
  return {};
}

Status ParquetSink::event(const ExportEvent& event) {
  if (event.record.empty()) return {};  // the end of a call that has no record
  const size_t index = event.schema ? event.schema->index + 1 : 0;
  if (index == 0 && (tables_.empty() || !tables_[0])) PB_TRY(add_table(nullptr));
  if (event.thread && event.thread->index >= threads_.size())
    threads_.resize(event.thread->index + 1);
  if (event.thread) threads_[event.thread->index] = event.thread;
  ParquetFile& file = *tables_[index]->file;
  ParquetRow row(&file);
  tables_of_events_->put_head(event, row);
  tables_of_events_->put(event, row);
  tables_of_events_->put_stack(event, row);
  PB_TRY(file.end_row());
  return ++rows_ % kRowsBetweenLooks ? Status() : keep_bound();
}

// Half of what is allowed must be free behind it, or each look would write small row groups.
Status ParquetSink::keep_bound() {
  size_t all = 0;
  for (const auto& table : tables_)
    if (table) all += table->file->memory();
  if (all < most_memory_) return {};
  while (all > most_memory_ / 2) {
    ParquetFile* largest = nullptr;
    for (const auto& table : tables_)
      if (table && (!largest || table->file->memory() > largest->memory()))
        largest = table->file.get();
    const size_t before = largest->memory();
    PB_TRY(largest->end_row_group());
    if (largest->memory() >= before) return {};
    all -= before - largest->memory();
  }
  return {};
}

Status ParquetSink::loss(const ExportEvent& event) {
  ParquetRow row(losses_.get());
  row.number(event.ns);
  row.number(event.cpu);
  event.lost == kLostUnknown ? row.null() : row.number(event.lost);
  return losses_->end_row();
}

Status ParquetSink::write_threads() const {
  PB_ASSIGN(auto file, create_file("_threads", {{"tid", ColumnType::kInt32, false, true},
                                                {"pid", ColumnType::kInt32},
                                                {"comm", ColumnType::kText},
                                                {"process", ColumnType::kText},
                                                {"exe", ColumnType::kText},
                                                {"host", ColumnType::kText}}));
  std::string room;
  for (const ExportThread* thread : threads_) {
    if (!thread) continue;
    ParquetRow row(file.get());
    const ExportProcess* process = thread->process;
    row.number(uint64_t(int64_t(thread->tid)));
    process && process->is_known ? row.number(uint64_t(int64_t(process->pid))) : row.null();
    row.text(as_utf8(thread->comm, &room));
    process ? row.text(as_utf8(process->name, &room)) : row.null();
    process && !process->exe.empty() ? row.text(as_utf8(process->exe, &room)) : row.null();
    process && process->host < meta_->hosts.size()
        ? row.text(as_utf8(meta_->hosts[process->host], &room))
        : row.null();
    PB_TRY(file->end_row());
  }
  return file->finish();
}

Status ParquetSink::write_events() const {
  PB_ASSIGN(auto file, create_file("_events", {{"file", ColumnType::kText, false, true},
                                               {"system", ColumnType::kText},
                                               {"event", ColumnType::kText},
                                               {"rows", ColumnType::kUint64, false, true}}));
  for (const auto& table : tables_) {
    if (!table) continue;
    ParquetRow row(file.get());
    row.text(table->name + ".parquet");
    row.text(table->system);
    row.text(table->event);
    row.number(table->file->rows());
    PB_TRY(file->end_row());
  }
  return file->finish();
}

Status ParquetSink::end(const ExportStats&) {
  for (const auto& table : tables_)
    if (table) PB_TRY(table->file->finish());
  PB_TRY(losses_->finish());
  PB_TRY(write_threads());
  PB_TRY(write_events());
  finished_ = true;
  return {};
}

Result<std::unique_ptr<ExportSink>> make_parquet_sink(const ExportSettings& settings) {
  PB_TRY(needs_a_place(settings, "parquet"));
  return as_export_sink(ParquetSink::create(settings.path));
}

}  // namespace patchbay
