// SPDX-License-Identifier: MIT
#include "ship/ship_convert.h"

#include <cerrno>

namespace patchbay {
namespace {

constexpr uint64_t kDayNs = 86'400'000'000'000;

void put_length(std::string* out, size_t length) {
  for (; length >= 0x80; length >>= 7) *out += char(length | 0x80);
  *out += char(length);
}

void put_text(std::string* out, std::string_view text) {
  put_length(out, text.size());
  *out += text;
}

// host boot_id pid tid comm exe
std::string who_is(const ShipOrigin& origin, int32_t pid, int32_t tid, std::string_view comm,
                   std::string_view exe) {
  std::string out, room;
  put_text(&out, as_utf8(origin.host, &room));
  for (int i = 7; i >= 0; i--) out += char(origin.boot_id[size_t(i)]);
  for (int i = 15; i >= 8; i--) out += char(origin.boot_id[size_t(i)]);
  out.append(reinterpret_cast<const char*>(&pid), sizeof pid);
  out.append(reinterpret_cast<const char*>(&tid), sizeof tid);
  put_text(&out, as_utf8(comm, &room));
  put_text(&out, as_utf8(exe, &room));
  return out;
}

}  // namespace

struct ShipConverter::Table {
  ShipTable table;
  std::unique_ptr<ShipPlan> plan;  // null: of no schema
  RowBinary rows;
  std::vector<uint32_t> ends;
  std::string list;
  RowBinaryRow row{&rows, nullptr, nullptr};
  uint32_t next_block = 0;
  uint64_t refused = 0;
  uint16_t day = 0;
  bool is_prepared = false, is_refused = false;
};

ShipConverter::ShipConverter(ShipOrigin origin, ShipSink* sink, const ShipLimits& limits)
    : origin_(std::move(origin)), sink_(sink), limits_(limits) {
  nobody_ = who_is(origin_, 0, 0, "", "");
  losses_ = add_table(ship_losses_table(), nullptr);
}

ShipConverter::~ShipConverter() = default;

ShipConverter::Table* ShipConverter::add_table(ShipTable table, const ExportSchema* schema) {
  // Layouts of one event with other fields go to one table, each with blocks of its own. The block
  // numbers of the second begin far behind those of the first.
  uint32_t first_block = 0;
  for (const auto& [label, other] : tables_)
    if (other->table.name == table.name) first_block += 1u << 24;
  const std::string label = schema ? schema->label : table.name;
  auto made = std::make_unique<Table>();
  made->table = std::move(table);
  made->row = RowBinaryRow(&made->rows, &made->table.columns, &made->list);
  made->next_block = first_block;
  if (schema)
    made->plan =
        std::make_unique<ShipPlan>(*schema, ShipTable::nr_head(), made->table.columns.size());
  return (tables_[label] = std::move(made)).get();
}

Status ShipConverter::begin(const ExportMeta& meta, ExportSource* source) {
  meta_ = &meta;
  events_ = std::make_unique<EventTables>(meta, source);
  last_ns_ = meta.first_ns;
  return {};
}

Status ShipConverter::schema(const ExportSchema& schema) {
  if (schema.index >= by_schema_.size()) by_schema_.resize(schema.index + 1);
  by_schema_[schema.index] = add_table(ship_table_of(*events_, &schema), &schema);
  return {};
}

std::string_view ShipConverter::who(const ExportEvent& event) {
  if (!event.thread) return nobody_;
  const ExportThread& thread = *event.thread;
  if (thread.index >= who_.size()) who_.resize(thread.index + 1);
  std::string& known = who_[thread.index];
  if (known.empty()) {
    const ExportProcess* process = thread.process;
    known = who_is(origin_, process && process->is_known ? process->pid : 0, thread.tid,
                   thread.comm, process ? process->exe : "");
  }
  return known;
}

void ShipConverter::put_head(Table* table, std::string_view who, std::string_view instance,
                             uint32_t cpu, uint64_t ns) {
  RowBinary& rows = table->rows;
  const uint64_t wall = origin_.has_wall ? ns + uint64_t(origin_.wall_offset) : 0;
  if (table->ends.empty()) table->day = uint16_t(wall / kDayNs);
  rows.append(who.data(), who.size());
  rows.put_text(as_utf8(instance, &room_));
  rows.put(cpu);
  rows.put(ns);
  rows.put(wall);
  rows.put(table->day);
  rows.put(origin_.source);
  rows.put(table->next_block);
  rows.put(uint32_t(table->ends.size()));
  last_ns_ = ns;
}

Status ShipConverter::event(const ExportEvent& event) {
  if (event.record.empty()) return {};  // the end of a call that has no record
  if (!event.schema && !unknown_) unknown_ = add_table(ship_table_of(*events_, nullptr), nullptr);
  Table* table = event.schema ? by_schema_[event.schema->index] : unknown_;
  if (table->is_refused) return table->refused++, counts_.refused++, Status();
  put_head(table, who(event), meta_->inputs[event.input].buffers[event.buffer], event.cpu,
           event.ns);
  if (table->plan) {
    table->plan->put(event, *events_, &table->rows, table->row);
  } else {
    table->row.go_to(ShipTable::nr_head());
    events_->put(event, table->row);
    table->row.null();
  }
  return end_row(table);
}

Status ShipConverter::loss(const ExportEvent& event) {
  const bool is_unknown = event.lost == kLostUnknown;
  return add_loss({event.ns, event.cpu, 0, "", "overwritten",
                   meta_->inputs[event.input].buffers[event.buffer], is_unknown ? 1 : event.lost,
                   is_unknown});
}

Status ShipConverter::add_loss(const ShipLoss& loss) {
  const std::string who = loss.pid ? who_is(origin_, loss.pid, 0, "", "") : nobody_;
  put_head(losses_, who, loss.instance, loss.cpu, loss.ns ? loss.ns : last_ns_);
  for (const std::string* text : {&loss.event, &loss.reason})
    losses_->rows.put_text(as_utf8(*text, &room_));
  losses_->rows.put(loss.lost);
  losses_->rows.put(uint8_t(loss.at_least));
  counts_.lost += loss.lost;
  return end_row(losses_);
}

Status ShipConverter::end_row(Table* table) {
  table->ends.push_back(uint32_t(table->rows.size()));
  const bool is_full = table->ends.size() >= limits_.rows || table->rows.size() >= limits_.bytes;
  return is_full ? deliver(table) : Status();
}

void ShipConverter::refuse(Table* table, const Error& error) {
  table->is_refused = true;
  notes_.push_back(error.message());
}

Status ShipConverter::prepare(Table* table) {
  if (table->is_prepared) return {};
  const Status prepared = sink_->prepare(table->table, origin_);
  if (!prepared.ok() && prepared.error().errno_value == EEXIST) {
    refuse(table, prepared.error());
    return {};
  }
  PB_TRY(prepared);
  table->is_prepared = true;
  return {};
}

Status ShipConverter::deliver(Table* table) {
  PB_TRY(prepare(table));
  const uint32_t rows = uint32_t(table->ends.size());
  if (table->is_refused) {
    table->refused += rows;
    counts_.refused += rows;
  } else {
    const Status sent = sink_->deliver(
        {&table->table, &origin_, table->next_block, rows, table->rows.bytes(), &table->ends});
    if (!sent.ok() && sent.error().errno_value != EEXIST) return sent.error();
    if (sent.ok()) {
      counts_.rows += rows;
      counts_.bytes += table->rows.size();
      counts_.blocks++;
    } else {  // it has become another table meanwhile
      refuse(table, sent.error());
      table->refused += rows;
      counts_.refused += rows;
    }
    table->next_block++;
  }
  table->rows.clear();
  table->ends.clear();
  return {};
}

Status ShipConverter::end(const ExportStats& stats) {
  for (const auto& [label, table] : tables_)
    if (table.get() != losses_ && !table->ends.empty()) PB_TRY(deliver(table.get()));
  for (const auto& [label, table] : tables_) {
    if (table->refused && table.get() != losses_)
      PB_TRY(add_loss({0, 0, 0, table->table.system + ":" + table->table.event, "refused", "",
                       table->refused, false}));
  }
  if (stats.damaged_pages)
    PB_TRY(add_loss({0, 0, 0, "", "damaged", "", stats.damaged_pages, true}));
  return losses_->ends.empty() ? Status() : deliver(losses_);
}

}  // namespace patchbay
