// SPDX-License-Identifier: MIT
#include "export/export_text.h"

#include <algorithm>

#include "output/text_put.h"
#include "output/trace_line.h"

namespace patchbay {

using Kind = ExportValue::Kind;

void append_json_text(std::string* out, std::string_view text) {
  const bool is_plain = std::all_of(text.begin(), text.end(), [](char c) {
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\' && c != '<';
  });
  if (is_plain) {
    *out += '"';
    *out += text;
    *out += '"';
    return;
  }
  const size_t start = out->size();
  append_json_string(out, text);
  for (size_t at = start; (at = out->find('<', at)) != out->npos; at += 6)
    out->replace(at, 1, "\\u003c");
}

namespace {

void append_real_number(std::string* out, double value, uint32_t size) {
  if (value - value != 0) {  // neither infinities nor NaN in JSON
    *out += "null";
  } else if (size == 4) {
    put_float(out, float(value));
  } else {
    put_float(out, value);
  }
}

void append_one(std::string* out, const ExportField& field, const ExportValue& value,
                AddressText* addresses) {
  switch (value.kind) {
    case Kind::kSigned:
      return put_number(out, value.as_signed());
    case Kind::kUnsigned:
      if (field.type == ExportField::Type::kSymbol)
        return append_json_text(out, addresses->of(value.bits).full);
      return put_number(out, value.bits);
    case Kind::kReal:
      return append_real_number(out, value.real, field.element_size);
    case Kind::kText:
      return append_json_text(out, value.text);
    case Kind::kFault:
      *out += "\"(fault)\"";
      return;
    default:
      *out += "null";
  }
}

void append_value(std::string* out, const ExportField& field, std::span<const uint8_t> record,
                  AddressText* addresses) {
  const ExportValue value = field.value(record);
  if (value.kind != Kind::kArray) return append_one(out, field, value, addresses);
  *out += '[';
  for (uint32_t i = 0; i < value.count; i++) {
    if (i) *out += ',';
    append_one(out, field, field.element(record, value, i), addresses);
  }
  *out += ']';
}

}  // namespace

void append_json_value(std::string* out, const ExportField& field, const ExportEvent& event,
                       AddressText* addresses) {
  append_value(out, field, event.record, addresses);
}

void append_json_fields(std::string* out, const ExportSchema& schema,
                        std::span<const uint8_t> record, AddressText* addresses) {
  char before = '{';
  for (const ExportField& field : schema.fields) {
    *out += before;
    before = ',';
    append_json_text(out, field.key);
    *out += ':';
    append_value(out, field, record, addresses);
  }
  *out += before == '{' ? "{}" : "}";
}

void append_json_event(std::string* out, const ExportEvent& event, ExportSource* source) {
  if (!event.schema) {
    *out += "{}";
  } else if (event.schema->role == ExportSchema::Role::kPrint) {
    std::string line;
    source->append_text(&line, event);
    *out += "{\"text\":";
    append_json_text(out, line);
    *out += '}';
  } else {
    append_json_fields(out, *event.schema, event.record, &source->addresses(event));
  }
}

void append_plain_value(std::string* out, const ExportField& field, std::span<const uint8_t> record,
                        AddressText* addresses) {
  const ExportValue value = field.value(record);
  if (value.kind == Kind::kText) {
    *out += value.text;
  } else if (value.kind == Kind::kFault) {
    *out += "(fault)";
  } else if (value.kind == Kind::kUnsigned && field.type == ExportField::Type::kSymbol) {
    *out += addresses->of(value.bits).full;
  } else if (value.kind != Kind::kCut) {
    append_value(out, field, record, addresses);
  }
}

namespace {

uint64_t word_of(std::span<const uint8_t> words, int index) {
  return load<uint64_t>(words.data() + 8 * size_t(index));
}

void take_named(std::span<const uint8_t> words, const CallArgument& known, ExportArgument* out) {
  using Show = CallArgument::Show;
  out->name = known.name;
  const int word = known.word[0];
  if (known.show == Show::kElsewhere || known.show == Show::kMore || word < 0 ||
      size_t(word) >= words.size() / 8) {
    out->text = "?";
    return;
  }
  out->number = word_of(words, word);
  const int unused = known.size < 8 ? 64 - 8 * int(known.size) : 0;
  out->is_signed = known.show == Show::kSigned;
  out->is_hex = known.show == Show::kHex || known.show == Show::kAggregate;
  out->number <<= unused;
  out->number = out->is_signed ? uint64_t(int64_t(out->number) >> unused) : out->number >> unused;
  if (known.show == Show::kBool) out->text = out->number ? "true" : "false";
}

}  // namespace

std::vector<ExportArgument> export_arguments(std::span<const uint8_t> words,
                                             const CallArguments* known) {
  std::vector<ExportArgument> made;
  if (words.empty()) return made;
  if (known) {
    for (const CallArgument& one : *known) take_named(words, one, &made.emplace_back());
    return made;
  }
  for (int i = 0; size_t(i) < words.size() / 8; i++)
    made.push_back({"arg" + std::to_string(i + 1), "", word_of(words, i), false, true});
  return made;
}

std::string buffer_label(const ExportMeta& meta, uint32_t input, uint32_t buffer) {
  const ExportInputInfo& info = meta.inputs[input];
  if (buffer < info.buffers.size() && !info.buffers[buffer].empty()) return info.buffers[buffer];
  return meta.inputs.size() > 1 ? info.path.substr(info.path.rfind('/') + 1) : "";
}

}  // namespace patchbay
