// SPDX-License-Identifier: MIT
//
// Chrome's JSON (Trace Event Format): an object with the array traceEvents, one event a line.
//
//   calls of function_graph   B and E          single events    i, with their fields as args
//   pairs, calls without entry X, with dur     --counter        C
//   losses                    i, global        names            M
//   off the CPU               X, on the thread that comes back
#include <cerrno>
#include <unordered_map>
#include <vector>

#include "export/export_formats.h"
#include "export/export_text.h"
#include "output/text_put.h"

namespace patchbay {
namespace {

// Calls of a second buffer of a thread would not be nested in those of the first: they get a track
// with a number behind all thread ids.
constexpr uint32_t kFirstFurther = 1u << 30;
// Viewers know one machine: the pids of a second host begin behind all pids of the first one.
constexpr int64_t kHostPids = 10'000'000;

class ChromeSink : public ExportSink {
 public:
  ChromeSink(std::unique_ptr<ExportWriter> writer, const ExportSettings& settings)
      : writer_(std::move(writer)), settings_(settings), out_(writer_->out()) {}

  Status begin(const ExportMeta& meta, ExportSource* source) override {
    meta_ = &meta;
    source_ = source;
    *out_ += "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
    return {};
  }
  Status schema(const ExportSchema& schema) override {
    if (counters_.size() <= schema.index) counters_.resize(schema.index + 1);
    for (const std::string& wanted : settings_.counters) {
      const size_t dot = std::min(wanted.rfind('.'), wanted.size() - 1);
      const std::string event = wanted.substr(0, dot);
      const ExportField* field = schema.find(wanted.substr(dot + 1));
      if (field && !field->is_array && (event == schema.name || event == schema.label))
        counters_[schema.index].push_back(field);
    }
    return {};
  }
  Status event(const ExportEvent& event) override {
    if (event.kind == ExportEvent::Kind::kCallBegin) {
      call_begin(event);
    } else if (event.kind == ExportEvent::Kind::kCallEnd) {
      call_end(event);
    } else {
      single(event);
    }
    return writer_->flush();
  }
  Status loss(const ExportEvent& event) override {
    open('i', event.ns);
    *out_ += ",\"s\":\"g\",\"pid\":0,\"tid\":0,\"name\":\"lost events\",\"args\":{\"cpu\":";
    put_number(out_, event.cpu);
    *out_ += ",\"lost\":";
    event.lost == kLostUnknown ? void(*out_ += "\"some\"") : put_number(out_, event.lost);
    *out_ += "}}";
    return writer_->flush();
  }
  Status end(const ExportStats& stats) override {
    *out_ += "\n],\"otherData\":{\"events\":";
    put_number(out_, stats.events);
    *out_ += "}}\n";
    return writer_->finish();
  }

