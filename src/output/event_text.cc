// SPDX-License-Identifier: MIT
#include "output/event_text.h"

#include <algorithm>

#include "base/text.h"
#include "base/unique_names.h"
#include "event/sdt_event.h"
#include "output/format_args_text.h"
#include "output/graph_text.h"
#include "output/line_columns.h"
#include "output/printk_text.h"
#include "output/synthetic_text.h"
#include "output/text_put.h"
#include "output/trace_line.h"

namespace patchbay {

namespace {

enum class Kind : uint8_t {
  kSigned,
  kUnsigned,
  kHex,
  kSymbol,
  kChar,
  kFloat,
  kDouble,
  kWideSigned,  // of 16 bytes
  kWideUnsigned,
  kWideHex,
  kLongDouble,
  kText,      // char[N]: up to the first NUL
  kDataLoc,   // u32: offset from the record's start, length << 16
  kRelLoc,    // the same, from the end of the u32
  kRestText,  // char[] that runs to the end of the record
};

bool is_char_type(std::string_view type) {
  return type == "char" || type == "unsigned char" || type == "signed char" || type == "const char";
}

Kind scalar_kind(const EventField& field, std::string_view type, bool function_event) {
  bool is_unsigned = type.starts_with("unsigned ");
  std::string_view base = is_unsigned ? type.substr(9) : type;
  if (base == "symbol") return Kind::kSymbol;
  if (base == "float") return Kind::kFloat;
  if (base == "double") return Kind::kDouble;
  if (is_char_type(type) && function_event) return Kind::kChar;
  if (field.size == 16 && function_event) {
    if (base == "s128") return Kind::kWideSigned;
    if (base == "u128") return Kind::kWideUnsigned;
    if (base == "x128") return Kind::kWideHex;
    if (base == "float80") return Kind::kLongDouble;
  }
  if (base.size() >= 2 && base[0] == 'x' && base[1] >= '1' && base[1] <= '9') return Kind::kHex;
  if (type.ends_with("*") || (!function_event && base == "long" && is_unsigned)) return Kind::kHex;
  return field.is_signed ? Kind::kSigned : Kind::kUnsigned;
}

uint32_t element_size(std::string_view type) {
  if (type.ends_with("64") || type.ends_with("long") || type == "symbol" || type == "double" ||
      type.ends_with("*"))
    return 8;
  if (type.ends_with("16") || type.ends_with("short")) return 2;
  return type.ends_with("8") || is_char_type(type) ? 1 : 4;
}

// The list of a function event's arguments, by its print fmt; what stands behind it is of a whole
// call: the result, the duration. "unit=?" in it is an argument that is not known, and no field.
struct ArgumentList {
  size_t end = 0;  // behind the last of its fields
  std::vector<std::pair<size_t, std::string>> unknown;  // in front of which field
};
ArgumentList argument_list(const EventCall& event, bool escape) {
  ArgumentList list;
  const std::string_view format = event.print_fmt;
  const size_t open = format.find('('), close = format.find(')', open);
  list.end = close == format.npos ? event.fields.size() : 2;
  if (close == format.npos) return list;
  std::string_view rest = format.substr(open + 1, close - open - 1);
  while (!rest.empty()) {
    const std::string_view one = rest.substr(0, rest.find(", "));
    rest.remove_prefix(std::min(rest.size(), one.size() + 2));
    if (!one.ends_with("=?")) {
      list.end++;
      continue;
    }
    std::string& text = list.unknown.emplace_back(list.end, "").second;
    escape ? append_escaped(&text, one) : void(text = one);
  }
  return list;
}

// ip, the address of the text, and of bprint the arguments.
bool is_printk_event(const EventCall& event, std::string_view name, std::string_view text) {
  return event.system == "ftrace" && event.name == name && event.fields.size() >= 2 &&
         event.fields[0].offset == 8 && event.fields[0].size == 8 && event.fields[1].name == text &&
         event.fields[1].offset == 16 && event.fields[1].size == 8;
}

}  // namespace

struct EventText::Step {
  Kind kind = Kind::kUnsigned;
  uint32_t offset = 0, elem = 0, count = 0;  // count 0: not an array
  uint32_t size = 0;
  Kind elem_kind = Kind::kUnsigned;  // of a dynamic array
  bool text_pointer = false;         // const char *
  uint32_t words = 1;                // of a string array: __data_loc char[][2]
  bool is_format_args = false;       // what a function event records of `...`
  bool is_counted = false;           // a dynamic text with NULs of its own
  bool is_rest = false;              // an array of what is left of the record: long args[]
  std::string label;                 // "name="
  std::string name;
  std::string key;                // of JSON: once among the fields of an event
  std::optional<SdtKnown> known;  // of a USDT probe: not every record has the argument

