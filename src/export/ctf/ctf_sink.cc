// SPDX-License-Identifier: MIT
#include "export/ctf/ctf_sink.h"
#include "export/export_formats.h"

namespace patchbay {
namespace {

constexpr uint32_t kNone = UINT32_MAX;
constexpr size_t kInHeader = 5;  // ts, cpu, tid, pid, comm: CTF has places of its own for them

// What a table's row has, without what the event's header has.
class CtfRow {
 public:
  explicit CtfRow(CtfTrace* trace) : trace_(trace) {}
  void number(uint64_t bits) {
    if (is_field()) trace_->put_number(bits);
  }
  void text(std::string_view text) {
    if (is_field()) trace_->put_text(text);
  }
  void null() {
    if (is_field()) trace_->put_null();
  }
  void begin_list() { trace_->begin_list(); }
  void end_list() { trace_->end_list(); }

 private:
  bool is_field() { return at_ >= kInHeader || at_++ >= kInHeader; }
  CtfTrace* trace_;
  size_t at_ = 0;
};

}  // namespace

Result<std::unique_ptr<CtfSink>> CtfSink::create(const std::string& directory) {
  std::unique_ptr<CtfSink> sink(new CtfSink);
  PB_ASSIGN(sink->trace_, CtfTrace::create(directory));
  return sink;
}

Status CtfSink::begin(const ExportMeta& meta, ExportSource* source) {
  meta_ = &meta;
  tables_ = std::make_unique<EventTables>(meta, source);
  return {};
}

Status CtfSink::schema(const ExportSchema& schema) {
  add_event(&schema);
  return {};
}

void CtfSink::add_event(const ExportSchema* schema) {
  const size_t index = schema ? schema->index + 1 : 0;
  if (index >= numbers_.size()) numbers_.resize(index + 1, kNone);
  std::vector<TypedColumn> columns = tables_->head_columns();
  columns.erase(columns.begin(), columns.begin() + kInHeader);
  for (TypedColumn& column : tables_->columns(schema, {"stack"}))
    columns.push_back(std::move(column));
  columns.push_back({"stack", ColumnType::kText, true});
  std::string room;
  numbers_[index] =
      trace_->add_event(schema ? as_utf8(schema->label, &room) : "patchbay:unknown", columns);
}

Status CtfSink::event(const ExportEvent& event) {
  if (event.record.empty()) return {};  // the end of a call that has no record
  const size_t index = event.schema ? event.schema->index + 1 : 0;
  if (index >= numbers_.size() || numbers_[index] == kNone) add_event(event.schema);
  const ExportProcess* process = event.thread ? event.thread->process : nullptr;
  PB_TRY(trace_->begin_event(event.cpu, event.ns, numbers_[index], event.tid(),
                             process && process->is_known ? process->pid : -1,
                             event.thread ? std::string_view(tables_->comm(event)) : ""));
  CtfRow row(trace_.get());
  tables_->put_head(event, row);
  tables_->put(event, row);
  tables_->put_stack(event, row);
  return trace_->end_event();
}

Status CtfSink::loss(const ExportEvent& event) {
  return trace_->lost(event.cpu, event.ns, event.lost == kLostUnknown ? 1 : event.lost);
}

Status CtfSink::end(const ExportStats&) {
  std::string room;
  CtfTrace::Environment environment{
      {"domain", "patchbay"}, {"tracer_name", "patchbay"}, {"tracer_version", PATCHBAY_VERSION}};
  if (!meta_->hosts.empty()) environment.emplace_back("hostname", as_utf8(meta_->hosts[0], &room));
  return trace_->finish(environment);
}

Result<std::unique_ptr<ExportSink>> make_ctf_sink(const ExportSettings& settings) {
  PB_TRY(needs_a_place(settings, "ctf"));
  return as_export_sink(CtfSink::create(settings.path));
}

}  // namespace patchbay
