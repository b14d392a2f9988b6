// SPDX-License-Identifier: MIT
#include "registry/inject.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "abi/buffer_abi.h"
#include "base/text.h"

namespace patchbay {

namespace {

struct Value {
  bool is_text = false;
  std::string_view text;
  uint64_t number = 0;
};

struct Assignment {
  std::string_view field;
  Value value;
};

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n'; }

class Cursor {
 public:
  explicit Cursor(std::string_view text) : rest_(text) {}
  void skip_blanks() {
    while (!rest_.empty() && is_blank(rest_[0])) rest_.remove_prefix(1);
  }
  bool at_end() const { return rest_.empty(); }
  bool take(char c) {
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  std::string_view word() {
    size_t length = 0;
    while (length < rest_.size() && is_word_char(rest_[length])) length++;
    return cut(length);
  }
  // 'text' or "text", with everything else in it as it is.
  bool quoted(std::string_view* out) {
    if (rest_.empty() || (rest_[0] != '\'' && rest_[0] != '"')) return false;
    size_t end = rest_.find(rest_[0], 1);
    if (end == rest_.npos) return false;
    *out = cut(end + 1).substr(1, end - 1);
    return true;
  }
  bool number(uint64_t* out) {
    const bool negative = take('-');
    const std::string digits(word());
    if (digits.empty() || !is_digit(digits[0])) return false;
    char* end = nullptr;
    errno = 0;
    *out = std::strtoull(digits.c_str(), &end, 0);
    if (negative) *out = 0 - *out;
    return *end == '\0' && errno == 0;
  }

 private:
  std::string_view cut(size_t length) {
    std::string_view taken = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return taken;
  }
  std::string_view rest_;
};

bool parse_assignment(Cursor* cursor, Assignment* out) {
  out->field = cursor->word();
  cursor->skip_blanks();
  if (out->field.empty() || !cursor->take('=')) return false;
  cursor->skip_blanks();
  out->value = {};
  out->value.is_text = cursor->quoted(&out->value.text);
  return out->value.is_text || cursor->number(&out->value.number);
}

bool is_dynamic(const EventField& field) {
  return field.type.starts_with("__data_loc") || field.type.starts_with("__rel_loc");
}
bool is_char_array(const EventField& field) {
  return !is_dynamic(field) && field.type.find("char") != std::string::npos &&
         (field.array_len || field.type.find('[') != std::string::npos) && field.size;
}
bool is_char_pointer(const EventField& field) {
  return field.type == "char *" || field.type == "const char *";
}

// A dynamic field that a text can be given to. A synthetic event's word has 8 bytes, of which 4
// are used; its stacks stay empty.
bool is_dynamic_text(const EventField& field) {
  return is_dynamic(field) &&
         (field.size == 4 || (field.size == 8 && field.type.find("char[") != std::string::npos));
}

// Strings of dynamic fields follow the fixed part, each with its NUL.
void append_dynamic(std::string* record, const EventField& field, std::string_view text) {
  const uint32_t from = field.type.starts_with("__rel_loc") ? field.offset + 4 : 0;
  const uint32_t location = uint32_t(record->size() - from) | uint32_t(text.size() + 1) << 16;
  std::memcpy(record->data() + field.offset, &location, sizeof location);
  record->append(text);
  record->push_back('\0');
}

bool store(std::string* record, const EventField& field, const Value& value,
           const std::function<const char*(std::string_view)>& keep_text) {
  char* place = record->data() + field.offset;
  if (is_char_array(field)) {
    if (value.is_text)
      std::memcpy(place, value.text.data(), std::min<size_t>(value.text.size(), field.size - 1));
    return value.is_text;
  }
  if (is_char_pointer(field)) {
    const char* kept = value.is_text ? keep_text(value.text) : nullptr;
    std::memcpy(place, &kept, sizeof kept);
    return value.is_text;
  }
  const bool is_number = !field.array_len &&
                         (field.size == 1 || field.size == 2 || field.size == 4 || field.size == 8);
  if (value.is_text || !is_number) return false;
  std::memcpy(place, &value.number, field.size);
  return true;
}

Error bad_syntax() { return user_error(EINVAL, "Write field=value …, with strings in quotes."); }

}  // namespace

[[gnu::cold]] Result<std::string> make_injected_record(
    const EventCall& call, std::string_view text, size_t max_size,
    const std::function<const char*(std::string_view)>& keep_text) {
  size_t fixed = sizeof(abi::RecordHeader);
  for (const EventField& field : call.fields)
    fixed = std::max<size_t>(fixed, size_t(field.offset) + field.size);
  std::string record((fixed + 3) & ~size_t{3}, '\0');
  std::vector<std::string_view> dynamic(call.fields.size());
  Cursor cursor(text);
  for (cursor.skip_blanks(); !cursor.at_end(); cursor.skip_blanks()) {
    Assignment assignment;
    if (!parse_assignment(&cursor, &assignment)) return bad_syntax();
    auto field = std::find_if(call.fields.begin(), call.fields.end(),
                              [&](const EventField& f) { return f.name == assignment.field; });
    if (field == call.fields.end())
      return user_error(ENOENT, "There is no field " + std::string(assignment.field) + ".");
    if (is_dynamic_text(*field) && assignment.value.is_text)
      dynamic[size_t(field - call.fields.begin())] = assignment.value.text;
    else if (is_dynamic(*field) || !store(&record, *field, assignment.value, keep_text))
      return bad_syntax();
  }
  for (size_t i = 0; i < dynamic.size(); i++)
    if (is_dynamic_text(call.fields[i])) append_dynamic(&record, call.fields[i], dynamic[i]);
  record.resize((record.size() + 3) & ~size_t{3}, '\0');
  if (record.size() > max_size) return user_error(E2BIG, "That record is too large.");
  const uint16_t id = call.id;
  std::memcpy(record.data(), &id, sizeof id);
  return record;
}

}  // namespace patchbay
