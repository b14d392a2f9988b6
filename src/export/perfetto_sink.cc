// SPDX-License-Identifier: MIT
#include "export/perfetto_sink.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "export/export_text.h"
#include "export/proto_write.h"
#include "output/trace_line.h"

namespace patchbay {

using proto::put_bytes;
using proto::put_int;
using proto::put_uint;
using Role = ExportSchema::Role;

namespace {

// More threads share sequence 1: a number above 127 would take another byte of each packet.
constexpr uint32_t kOwnSequences = 120;
constexpr uint32_t kBoottime = 6, kMonotonic = 3, kIncremental = 64;
constexpr uint32_t kStateCleared = 1, kNeedsState = 2;
// Fields of DebugAnnotation.
enum : uint32_t { kUint = 3, kInt = 4, kDouble = 5, kText = 6, kPointer = 7 };

std::string escaped(std::string_view raw) {
  std::string text;
  append_escaped(&text, raw);
  return text;
}

}  // namespace

PerfettoSink::PerfettoSink(std::unique_ptr<ExportWriter> writer, const ExportSettings& settings)
    : writer_(std::move(writer)), settings_(settings) {}

Status PerfettoSink::begin(const ExportMeta& meta, ExportSource* source) {
  meta_ = &meta;
  source_ = source;
  ftrace_.begin(source);
  begin_machines();
  for (size_t i = 0; i < settings_.counters.size(); i++) {
    const size_t dot = settings_.counters[i].rfind('.');
    bool any = false;
    for (const auto& schema : source->schemas()) {
      const std::string event = settings_.counters[i].substr(0, dot);
      if (event != schema->name && event != schema->system + ":" + schema->name) continue;
      const ExportField* field = schema->find(settings_.counters[i].substr(dot + 1));
      any |= field && !field->is_array &&
             (field->is_number() || field->type == ExportField::Type::kReal);
    }
    if (dot == std::string::npos || !any)
      return user_error(EINVAL, "--counter " + settings_.counters[i] +
                                    ": the recording has no event with such a field of numbers; "
                                    "EVENT.FIELD is needed.");
  }
  return {};
}

void PerfettoSink::begin_machines() {
  const size_t count = std::max<size_t>(meta_->hosts.size(), 1);
  for (uint32_t machine = 0; machine < count; machine++) {
    sequences_.push_back(std::make_unique<Sequence>());
    sequences_.back()->id = machine + 1;
    sequences_.back()->machine = machine;
    if (count == 1) return;
    std::string about, fields;
    put_bytes(&about, 17, escaped(meta_->hosts[machine]));
    put_bytes(&fields, 45, about);
    put_packet(sequences_.back().get(), fields, 0);
  }
}

Status PerfettoSink::schema(const ExportSchema& schema) {
  ftrace_.schema(schema);
  if (counters_.size() <= schema.index) counters_.resize(schema.index + 1);
  if (event_names_.size() <= schema.index) event_names_.resize(schema.index + 1);
  if (categories_.size() <= schema.index) categories_.resize(schema.index + 1);
  for (const std::string& wanted : settings_.counters) {
    const size_t dot = wanted.rfind('.');
    const std::string event = wanted.substr(0, dot);
    const ExportField* field = schema.find(wanted.substr(dot + 1));
    if (field && (event == schema.name || event == schema.system + ":" + schema.name))
      counters_[schema.index].push_back({field, schema.name + "." + field->name, {}});
  }
  return {};
}

// --- packets

void PerfettoSink::put_packet(Sequence* sequence, std::string_view fields, uint32_t flags) {
  packet_.assign(fields);
  put_uint(&packet_, 10, sequence->id);
  if (flags) put_uint(&packet_, 13, flags);
  if (sequence->machine) put_uint(&packet_, 98, sequence->machine);
  put_bytes(writer_->out(), 1, packet_);
}

// Forgets what was defined, sets the defaults, and ties the clocks together.
void PerfettoSink::begin_sequence(Sequence* sequence, uint64_t ns) {
  const bool is_first = sequence->generation == 0;
  sequence->generation = generation_;
  sequence->last_ns = ns;
  sequence->defined = {};
  std::string defaults, fields, clocks, clock;
  put_uint(&defaults, 58, kIncremental);
  if (sequence->default_track) {
    put_uint(&clock, 11, sequence->default_track);
    put_bytes(&defaults, 11, clock);
  }
  put_bytes(&fields, 59, defaults);
  if (is_first) put_uint(&fields, 87, 1);
  put_packet(sequence, fields, kStateCleared);
  for (uint32_t id : {kBoottime, kMonotonic, kIncremental}) {
    clock.clear();
    put_uint(&clock, 1, id);
    put_uint(&clock, 2, ns);
    if (id == kIncremental) put_uint(&clock, 3, 1);
    put_bytes(&clocks, 1, clock);
  }
  fields.clear();
  put_bytes(&fields, 6, clocks);
  put_packet(sequence, fields, 0);
}

PerfettoSink::Making PerfettoSink::make(Sequence* sequence, uint64_t ns, Type type,
                                        uint64_t track) {
  if (sequence->generation != generation_) begin_sequence(sequence, ns);
  event_.clear();
  interned_.clear();
  put_uint(&event_, 9, type);
  if (track != sequence->default_track) put_uint(&event_, 11, track);
  return {sequence, ns, type};
}

void PerfettoSink::put_name(const Making& making, PerfettoName kind, uint32_t field, uint32_t id) {
  interner_.define(kind, id, &making.sequence->defined, &interned_);
  put_uint(&event_, field, id);
}

void PerfettoSink::write(const Making& making) {
  Sequence* sequence = making.sequence;
  packet_.clear();
  if (making.ns >= sequence->last_ns) {
    put_uint(&packet_, 8, making.ns - sequence->last_ns);
    sequence->last_ns = making.ns;
  } else {
    put_uint(&packet_, 8, making.ns);
    put_uint(&packet_, 58, kBoottime);
  }
  put_uint(&packet_, 10, sequence->id);
  if (!interned_.empty()) {
    put_uint(&packet_, 13, kNeedsState);
    put_bytes(&packet_, 12, interned_);
  }
  put_bytes(&packet_, 11, event_);
  if (sequence->machine) put_uint(&packet_, 98, sequence->machine);
  put_bytes(writer_->out(), 1, packet_);
}

void PerfettoSink::annotate(const Making& making, std::string_view name, uint32_t kind,
                            uint64_t value, std::string_view text) {
  const uint32_t id = interner_.name(name);
  interner_.define(PerfettoName::kAnnotation, id, &making.sequence->defined, &interned_);
  annotation_.clear();
  put_uint(&annotation_, 1, id);
  if (kind == kText) {
    clean_.clear();
    append_escaped(&clean_, text);
    put_bytes(&annotation_, kText, clean_);
  } else if (kind == kDouble) {
    proto::put_double(&annotation_, kDouble, std::bit_cast<double>(value));
  } else {
    put_uint(&annotation_, kind, value);
  }
  put_bytes(&event_, 4, annotation_);
}

void PerfettoSink::annotate_fields(const Making& making, const ExportSchema& schema,
                                   std::span<const uint8_t> record, AddressText* addresses) {
  for (const ExportField& field : schema.fields) {
    const ExportValue value = field.value(record);
    const bool is_plain = field.type != ExportField::Type::kSymbol;
    if (value.kind == ExportValue::Kind::kCut) continue;
    if (value.kind == ExportValue::Kind::kSigned) {
      annotate(making, field.key, kInt, value.bits);
    } else if (value.kind == ExportValue::Kind::kUnsigned && is_plain) {
      const bool is_pointer = field.type == ExportField::Type::kHex && field.element_size == 8;
      annotate(making, field.key, is_pointer ? kPointer : kUint, value.bits);
    } else if (value.kind == ExportValue::Kind::kReal) {
      annotate(making, field.key, kDouble, std::bit_cast<uint64_t>(value.real));
    } else {
      text_.clear();
      append_plain_value(&text_, field, record, addresses);
      annotate(making, field.key, kText, 0, text_);
    }
  }
}

// --- tracks

uint64_t PerfettoSink::process_track(const ExportProcess& process) {
  if (processes_.size() <= process.index) processes_.resize(process.index + 1);
  uint64_t& uuid = processes_[process.index];
  if (uuid) return uuid;
  uuid = ++last_uuid_;
  std::string name = escaped(process.name);
  if (meta_->hosts.size() > 1) name = escaped(meta_->hosts[process.host]) + ": " + name;
  std::string described, track, fields, tree, in_tree;
  put_int(&described, 1, process.pid);
  for (const std::string& word : process.command_line) put_bytes(&described, 2, escaped(word));
  put_bytes(&described, 6, name);
  put_uint(&track, 1, uuid);
  put_bytes(&track, 3, described);
  put_bytes(&fields, 60, track);
  put_packet(base(process.host), fields, 0);
  put_int(&in_tree, 1, process.pid);
  for (const std::string& word : process.command_line) put_bytes(&in_tree, 3, escaped(word));
  if (process.command_line.empty()) put_bytes(&in_tree, 3, name);
  put_bytes(&tree, 1, in_tree);
  fields.clear();
  put_bytes(&fields, 2, tree);
  put_packet(base(process.host), fields, 0);
  return uuid;
}

// The idle threads of all CPUs have one id, and are tracks without a thread.
void PerfettoSink::describe_thread(const ExportThread& thread, uint64_t uuid) {
  Sequence* sequence = base(thread.process->host);
  std::string described, track, fields, tree, in_tree;
  put_uint(&track, 1, uuid);
  if (thread.tid == 0) {
    put_bytes(&track, 2, "idle, CPU " + std::to_string(thread.cpu));
    put_bytes(&fields, 60, track);
    return put_packet(sequence, fields, 0);
  }
  const std::string name = escaped(thread.comm);
  put_uint(&track, 5, process_track(*thread.process));
  put_int(&described, 1, thread.process->pid);
  put_int(&described, 2, thread.tid);
  put_bytes(&described, 5, name);
  put_bytes(&track, 4, described);
  put_bytes(&fields, 60, track);
  put_packet(sequence, fields, 0);
  put_int(&in_tree, 1, thread.tid);
  put_bytes(&in_tree, 2, name);
  put_int(&in_tree, 3, thread.process->pid);
  put_bytes(&tree, 2, in_tree);
  fields.clear();
  put_bytes(&fields, 2, tree);
  put_packet(sequence, fields, 0);
}

PerfettoSink::ThreadTracks* PerfettoSink::tracks_of(const ExportThread& thread) {
  if (threads_.size() <= thread.index) threads_.resize(size_t(thread.index) * 2 + 1);
  ThreadTracks* tracks = &threads_[thread.index];
  if (!tracks->uuid) describe_thread(thread, tracks->uuid = ++last_uuid_);
  return tracks;
}

uint64_t PerfettoSink::child_track(Sequence* sequence, uint64_t parent, std::string_view name,
                                   bool is_counter) {
  std::string track, fields;
  put_uint(&track, 1, ++last_uuid_);
  if (parent) put_uint(&track, 5, parent);
  put_bytes(&track, 2, escaped(name));
  if (is_counter) put_bytes(&track, 8, "");
  put_bytes(&fields, 60, track);
  put_packet(sequence, fields, 0);
  return last_uuid_;
}

// Calls of one buffer are nested; those of another one need a track of their own.
PerfettoSink::CallTrack* PerfettoSink::call_track(const ExportEvent& event) {
  ThreadTracks* tracks = tracks_of(*event.thread);
  for (CallTrack& track : tracks->calls)
    if (track.input == event.input && track.buffer == event.buffer) return &track;
  CallTrack made{event.input, event.buffer, tracks->uuid, base_of(event)};
  if (!tracks->calls.empty())
    made.uuid = child_track(made.sequence, tracks->uuid,
                            "calls " + buffer_label(*meta_, event.input, event.buffer));
  if (sequences_.size() < kOwnSequences) {
    sequences_.push_back(std::make_unique<Sequence>());
    made.sequence = sequences_.back().get();
    made.sequence->id = uint32_t(sequences_.size());
    made.sequence->machine = base_of(event)->machine;
    made.sequence->default_track = made.uuid;
  }
  tracks->calls.push_back(made);
  return &tracks->calls.back();
}

// --- events

void PerfettoSink::slice_begin(const Making& making, const ExportEvent& event) {
  put_name(making, PerfettoName::kEvent, 10,
           interner_.function(source_, event, event.call.function));
  if (!event.stack.empty())
    put_name(making, PerfettoName::kStack, 56, interner_.stack(source_, event));
  if (event.call.args.empty()) return;
  const CallArguments* known = source_->arguments_of(event, event.call.function);
  for (const ExportArgument& one : export_arguments(event.call.args, known)) {
    const uint32_t kind = !one.text.empty() ? kText
                          : one.is_signed   ? kInt
                          : one.is_hex      ? kPointer
                                            : kUint;
    annotate(making, one.name, kind, one.number, one.text);
  }
}

void PerfettoSink::call_begin(const ExportEvent& event) {
  CallTrack* track = call_track(event);
  const Making making = make(track->sequence, event.ns, kBegin, track->uuid);
  slice_begin(making, event);
  write(making);
}

// A call that is open at the end stays open: the viewer shows that it did not finish.
void PerfettoSink::call_end(const ExportEvent& event) {
  if (event.call.how == ExportCallEnd::kOpenAtEnd) return;
  CallTrack* track = call_track(event);
  if (event.call.how == ExportCallEnd::kNoEntry) {
    const Making begin = make(track->sequence, event.call.begin_ns, kBegin, track->uuid);
    slice_begin(begin, event);
    write(begin);
  }
  const Making making = make(track->sequence, event.call.end_ns, kEnd, track->uuid);
  if (event.call.has_retval) annotate(making, "retval", kInt, event.call.retval);
  if (event.call.how == ExportCallEnd::kNoReturn)
    annotate(making, "no_return", kText, 0, "an exception, longjmp, or lost records");
  write(making);
}

void PerfettoSink::instant(const ExportEvent& event) {
  const ThreadTracks* tracks = tracks_of(*event.thread);
  uint32_t& name = event_names_[event.schema->index];
  uint32_t& category = categories_[event.schema->index];
  if (!name) name = interner_.name(event.schema->name);
  if (!category) category = interner_.name(event.schema->system);
  const Making making = make(base_of(event), event.ns, kInstant, tracks->uuid);
  put_name(making, PerfettoName::kCategory, 3, category);
  put_name(making, PerfettoName::kEvent, 10, name);
  if (!event.stack.empty())
    put_name(making, PerfettoName::kStack, 56, interner_.stack(source_, event));
  for (const uint64_t flow : event.flows)
    if (flow) proto::put_fixed(&event_, 47, flow);
  annotate_fields(making, *event.schema, event.record, &source_->addresses(event));
  write(making);
}

// The call from an entry's event to that of its return, with the fields of both.
void PerfettoSink::pair(const ExportEvent& event) {
  ThreadTracks* tracks = tracks_of(*event.thread);
  Sequence* sequence = base_of(event);
  if (!tracks->returns) tracks->returns = child_track(sequence, tracks->uuid, "returns");
  AddressText* addresses = &source_->addresses(event);
  const Making begin = make(sequence, event.pair->begin_ns, kBegin, tracks->returns);
  put_name(begin, PerfettoName::kEvent, 10,
           interner_.function(source_, event, event.pair->function));
  annotate_fields(begin, *event.pair->schema, event.pair->record, addresses);
  write(begin);
  const Making end = make(sequence, event.ns, kEnd, tracks->returns);
  annotate_fields(end, *event.schema, event.record, addresses);
  write(end);
}

void PerfettoSink::count(const ExportEvent& event) {
  for (CounterField& counter : counters_[event.schema->index]) {
    const ExportProcess& process = *event.thread->process;
    uint64_t& track = counter.tracks[process.index];
    if (!track) track = child_track(base_of(event), process_track(process), counter.name, true);
    const ExportValue value = counter.field->value(event.record);
    const Making making = make(base_of(event), event.ns, kCounter, track);
    if (value.kind == ExportValue::Kind::kReal) {
      proto::put_double(&event_, 44, value.real);
    } else if (value.kind == ExportValue::Kind::kSigned ||
               value.kind == ExportValue::Kind::kUnsigned) {
      put_uint(&event_, 30, value.bits);
    } else {
      continue;
    }
    write(making);
  }
}

void PerfettoSink::single(const ExportEvent& event) {
  tracks_of(*event.thread);
  if (!event.schema) return;
  const bool is_stack = event.schema->role == Role::kStack;
  if (!is_stack) ftrace_.event(event);
  const bool is_linked = event.flows != ExportEvent::Flows{};
  if (settings_.instants || !event.stack.empty() || is_linked) instant(event);
  if (event.pair) pair(event);
  if (!counters_[event.schema->index].empty()) count(event);
}

Status PerfettoSink::event(const ExportEvent& event) {
  if (interner_.is_full()) {  // a sequence that comes next begins anew
    interner_.clear();
    event_names_.assign(event_names_.size(), 0);
    categories_.assign(categories_.size(), 0);
    generation_++;
  }
  if (event.kind == ExportEvent::Kind::kCallBegin) {
    call_begin(event);
  } else if (event.kind == ExportEvent::Kind::kCallEnd) {
    call_end(event);
  } else {
    single(event);
  }
  ftrace_.flush(writer_->out(), false);
  return writer_->flush();
}

Status PerfettoSink::loss(const ExportEvent& event) {
  ftrace_.loss(event, writer_->out());
  Sequence* sequence = base_of(event);
  uint64_t& track = loss_tracks_[uint64_t{sequence->machine} << 32 | event.cpu];
  if (!track) track = child_track(sequence, 0, "lost events, CPU " + std::to_string(event.cpu));
  const Making making = make(sequence, event.ns, kInstant, track);
  put_name(making, PerfettoName::kEvent, 10, interner_.name("lost"));
  if (event.lost == kLostUnknown) {
    annotate(making, "lost", kText, 0, "some");
  } else {
    annotate(making, "lost", kUint, event.lost);
  }
  write(making);
  return writer_->flush();
}

Status PerfettoSink::end(const ExportStats&) {
  ftrace_.flush(writer_->out(), true);
  return writer_->finish();
}

Result<std::unique_ptr<ExportSink>> make_perfetto_sink(const ExportSettings& settings) {
  PB_ASSIGN(auto writer, ExportWriter::open(settings.path, settings.compression));
  return std::unique_ptr<ExportSink>(new PerfettoSink(std::move(writer), settings));
}

}  // namespace patchbay