  Step() = default;
  Step(const EventField& field, bool function_event, bool escape);
  void append(std::string* out, std::span<const uint8_t> record, TextContext* context,
              bool json) const;
  void append_scalar(std::string* out, const uint8_t* at, TextContext* context, bool json) const;
  void append_wide(std::string* out, const uint8_t* at, bool json) const;
  void append_elements(std::string* out, std::span<const uint8_t> bytes, TextContext* context,
                       bool json) const;
  std::span<const uint8_t> dynamic(std::span<const uint8_t> record, uint32_t word = 0) const;
  void append_texts(std::string* out, std::span<const uint8_t> record, TextContext* context,
                    bool json) const;
  void append_rest_of_call(std::string* out, std::span<const uint8_t> record, TextContext* context,
                           bool json) const;
  void append_debug(std::string* out, std::span<const uint8_t> record, TextContext* context) const;
};

EventText::Step::Step(const EventField& field, bool function_event, bool escape)
    : offset(field.offset), size(field.size) {
  std::string_view type = field.type;
  if (escape) {
    append_escaped(&name, field.name);
  } else {
    name = field.name;
  }
  label = name + "=";
  text_pointer = type.ends_with("char *") && field.size == 8;
  bool data_loc = type.starts_with("__data_loc "), rel_loc = type.starts_with("__rel_loc ");
  if (data_loc || rel_loc) {
    std::string_view of = type.substr(type.find(' ') + 1);
    of = of.substr(0, of.find('['));
    kind = data_loc ? Kind::kDataLoc : Kind::kRelLoc;
    elem_kind = is_char_type(of) ? Kind::kText : scalar_kind(field, of, function_event);
    elem = element_size(of);
    if (elem_kind == Kind::kText && size > 4) words = size / 4;
    is_format_args = function_event && patchbay::is_format_args(field);
    is_counted = function_event;
    return;
  }
  bool array = field.array_len || !field.brackets.empty() || field.size == 0;
  if (is_char_type(type) && array) {
    kind = field.size ? Kind::kText : Kind::kRestText;
    elem = field.size;
    return;
  }
  kind = scalar_kind(field, type, function_event);
  is_rest = field.size == 0 && field.brackets == "[]";
  count = field.array_len;
  elem = is_rest ? element_size(type) : field.array_len ? field.size / field.array_len : field.size;
  if (kind == Kind::kSymbol || kind == Kind::kDouble) elem = 8;
  if (kind == Kind::kFloat) elem = 4;
  const bool is_wide = kind >= Kind::kWideSigned && kind <= Kind::kLongDouble;
  if (!is_wide && elem != 1 && elem != 2 && elem != 4 && elem != 8) {  // a struct: its bytes
    count = field.size;
    elem = 1;
    kind = Kind::kHex;
  }
}

namespace {

void append_text(std::string* out, std::span<const uint8_t> bytes, const TextContext* context,
                 bool json, bool is_counted = false) {
  const std::string_view text =
      text_in({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, is_counted);
  if (json) return append_json_string(out, text);
  if (context->escape) return append_escaped(out, text);
  // No line of text holds a NUL.
  for (size_t at = 0, end; at < text.size(); at = end + 1) {
    end = std::min(text.find('\0', at), text.size());
    *out += text.substr(at, end - at);
    if (end < text.size()) *out += "\\x00";
  }
}

template <typename T>
void append_real(std::string* out, T value, bool json) {
  bool number = value - value == 0;  // JSON has neither infinities nor NaN
  if (json && !number) {
    *out += "null";
  } else {
    put_float(out, value);
  }
}

}  // namespace

// JSON's numbers have not so many digits: there they are texts, and a long double is a double.
void EventText::Step::append_wide(std::string* out, const uint8_t* at, bool json) const {
  if (kind == Kind::kLongDouble) {
    const auto real = load<long double>(at);
    return json ? append_real(out, double(real), true) : put_long_double(out, real);
  }
  if (json) *out += '"';
  put_wide(out, load<unsigned __int128>(at), kind == Kind::kWideSigned,
           kind == Kind::kWideHex ? 16 : 10);
  if (json) *out += '"';
}

void EventText::Step::append_scalar(std::string* out, const uint8_t* at, TextContext* context,
                                    bool json) const {
  if (elem == 16) return append_wide(out, at, json);
  uint64_t value = 0;
  std::memcpy(&value, at, elem);
  switch (kind) {
    case Kind::kSigned: {
      int unused = 64 - 8 * int(elem);
      return put_number(out, int64_t(value << unused) >> unused);
    }
    case Kind::kHex:
      return put_number(out, value, json ? 10 : 16);
    case Kind::kSymbol: {
      const std::string& text = context->addresses->of(value).full;
      if (json) return append_json_string(out, text);
      *out += text;
      return;
    }
    case Kind::kChar:
      return append_text(out, {at, 1}, context, json);
    case Kind::kFloat:
      return append_real(out, load<float>(at), json);
    case Kind::kDouble:
      return append_real(out, load<double>(at), json);
    default:
      return put_number(out, value);
  }
}

void EventText::Step::append_elements(std::string* out, std::span<const uint8_t> bytes,
                                      TextContext* context, bool json) const {
  if (json) *out += '[';
  for (size_t i = 0; (i + 1) * elem <= bytes.size(); i++) {
    if (i) *out += ',';
    append_scalar(out, bytes.data() + i * elem, context, json);
  }
  if (json) *out += ']';
}

// The bytes that a __data_loc or __rel_loc names; none when they are not inside the record.
std::span<const uint8_t> EventText::Step::dynamic(std::span<const uint8_t> record,
                                                  uint32_t word) const {
  size_t at = size_t(offset) + size_t(word) * 4;
  if (record.size() < 4 || at > record.size() - 4) return {};
  uint32_t where = load<uint32_t>(record.data() + at);
  size_t begin = (where & 0xffff) + (kind == Kind::kRelLoc ? at + 4 : 0);
  size_t length = where >> 16;
  if (begin > record.size() || length > record.size() - begin) return {};
  return record.subspan(begin, length);
}

void EventText::Step::append_rest_of_call(std::string* out, std::span<const uint8_t> record,
                                          TextContext* context, bool json) const {
  const std::span<const uint8_t> bytes = dynamic(record);
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  text = text.substr(0, text.find('\0'));
  if (!json) return append_format_args(out, text, context->escape);
  std::string decimal;
  append_format_args(&decimal, text, false);
  append_json_string(out, decimal);
}

void EventText::Step::append_texts(std::string* out, std::span<const uint8_t> record,
                                   TextContext* context, bool json) const {
  if (is_format_args) return append_rest_of_call(out, record, context, json);
  if (json && words > 1) *out += '[';
  for (uint32_t i = 0; i < words; i++) {
    if (i) *out += ',';
    append_text(out, dynamic(record, i), context, json, is_counted);
  }
  if (json && words > 1) *out += ']';
}

void EventText::Step::append(std::string* out, std::span<const uint8_t> record,
                             TextContext* context, bool json) const {
  if (offset > record.size()) {
    *out += json ? "null" : "(cut)";
    return;
  }
  if (known && !known->is_there(record)) {
    *out += json ? "null" : "?";
    return;
  }
  std::span<const uint8_t> rest = record.subspan(offset);
  if (kind == Kind::kRestText) return append_text(out, rest, context, json);
  if (kind == Kind::kText)
    return append_text(out, rest.first(std::min<size_t>(elem, rest.size())), context, json);
  if (kind == Kind::kDataLoc || kind == Kind::kRelLoc) {
    if (elem_kind == Kind::kText) return append_texts(out, record, context, json);
    Step element;
    element.kind = elem_kind;
    element.elem = elem;
    return element.append_elements(out, dynamic(record), context, json);
  }
  if (is_rest) return append_elements(out, rest, context, json);
  if (count) {
    size_t bytes = std::min<size_t>(size_t(count) * elem, rest.size());
    return append_elements(out, rest.first(bytes), context, json);
  }
  if (elem > rest.size()) {
    *out += json ? "null" : "(cut)";
    return;
  }
  append_scalar(out, rest.data(), context, json);
}

// kernel/trace/trace_output.c print_fields(); where the kernel has <INVALID>, for fields of odd
// sizes, their bytes are shown.
void EventText::Step::append_debug(std::string* out, std::span<const uint8_t> record,
                                   TextContext* context) const {
  if (offset > record.size() || size > record.size() - offset) {
    *out += "<OVERFLOW>";
    return;
  }
  const uint8_t* at = record.data() + offset;
  bool is_dynamic = kind == Kind::kDataLoc || kind == Kind::kRelLoc;
  if (is_dynamic && elem_kind == Kind::kText)  // of a string array the first, as the kernel
    return append_text(out, dynamic(record), context, false, is_counted);
  if (kind == Kind::kText || kind == Kind::kRestText) return append(out, record, context, false);
  std::span<const uint8_t> bytes = is_dynamic ? dynamic(record) : record.subspan(offset, size);
  if (is_dynamic || (size != 1 && size != 2 && size != 4 && size != 8)) {
    for (size_t i = 0; i < bytes.size(); i++) {
      if (i) *out += ',';
      put_hex_byte(out, bytes[i]);
    }
    return;
  }
  uint64_t value = 0;
  std::memcpy(&value, at, size);
  if (text_pointer) {
    *out += "(0x";
    put_padded(out, value, 16, '0', 16);
  } else if (size == 1) {
    if (value >= 0x20 && value < 0x7f) *out += {'\'', char(value), '\''};
    *out += '(';
    put_number(out, value);
  } else {
    *out += "0x";
    put_hex(out, value);
    *out += " (";
    size == 4   ? put_number(out, int32_t(value))
    : size == 8 ? put_number(out, int64_t(value))
                : put_number(out, value);
  }
  *out += ')';
}

// " arg2=%d" with its value, and whether a record has it.
struct EventText::Piece {
  std::string unknown;  // " arg2=?"
  std::optional<SdtKnown> known;
  std::unique_ptr<PrintFormat> format;
};

// Of `" arg1=%d arg2=0x%Lx", REC->arg1, REC->arg2` (sdt_event.cc). Empty: every record has all.
std::vector<EventText::Piece> EventText::pieces_of(const EventCall& event) {
  std::vector<Piece> pieces;
  const std::string_view fmt = event.print_fmt;
  const size_t end = fmt.rfind('"');
  const bool needs_them = std::any_of(
      event.fields.begin(), event.fields.end(),
      [&](const EventField& field) { return sdt_known(event, field.name).has_value(); });
  if (!needs_them || !fmt.starts_with('"') || end == 0) return pieces;
  std::string_view words = trim(fmt.substr(1, end - 1), " "), values = fmt.substr(end + 1);
  cut_at(&values, ',');
  while (!words.empty()) {
    const std::string word(cut_at(&words, ' '));
    const std::string name = word.substr(0, word.find('='));
    EventCall one = event;
    one.print_fmt = "\" " + word + '"';
    if (word.find('%') != word.npos) one.print_fmt += "," + std::string(cut_at(&values, ','));
    Piece piece{" " + name + "=?", sdt_known(event, name), PrintFormat::compile(one)};
    if (!piece.format) return {};
    pieces.push_back(std::move(piece));
  }
  return pieces;
}

void EventText::append_arguments_of_probe(std::string* out, std::span<const uint8_t> record,
                                          TextContext* context) const {
  if (pieces_.empty()) return format_->append(out, record, context);
  for (const Piece& piece : pieces_) {
    if (piece.known && !piece.known->is_there(record))
      *out += piece.unknown;
    else
      piece.format->append(out, record, context);
  }
}

EventText::EventText(const EventCall& event, bool escape)
    : id_(event.id), probe_head_(event, escape), tracer_(event) {
  if (escape) {
    append_escaped(&name_, event.name);
  } else {
    name_ = event.name;
  }
  head_ = name_ + ": ";
  bool function_event = is_function_event(event);
  UniqueNames keys({}, "", UniqueNames::Case::kDiffers);
  for (const EventField& field : event.fields) {
    steps_.emplace_back(field, function_event, escape);
    steps_.back().key = keys.unique(steps_.back().name);
    steps_.back().known = sdt_known(event, field.name);
  }
  bool marker = event.system == "ftrace" && event.fields.size() == 2 &&
                event.fields[1].name == "buf" && event.fields[1].size == 0;
  if (function_event) {
    style_ = Style::kFunction;
    ArgumentList list = argument_list(event, escape);
    arguments_end_ = list.end;
    unknown_ = std::move(list.unknown);
  } else if (marker && name_ == "print" && event.fields[0].size == 8) {
    style_ = Style::kMarker;
  } else if (marker && name_ == "raw_data" && event.fields[0].size == 4) {
    style_ = Style::kRawMarker;
  } else if (is_printk_event(event, "bprint", "fmt")) {
    style_ = Style::kBprint;
  } else if (is_printk_event(event, "bputs", "str")) {
    style_ = Style::kBputs;
  } else if (tracer_.kind() != TracerText::Kind::kNone && !tracer_.is_graph()) {
    style_ = Style::kTracer;
  } else if (probe_head_.is_probe()) {
    style_ = Style::kProbe;
    EventCall arguments = event;
    arguments.print_fmt = probe_head_.arguments_fmt(event);
    format_ = PrintFormat::compile(arguments);
    if (format_) pieces_ = pieces_of(arguments);
  } else if (auto synthetic = synthetic_text(event, false)) {
    format_ = PrintFormat::compile(*synthetic);
    verbose_format_ = PrintFormat::compile(*synthetic_text(event, true));
    style_ = format_ ? Style::kFormat : Style::kFields;
  } else if ((format_ = PrintFormat::compile(event)) != nullptr) {
    style_ = Style::kFormat;
  }
}

EventText::~EventText() = default;

namespace {

// kernel/trace/trace_output.c seq_print_ip_sym()
void append_entry(std::string* out, const AddressText::Entry& entry, const TextContext* context) {
  *out += context->sym_offset && entry.address ? entry.full : entry.plain;
  if (!context->sym_addr) return;
  *out += " <";
  put_padded(out, entry.address, 16, '0', 16);
  *out += '>';
}

}  // namespace

void append_symbol(std::string* out, uint64_t address, TextContext* context) {
  append_entry(out, context->addresses->of(address), context);
}

void append_caller(std::string* out, uint64_t address, TextContext* context) {
  append_entry(out, context->addresses->caller(address), context);
}

void EventText::append_function(std::string* out, std::span<const uint8_t> record,
                                TextContext* context) const {
  append_caller(out, load<uint64_t>(record.data() + 8), context);
  *out += "->";
  append_symbol(out, load<uint64_t>(record.data() + 16), context);
  *out += '(';
  const size_t arguments_end = std::min(arguments_end_, steps_.size());
  std::string_view between;
  auto unknown = unknown_.begin();
  for (size_t i = 2; i <= arguments_end; i++) {
    for (; unknown != unknown_.end() && unknown->first <= i; ++unknown) {
      *out += between;
      *out += unknown->second;
      between = ", ";
    }
    if (i == arguments_end) break;
    *out += between;
    between = ", ";
    *out += steps_[i].label;
    steps_[i].append(out, record, context, false);
  }
  *out += ')';
  for (size_t i = arguments_end; i < steps_.size(); i++) {
    *out += ' ';
    *out += steps_[i].label;
    steps_[i].append(out, record, context, false);
  }
}

namespace {

void append_marker_text(std::string* out, std::span<const uint8_t> record,
                        const TextContext* context) {
  std::string_view text(reinterpret_cast<const char*>(record.data()), record.size());
  text = text.substr(std::min<size_t>(16, text.size()));
  text = text.substr(0, text.find('\0'));
  if (text.ends_with('\n')) text.remove_suffix(1);
  if (context->escape) return append_escaped(out, text);
  *out += text;
}

}  // namespace

// The address says who wrote it: a kernel's tracing_mark_write, or, without a name, ours.
void EventText::append_marker(std::string* out, std::span<const uint8_t> record,
                              TextContext* context) const {
  uint64_t ip = load<uint64_t>(record.data() + 8);
  if (context->addresses->of(ip).known) {
    append_symbol(out, ip, context);
  } else {
    *out += "tracing_mark_write";
  }
  *out += ": ";
  append_marker_text(out, record, context);
}

// As trace-cmd says it when a text is not known.
void EventText::append_printk_text(std::string* out, std::span<const uint8_t> record,
                                   TextContext* context) const {
  const uint64_t address = load<uint64_t>(record.data() + 16);
  const PrintkTexts::Text* text = context->printk ? context->printk->find(address) : nullptr;
  std::string made;
  if (!text) {
    made = "(NO FORMAT FOUND at " + hex_number(address).substr(2) + ")";
  } else if (style_ == Style::kBputs) {
    made = text->text;
  } else {
    append_printk(&made, text->text, record.subspan(24), text->layout, [context](uint64_t ip) {
      std::string name;
      append_symbol(&name, ip, context);
      return name;
    });
  }
  if (made.ends_with('\n')) made.pop_back();
  if (context->escape) return append_escaped(out, made);
  *out += made;
}

void EventText::append_raw_marker(std::string* out, std::span<const uint8_t> record) {
  *out += "# ";
  put_hex(out, load<uint32_t>(record.data() + 8));
  *out += " buf:";
  for (uint8_t byte : record.subspan(12)) {
    *out += ' ';
    put_hex_byte(out, byte);
  }
}

void EventText::append(std::string* out, std::span<const uint8_t> record,
                       TextContext* context) const {
  if (style_ == Style::kFunction && record.size() >= 24)
    return append_function(out, record, context);
  if (style_ == Style::kMarker && record.size() >= 16) return append_marker(out, record, context);
  if (style_ == Style::kRawMarker && record.size() >= 12) return append_raw_marker(out, record);
  if (is_printk() && record.size() >= 24) {
    append_symbol(out, load<uint64_t>(record.data() + 8), context);
    *out += ": ";
    return append_printk_text(out, record, context);
  }
  if (tracer_.is_graph() && context->trace_cmd) {
    const bool is_exit = tracer_.kind() == TracerText::Kind::kGraphExit;
    std::optional<uint64_t> duration_ns;
    if (is_exit) duration_ns = tracer_.graph_ns(record);
    return append_graph(out, record, duration_ns, context);
  }
  if (style_ == Style::kTracer) {
    if (context->trace_cmd) *out += head_;
    return tracer_.append(out, record, context);
  }
  if (style_ == Style::kFormat) {
    *out += head_;
    const PrintFormat& format = context->verbose && verbose_format_ ? *verbose_format_ : *format_;
    return format.append(out, record, context);
  }
  if (style_ == Style::kProbe) {
    *out += head_;
    probe_head_.append(out, record, context);
    if (format_) return append_arguments_of_probe(out, record, context);
  } else {
    *out += name_;
    *out += ':';
  }
  append_steps(out, probe_head_.nr_fields(), record, context);
}

void EventText::append_leaf(std::string* out, std::span<const uint8_t> entry, uint64_t duration_ns,
                            TextContext* context) const {
  append_graph(out, entry, duration_ns, context);
}

// A call with the columns of function_graph, as trace-cmd's report has it: an entry, an exit (which
// is then its own), or both.
void EventText::append_graph(std::string* out, std::span<const uint8_t> record,
                             std::optional<uint64_t> duration_ns, TextContext* context) const {
  constexpr std::string_view kBlanks = "                                ";
  const GraphCallKey call = tracer_.graph_call(record);
  const std::string& name = context->addresses->of(call.func).plain;
  Pieces pieces(out);
  pieces.put(head_);
  if (duration_ns) {
    char text[kGraphDurationSize];
    pieces.put(duration_mark(*duration_ns));
    pieces.put(' ');
    pieces.put({text, size_t(write_graph_duration(text, *duration_ns) - text)});
  } else {
    pieces.put(kBlanks.substr(0, 14));
  }
  pieces.put("|  ");
  for (size_t left = 2 * size_t(std::clamp(call.depth, 0, 4096)), part; left > 0; left -= part) {
    part = std::min(left, kBlanks.size());
    pieces.put(kBlanks.substr(0, part));
  }
  if (tracer_.kind() == TracerText::Kind::kGraphExit) {
    pieces.put("} /* ");
    pieces.put(name);
    pieces.put(" */");
    return;
  }
  pieces.put(name);
  if (const std::span<const uint8_t> args = tracer_.graph_args(record); !args.empty()) {
    pieces.flush();
    append_arguments(out, args, call.func, context);
  } else {
    pieces.put("()");
  }
  pieces.put(duration_ns ? ";" : " {");
}

void EventText::append_steps(std::string* out, size_t first, std::span<const uint8_t> record,
                             TextContext* context) const {
  for (size_t i = first; i < steps_.size(); i++) {
    *out += ' ';
    *out += steps_[i].label;
    steps_[i].append(out, record, context, false);
  }
}

void EventText::append_fields(std::string* out, std::span<const uint8_t> record,
                              TextContext* context) const {
  *out += name_;
  *out += ':';
  for (const Step& step : steps_) {
    *out += ' ';
    *out += step.label;
    step.append_debug(out, record, context);
  }
  if (steps_.empty()) *out += "No fields found";
  if (out->ends_with('\n')) out->pop_back();
}

void EventText::append_raw(std::string* out, std::span<const uint8_t> record,
                           TextContext* context) const {
  if (style_ == Style::kRawMarker && record.size() >= 12) return append_raw_marker(out, record);
  if (style_ == Style::kMarker && record.size() >= 16) {
    *out += "# ";
    put_hex(out, load<uint64_t>(record.data() + 8));
    *out += ' ';
    return append_marker_text(out, record, context);
  }
  if (is_printk() && record.size() >= 24) {
    *out += ": ";
    put_hex(out, load<uint64_t>(record.data() + 8));
    *out += " : ";
    return append_printk_text(out, record, context);
  }
  if (tracer_.append_raw(out, record)) return;
  *out += "type: ";
  put_number(out, id_);
}

void EventText::append_message(std::string* out, std::span<const uint8_t> record,
                               TextContext* context) const {
  if (!is_printk()) return append_marker_text(out, record, context);
  if (record.size() >= 24) append_printk_text(out, record, context);
}

void EventText::append_json(std::string* out, std::span<const uint8_t> record,
                            TextContext* context) const {
  size_t first = 0;
  if (style_ == Style::kFunction && record.size() >= 24) {
    *out += ",\"caller\":";
    append_json_string(out, context->addresses->caller(load<uint64_t>(record.data() + 8)).full);
    *out += ",\"function\":";
    append_json_string(out, context->addresses->of(load<uint64_t>(record.data() + 16)).plain);
    first = 2;
  } else if (style_ == Style::kProbe) {
    probe_head_.append_json(out, record, context);
    first = probe_head_.nr_fields();
  }
  *out += ",\"fields\":{";
  if (is_printk() && record.size() >= 24) {  // as those of print
    std::string text;
    append_printk_text(&text, record, context);
    *out += "\"ip\":";
    steps_[0].append(out, record, context, true);
    *out += ",\"buf\":";
    append_json_string(out, text);
    *out += '}';
    return;
  }
  for (size_t i = first; i < steps_.size(); i++) {
    if (i > first) *out += ',';
    append_json_string(out, steps_[i].key);
    *out += ':';
    steps_[i].append(out, record, context, true);
  }
  *out += '}';
}

}  // namespace patchbay
