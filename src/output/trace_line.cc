// SPDX-License-Identifier: MIT
#include "output/trace_line.h"

#include <algorithm>

#include "abi/buffer_abi.h"
#include "base/text.h"
#include "output/line_columns.h"
#include "output/text_put.h"

namespace patchbay {

namespace {

abi::RecordHeader header_of(std::span<const uint8_t> record) {
  abi::RecordHeader header{};
  if (!record.empty()) std::memcpy(&header, record.data(), std::min(sizeof header, record.size()));
  return header;
}

}  // namespace

TraceLineWriter::TraceLineWriter(const std::vector<EventCall>& events, AddressNames* names)
    : text_by_id_(65536, 0), names_(names), addresses_(names, true) {
  context_.addresses = &addresses_;
  context_.arguments_of = &arguments_of_;
  context_.escape = true;
  context_.trace_cmd = true;
  for (const EventCall& event : events) {
    texts_.push_back(std::make_unique<EventText>(event, true));
    text_by_id_[event.id] = uint32_t(texts_.size());
  }
}

TraceLineWriter::~TraceLineWriter() = default;

void TraceLineWriter::stand_at(uint64_t ns, std::span<const uint8_t> record) {
  if (names_ && names_->has_images()) names_->stand_at(header_of(record).common_pid, ns);
}

void TraceLineWriter::set_comm(int32_t pid, std::string_view comm) {
  std::string text;
  append_escaped(&text, comm);
  comms_[pid] = text;
  last_comm_ = nullptr;
}

void TraceLineWriter::set_comms(std::string_view text) {
  while (!text.empty()) {
    std::string_view line = cut_at(&text, '\n');
    int32_t pid = 0;
    auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), pid);
    if (error == std::errc() && end < line.data() + line.size() && *end == ' ')
      set_comm(pid, line.substr(size_t(end - line.data()) + 1));
  }
}

const std::string& TraceLineWriter::comm_of(int32_t pid) {
  static const std::string unknown = "<...>", idle = "<idle>";
  if (const std::string* now = names_ ? names_->comm(pid) : nullptr; now && !now->empty()) {
    const auto [known, is_new] = image_comms_.try_emplace(now);
    if (is_new) append_escaped(&known->second, *now);
    return known->second;
  }
  if (last_comm_ && pid == last_pid_) return *last_comm_;
  auto found = comms_.find(pid);
  last_pid_ = pid;
  last_comm_ = found != comms_.end() ? &found->second : pid == 0 ? &idle : &unknown;
  return *last_comm_;
}

const EventText* TraceLineWriter::text_of(std::span<const uint8_t> record) const {
  if (record.size() < sizeof(abi::RecordHeader)) return nullptr;
  uint32_t index = text_by_id_[load<uint16_t>(record.data())];
  return index ? texts_[index - 1].get() : nullptr;
}

void TraceLineWriter::append_columns(std::string* out, uint32_t cpu, uint64_t ns,
                                     std::span<const uint8_t> record) {
  const abi::RecordHeader header = header_of(record);
  put_columns(out, comm_of(header.common_pid), header, cpu, ns);
}

void TraceLineWriter::append_line(std::string* out, uint32_t cpu, uint64_t ns,
                                  std::span<const uint8_t> record) {
  append_columns(out, cpu, ns, record);
  append_text(out, record);
  *out += '\n';
}

void TraceLineWriter::append_text(std::string* out, std::span<const uint8_t> record) {
  if (const EventText* text = text_of(record)) return text->append(out, record, &context_);
  *out += "unknown event ";
  put_number(out, header_of(record).common_type);
}

void TraceLineWriter::append_flags(std::string* out, std::span<const uint8_t> record) {
  const abi::RecordHeader header = header_of(record);
  put_flags(out, header.common_flags, header.common_preempt_count);
}

bool TraceLineWriter::may_be_leaf(std::span<const uint8_t> entry) const {
  const EventText* text = text_of(entry);
  return text && text->tracer().kind() == TracerText::Kind::kGraphEntry;
}

bool TraceLineWriter::is_leaf(std::span<const uint8_t> entry, std::span<const uint8_t> exit) const {
  using Kind = TracerText::Kind;
  const EventText *first = text_of(entry), *second = text_of(exit);
  if (!first || !second || first->tracer().kind() != Kind::kGraphEntry ||
      second->tracer().kind() != Kind::kGraphExit)
    return false;
  return first->tracer().graph_call(entry) == second->tracer().graph_call(exit);
}

void TraceLineWriter::append_leaf(std::string* out, uint32_t cpu, uint64_t ns,
                                  std::span<const uint8_t> entry, std::span<const uint8_t> exit) {
  append_columns(out, cpu, ns, entry);
  text_of(entry)->append_leaf(out, entry, text_of(exit)->tracer().graph_ns(exit), &context_);
  *out += '\n';
}

void TraceLineWriter::append_json(std::string* out, uint32_t cpu, uint64_t ns,
                                  std::span<const uint8_t> record) {
  abi::RecordHeader header = header_of(record);
  const EventText* text = text_of(record);
  *out += "{\"ts\":";
  put_number(out, ns / 1000000000);
  *out += '.';
  put_padded(out, ns % 1000000000, 9, '0');
  *out += ",\"cpu\":";
  put_number(out, cpu);
  *out += ",\"pid\":";
  put_number(out, header.common_pid);
  *out += ",\"comm\":";
  append_json_string(out, comm_of(header.common_pid));
  *out += ",\"event\":";
  append_json_string(out,
                     text ? text->name() : "unknown event " + std::to_string(header.common_type));
  if (text) {
    text->append_json(out, record, &context_);
  } else {
    *out += ",\"fields\":{}";
  }
  *out += "}\n";
}

void TraceLineWriter::append_lost(std::string* out, uint32_t cpu, uint64_t lost) {
  put_lost(out, cpu, lost);
}

void TraceLineWriter::append_header(std::string* out, uint32_t nr_cpus, uint64_t entries,
                                    uint64_t written, std::string_view tracer) {
  std::string head;
  put_header(&head, TraceOptions(), false, {entries, written, nr_cpus});
  *out += "# tracer: ";
  *out += tracer;
  *out += std::string_view(head).substr(head.find('\n'));
}

}  // namespace patchbay
