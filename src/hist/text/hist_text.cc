// SPDX-License-Identifier: MIT
//
// A line of `hist` is its columns one after the other; what a column is, is decided once.
//
//   { pid:       1234, comm: sh         } hitcount:   7  bytes:  99 <actions>
//     KeyColumn        KeyColumn          ValueColumn    ValueColumn
//
// Names, widths and blanks are those of kernel/trace/trace_events_hist.c (hist_trigger_print_key,
// hist_trigger_print_val, track_data_print, hist_trigger_show).
#include "hist/text/hist_text.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <unordered_map>

#include "hist/definition/hist_listing.h"
#include "hist/hist_program.h"
#include "hist/quantile_buckets.h"
#include "hist/text/hist_sort.h"
#include "hist/text/hist_values.h"
#include "output/address_text.h"
#include "output/syscall_names.h"
#include "output/text_put.h"

namespace patchbay {

namespace {

constexpr int kNumberWidth = kHistNumberWidth;

// Filled with blanks on the right, as %-*s.
void put_left(std::string* out, std::string_view text, size_t width) {
  out->append(text);
  if (text.size() < width) out->append(width - text.size(), ' ');
}

void put_value(std::string* out, uint64_t value) { put_padded(out, value, kNumberWidth, ' '); }

std::string_view text_at(const uint8_t* bytes, size_t size) {
  return {reinterpret_cast<const char*>(bytes),
          ::strnlen(reinterpret_cast<const char*>(bytes), size)};
}

// Of a key. A NUL of a text with a length is shown as \x00, and what a key has no room for as dots.
std::string key_text(const uint8_t* bytes, uint32_t size) {
  if (size < kMaxHistText) return std::string(text_at(bytes, size));
  constexpr size_t kRoom = kMaxHistText - 1;
  const uint8_t mark = bytes[kRoom];
  size_t length = kRoom;
  while (length && !bytes[length - 1]) length--;
  std::string text;
  for (size_t i = 0; i < length; i++) bytes[i] ? text += char(bytes[i]) : text += "\\x00";
  if (mark == kHistTextCut) return text + "...";
  for (uint8_t i = 0; i < mark; i++) text += "\\x00";
  return text;
}

struct ValueColumn {
  uint32_t index = 0;
  uint32_t flags = 0;
  std::string name;
  uint64_t total = 0, max = 0;  // of all entries, for .percent and .graph
  uint32_t quantiles = 0;       // of .quantiles and .counters: the first counter
  bool is_signed = false;
};

class HistPrinter {
 public:
  HistPrinter(const HistData& hist, HistContents& contents, const HistTextSources& sources)
      : hist_(hist), contents_(contents), sources_(sources), addresses_(sources.names, false) {
    for (const auto& key : hist.keys) key_names_.push_back(hist_name(*key));
    choose_columns();
  }

  void put_notes(std::string* out) const;
  void put_entries(std::string* out, HistTotals* totals);
  void put_snapshots(std::string* out);

 private:
  void choose_columns();
  void sum_up(const std::vector<HistEntry>& entries);
  void put_key(std::string* out, const uint8_t* key);
  bool put_key_field(std::string* out, const HistField& field, const std::string& name,
                     const uint8_t* at);
  void put_stack(std::string* out, const uint8_t* words, size_t size);
  void put_column(std::string* out, const ValueColumn& column, const HistEntry& entry);
  void put_ranges(std::string* out, const ValueColumn& column, const HistEntry& entry);
  void put_actions(std::string* out, const HistEntry& entry);
  void put_saved(std::string* out, const HistFieldVar& saved, uint32_t entry);
  const std::string& comm_of(uint32_t pid);

