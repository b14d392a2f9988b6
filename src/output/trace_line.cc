// SPDX-License-Identifier: MIT
#include "output/trace_line.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "abi/buffer_abi.h"
#include "ring_buffer/buffer_file.h"

namespace patchbay {

namespace {

enum class Kind : uint8_t {
  kSigned,
  kUnsigned,
  kHex,
  kSymbol,
  kFunction,
  kChar,
  kFloat,
  kDouble,
  kText,      // char[N]: up to the first NUL
  kDataLoc,   // u32: offset from the record's start, length << 16
  kRelLoc,    // the same, from the end of the u32
  kRestText,  // char[] that runs to the end of the record
};

template <typename T>
T load(const uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <typename T>
void put_number(std::string* out, T value, int base = 10) {
  char digits[24];
  auto end = std::to_chars(digits, digits + sizeof digits, value, base).ptr;
  out->append(digits, size_t(end - digits));
}

void put_padded(std::string* out, uint64_t value, int width, char fill) {
  char digits[24];
  char* end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  for (int i = int(end - digits); i < width; i++) *out += fill;
  out->append(digits, size_t(end - digits));
}

// Shortest text that reads back as the same value, never in exponent form for everyday sizes.
template <typename T>
void put_float(std::string* out, T value, bool json) {
  char digits[64];
  if (json && !(value - value == 0)) {  // JSON has neither infinities nor NaN
    *out += "null";
    return;
  }
  auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  out->append(digits, size_t(end - digits));
}

bool is_char_type(std::string_view type) {
  return type == "char" || type == "unsigned char" || type == "signed char" || type == "const char";
}

}  // namespace

struct TraceLineWriter::Step {
  Kind kind = Kind::kUnsigned;
  uint32_t offset = 0, elem = 0, count = 0;  // count 0: not an array
  Kind elem_kind = Kind::kUnsigned;          // of a dynamic array
  std::string label;                         // "name="
  std::string name;
};

struct TraceLineWriter::Plan {
  uint16_t id = 0;
  bool function_event = false;
  std::string name;
  std::vector<Step> steps;
};

struct TraceLineWriter::AddressText {
  uint64_t address = 0;
  std::string plain, full;  // "name", "name+0xoff/0xsize"
};

namespace {

constexpr size_t kCacheSize = 4096;

Kind scalar_kind(const EventField& field, std::string_view type, bool function_event) {
  bool is_unsigned = type.starts_with("unsigned ");
  std::string_view base = is_unsigned ? type.substr(9) : type;
  if (base == "symbol") return Kind::kSymbol;
  if (base == "float") return Kind::kFloat;
  if (base == "double") return Kind::kDouble;
  if (is_char_type(type) && function_event) return Kind::kChar;
  if (base.size() >= 2 && base[0] == 'x' && base[1] >= '1' && base[1] <= '9') return Kind::kHex;
  if (type.ends_with("*") || (!function_event && base == "long" && is_unsigned)) return Kind::kHex;
  return field.is_signed ? Kind::kSigned : Kind::kUnsigned;
}

}  // namespace

TraceLineWriter::TraceLineWriter(const std::vector<EventCall>& events, AddressNames* names)
    : plan_by_id_(65536, 0), cache_(kCacheSize), names_(names) {
  for (const EventCall& event : events) {
    Plan plan;
    plan.id = event.id;
    plan.function_event = event.system == "functions" && event.fields.size() >= 2 &&
                          event.fields[0].name == "__parent_ip" && event.fields[1].name == "__ip";
    append_escaped(&plan.name, event.name);
    for (const EventField& field : event.fields) {
      std::string_view type = field.type;
      Step step;
      step.offset = field.offset;
      append_escaped(&step.name, field.name);
      step.label = step.name + "=";
      bool data_loc = type.starts_with("__data_loc "), rel_loc = type.starts_with("__rel_loc ");
      if (data_loc || rel_loc) {
        std::string_view elem = type.substr(type.find(' ') + 1);
        elem = elem.substr(0, elem.find('['));
        step.kind = data_loc ? Kind::kDataLoc : Kind::kRelLoc;
        step.elem_kind =
            is_char_type(elem) ? Kind::kText : scalar_kind(field, elem, plan.function_event);
        bool wide =
            elem.ends_with("64") || elem.ends_with("long") || elem == "symbol" || elem == "double";
        bool two = elem.ends_with("16") || elem.ends_with("short");
        bool one = elem.ends_with("8") || is_char_type(elem);
        step.elem = wide ? 8 : two ? 2 : one ? 1 : 4;
      } else if (is_char_type(type) &&
                 (field.array_len || !field.brackets.empty() || field.size == 0)) {
        step.kind = field.size ? Kind::kText : Kind::kRestText;
        step.elem = field.size;
      } else {
        step.kind = scalar_kind(field, type, plan.function_event);
        step.count = field.array_len;
        step.elem = field.array_len ? field.size / field.array_len : field.size;
        if (step.elem != 1 && step.elem != 2 && step.elem != 4 &&
            step.elem != 8) {  // a struct: its bytes
          step.count = field.size;
          step.elem = 1;
          step.kind = Kind::kHex;
        }
        if (step.kind == Kind::kSymbol || step.kind == Kind::kDouble) step.elem = 8;
        if (step.kind == Kind::kFloat) step.elem = 4;
      }
      plan.steps.push_back(std::move(step));
    }
    plan_by_id_[event.id] = uint32_t(plans_.size()) + 1;
    plans_.push_back(std::move(plan));
  }
}

TraceLineWriter::~TraceLineWriter() = default;

void TraceLineWriter::set_comm(int32_t pid, std::string_view comm) {
  std::string text;
  append_escaped(&text, comm);
  comms_[pid] = text;
  last_comm_ = nullptr;
}

void TraceLineWriter::set_comms(std::string_view text) {
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    int32_t pid = 0;
    auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), pid);
    if (error == std::errc() && end < line.data() + line.size() && *end == ' ')
      set_comm(pid, line.substr(size_t(end - line.data()) + 1));
  }
}

