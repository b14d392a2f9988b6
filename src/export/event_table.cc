// SPDX-License-Identifier: MIT
#include "export/event_table.h"

#include <cstring>

#include "base/unique_names.h"

namespace patchbay {
namespace {

using Role = ExportSchema::Role;

bool is_ascii(std::string_view text) {
  constexpr uint64_t kHigh = 0x8080808080808080;
  const char* at = text.data();
  size_t left = text.size();
  for (uint64_t word; left >= 8; at += 8, left -= 8) {
    std::memcpy(&word, at, 8);
    if (word & kHigh) return false;
  }
  for (; left; at++, left--)
    if (uint8_t(*at) & 0x80) return false;
  return true;
}

// Bytes of the well-formed character that starts here; 0: there is none.
size_t utf8_length(std::string_view text) {
  const auto first = uint8_t(text[0]);
  const size_t length = first < 0x80   ? 1
                        : first < 0xc2 ? 0
                        : first < 0xe0 ? 2
                        : first < 0xf0 ? 3
                        : first < 0xf5 ? 4
                                       : 0;
  if (length < 2 || text.size() < length) return length == 1 ? 1 : 0;
  for (size_t i = 1; i < length; i++)
    if ((uint8_t(text[i]) & 0xc0) != 0x80) return 0;
  const auto second = uint8_t(text[1]);
  const bool is_bad = (first == 0xe0 && second < 0xa0) || (first == 0xed && second >= 0xa0) ||
                      (first == 0xf0 && second < 0x90) || (first == 0xf4 && second >= 0x90);
  return is_bad ? 0 : length;
}

ColumnType type_of(const ExportField& field) {
  using Type = ExportField::Type;
  switch (field.type) {
    case Type::kSymbol:
    case Type::kChar:
    case Type::kText:
      return ColumnType::kText;
    case Type::kReal:
      return field.element_size == 4 ? ColumnType::kFloat : ColumnType::kDouble;
    default:
      break;
  }
  const auto first = field.type == Type::kSigned ? ColumnType::kInt8 : ColumnType::kUint8;
  return ColumnType(int(first) + std::bit_width(field.element_size) - 1);
}

}  // namespace

std::string_view as_utf8(std::string_view text, std::string* room) {
  if (is_ascii(text)) return text;
  room->clear();
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    *room += length ? text.substr(0, length) : "\xef\xbf\xbd";
    text.remove_prefix(length ? length : 1);
  }
  return *room;
}

EventTables::EventTables(const ExportMeta& meta, ExportSource* source)
    : meta_(meta), source_(source), has_hosts_(meta.hosts.size() > 1) {
  for (const ExportInputInfo& input : meta.inputs) has_instances_ |= input.buffers.size() > 1;
}

std::vector<TypedColumn> EventTables::head_columns() const {
  std::vector<TypedColumn> columns{{"ts", ColumnType::kTimestamp, false, true},
                                   {"cpu", ColumnType::kUint32, false, true},
                                   {"tid", ColumnType::kInt32},
                                   {"pid", ColumnType::kInt32},
                                   {"comm", ColumnType::kText}};
  if (has_instances_) columns.push_back({"instance", ColumnType::kText});
  if (has_hosts_) columns.push_back({"host", ColumnType::kText});
  return columns;
}

std::vector<TypedColumn> EventTables::columns(const ExportSchema* schema,
                                              const std::set<std::string>& more) const {
  std::set<std::string> reserved = more;
  for (const TypedColumn& column : head_columns()) reserved.insert(column.name);
  std::vector<TypedColumn> columns;
  if (!schema) return {{"event_id", ColumnType::kUint16}, {"record", ColumnType::kUint8, true}};
  const Places places = places_of(*schema);
  if (places.function.field) columns.push_back({"function", ColumnType::kText});
  if (places.caller.field) columns.push_back({"caller", ColumnType::kText});
  for (const TypedColumn& column : columns) reserved.insert(column.name);
  if (has_line(*schema)) reserved.insert("text");
  UniqueNames names(reserved);
  std::string room;
  for (const ExportField& field : schema->fields)
    columns.push_back({names.unique(as_utf8(field.name, &room)), type_of(field), field.is_array,
                       false, field.type == ExportField::Type::kHex});
  if (has_line(*schema)) columns.push_back({"text", ColumnType::kText});
  return columns;
}

// Which function, and what called it, as report --json has them.
EventTables::Places EventTables::places_of(const ExportSchema& schema) {
  const auto field = [&](const char* name) {
    const ExportField* found = schema.find(name);
    return found && found->is_number() && !found->is_array && found->element_size == 8 ? found
                                                                                       : nullptr;
  };
  switch (schema.role) {
    case Role::kFunction:
      return {{field("ip")}, {field("parent_ip"), true}};
    case Role::kGraphEntry:
      return {{field("func")}, {field("retaddr"), true}};
    case Role::kGraphExit:
      return {{field("func")}, {}};
    case Role::kProbeEntry:
      if (field("__probe_ip")) return {{field("__probe_ip"), false, true}, {}};
      return {{field("__ip")}, {field("__parent_ip"), true, true}};
    case Role::kProbeReturn:
      return {{field("__probe_func")}, {field("__probe_ret_ip"), true, true}};
    default:
      return {};
  }
}

const EventTables::Places& EventTables::learn_places(const ExportSchema& schema) {
  if (schema.index >= places_.size()) {
    places_.resize(schema.index + 1);
    knows_places_.resize(schema.index + 1);
  }
  places_[schema.index] = places_of(schema);
  places_[schema.index].has_line = has_line(schema);
  knows_places_[schema.index] = true;
  return places_[schema.index];
}

std::string_view EventTables::name_at(const ExportEvent& event, const Place& place,
                                      bool* is_there) {
  const ExportValue address = place.field->value(event.record);
  *is_there = address.kind != ExportValue::Kind::kCut;
  if (!*is_there) return {};
  AddressText& names = source_->addresses(event);
  const AddressText::Entry& entry =
      place.is_caller ? names.caller(address.bits) : names.of(address.bits);
  return as_utf8(place.with_offset ? entry.full : entry.plain, &room_);
}

std::string_view EventTables::symbol(const ExportEvent& event, uint64_t address) {
  return as_utf8(source_->addresses(event).of(address).full, &room_);
}

// Of printk with a format that stands elsewhere the fields say nothing.
bool EventTables::has_line(const ExportSchema& schema) {
  return schema.role == Role::kPrint && (schema.name == "bprint" || schema.name == "bputs");
}

std::string_view EventTables::line(const ExportEvent& event) {
  line_.clear();
  source_->append_text(&line_, event);
  return line_;
}

const std::string& EventTables::comm(const ExportEvent& event) {
  const uint32_t index = event.thread->index;
  if (index >= comms_.size()) comms_.resize(index + 1);
  std::string& known = comms_[index];
  if (known.empty()) known = as_utf8(event.thread->comm, &room_);
  return known;
}

std::string EventTables::frame(const ExportEvent& event, size_t index) {
  return std::string(as_utf8(source_->frame_name(event, index), &room_));
}

}  // namespace patchbay
