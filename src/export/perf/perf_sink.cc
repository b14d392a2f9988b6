// SPDX-License-Identifier: MIT
#include "export/perf/perf_sink.h"

#include <algorithm>
#include <cstring>

#include "base/file_mapping.h"
#include "base/text.h"
#include "export/export_formats.h"
#include "output/trace_line.h"
#include "symbol/elf_image.h"
#include "symbol/held_files.h"

namespace patchbay {
namespace {

using Role = ExportSchema::Role;

// What libtraceevent reads as one word.
std::string word(std::string_view name) {
  std::string out;
  for (const char c : name) out += is_name_char(c) ? c : '_';
  return out.empty() || is_digit(out[0]) ? "_" + out : out;
}

// Commas and such would end a format's line, or a string.
std::string escaped(std::string_view text) {
  std::string out;
  append_escaped(&out, text);
  return out;
}

const ExportField* place_of(const ExportSchema& schema) {
  static constexpr const char* kNames[] = {"__ip", "__probe_ip", "__probe_func", "ip", "func"};
  if (schema.role == Role::kEvent || schema.role == Role::kSynthetic) return nullptr;
  for (const char* name : kNames)
    if (const ExportField* field = schema.find(name); field && field->element_size == 8)
      return field;
  return nullptr;
}

// The format of events that the recording does not describe: their common fields.
std::string unknown_format(uint16_t id) {
  EventCall event;
  event.system = "patchbay";
  event.name = "unknown";
  event.id = id;
  event.common = common_fields();
  event.print_fmt = "\"\"";
  return event.format_text();
}

}  // namespace

Result<std::unique_ptr<PerfSink>> PerfSink::create(const std::string& path) {
  std::unique_ptr<PerfSink> sink(new PerfSink);
  PB_ASSIGN(sink->file_, PerfDataFile::create(path));
  return sink;
}

Status PerfSink::begin(const ExportMeta& meta, ExportSource*) {
  meta_ = &meta;
  return {};
}

Status PerfSink::schema(const ExportSchema& schema) { return add_kind(&schema); }

uint16_t PerfSink::free_id(uint16_t wanted) {
  uint32_t id = wanted;
  for (uint32_t tries = 0; taken_ids_[id] && tries < 65536; tries++) id = (id + 1) & 0xffff;
  taken_ids_[id] = true;
  return uint16_t(id);
}

Status PerfSink::add_kind(const ExportSchema* schema) {
  const size_t index = schema ? schema->index + 1 : 0;
  if (index >= kinds_.size()) kinds_.resize(index + 1);
  Kind& kind = kinds_[index];
  kind.is_known = true;
  kind.id = free_id(schema ? schema->id : 65535);
  if (!schema) {
    formats_.push_back({"patchbay", "unknown", unknown_format(kind.id), kind.id});
    return {};
  }
  kind.place = place_of(*schema);
  EventCall call = *schema->call;
  call.id = kind.id;
  call.name = word(call.name);
  for (EventField& field : call.fields) field.name = escaped(field.name);
  formats_.push_back({word(call.system), call.name, call.format_text(), kind.id});
  return {};
}

// perf adds a mapping's offset in the file to an address in it, so each executable segment has its
// own. Where the file has gone, or is another one now, there is one from its beginning on.
Status PerfSink::write_mappings(const ExportProcess& process) {
  for (const RecordedModule& module : process.modules) {
    PerfMapping mapping{process.pid, module.start,         module.end - module.start,
                        0,           escaped(module.path), module.build_id};
    bool is_written = false;
    auto file = FileMapping::open(place_of_file(module.path, module.build_id));
    auto image = file.ok() ? ElfImage::from_file(file->bytes()) : Result<ElfImage>(file.error());
    if (image.ok() && image->build_id() == module.build_id) {
      for (const Elf64_Phdr& segment : image->segments()) {
        if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X)) continue;
        constexpr uint64_t kPage = 4095;
        mapping.start = (module.bias + segment.p_vaddr) & ~kPage;
        mapping.size =
            ((module.bias + segment.p_vaddr + segment.p_memsz + kPage) & ~kPage) - mapping.start;
        mapping.file_offset = segment.p_offset & ~kPage;
        PB_TRY(file_->mapping(mapping));
        is_written = true;
      }
    }
    if (!is_written) PB_TRY(file_->mapping(mapping));
  }
  return {};
}

// A thread is named before its first event, its process before it.
Status PerfSink::say_thread(const ExportThread& thread, uint64_t ns) {
  if (thread.index >= said_threads_.size()) said_threads_.resize(thread.index + 1, false);
  if (said_threads_[thread.index]) return {};
  said_threads_[thread.index] = true;
  const ExportProcess* process = thread.process;
  const int32_t pid = process ? process->pid : thread.tid;
  if (process) {
    if (process->index >= said_processes_.size()) said_processes_.resize(process->index + 1, false);
    if (!said_processes_[process->index]) {
      said_processes_[process->index] = true;
      if (pid != thread.tid) PB_TRY(file_->comm(pid, pid, escaped(process->name), ns));
      PB_TRY(write_mappings(*process));
    }
  }
  return file_->comm(pid, thread.tid, escaped(thread.comm), ns);
}

const PerfSink::Kind& PerfSink::kind_of(const ExportEvent& event) const {
  return kinds_[event.schema ? event.schema->index + 1 : 0];
}

Status PerfSink::event(const ExportEvent& event) {
  if (event.record.size() < 8) return {};  // the end of a call that has no record
  if (!event.schema && (kinds_.empty() || !kinds_[0].is_known)) PB_TRY(add_kind(nullptr));
  if (event.thread) PB_TRY(say_thread(*event.thread, event.ns));
  const Kind& kind = kind_of(event);
  const ExportProcess* process = event.thread ? event.thread->process : nullptr;
  PerfSample sample{event.ns,    event.cpu,   process ? process->pid : event.tid(),
                    event.tid(), kind.id,     0,
                    event.stack, event.record};
  if (!event.stack.empty()) {
    sample.ip = event.stack[0];
  } else if (kind.place) {
    sample.ip = kind.place->value(event.record).bits;
  }
  if (event.id() != kind.id) {
    record_.assign(event.record.begin(), event.record.end());
    std::memcpy(record_.data(), &kind.id, 2);
    sample.record = record_;
  }
  return file_->sample(sample);
}

Status PerfSink::loss(const ExportEvent& event) {
  return file_->lost(event.ns, event.cpu, event.lost == kLostUnknown ? 1 : event.lost);
}

Status PerfSink::end(const ExportStats&) {
  PerfDataFile::About about;
  about.cpus = std::max(meta_->nr_cpus, 1u);
  if (!meta_->hosts.empty()) about.hostname = escaped(meta_->hosts[0]);
  about.command_line = "patchbay export --to perf";
  for (const ExportInputInfo& input : meta_->inputs)
    about.command_line += " " + escaped(input.path);
  return file_->finish(formats_, about);
}

std::vector<std::string> PerfSink::notes() const {
  if (!file_->cut_records()) return {};
  return {std::to_string(file_->cut_records()) +
          " records are cut at their ends: one of perf has less than 64 KiB"};
}

Result<std::unique_ptr<ExportSink>> make_perf_sink(const ExportSettings& settings) {
  PB_TRY(needs_a_place(settings, "perf"));
  return as_export_sink(PerfSink::create(settings.path));
}

}  // namespace patchbay
