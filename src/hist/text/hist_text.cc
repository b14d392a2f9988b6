// SPDX-License-Identifier: MIT
//
// A line of `hist` is its columns one after the other (hist/image/hist_image.h). Names, widths and
// blanks are those of kernel/trace/trace_events_hist.c (hist_trigger_print_key,
// hist_trigger_print_val, track_data_print, hist_trigger_show).
#include "hist/text/hist_text.h"

#include <algorithm>

#include "hist/text/hist_values.h"
#include "output/text_put.h"
#include "output/trace_line.h"

namespace patchbay {

namespace {

// Filled with blanks on the right, as %-*s.
void put_left(std::string* out, std::string_view text, size_t width) {
  out->append(text);
  if (text.size() < width) out->append(width - text.size(), ' ');
}

class HistPrinter {
 public:
  HistPrinter(const HistImage& image, HistStyle style)
      : image_(image),
        style_(style),
        keys_(with_shown_names(image.keys)),
        values_(with_shown_names(image.values)),
        saved_(with_shown_names(image.saved)),
        sums_(sums_of_values(image)) {}
  std::string print();

 private:
  std::string shown(std::string_view text) const;
  std::vector<HistColumn> with_shown_names(std::vector<HistColumn> columns) const;
  std::string key_text(const HistKeyPart& part) const;
  void put_number(std::string* out, uint64_t value, bool is_signed) const;
  void put_key(std::string* out, const std::string& key) const;
  void put_key_field(std::string* out, const HistColumn& column, const HistKeyPart& part) const;
  void put_stack(std::string* out, const std::vector<uint32_t>& frames) const;
  void put_symbol(std::string* out, const HistName& name, bool with_offset) const;
  void put_column(std::string* out, size_t index, const HistRow& row) const;
  void put_reached(std::string* out, const HistReached& reached) const;
  void put_shot(std::string* out, const HistShot& shot) const;

