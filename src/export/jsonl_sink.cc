// SPDX-License-Identifier: MIT
//
// One JSON object a line:
//
//   {"ts":1.000000001,"cpu":0,"pid":7,"tid":7,"comm":"a","system":"s","event":"e","fields":{…}}
//
// and where there is one: "stack" (the innermost function first), "instance", "call" of
// function_graph (begin or end), "pair" of a return, with the time of its entry. A line with "lost"
// instead of "event" says how many events of a CPU are missing there; null: it is not known.
#include <vector>

#include "export/export_formats.h"
#include "export/export_text.h"
#include "output/text_put.h"

namespace patchbay {
namespace {

class JsonLinesSink : public ExportSink {
 public:
  explicit JsonLinesSink(std::unique_ptr<ExportWriter> writer)
      : writer_(std::move(writer)), out_(writer_->out()) {}
  Status begin(const ExportMeta& meta, ExportSource* source) override {
    meta_ = &meta;
    source_ = source;
    return {};
  }
  Status schema(const ExportSchema&) override { return {}; }
  Status event(const ExportEvent& event) override {
    put_head(event);
    put_who(event);
    if (event.schema) {
      key("system", event.schema->system);
      key("event", event.schema->name);
    } else if (!event.record.empty()) {
      key("event", "unknown event " + std::to_string(event.id()));
    }
    if (event.kind != ExportEvent::Kind::kEvent) put_call(event);
    *out_ += ",\"fields\":";
    append_json_event(out_, event, source_);
    put_stack(event);
    if (event.pair) put_pair(event);
    *out_ += "}\n";
    return writer_->flush();
  }
  Status loss(const ExportEvent& event) override {
    put_head(event);
    *out_ += ",\"lost\":";
    event.lost == kLostUnknown ? void(*out_ += "null") : put_number(out_, event.lost);
    *out_ += "}\n";
    return writer_->flush();
  }
  Status end(const ExportStats&) override { return writer_->finish(); }

 private:
  void put_seconds_of(uint64_t ns) {
    put_number(out_, ns / 1000000000);
    *out_ += '.';
    put_padded(out_, ns % 1000000000, 9, '0');
  }
  void key(std::string_view name, std::string_view text) {
    *out_ += ",\"";
    *out_ += name;
    *out_ += "\":";
    append_json_text(out_, text);
  }
  template <typename T>
  void number(std::string_view name, T value) {
    *out_ += ",\"";
    *out_ += name;
    *out_ += "\":";
    put_number(out_, value);
  }
  void put_head(const ExportEvent& event) {
    *out_ += "{\"ts\":";
    put_seconds_of(event.ns);
    number("cpu", event.cpu);
    if (meta_->hosts.size() > 1) key("host", meta_->hosts[meta_->inputs[event.input].host]);
    const std::string label = buffer_label(*meta_, event.input, event.buffer);
    if (!label.empty()) key("instance", label);
  }
  void put_who(const ExportEvent& event) {
    number("pid", event.thread->process->pid);
    number("tid", event.thread->tid);
    key("comm", event.thread->comm);
  }
  void put_call(const ExportEvent& event) {
    const bool is_begin = event.kind == ExportEvent::Kind::kCallBegin;
    constexpr const char* kHow[] = {"return", "no return", "no entry", "open at end"};
    *out_ += ",\"call\":{\"type\":";
    append_json_text(out_, is_begin ? "begin" : "end");
    key("function", source_->addresses(event).of(event.call.function).plain);
    number("depth", event.call.depth);
    if (!is_begin) {
      key("how", kHow[size_t(event.call.how)]);
      number("duration_ns", event.call.duration_ns);
      if (event.call.has_retval) number("retval", int64_t(event.call.retval));
    }
    *out_ += '}';
  }
  void put_stack(const ExportEvent& event) {
    if (event.stack.empty()) return;
    *out_ += ",\"stack\":";
    for (size_t i = 0; i < event.stack.size(); i++) {
      *out_ += i ? ',' : '[';
      append_json_text(out_, source_->frame_name(event, i));
    }
    *out_ += ']';
  }
  void put_pair(const ExportEvent& event) {
    *out_ += ",\"pair\":{\"begin\":";
    put_seconds_of(event.pair->begin_ns);
    key("function", source_->addresses(event).of(event.pair->function).plain);
    key("event", event.pair->schema->name);
    *out_ += '}';
  }

  std::unique_ptr<ExportWriter> writer_;
  std::string* const out_;
  const ExportMeta* meta_ = nullptr;
  ExportSource* source_ = nullptr;
};

}  // namespace

Result<std::unique_ptr<ExportSink>> make_jsonl_sink(const ExportSettings& settings) {
  PB_ASSIGN(auto writer, ExportWriter::open(settings.path, settings.compression));
  return std::unique_ptr<ExportSink>(new JsonLinesSink(std::move(writer)));
}

}  // namespace patchbay
