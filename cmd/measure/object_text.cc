// SPDX-License-Identifier: MIT
#include "cmd/measure/object_text.h"

#include <algorithm>
#include <cstring>

#include "cmd/measure/call_text.h"
#include "output/text_put.h"
#include "output/trace_line.h"
#include "symbol/symbol.h"

namespace patchbay::cmd {
namespace {

using Kind = ObjectForm::Kind;
using Show = ObjectForm::Show;

constexpr int kMaxDepth = 8;
constexpr uint64_t kMost = uint64_t{1} << 47;  // bytes or elements: a process has no more room
constexpr char kUnreadable[] = "(unreadable)";

void put_address(std::string* out, uint64_t value) {
  *out += "0x";
  put_hex(out, value);
}

void append_more(std::string* out, uint64_t count) {
  *out += "… ";
  put_number(out, count);
  *out += " more";
}

}  // namespace

// --- the fields

bool ObjectText::find(const EventCall& call, const std::string& name, Field* field) {
  if (name.empty()) return true;
  const EventField* const found = call.find(name);
  if (!found || found->size == 0 || found->size > 8) return false;
  *field = {found->offset, found->size};
  return true;
}

bool ObjectText::find_all(const EventCall& call, int depth) {
  if (depth > kMaxDepth) return false;
  const ObjectForm& form = form_;
  bool has_all = find(call, form.field, &field_) && find(call, form.length, &length_) &&
                 find(call, form.begin, &begin_) && find(call, form.end, &end_) &&
                 find(call, form.flag, &flag_) && find(call, form.there, &there_);
  for (const ObjectForm& part : form.parts) {
    ObjectText text;
    text.form_ = part;
    has_all = has_all && text.find_all(call, depth + 1);
    parts_.push_back(std::move(text));
  }
  form_.parts.clear();
  return has_all;
}

std::optional<ObjectText> ObjectText::make(const ObjectForm& form, const EventCall& call) {
  ObjectText text;
  text.form_ = form;
  if (!text.find_all(call, 0)) return std::nullopt;
  return text;
}

uint64_t ObjectText::number(Record record, Field field) {
  uint64_t bits = 0;
  const size_t size = std::min<size_t>(field.size, sizeof bits);
  if (record.size() >= size && field.offset <= record.size() - size)
    std::memcpy(&bits, record.data() + field.offset, size);
  return bits;
}

// What a __data_loc word names; nothing where the word is 0 or names what is not in the record.
std::optional<std::span<const uint8_t>> ObjectText::dynamic(Record record, Field field) {
  const uint64_t where = number(record, {field.offset, 4});
  const size_t begin = where & 0xffff, length = where >> 16;
  if (where == 0 || begin > record.size() || length > record.size() - begin) return std::nullopt;
  return record.subspan(begin, length);
}

bool ObjectText::can_be_read(Record record) const {
  return !there_.is_there() || dynamic(record, there_);
}

// How many elements or bytes there are. Nothing: a mark says why.
std::optional<uint64_t> ObjectText::total(Record record, std::string* out) const {
  const char* const unit = form_.kind == Kind::kText ? " bytes" : " elements";
  uint64_t count = form_.count;
  if (length_.is_there()) count = number(record, length_);
  if (begin_.is_there() && end_.is_there()) {
    const uint64_t begin = number(record, begin_), end = number(record, end_);
    const uint64_t size = std::max(form_.size, 1u);
    if (end < begin || (end - begin) % size != 0) {
      *out += "(corrupt: from ";
      put_address(out, begin);
      *out += " to ";
      put_address(out, end);
      *out += ')';
      return std::nullopt;
    }
    count = (end - begin) / size;
  }
  if (count < kMost) return count;
  *out += "(corrupt: ";
  put_number(out, count);
  *out += unit;
  *out += ')';
  return std::nullopt;
}

// --- the kinds

void ObjectText::append_number(std::string* out, std::span<const uint8_t> bytes) const {
  uint64_t bits = 0;
  const size_t size = std::min(bytes.size(), sizeof bits);
  std::memcpy(&bits, bytes.data(), size);
  const unsigned unused = size ? unsigned(64 - 8 * size) : 0;
  const int64_t extended = int64_t(bits << unused) >> unused;
  if (form_.names)
    return append_escaped(out,
                          form_.names->text(bits, uint32_t(size), form_.show == Show::kSigned));
  switch (form_.show) {
    case Show::kSigned:
      return put_number(out, extended);
    case Show::kHex:
      return put_address(out, bits);
    case Show::kBool:
      if (bits > 1) return put_number(out, bits);
      *out += bits ? "true" : "false";
      return;
    case Show::kChar: {
      std::string text;
      const char c = char(bits);
      append_quoted(&text, {&c, 1});
      *out += c == '"' ? "'\"'" : c == '\'' ? "'\\''" : "'" + text.substr(1, text.size() - 2) + "'";
      return;
    }
    case Show::kFloat:
      if (size == 4) return put_float(out, load<float>(bytes.data()));
      if (size == 8) return put_float(out, load<double>(bytes.data()));
      return put_address(out, bits);
    case Show::kPointer:
      if (bits) return put_address(out, bits);
      *out += "nullptr";
      return;
    default:
      return put_number(out, bits);
  }
}

void ObjectText::append_scalar(std::string* out, Record record) const {
  if (!can_be_read(record)) {
    *out += kUnreadable;
    return;
  }
  if (field_.offset > record.size() || field_.size > record.size() - field_.offset) {
    *out += "(cut)";
    return;
  }
  append_number(out, record.subspan(field_.offset, field_.size));
  append_escaped(out, form_.unit);
}

void ObjectText::append_text(std::string* out, Record record) const {
  const std::optional<uint64_t> bytes = total(record, out);
  if (!bytes) return;
  const auto text = dynamic(record, field_);
  if (!text || text->empty()) {
    *out += kUnreadable;
    return;
  }
  const std::string_view shown(reinterpret_cast<const char*>(text->data()), text->size() - 1);
  append_quoted(out, shown);
  if (*bytes > shown.size()) *out += "...";
}

void ObjectText::append_list(std::string* out, Record record) const {
  const bool has_total = length_.is_there() || end_.is_there() || form_.count;
  const std::optional<uint64_t> count = total(record, out);
  if (!count) return;
  const auto elements = dynamic(record, field_);
  const uint32_t size = std::max(form_.size, 1u);
  if (!elements) {
    *out += kUnreadable;
    return;
  }
  const uint64_t shown = elements->size() / size;
  *out += '[';
  for (uint64_t i = 0; i < shown; i++) {
    if (i) *out += ", ";
    append_number(out, elements->subspan(i * size, size));
  }
  if (!has_total || *count > shown) {
    if (shown) *out += ", ";
    if (has_total)
      append_more(out, *count - shown);
    else
      *out += "…";
  }
  *out += ']';
}

void ObjectText::append_parts(std::string* out, Record record) const {
  const std::optional<uint64_t> count = total(record, out);
  if (!count) return;
  if (!can_be_read(record)) {
    *out += kUnreadable;
    return;
  }
  const uint64_t shown = std::min<uint64_t>(*count, parts_.size());
  *out += '[';
  for (uint64_t i = 0; i < shown; i++) {
    if (i) *out += ", ";
    parts_[i].append(out, record);
  }
  if (*count > shown) {
    if (shown) *out += ", ";
    append_more(out, *count - shown);
  }
  *out += ']';
}

void ObjectText::append_optional(std::string* out, Record record) const {
  const uint64_t flag = number(record, flag_) >> std::min(form_.flag_bit, 63u) & 0xff;
  if (!can_be_read(record))
    *out += kUnreadable;
  else if (flag > 1)
    *out += "(corrupt)";
  else if (!flag)
    *out += "nullopt";
  else if (!parts_.empty())
    parts_[0].append(out, record);
}

void ObjectText::append_pointer(std::string* out, Record record) const {
  const uint64_t address = number(record, field_);
  if (!can_be_read(record)) {
    *out += kUnreadable;
    return;
  }
  if (!address) {
    *out += "nullptr";
    return;
  }
  std::string value;
  if (!parts_.empty()) parts_[0].append(&value, record);
  if (value.empty() || value.starts_with('(')) {
    put_address(out, address);
    if (!value.empty()) *out += ' ' + value;
    return;
  }
  *out += '&' + value;
}

void ObjectText::append_size(std::string* out, Record record) const {
  const uint64_t count = number(record, field_);
  if (!can_be_read(record)) {
    *out += kUnreadable;
    return;
  }
  *out += count < kMost ? "{" : "(corrupt: ";
  if (count) put_number(out, count);
  if (count) *out += count == 1 ? " entry" : " entries";
  *out += count < kMost ? '}' : ')';
}

// A type of one source file has a '*' in front.
void ObjectText::append_type_name(std::string* out, Record record) const {
  const auto bytes = dynamic(record, field_);
  std::string_view name(bytes ? reinterpret_cast<const char*>(bytes->data()) : "",
                        bytes ? bytes->size() : 0);
  name = name.substr(0, name.find('\0'));
  if (name.starts_with('*')) name.remove_prefix(1);
  if (name.empty()) {
    *out += kUnreadable;
    return;
  }
  constexpr std::string_view kHead = "typeinfo name for ";
  const std::string shown = demangle("_ZTS" + std::string(name), true);
  append_escaped(out,
                 shown.starts_with(kHead) ? std::string_view(shown).substr(kHead.size()) : name);
}

void ObjectText::append(std::string* out, Record record) const {
  switch (form_.kind) {
    case Kind::kScalar:
      return append_scalar(out, record);
    case Kind::kText:
      return append_text(out, record);
    case Kind::kList:
      return append_list(out, record);
    case Kind::kParts:
      return append_parts(out, record);
    case Kind::kOptional:
      return append_optional(out, record);
    case Kind::kPointer:
      return append_pointer(out, record);
    case Kind::kSize:
      return append_size(out, record);
    case Kind::kTypeName:
      return append_type_name(out, record);
  }
}

}  // namespace patchbay::cmd