const TraceLineWriter::AddressText& TraceLineWriter::address_text(uint64_t address) {
  AddressText& entry = cache_[(address * 0x9e3779b97f4a7c15u) >> 52];
  if (entry.address == address && !entry.plain.empty()) return entry;
  AddressNames::Name name;
  entry.address = address;
  entry.plain.clear();
  if (address != 0 && names_ && names_->lookup(address, &name)) {
    append_escaped(&entry.plain, name.name);
    entry.full = entry.plain + "+0x";
    put_number(&entry.full, name.offset, 16);
    if (name.size) {
      entry.full += "/0x";
      put_number(&entry.full, name.size, 16);
    }
  } else {
    entry.plain = "0x";
    put_number(&entry.plain, address, 16);
    entry.full = address ? entry.plain : "(null)";
  }
  return entry;
}

void TraceLineWriter::append_scalar(std::string* out, const Step& step, const uint8_t* at,
                                    bool json) {
  uint64_t value = 0;
  std::memcpy(&value, at, step.elem);
  switch (step.kind) {
    case Kind::kSigned: {
      int unused = 64 - 8 * int(step.elem);
      return put_number(out, int64_t(value << unused) >> unused);
    }
    case Kind::kHex:
      return put_number(out, value, json ? 10 : 16);
    case Kind::kSymbol: {
      const std::string& text = address_text(value).full;
      if (json) return append_json_string(out, text);
      *out += text;
      return;
    }
    case Kind::kChar: {
      char c = char(value);
      if (json) return append_json_string(out, std::string_view(&c, 1));
      return append_escaped(out, std::string_view(&c, 1));
    }
    case Kind::kFloat:
      return put_float(out, load<float>(at), json);
    case Kind::kDouble:
      return put_float(out, load<double>(at), json);
    default:
      return put_number(out, value);
  }
}

