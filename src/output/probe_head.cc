// SPDX-License-Identifier: MIT
#include "output/probe_head.h"

#include <string_view>

#include "output/text_put.h"
#include "output/trace_line.h"

namespace patchbay {

namespace {

bool is_address(const EventCall& call, size_t index, std::string_view name) {
  return index < call.fields.size() && call.fields[index].name == name &&
         call.fields[index].size == 8;
}

// kernel/trace/trace_output.c seq_print_ip_sym(), whatever sym-offset says.
void append_place(std::string* out, const AddressText::Entry& entry, bool offset,
                  const TextContext* context) {
  *out += offset && entry.address ? entry.full : entry.plain;
  if (!context->sym_addr) return;
  *out += " <";
  put_padded(out, entry.address, 16, '0', 16);
  *out += '>';
}

void append_number(std::string* out, uint64_t address) {
  *out += "0x";
  put_hex(out, address);
}

}  // namespace

ProbeHeadText::ProbeHeadText(const EventCall& call, bool escape) {
  numbers_ = call.head == ProbeHead::kNumbers;
  if (call.head == ProbeHead::kSource) {
    kind_ = Kind::kSource;
    escape ? append_escaped(&source_, call.shown_source) : void(source_ = call.shown_source);
  } else if (is_address(call, 0, "__probe_ip")) {
    kind_ = Kind::kEntry;
    first_ = call.fields[0].offset;
  } else if (is_address(call, 0, "__probe_func") && is_address(call, 1, "__probe_ret_ip")) {
    kind_ = Kind::kReturn;
    first_ = call.fields[0].offset;
    second_ = call.fields[1].offset;
  }
}

std::string ProbeHeadText::arguments_fmt(const EventCall& call) const {
  if (kind_ != Kind::kEntry && kind_ != Kind::kReturn) return call.print_fmt;
  bool entry = kind_ == Kind::kEntry;
  std::string_view head = entry ? "\"(%lx)" : "\"(%lx <- %lx)";
  std::string_view addresses =
      entry ? "\", REC->__probe_ip" : "\", REC->__probe_func, REC->__probe_ret_ip";
  std::string_view fmt = call.print_fmt;
  // The first of them: a text of the format could hold such words only behind a backslash.
  size_t at = fmt.find(addresses);
  if (!fmt.starts_with(head) || at == std::string_view::npos || at < head.size() ||
      fmt[at - 1] == '\\')
    return call.print_fmt;
  std::string arguments = "\"";
  arguments += fmt.substr(head.size(), at - head.size());
  arguments += '"';
  arguments += fmt.substr(at + addresses.size());
  return arguments;
}

bool ProbeHeadText::has_addresses(std::span<const uint8_t> record) const {
  return record.size() >= 8 && first_ <= record.size() - 8 && second_ <= record.size() - 8;
}

void ProbeHeadText::append(std::string* out, std::span<const uint8_t> record,
                           TextContext* context) const {
  *out += '(';
  if (kind_ == Kind::kSource) {
    *out += source_;
  } else if (!has_addresses(record)) {
    *out += "cut";
  } else {
    uint64_t place = load<uint64_t>(record.data() + first_);
    if (kind_ == Kind::kReturn) {
      uint64_t caller = load<uint64_t>(record.data() + second_);
      numbers_ ? append_number(out, caller)
               : append_place(out, context->addresses->caller(caller), true, context);
      *out += " <- ";
    }
    bool offset = kind_ == Kind::kEntry;
    numbers_ ? append_number(out, place)
             : append_place(out, context->addresses->of(place), offset, context);
  }
  *out += ')';
}

void ProbeHeadText::append_json(std::string* out, std::span<const uint8_t> record,
                                TextContext* context) const {
  if (!nr_fields() || !has_addresses(record)) return;
  if (kind_ == Kind::kReturn) {
    *out += ",\"caller\":";
    append_json_string(out,
                       context->addresses->caller(load<uint64_t>(record.data() + second_)).full);
  }
  *out += ",\"function\":";
  const AddressText::Entry& place = context->addresses->of(load<uint64_t>(record.data() + first_));
  append_json_string(out, kind_ == Kind::kReturn ? place.plain : place.full);
}

}  // namespace patchbay