 private:
  struct Track {
    uint32_t input = 0, buffer = 0, tid = 0;
  };
  // {"ph":"B","ts":12.345
  void open(char phase, uint64_t ns) {
    *out_ += any_ ? ",\n{\"ph\":\"" : "\n{\"ph\":\"";
    any_ = true;
    *out_ += phase;
    *out_ += "\",\"ts\":";
    put_micros(ns);
  }
  void put_micros(uint64_t ns) {
    put_number(out_, ns / 1000);
    *out_ += '.';
    put_padded(out_, ns % 1000, 3, '0');
  }
  void put_thread(const ExportThread& thread, uint32_t tid) {
    *out_ += ",\"pid\":";
    put_number(out_, kHostPids * thread.process->host + thread.process->pid);
    *out_ += ",\"tid\":";
    put_number(out_, tid);
  }
  void put_metadata(const char* what, const ExportThread& thread, uint32_t tid,
                    std::string_view name) {
    open('M', 0);
    put_thread(thread, tid);
    *out_ += ",\"name\":\"";
    *out_ += what;
    *out_ += "\",\"args\":{\"name\":";
    append_json_text(out_, name);
    *out_ += "}}";
  }
  std::vector<Track>& tracks_of(const ExportThread& thread) {
    if (tracks_.size() <= thread.index) tracks_.resize(size_t(thread.index) * 2 + 1);
    if (known_.size() < tracks_.size()) known_.resize(tracks_.size());
    if (!known_[thread.index]) {
      known_[thread.index] = true;
      put_metadata("thread_name", thread, base_tid(thread), thread.comm);
      if (named_.size() <= thread.process->index) named_.resize(thread.process->index + 1);
      if (!named_[thread.process->index])
        put_metadata("process_name", thread, base_tid(thread), process_name(*thread.process));
      named_[thread.process->index] = true;
    }
    return tracks_[thread.index];
  }
  std::string process_name(const ExportProcess& process) const {
    if (meta_->hosts.size() < 2) return process.name;
    return meta_->hosts[process.host] + ": " + process.name + " (" + std::to_string(process.pid) +
           ")";
  }
  // All idle threads have the id 0.
  static uint32_t base_tid(const ExportThread& thread) {
    return thread.tid ? uint32_t(thread.tid) : thread.cpu;
  }
  uint32_t call_tid(const ExportEvent& event) {
    std::vector<Track>& tracks = tracks_of(*event.thread);
    for (const Track& track : tracks)
      if (track.input == event.input && track.buffer == event.buffer) return track.tid;
    Track made{event.input, event.buffer, base_tid(*event.thread)};
    if (!tracks.empty()) {
      made.tid = kFirstFurther + further_++;
      const std::string label = buffer_label(*meta_, event.input, event.buffer);
      put_metadata("thread_name", *event.thread, made.tid, event.thread->comm + " " + label);
    }
    tracks.push_back(made);
    return made.tid;
  }
  void put_function(const ExportEvent& event, uint64_t address) {
    *out_ += ",\"name\":";
    append_json_text(out_, source_->addresses(event).of(address).plain);
  }
  void put_stack(const ExportEvent& event) {
    if (event.stack.empty()) return;
    *out_ += ",\"stack\":[";
    for (size_t i = event.stack.size(); i-- > 0;) {  // the outermost first
      append_json_text(out_, source_->frame_name(event, i));
      if (i) *out_ += ',';
    }
    *out_ += ']';
  }
  void call_begin(const ExportEvent& event) {
    const uint32_t tid = call_tid(event);
    open('B', event.ns);
    put_thread(*event.thread, tid);
    put_function(event, event.call.function);
    put_stack(event);
    if (!event.call.args.empty()) put_arguments(event);
    *out_ += '}';
  }
  void put_arguments(const ExportEvent& event) {
    const CallArguments* known = source_->arguments_of(event, event.call.function);
    char before = '{';
    *out_ += ",\"args\":";
    for (const ExportArgument& one : export_arguments(event.call.args, known)) {
      *out_ += before;
      before = ',';
      append_json_text(out_, one.name);
      *out_ += ':';
      if (!one.text.empty())
        append_json_text(out_, one.text);
      else if (one.is_signed)
        put_number(out_, int64_t(one.number));
      else
        put_number(out_, one.number);
    }
    *out_ += before == '{' ? "{}" : "}";
  }
  void put_retval(const ExportEvent& event) {
    if (!event.call.has_retval) return;
    *out_ += ",\"args\":{\"retval\":";
    put_number(out_, int64_t(event.call.retval));
    *out_ += '}';
  }
  void call_end(const ExportEvent& event) {
    if (event.call.how == ExportCallEnd::kOpenAtEnd) return;  // viewers let it go on to the end
    const uint32_t tid = call_tid(event);
    const bool is_whole = event.call.how == ExportCallEnd::kNoEntry;
    open(is_whole ? 'X' : 'E', is_whole ? event.call.begin_ns : event.call.end_ns);
    put_thread(*event.thread, tid);
    if (is_whole) {
      *out_ += ",\"dur\":";
      put_micros(event.call.duration_ns);
      put_function(event, event.call.function);
    }
    put_retval(event);
    *out_ += '}';
  }
  void single(const ExportEvent& event) {
    tracks_of(*event.thread);
    open('i', event.ns);
    *out_ += ",\"s\":\"t\"";
    put_thread(*event.thread, base_tid(*event.thread));
    put_event_name(event);
    put_stack(event);
    *out_ += ",\"args\":";
    append_json_event(out_, event, source_);
    *out_ += '}';
    if (event.pair) pair(event);
    if (event.off_cpu) off_cpu(event);
    if (event.schema)
      for (const ExportField* field : counters_[event.schema->index]) count(event, *field);
  }
  void put_event_name(const ExportEvent& event) {
    *out_ += ",\"cat\":";
    append_json_text(out_, event.schema ? event.schema->system : "");
    *out_ += ",\"name\":";
    append_json_text(
        out_, event.schema ? event.schema->name : "unknown event " + std::to_string(event.id()));
  }
  // A track of its own: calls that are probed are not nested in those of function_graph.
  void pair(const ExportEvent& event) {
    open('X', event.pair->begin_ns);
    *out_ += ",\"dur\":";
    put_micros(event.ns - std::min(event.ns, event.pair->begin_ns));
    put_thread(*event.thread, base_tid(*event.thread));
    *out_ += ",\"cat\":\"return\"";
    put_function(event, event.pair->function);
    *out_ += ",\"args\":{\"entry\":";
    AddressText* addresses = &source_->addresses(event);
    append_json_fields(out_, *event.pair->schema, event.pair->record, addresses);
    *out_ += ",\"return\":";
    append_json_fields(out_, *event.schema, event.record, addresses);
    *out_ += "}}";
  }
  // Within the calls of the thread: it has made none meanwhile.
  void off_cpu(const ExportEvent& event) {
    const ExportThread& thread = *event.off_cpu->thread;
    tracks_of(thread);
    open('X', event.off_cpu->begin_ns);
    *out_ += ",\"dur\":";
    put_micros(event.ns - event.off_cpu->begin_ns);
    put_thread(thread, base_tid(thread));
    *out_ += ",\"cat\":\"sched\",\"name\":\"off the CPU\",\"args\":{\"state\":";
    append_json_text(out_, event.off_cpu->state);
    *out_ += "}}";
  }
  void count(const ExportEvent& event, const ExportField& field) {
    open('C', event.ns);
    put_thread(*event.thread, base_tid(*event.thread));
    *out_ += ",\"name\":";
    append_json_text(out_, event.schema->name + "." + field.name);
    *out_ += ",\"args\":{\"value\":";
    append_json_value(out_, field, event, &source_->addresses(event));
    *out_ += "}}";
  }

  std::unique_ptr<ExportWriter> writer_;
  const ExportSettings settings_;
  std::string* const out_;
  const ExportMeta* meta_ = nullptr;
  ExportSource* source_ = nullptr;
  bool any_ = false;
  uint32_t further_ = 0;
  std::vector<std::vector<Track>> tracks_;  // by the thread's index
  std::vector<bool> known_, named_;         // threads and processes
  std::vector<std::vector<const ExportField*>> counters_;
};

}  // namespace

Result<std::unique_ptr<ExportSink>> make_chrome_sink(const ExportSettings& settings) {
  for (const std::string& counter : settings.counters)
    if (counter.find('.') == counter.npos)
      return user_error(EINVAL, "--counter " + counter + ": EVENT.FIELD is needed.");
  PB_ASSIGN(auto writer, ExportWriter::open(settings.path, settings.compression));
  return std::unique_ptr<ExportSink>(new ChromeSink(std::move(writer), settings));
}

}  // namespace patchbay