void TraceLineWriter::append_value(std::string* out, const Step& step,
                                   std::span<const uint8_t> record, bool json) {
  auto put_text = [&](const uint8_t* at, size_t size) {
    std::string_view text(reinterpret_cast<const char*>(at), size);
    text = text.substr(0, text.find('\0'));
    if (json) return append_json_string(out, text);
    append_escaped(out, text);
  };
  const uint8_t* at = record.data() + step.offset;
  if (step.offset > record.size()) {
    *out += json ? "null" : "(cut)";
    return;
  }
  size_t left = record.size() - step.offset;
  Step element;
  const Step* each = &step;
  uint64_t count = step.count;
  bool array = step.count > 0;
  if (step.kind == Kind::kRestText) return put_text(at, left);
  if (step.kind == Kind::kText) return put_text(at, std::min<size_t>(step.elem, left));
  if (step.kind == Kind::kDataLoc || step.kind == Kind::kRelLoc) {
    uint32_t where = left >= 4 ? load<uint32_t>(at) : 0;
    size_t begin = (where & 0xffff) + (step.kind == Kind::kRelLoc ? size_t(step.offset) + 4 : 0);
    size_t size = where >> 16;
    if (begin > record.size() || size > record.size() - begin) begin = size = 0;
    if (step.elem_kind == Kind::kText) return put_text(record.data() + begin, size);
    element.kind = step.elem_kind;
    element.elem = step.elem;
    each = &element;
    at = record.data() + begin;
    left = size;
    count = size / step.elem;
    array = true;
  }
  if (!array) count = 1;
  if (count * each->elem > left) {
    count = left / std::max<uint32_t>(each->elem, 1);
    if (!array && count == 0) {
      *out += json ? "null" : "(cut)";
      return;
    }
  }
  if (json && array) *out += '[';
  for (uint64_t i = 0; i < count; i++) {
    if (i) *out += ',';
    append_scalar(out, *each, at + i * each->elem, json);
  }
  if (json && array) *out += ']';
}

const TraceLineWriter::Plan* TraceLineWriter::plan_of(std::span<const uint8_t> record) const {
  if (record.size() < sizeof(abi::RecordHeader)) return nullptr;
  uint32_t index = plan_by_id_[load<uint16_t>(record.data())];
  return index ? &plans_[index - 1] : nullptr;
}

namespace {

// The five flag characters (ftrace.md 7.4), from common_flags and common_preempt_count.
void put_flags(std::string* out, uint8_t flags, uint8_t preempt) {
  bool irqs_off = flags & 0x01, bh_off = flags & 0x80;
  *out += irqs_off && bh_off ? 'D' : irqs_off ? 'd' : bh_off ? 'b' : '.';
  static const char table[8] = {'.', 'L', 'n', 'l',
                                'p', 'b', 'N', 'B'};  // lazy 1, need 2, preempt 4
  *out += table[(flags & 0x02 ? 1 : 0) | (flags & 0x04 ? 2 : 0) | (flags & 0x20 ? 4 : 0)];
  bool nmi = flags & 0x40, hard = flags & 0x08, soft = flags & 0x10;
  *out += nmi && hard ? 'Z' : nmi ? 'z' : hard && soft ? 'H' : hard ? 'h' : soft ? 's' : '.';
  static const char hex[] = ".123456789abcdef";
  *out += hex[preempt & 15];
  *out += hex[preempt >> 4];
}

void put_seconds(std::string* out, uint64_t ns) {
  uint64_t us = (ns + 500) / 1000;  // rounded, as the kernel and trace-cmd do
  put_padded(out, us / 1000000, 5, ' ');
  *out += '.';
  put_padded(out, us % 1000000, 6, '0');
}

}  // namespace

