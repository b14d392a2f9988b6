// SPDX-License-Identifier: MIT
//
// The events of one kind as rows of a table: what the exports with columns (Parquet, SQLite, CTF)
// have in common. A row is
//
//   ts cpu tid pid comm [instance] [host]   the head: when, where, who
//   [function] [caller]                     names of the addresses that say where it happened
//   its fields                              typed; a function's address is its name
//   [text]                                  of printk: the line that report shows
//
// `instance` is there where a recording has several buffers, `host` where the inputs are of more
// than one.
// A text that could not be read, and what a record has been cut before, is null. Texts are UTF-8:
// bytes that are none become U+FFFD.
#pragma once

#include <bit>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "export/export_event.h"
#include "export/export_source.h"
#include "export/typed_column.h"

namespace patchbay {

// `text` where it is UTF-8; else a copy in `room` that is.
std::string_view as_utf8(std::string_view text, std::string* room);

class EventTables {
 public:
  EventTables(const ExportMeta& meta, ExportSource* source);

  // Names are unique in one table, together with those of `more`, which the caller adds. A null
  // schema stands for all events that no format describes.
  std::vector<TypedColumn> head_columns() const;
  std::vector<TypedColumn> columns(const ExportSchema* schema,
                                   const std::set<std::string>& more = {}) const;

  // The values of both, in their order. A Row has number(bits), text(), null(), begin_list() and
  // end_list(), each for the next column.
  template <typename Row>
  void put_head(const ExportEvent& event, Row& row);
  template <typename Row>
  void put(const ExportEvent& event, Row& row);
  // The three parts of put(), for who does the plain fields itself: the names in front, the fields
  // one by one, the line behind.
  template <typename Row>
  void put_names(const ExportEvent& event, Row& row);
  template <typename Row>
  void put_field(const ExportEvent& event, const ExportField& field, Row& row) {
    put_value(event, field, field.value(event.record), row);
  }
  template <typename Row>
  void put_line(const ExportEvent& event, Row& row) {
    if (event.schema && places(*event.schema).has_line) row.text(line(event));
  }
  // A list of names, or null where there is none.
  template <typename Row>
  void put_stack(const ExportEvent& event, Row& row);

  // As a text of the columns has it.
  const std::string& comm(const ExportEvent& event);
  std::string frame(const ExportEvent& event, size_t index);

 private:
  // Where a function's address stands, and how its name is shown.
  struct Place {
    const ExportField* field = nullptr;
    bool is_caller = false, with_offset = false;
  };
  struct Places {
    Place function, caller;
    bool has_line = false;
  };
  static Places places_of(const ExportSchema& schema);
  const Places& places(const ExportSchema& schema) {
    const bool is_known = schema.index < places_.size() && knows_places_[schema.index];
    return is_known ? places_[schema.index] : learn_places(schema);
  }
  const Places& learn_places(const ExportSchema& schema);
  std::string_view name_at(const ExportEvent& event, const Place& place, bool* is_there);
  static bool has_line(const ExportSchema& schema);
  std::string_view line(const ExportEvent& event);
  std::string_view symbol(const ExportEvent& event, uint64_t address);

  template <typename Row>
  void put_value(const ExportEvent& event, const ExportField& field, const ExportValue& value,
                 Row& row);

  const ExportMeta& meta_;
  ExportSource* source_;
  bool has_instances_ = false, has_hosts_ = false;
  std::vector<std::string> comms_;  // by thread
  std::vector<Places> places_;      // by schema
  std::vector<bool> knows_places_;
  std::string room_, line_;
};

template <typename Row>
void EventTables::put_head(const ExportEvent& event, Row& row) {
  row.number(event.ns);
  row.number(event.cpu);
  if (event.thread) {
    row.number(uint64_t(int64_t(event.thread->tid)));
    event.thread->process&& event.thread->process->is_known
        ? row.number(uint64_t(int64_t(event.thread->process->pid)))
        : row.null();
    row.text(comm(event));
  } else {
    row.null(), row.null(), row.null();
  }
  const ExportInputInfo& input = meta_.inputs[event.input];
  if (has_instances_) row.text(as_utf8(input.buffers[event.buffer], &room_));
  if (has_hosts_) row.text(as_utf8(meta_.hosts[input.host], &room_));
}

template <typename Row>
void EventTables::put_value(const ExportEvent& event, const ExportField& field,
                            const ExportValue& value, Row& row) {
  switch (value.kind) {
    case ExportValue::Kind::kCut:
    case ExportValue::Kind::kFault:
      return row.null();
    case ExportValue::Kind::kSigned:
      return row.number(value.bits);
    case ExportValue::Kind::kUnsigned:
      return field.type == ExportField::Type::kSymbol ? row.text(symbol(event, value.bits))
                                                      : row.number(value.bits);
    case ExportValue::Kind::kReal:
      return row.number(field.element_size == 4 ? std::bit_cast<uint32_t>(float(value.real))
                                                : std::bit_cast<uint64_t>(value.real));
    case ExportValue::Kind::kText:
      return row.text(as_utf8(value.text, &room_));
    case ExportValue::Kind::kArray:
      row.begin_list();
      for (uint32_t i = 0; i < value.count; i++)
        put_value(event, field, field.element(event.record, value, i), row);
      return row.end_list();
  }
}

template <typename Row>
void EventTables::put_names(const ExportEvent& event, Row& row) {
  const Places& known = places(*event.schema);
  for (const Place* place : {&known.function, &known.caller}) {
    if (!place->field) continue;
    bool is_there = false;
    const std::string_view name = name_at(event, *place, &is_there);
    is_there ? row.text(name) : row.null();
  }
}

template <typename Row>
void EventTables::put(const ExportEvent& event, Row& row) {
  if (!event.schema) {
    row.number(event.id());
    row.begin_list();
    for (const uint8_t byte : event.record) row.number(byte);
    return row.end_list();
  }
  put_names(event, row);
  for (const ExportField& field : event.schema->fields) put_field(event, field, row);
  put_line(event, row);
}

template <typename Row>
void EventTables::put_stack(const ExportEvent& event, Row& row) {
  if (event.stack.empty()) return row.null();
  row.begin_list();
  for (size_t i = 0; i < event.stack.size(); i++) row.text(frame(event, i));
  row.end_list();
}

}  // namespace patchbay
