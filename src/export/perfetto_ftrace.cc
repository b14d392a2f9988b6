// SPDX-License-Identifier: MIT
#include "export/perfetto_ftrace.h"

#include <algorithm>
#include <utility>

#include "export/export_text.h"
#include "export/proto_write.h"
#include "output/trace_line.h"

namespace patchbay {

using proto::put_bytes;
using proto::put_int;
using proto::put_uint;

namespace {

constexpr uint32_t kFirstGeneric = 65536;  // numbers of events from here on have descriptors
constexpr uint32_t kSchedSwitch = 4;       // perfetto makes states of threads and CPUs of it
constexpr size_t kMostFields = 31;         // numbers of fields are below 32
enum : uint32_t { kDouble = 1, kInt64 = 3, kUint64 = 4, kString = 9 };

uint32_t type_of(const ExportField& field) {
  if (field.is_array || !(field.is_number() || field.type == ExportField::Type::kReal) ||
      field.type == ExportField::Type::kSymbol)
    return kString;
  if (field.type == ExportField::Type::kReal) return kDouble;
  return field.type == ExportField::Type::kSigned ? kInt64 : kUint64;
}

}  // namespace

// The number of an event. Perfetto's own message of sched_switch has the fields of the kernel's.
uint32_t PerfettoFtrace::number_of(const ExportSchema& schema) {
  constexpr const char* kFields[] = {"prev_comm", "prev_pid", "prev_prio", "prev_state",
                                     "next_comm", "next_pid", "next_prio"};
  const bool is_switch =
      schema.system == "sched" && schema.name == "sched_switch" &&
      std::equal(schema.fields.begin(), schema.fields.end(), std::begin(kFields), std::end(kFields),
                 [](const ExportField& field, const char* name) { return field.name == name; });
  return is_switch ? kSchedSwitch : kFirstGeneric + schema.index;
}

std::string PerfettoFtrace::descriptor_of(const ExportSchema& schema) const {
  std::string event, name;
  append_escaped(&name, schema.label.substr(schema.system.size() + 1));
  put_bytes(&event, 1, name);
  const auto add = [&event](std::string_view raw, size_t number, uint32_t type) {
    std::string field, clean;
    append_escaped(&clean, raw);
    put_bytes(&field, 1, clean);
    put_uint(&field, 3, number);
    put_uint(&field, 5, type);
    put_bytes(&event, 2, field);
  };
  if (schema.role == ExportSchema::Role::kPrint) add("text", 1, kString);
  for (size_t i = 0; schema.role != ExportSchema::Role::kPrint && i < schema.fields.size(); i++)
    if (i < kMostFields) add(schema.fields[i].name, i + 1, type_of(schema.fields[i]));
  std::string made, group;
  append_escaped(&group, schema.system);
  put_uint(&made, 1, kFirstGeneric + schema.index);
  put_bytes(&made, 2, event);
  put_bytes(&made, 3, group);
  return made;
}

void PerfettoFtrace::schema(const ExportSchema& schema) {
  if (descriptors_.size() <= schema.index) descriptors_.resize(schema.index + 1);
  descriptors_[schema.index] = descriptor_of(schema);
}

PerfettoFtrace::Machine* PerfettoFtrace::machine_of(const ExportEvent& event, uint32_t* number) {
  *number = source_->meta().inputs[event.input].host;
  return &machines_[*number];
}

void PerfettoFtrace::put_fields(const ExportEvent& event, std::string* message) {
  const ExportSchema& schema = *event.schema;
  AddressText& addresses = source_->addresses(event);
  const auto put_text = [&](uint32_t number) {
    fields_.clear();
    append_escaped(&fields_, text_);
    put_bytes(message, number, fields_);
  };
  text_.clear();
  if (schema.role == ExportSchema::Role::kPrint) {
    source_->append_text(&text_, event);
    return put_text(1);
  }
  const size_t count = std::min(schema.fields.size(), kMostFields);
  for (uint32_t i = 0; i < count; i++) {
    const ExportField& field = schema.fields[i];
    const uint32_t type = type_of(field);
    if (type == kString) {
      text_.clear();
      append_plain_value(&text_, field, event.record, &addresses);
      put_text(i + 1);
      continue;
    }
    const ExportValue value = field.value(event.record);
    if (value.kind == ExportValue::Kind::kCut) continue;
    if (type == kDouble) {
      proto::put_double(message, i + 1, value.real);
    } else {
      put_uint(message, i + 1, value.bits);
    }
  }
}

// The time first, then the thread: perfetto's fast path.
void PerfettoFtrace::event(const ExportEvent& event) {
  uint32_t number = 0;
  Machine* machine = machine_of(event, &number);
  Cpu* cpu = &machine->cpus[event.cpu];
  if (machine->described.size() < descriptors_.size())
    machine->described.resize(descriptors_.size());
  const uint32_t event_number = number_of(*event.schema);
  if (!machine->described[event.schema->index] && event_number >= kFirstGeneric)
    put_bytes(&machine->pending, 11, descriptors_[event.schema->index]);
  machine->described[event.schema->index] = true;
  std::string fields;
  put_fields(event, &fields);
  message_.clear();
  put_uint(&message_, 1, event.ns);
  put_int(&message_, 2, event.tid());
  if (event.record.size() > 2 && event.record[2]) put_uint(&message_, 5, event.record[2]);
  put_bytes(&message_, event_number, fields);
  put_bytes(&cpu->events, 2, message_);
  any_long_ |= cpu->events.size() >= kBundle;
}

void PerfettoFtrace::loss(const ExportEvent& event, std::string* out) {
  uint32_t machine = 0;
  Cpu& cpu = machine_of(event, &machine)->cpus[event.cpu];
  flush_cpu(machine, event.cpu, &cpu, out);  // the flag is about what is in front of a bundle
  cpu.lost = true;
}

void PerfettoFtrace::flush_cpu(uint32_t machine, uint32_t number, Cpu* cpu, std::string* out) {
  if (cpu->events.empty() && !cpu->lost) return;
  std::string bundle, packet;
  put_uint(&bundle, 1, number);
  bundle += std::exchange(machines_[machine].pending, {});
  bundle += cpu->events;
  if (cpu->lost) put_uint(&bundle, 3, 1);
  put_uint(&packet, 10, machine + 1);
  if (machine) put_uint(&packet, 98, machine);
  put_bytes(&packet, 1, bundle);
  put_bytes(out, 1, packet);
  cpu->events.clear();
  cpu->lost = false;
}

void PerfettoFtrace::flush(std::string* out, bool all) {
  if (!all && !any_long_) return;
  any_long_ = false;
  for (auto& [host, machine] : machines_)
    for (auto& [number, cpu] : machine.cpus)
      if (all || cpu.events.size() >= kBundle) flush_cpu(host, number, &cpu, out);
}

}  // namespace patchbay
