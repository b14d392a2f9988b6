// SPDX-License-Identifier: MIT
//
// CSV (RFC 4180): a head, then a row an event. A recording where one kind of events is chosen has
// a column a field; otherwise the column `fields` has them as a JSON object, because each kind has
// others. Columns are there once: a field `comm` is field_comm, as in the tables of other formats.
// Control characters and bytes that are not UTF-8 are escaped as \n, \xNN. A text that a
// spreadsheet would take for a formula gets an apostrophe where that is asked (--formulas quote).
//
//   ts,cpu,pid,tid,comm,instance,event,function,depth,duration_ns,fields,stack
//
// A row whose event is `lost` says in `fields` how many events of the CPU are missing there.
#include <set>
#include <vector>

#include "base/text.h"
#include "base/unique_names.h"
#include "export/export_formats.h"
#include "export/export_text.h"
#include "output/text_put.h"
#include "output/trace_line.h"

namespace patchbay {
namespace {

// What a spreadsheet would reckon instead of showing it. A number is not: -5 is what it is.
bool is_formula(std::string_view text) {
  if (text.empty() || std::string_view("=+-@").find(text[0]) == text.npos) return false;
  const bool is_number = text[0] != '=' && text[0] != '@' && text.size() > 1 &&
                         text.find_first_not_of("0123456789.", 1) == text.npos;
  return !is_number;
}

constexpr std::string_view kHead = "ts,cpu,pid,tid,comm,instance,event,function,depth,duration_ns";

// Those that no field can have.
std::set<std::string> own_columns() {
  std::set<std::string> names = {"stack"};
  for (std::string_view rest = kHead; !rest.empty();) names.emplace(cut_at(&rest, ','));
  return names;
}

class CsvSink : public ExportSink {
 public:
  CsvSink(std::unique_ptr<ExportWriter> writer, bool quote_formulas)
      : writer_(std::move(writer)), out_(writer_->out()), quote_formulas_(quote_formulas) {}

  Status begin(const ExportMeta& meta, ExportSource* source) override {
    meta_ = &meta;
    source_ = source;
    only_ = source->only_wanted();
    *out_ += kHead;
    if (only_ && only_->role != ExportSchema::Role::kPrint) {
      UniqueNames names(own_columns());
      for (const ExportField& field : only_->fields) put_text(names.unique(field.name));
    } else {
      only_ = nullptr;
      *out_ += ",fields";
    }
    *out_ += ",stack\r\n";
    return {};
  }
  Status schema(const ExportSchema&) override { return {}; }
  Status event(const ExportEvent& event) override {
    put_head(event);
    put_event(event);
    put_call(event);
    put_fields(event);
    put_stack(event);
    *out_ += "\r\n";
    return writer_->flush();
  }
  Status loss(const ExportEvent& event) override {
    put_head(event);
    *out_ += ",lost,,,,";
    event.lost == kLostUnknown ? void(*out_ += "some") : put_number(out_, event.lost);
    for (size_t i = 1; only_ && i < only_->fields.size(); i++) *out_ += ',';
    *out_ += ",\r\n";
    return writer_->flush();
  }
  Status end(const ExportStats&) override { return writer_->finish(); }

 private:
  // ,text   or   ,"text with "" and commas"
  void put_text(std::string_view raw) {
    clean_.clear();
    if (quote_formulas_ && is_formula(raw)) clean_ += '\'';
    append_escaped(&clean_, raw);
    *out_ += ',';
    if (clean_.find_first_of(",\" ") == clean_.npos) {
      *out_ += clean_;
      return;
    }
    *out_ += '"';
    for (char c : clean_) {
      if (c == '"') *out_ += '"';
      *out_ += c;
    }
    *out_ += '"';
  }
  void put_head(const ExportEvent& event) {
    put_number(out_, event.ns / 1000000000);
    *out_ += '.';
    put_padded(out_, event.ns % 1000000000, 9, '0');
    *out_ += ',';
    put_number(out_, event.cpu);
    *out_ += ',';
    if (event.thread) put_number(out_, event.thread->process->pid);
    *out_ += ',';
    if (event.thread) put_number(out_, event.thread->tid);
    put_text(event.thread ? event.thread->comm : "");
    put_text(buffer_label(*meta_, event.input, event.buffer));
  }
  void put_event(const ExportEvent& event) {
    if (event.schema) return put_text(event.schema->name);
    const bool is_call = event.kind != ExportEvent::Kind::kEvent;
    put_text(is_call ? "call without exit" : "unknown event " + std::to_string(event.id()));
  }
  void put_call(const ExportEvent& event) {
    if (event.kind == ExportEvent::Kind::kEvent) {
      *out_ += ",,,";
      return;
    }
    put_text(source_->addresses(event).of(event.call.function).plain);
    *out_ += ',';
    put_number(out_, event.call.depth);
    *out_ += ',';
    if (event.kind == ExportEvent::Kind::kCallEnd) put_number(out_, event.call.duration_ns);
  }
  void put_fields(const ExportEvent& event) {
    if (only_) {
      AddressText* addresses = &source_->addresses(event);
      for (const ExportField& field : only_->fields) {
        text_.clear();
        if (event.schema) append_plain_value(&text_, field, event.record, addresses);
        put_text(text_);
      }
      return;
    }
    text_.clear();
    if (event.schema) append_json_event(&text_, event, source_);
    put_text(text_);
  }
  // "inner;outer"
  void put_stack(const ExportEvent& event) {
    text_.clear();
    for (size_t i = 0; i < event.stack.size(); i++) {
      if (i) text_ += ';';
      text_ += source_->frame_name(event, i);
    }
    put_text(text_);
  }

  std::unique_ptr<ExportWriter> writer_;
  std::string* const out_;
  const bool quote_formulas_;
  const ExportMeta* meta_ = nullptr;
  ExportSource* source_ = nullptr;
  const ExportSchema* only_ = nullptr;
  std::string text_, clean_;
};

}  // namespace

Result<std::unique_ptr<ExportSink>> make_csv_sink(const ExportSettings& settings) {
  PB_ASSIGN(auto writer, ExportWriter::open(settings.path, settings.compression));
  return std::unique_ptr<ExportSink>(new CsvSink(std::move(writer), settings.quote_formulas));
}

}  // namespace patchbay