  const HistImage& image_;
  const HistStyle style_;
  const std::vector<HistColumn> keys_, values_, saved_;
  const std::vector<HistValueSums> sums_;
};

std::string HistPrinter::shown(std::string_view text) const {
  if (style_ == HistStyle::kKernel) return std::string(text);
  std::string safe;
  append_escaped(&safe, text);
  return safe;
}

std::vector<HistColumn> HistPrinter::with_shown_names(std::vector<HistColumn> columns) const {
  for (HistColumn& column : columns) column.name = shown(column.name);
  return columns;
}

void HistPrinter::put_number(std::string* out, uint64_t value, bool is_signed) const {
  put_hist_number(out, value, is_signed && style_ == HistStyle::kTerminal);
}

// --- keys

// A NUL of a text with a length is shown as \x00, and what a key has no room for as dots.
std::string HistPrinter::key_text(const HistKeyPart& part) const {
  std::string text;
  for (std::string_view rest = part.text; !rest.empty();) {
    const size_t nul = std::min(rest.find('\0'), rest.size());
    text += shown(rest.substr(0, nul));
    if (nul == rest.size()) break;
    text += "\\x00";
    rest.remove_prefix(nul + 1);
  }
  return part.is_cut ? text + "..." : text;
}

void HistPrinter::put_stack(std::string* out, const std::vector<uint32_t>& frames) const {
  for (const uint32_t frame : frames) {
    out->append(9, ' ');
    *out += shown(hist_address_text(image_.names[frame], true)) + '\n';
  }
}

void HistPrinter::put_symbol(std::string* out, const HistName& name, bool with_offset) const {
  *out += '[';
  name.is_several ? void(*out += '*') : put_hex(out, name.number);
  *out += "] ";
  put_left(out, shown(hist_address_text(name, with_offset)), with_offset ? 55 : 45);
}

void HistPrinter::put_key_field(std::string* out, const HistColumn& column,
                                const HistKeyPart& part) const {
  *out += column.name;
  if (column.form == HistForm::kStack) {
    *out += column.is_generic ? ":\n" : ".stacktrace";
    return put_stack(out, part.frames);
  }
  *out += ": ";
  switch (column.form) {
    case HistForm::kText:
      return put_left(out, key_text(part), 50);
    case HistForm::kHex:
      return put_hex(out, part.number);
    case HistForm::kSymbol:
    case HistForm::kSymbolOffset:
      return put_symbol(out, image_.names[part.number], column.form == HistForm::kSymbolOffset);
    case HistForm::kExecname:
      put_left(out, shown(image_.names[part.number].name), 16);
      *out += '[';
      put_number(out, image_.names[part.number].number, false);
      return void(*out += ']');
    case HistForm::kSyscall:
      put_left(out, hist_syscall_text(part.number), 30);
      *out += '[';
      put_padded(out, part.number, 3, ' ');
      return void(*out += ']');
    case HistForm::kLog2:
      *out += "~ 2^";
      return put_left(out, std::to_string(part.number), 2);
    case HistForm::kBucket:
      *out += "~ " + std::to_string(part.number) + '-';
      return void(*out += std::to_string(part.number + column.buckets - 1));
    default:
      return put_number(out, part.number, column.is_signed);
  }
}

void HistPrinter::put_key(std::string* out, const std::string& key) const {
  const auto parts = image_.parts_of(key);
  *out += "{ ";
  bool has_lines = false;
  for (size_t i = 0; i < keys_.size(); i++) {
    if (i > 0) *out += ", ";
    put_key_field(out, keys_[i], parts[i]);
    has_lines |= keys_[i].form == HistForm::kStack;
  }
  *out += has_lines ? "}" : " }";
}

// --- values

void HistPrinter::put_column(std::string* out, size_t index, const HistRow& row) const {
  const HistColumn& column = values_[index];
  const uint64_t value = row.values[index];
  if (column.form == HistForm::kQuantiles)
    return put_hist_quantiles(out, column.name, row.ranges[index], column.is_signed);
  if (column.form == HistForm::kCounters)
    return put_hist_counters(out, column.name, value, row.ranges[index], column.is_signed);
  *out += ' ';
  *out += column.name;
  if (column.form == HistForm::kPercent) return put_hist_percent(out, value, sums_[index].total);
  if (column.form == HistForm::kGraph) return put_hist_graph(out, value, sums_[index].most);
  *out += ": ";
  if (column.form == HistForm::kHex)
    put_padded(out, value, kHistNumberWidth, ' ', 16);
  else
    put_number(out, value, column.is_signed);
}

// --- actions

void HistPrinter::put_reached(std::string* out, const HistReached& reached) const {
  *out += image_.tracks[reached.track].is_max ? "\n\tmax: " : "\n\tchanged: ";
  put_number(out, reached.value, false);
  for (size_t i = 0; i < reached.saved.size(); i++) {
    const HistColumn& column = saved_[i];
    *out += "  " + column.name + ": ";
    if (column.form == HistForm::kText)
      put_left(out, shown(reached.saved[i].text), 32);
    else
      put_number(out, reached.saved[i].number, column.is_signed);
  }
}

void HistPrinter::put_shot(std::string* out, const HistShot& shot) const {
  const HistTrack& track = image_.tracks[shot.track];
  *out += "\nSnapshot taken (see tracing/snapshot).  Details:\n\ttriggering value { ";
  *out += (track.is_max ? "onmax(" : "onchange(") + shown(track.variable) + ") }: ";
  put_number(out, shot.value, false);
  *out += "\ttriggered by event with key: ";
  put_key(out, shot.key);
  *out += '\n';
}

std::string HistPrinter::print() {
  std::string text = "# event histogram\n#\n# trigger info: " + shown(image_.definition);
  text += image_.is_paused ? " [paused]\n#\n" : " [active]\n#\n";
  for (const HistColumn& value : values_) {
    if (value.form == HistForm::kQuantiles) text += hist_quantile_note(value.name);
    if (value.form == HistForm::kCounters) text += hist_counter_note(value.name);
  }
  text += '\n';
  text.reserve(text.size() + image_.rows.size() * 96);
  for (const uint32_t index : sort_hist_rows(image_)) {
    const HistRow& row = image_.rows[index];
    put_key(&text, row.key);
    for (size_t i = 0; i < values_.size(); i++) {
      if (values_[i].is_hidden) continue;
      if (i > 0) text += ' ';
      put_column(&text, i, row);
    }
    for (const HistReached& reached : row.reached) put_reached(&text, reached);
    text += '\n';
  }
  for (const HistShot& shot : image_.shots) put_shot(&text, shot);
  text += "\nTotals:\n    Hits: " + std::to_string(image_.hits);
  text += "\n    Entries: " + std::to_string(image_.rows.size());
  return text + "\n    Dropped: " + std::to_string(image_.dropped) + '\n';
}

}  // namespace

std::string hist_text(const HistImage& image, HistStyle style) {
  return HistPrinter(image, style).print();
}

}  // namespace patchbay