void TraceLineWriter::append_line(std::string* out, uint32_t cpu, uint64_t ns,
                                  std::span<const uint8_t> record) {
  static const std::string unknown = "<...>";
  abi::RecordHeader header{};
  if (!record.empty()) std::memcpy(&header, record.data(), std::min(sizeof header, record.size()));
  if (!last_comm_ || header.common_pid != last_pid_) {
    auto found = comms_.find(header.common_pid);
    last_pid_ = header.common_pid;
    last_comm_ = found == comms_.end() ? &unknown : &found->second;
  }
  if (last_comm_->size() < 16) out->append(16 - last_comm_->size(), ' ');
  *out += *last_comm_;
  *out += '-';
  size_t start = out->size();
  put_number(out, header.common_pid);
  if (out->size() - start < 7) out->append(7 - (out->size() - start), ' ');
  *out += " [";
  put_padded(out, cpu, 3, '0');
  *out += "] ";
  put_flags(out, header.common_flags, header.common_preempt_count);
  *out += ' ';
  put_seconds(out, ns);
  *out += ": ";
  const Plan* plan = plan_of(record);
  if (!plan) {
    *out += "unknown event ";
    put_number(out, header.common_type);
    *out += '\n';
    return;
  }
  size_t first = 0;
  if (plan->function_event && record.size() >= 24) {
    *out += address_text(load<uint64_t>(record.data() + 8)).plain;
    *out += "->";
    *out += address_text(load<uint64_t>(record.data() + 16)).plain;
    *out += '(';
    first = 2;
  } else {
    *out += plan->name;
    *out += ':';
  }
  for (size_t i = first; i < plan->steps.size(); i++) {
    if (first == 0) *out += ' ';
    if (first && i > first) *out += ", ";
    *out += plan->steps[i].label;
    append_value(out, plan->steps[i], record, false);
  }
  if (first) *out += ')';
  *out += '\n';
}

void TraceLineWriter::append_json(std::string* out, uint32_t cpu, uint64_t ns,
                                  std::span<const uint8_t> record) {
  abi::RecordHeader header{};
  if (!record.empty()) std::memcpy(&header, record.data(), std::min(sizeof header, record.size()));
  const Plan* plan = plan_of(record);
  *out += "{\"ts\":";
  put_number(out, ns / 1000000000);
  *out += '.';
  put_padded(out, ns % 1000000000, 9, '0');
  *out += ",\"cpu\":";
  put_number(out, cpu);
  *out += ",\"pid\":";
  put_number(out, header.common_pid);
  auto comm = comms_.find(header.common_pid);
  *out += ",\"comm\":";
  append_json_string(out, comm == comms_.end() ? "<...>" : comm->second);
  *out += ",\"event\":";
  append_json_string(out,
                     plan ? plan->name : "unknown event " + std::to_string(header.common_type));
  size_t first = 0;
  if (plan && plan->function_event && record.size() >= 24) {
    *out += ",\"caller\":";
    append_json_string(out, address_text(load<uint64_t>(record.data() + 8)).full);
    *out += ",\"function\":";
    append_json_string(out, address_text(load<uint64_t>(record.data() + 16)).plain);
    first = 2;
  }
  *out += ",\"fields\":{";
  for (size_t i = first; plan && i < plan->steps.size(); i++) {
    if (i > first) *out += ',';
    append_json_string(out, plan->steps[i].name);
    *out += ':';
    append_value(out, plan->steps[i], record, true);
  }
  *out += "}}\n";
}

void TraceLineWriter::append_lost(std::string* out, uint32_t cpu, uint64_t lost) {
  *out += "CPU:";
  put_number(out, cpu);
  *out += " [LOST ";
  if (lost != kLostUnknown) {
    put_number(out, lost);
    *out += ' ';
  }
  *out += "EVENTS]\n";
}

void TraceLineWriter::append_header(std::string* out, uint32_t nr_cpus, uint64_t entries,
                                    uint64_t written) {
  *out += "# tracer: nop\n#\n# entries-in-buffer/entries-written: ";
  put_number(out, entries);
  *out += '/';
  put_number(out, written);
  *out += "   #P:";
  put_number(out, nr_cpus);
  *out +=
      "\n#\n"
      "#                                _-----=> irqs-off/BH-disabled\n"
      "#                               / _----=> need-resched\n"
      "#                              | / _---=> hardirq/softirq\n"
      "#                              || / _--=> preempt-depth\n"
      "#                              ||| / _-=> migrate-disable\n"
      "#                              |||| /     delay\n"
      "#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n"
      "#              | |         |   |||||     |         |\n";
}

}  // namespace patchbay