  const HistData& hist_;
  HistContents& contents_;
  const HistTextSources& sources_;
  AddressText addresses_;
  std::vector<std::string> key_names_;
  std::vector<ValueColumn> columns_;
  std::unordered_map<uint32_t, std::string> comms_;
};

// The kernel counts hits also when nohitcount hides them, and shows no value that is an expression.
void HistPrinter::choose_columns() {
  uint32_t nr_counters = 0;
  for (uint32_t i = 0; i < hist_.values.size(); i++) {
    const HistField& value = *hist_.values[i];
    if (i == 0 && hist_.no_hitcount) continue;
    ValueColumn column;
    column.index = i;
    column.flags = i == 0 ? 0 : value.flags;
    if (column.flags & (kHistVar | kHistExpr)) continue;
    column.name = i == 0 ? "hitcount" : hist_name(value);
    column.is_signed = value.is_signed;
    if (column.flags & kHistRanges) {
      column.quantiles = nr_counters;
      nr_counters += quantile_counters(column.is_signed);
    }
    columns_.push_back(std::move(column));
  }
}

void HistPrinter::sum_up(const std::vector<HistEntry>& entries) {
  for (ValueColumn& column : columns_) {
    if (!(column.flags & (kHistPercent | kHistGraph))) continue;
    for (const HistEntry& entry : entries) {
      column.total += entry.values[column.index];
      column.max = std::max(column.max, entry.values[column.index]);
    }
  }
}

// --- keys

const std::string& HistPrinter::comm_of(uint32_t pid) {
  auto [at, is_new] = comms_.try_emplace(pid);
  if (is_new) at->second = sources_.comm ? sources_.comm(pid) : "<...>";
  return at->second;
}

void HistPrinter::put_stack(std::string* out, const uint8_t* words, size_t size) {
  for (size_t i = 0; i < size / 8; i++) {
    const uint64_t address = load<uint64_t>(words + 8 * i);
    if (address == 0) return;
    out->append(9, ' ');
    *out += i == 0 ? addresses_.of(address).full : addresses_.caller(address).full;
    *out += '\n';
  }
}

// Whether it ended with a line of its own.
bool HistPrinter::put_key_field(std::string* out, const HistField& field, const std::string& name,
                                const uint8_t* at) {
  const uint32_t flags = field.flags;
  *out += name;
  if (flags & kHistStacktrace) {
    *out += field.field ? ".stacktrace" : ":\n";
    put_stack(out, at, std::min<size_t>(field.size, kMaxHistStackDepth * 8));
    return true;
  }
  *out += ": ";
  if (flags & kHistString) {
    put_left(out, key_text(at, field.size), 50);
    return false;
  }
  const uint64_t value = load<uint64_t>(at);
  if (flags & kHistHex) {
    put_hex(out, value);
  } else if (flags & (kHistSym | kHistSymOffset)) {
    const AddressText::Entry& known = addresses_.of(value);
    *out += '[';
    put_hex(out, value);
    *out += "] ";
    const bool is_plain = flags & kHistSym || !known.known;
    put_left(out, is_plain ? known.plain : known.full, flags & kHistSym ? 45 : 55);
  } else if (flags & kHistExecname) {
    put_left(out, comm_of(uint32_t(value)), 16);
    *out += '[';
    put_value(out, value);
    *out += ']';
  } else if (flags & kHistSyscall) {
    const std::string_view call = syscall_name(value);
    put_left(out, call.empty() ? "unknown_syscall" : "sys_" + std::string(call), 30);
    *out += '[';
    put_padded(out, value, 3, ' ');
    *out += ']';
  } else if (flags & kHistLog2) {
    *out += "~ 2^";
    put_left(out, std::to_string(value), 2);
  } else if (flags & kHistBucket) {
    *out += "~ ";
    put_number(out, value);
    *out += '-';
    put_number(out, value + field.buckets - 1);
  } else {
    put_value(out, value);
  }
  return false;
}

void HistPrinter::put_key(std::string* out, const uint8_t* key) {
  *out += "{ ";
  bool ends_with_line = false;
  for (size_t i = 0; i < hist_.keys.size(); i++) {
    if (i > 0) *out += ", ";
    const HistField& field = *hist_.keys[i];
    ends_with_line |= put_key_field(out, field, key_names_[i], key + field.key_offset);
  }
  *out += ends_with_line ? "}" : " }";
}

// --- values

void HistPrinter::put_ranges(std::string* out, const ValueColumn& column, const HistEntry& entry) {
  std::vector<uint64_t> counters = contents_.quantiles(entry.index);
  const size_t end = column.quantiles + quantile_counters(column.is_signed);
  counters.resize(std::max(counters.size(), end));
  const auto own = std::span<const uint64_t>(counters).subspan(column.quantiles);
  const auto of_value = own.first(quantile_counters(column.is_signed));
  if (column.flags & kHistQuantiles)
    put_hist_quantiles(out, column.name, of_value);
  else
    put_hist_counters(out, column.name, entry.values[column.index], of_value);
}

void HistPrinter::put_column(std::string* out, const ValueColumn& column, const HistEntry& entry) {
  const uint64_t value = entry.values[column.index];
  if (column.flags & kHistRanges) return put_ranges(out, column, entry);
  *out += ' ';
  *out += column.name;
  if (column.flags & kHistPercent) {
    put_hist_percent(out, value, column.total);
  } else if (column.flags & kHistGraph) {
    put_hist_graph(out, value, column.max);
  } else {
    *out += ": ";
    put_padded(out, value, kNumberWidth, ' ', column.flags & kHistHex ? 16 : 10);
  }
}

// --- actions

void HistPrinter::put_saved(std::string* out, const HistFieldVar& saved, uint32_t entry) {
  *out += "  ";
  *out += saved.var->name;
  *out += ": ";
  if (saved.value->flags & kHistString) {
    put_left(out, contents_.variable_text(entry, saved.var->var_index), 32);
  } else {
    put_value(out, contents_.variable(entry, saved.var->var_index));
  }
}

// A histogram has one save() at most; what it keeps is shown behind each tracked value.
void HistPrinter::put_actions(std::string* out, const HistEntry& entry) {
  contents_.hold_saved(entry.index);
  for (const auto& action : hist_.actions) {
    if (action->kind == HistActionKind::kSnapshot || action->handler == HistHandler::kMatch)
      continue;
    *out += action->handler == HistHandler::kMax ? "\n\tmax: " : "\n\tchanged: ";
    put_value(out, contents_.variable(entry.index, action->track_var->var_index));
    for (const auto& other : hist_.actions)
      for (const HistFieldVar& saved : other->saved) put_saved(out, saved, entry.index);
  }
}

void HistPrinter::put_snapshots(std::string* out) {
  for (const auto& action : hist_.actions) {
    if (action->kind != HistActionKind::kSnapshot) continue;
    const std::optional<HistSnapshotTaken> taken = contents_.snapshot(*action);
    if (!taken) continue;
    *out += "\nSnapshot taken (see tracing/snapshot).  Details:\n\ttriggering value { ";
    *out += action->handler == HistHandler::kMax ? "onmax(" : "onchange(";
    *out += action->track_text;
    *out += ") }: ";
    put_value(out, taken->value);
    *out += "\ttriggered by event with key: ";
    put_key(out, taken->key.data());
    *out += '\n';
  }
}

// --- all of it

void HistPrinter::put_notes(std::string* out) const {
  for (const ValueColumn& column : columns_) {
    if (column.flags & kHistQuantiles) *out += hist_quantile_note(column.name);
    if (column.flags & kHistCounters) *out += hist_counter_note(column.name);
  }
}

void HistPrinter::put_entries(std::string* out, HistTotals* totals) {
  const std::vector<HistEntry> entries = contents_.entries(totals);
  sum_up(entries);
  out->reserve(out->size() + entries.size() * 96);
  for (uint32_t index : sort_hist_entries(hist_, entries)) {
    const HistEntry& entry = entries[index];
    put_key(out, entry.key);
    for (const ValueColumn& column : columns_) {
      if (column.index > 0) *out += ' ';
      put_column(out, column, entry);
    }
    put_actions(out, entry);
    *out += '\n';
  }
}

}  // namespace

std::string hist_text(const HistData& hist, std::string_view definition, HistContents& contents,
                      const HistTextSources& sources) {
  HistPrinter printer(hist, contents, sources);
  std::string text = "# event histogram\n#\n# trigger info: ";
  const bool is_paused = hist.program ? hist_is_paused(hist.program) : hist.paused;
  text.append(definition).append(is_paused ? " [paused]\n#\n" : " [active]\n#\n");
  printer.put_notes(&text);
  text += '\n';
  HistTotals totals;
  printer.put_entries(&text, &totals);
  printer.put_snapshots(&text);
  put_hist_totals(&text, totals);
  return text;
}

}  // namespace patchbay
