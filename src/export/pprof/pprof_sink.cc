// SPDX-License-Identifier: MIT
#include "export/pprof/pprof_sink.h"

#include <algorithm>

#include "export/export_formats.h"
#include "output/trace_line.h"

namespace patchbay {
namespace {

std::string escaped(std::string_view text) {
  std::string out;
  append_escaped(&out, text);
  return out;
}

// Addresses of several inputs are different places. No address of a process has these bits.
uint64_t place_of(uint32_t input, uint32_t table, uint64_t address) {
  return address ^ uint64_t { input } << 47 ^ table * 0x9e3779b97f4a7c15u;
}

}  // namespace

PprofSink::PprofSink()
    : profile_(std::vector<PprofProfile::ValueType>{
          {"calls", "count"}, {"events", "count"}, {"time", "nanoseconds"}}) {}

Result<std::unique_ptr<PprofSink>> PprofSink::create(const std::string& path) {
  std::unique_ptr<PprofSink> sink(new PprofSink);
  PB_ASSIGN(sink->writer_, ExportWriter::open(path, ExportCompression::kGzip));
  return sink;
}

Status PprofSink::begin(const ExportMeta& meta, ExportSource* source) {
  meta_ = &meta;
  source_ = source;
  return {};
}

uint32_t PprofSink::frame(const ExportEvent& event, uint64_t address) {
  return profile_.frame(place_of(event.input, source_->addresses(event).table(), address),
                        [&] { return escaped(source_->addresses(event).of(address).plain); });
}

// A return address belongs to the call before it, and is a place of its own.
uint32_t PprofSink::stack_frame(const ExportEvent& event, size_t index) {
  const bool is_place = index == 0 || index == event.kernel_frames;
  const uint64_t address = event.stack[index] - (is_place ? 0 : 1);
  return profile_.frame(place_of(event.input, source_->addresses(event).table(), address),
                        [&] { return escaped(source_->frame_name(event, index)); });
}

std::vector<PprofSink::OpenCall>& PprofSink::open_calls(const ExportEvent& event) {
  const std::pair key{uint64_t{event.input} << 32 | event.buffer, event.thread};
  if (last_ && key == last_key_) return *last_;
  last_key_ = key;
  last_ = &threads_[key];
  return *last_;
}

void PprofSink::take_begin(const ExportEvent& event) {
  std::vector<OpenCall>& open = open_calls(event);
  const uint32_t above = open.empty() ? PprofProfile::kRoot : open.back().node;
  open.push_back({profile_.child(above, frame(event, event.call.function))});
}

void PprofSink::take_end(const ExportEvent& event) {
  std::vector<OpenCall>& open = open_calls(event);
  if (event.call.how == ExportCallEnd::kNoEntry || open.empty()) {
    const uint32_t above = open.empty() ? PprofProfile::kRoot : open.back().node;
    open.push_back({profile_.child(above, frame(event, event.call.function))});
  }
  const OpenCall call = open.back();
  open.pop_back();
  const uint64_t took = event.call.duration_ns;
  profile_.add(call.node, kCalls, 1);
  profile_.add(call.node, kTime, took - std::min(took, call.child_ns));
  if (!open.empty()) open.back().child_ns += took;
}

void PprofSink::take_event(const ExportEvent& event) {
  if (!event.schema) return;
  const bool is_call = event.schema->role == ExportSchema::Role::kFunction;
  if (event.stack.empty() && !is_call) return;
  if (event.schema->index >= roots_.size()) roots_.resize(event.schema->index + 1);
  uint32_t& root = roots_[event.schema->index];
  if (!root) root = profile_.root(escaped(event.schema->label));
  uint32_t node = root;
  for (size_t i = event.stack.size(); i-- > 0;) node = profile_.child(node, stack_frame(event, i));
  uint64_t count = 1;
  if (is_call && event.stack.empty()) {
    const ExportField *ip = event.schema->find("ip"), *parent = event.schema->find("parent_ip");
    if (!ip || !parent) return;
    node = profile_.child(node, frame(event, parent->value(event.record).bits - 1));
    node = profile_.child(node, frame(event, ip->value(event.record).bits));
    // func_repeats stands for several calls.
    if (const ExportField* repeats = event.schema->find("count"))
      count = repeats->value(event.record).bits;
  }
  profile_.add(node, kEvents, count);
}

Status PprofSink::event(const ExportEvent& event) {
  switch (event.kind) {
    case ExportEvent::Kind::kCallBegin:
      take_begin(event);
      break;
    case ExportEvent::Kind::kCallEnd:
      take_end(event);
      break;
    default:
      take_event(event);
  }
  return {};
}

Status PprofSink::end(const ExportStats& stats) {
  if (profile_.nodes() == 1 && stats.events > 0) return has_no_stacks("pprof");
  std::vector<PprofProfile::Mapping> mappings;
  if (meta_->inputs.size() == 1)
    for (const ExportProcess* process : meta_->processes)
      for (const RecordedModule& module : process->modules)
        mappings.push_back({module.start, module.end, escaped(module.path), module.build_id});
  profile_.set_mappings(std::move(mappings));
  profile_.set_times(0, stats.last_ns - stats.first_ns);
  uint64_t lost = 0;
  for (const auto& [cpu, number] : stats.lost_by_cpu) lost += number;
  if (lost)
    profile_.add_comment(std::string(stats.lost_at_least ? "at least " : "") +
                         std::to_string(lost) + " events were lost while it was recorded");
  for (const std::string& note : notes()) profile_.add_comment(note);
  PB_TRY(writer_->put(profile_.encode()));
  return writer_->finish();
}

std::vector<std::string> PprofSink::notes() const {
  if (!profile_.cut_stacks()) return {};
  return {std::to_string(profile_.cut_stacks()) +
          " stacks are cut: there are more different ones than a profile holds"};
}

Result<std::unique_ptr<ExportSink>> make_pprof_sink(const ExportSettings& settings) {
  return as_export_sink(PprofSink::create(settings.path));
}

}  // namespace patchbay
