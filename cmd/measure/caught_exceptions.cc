// SPDX-License-Identifier: MIT
#include "cmd/measure/caught_exceptions.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "output/trace_line.h"
#include "symbol/symbol.h"

namespace patchbay::cmd {
namespace {

constexpr int kLevels = 4;  // a type, and its bases of single inheritance
constexpr uint64_t kCxx = 'C' << 16 | '+' << 8 | '+';
constexpr std::string_view kWithText[] = {"St13runtime_error", "St11logic_error"};

using Record = std::span<const uint8_t>;

uint64_t number(const EventCall& event, Record record, const std::string& name) {
  const EventField* const field = event.find(name);
  uint64_t value = 0;
  if (!field || field->size != sizeof value || record.size() < sizeof value ||
      field->offset > record.size() - sizeof value)
    return 0;
  std::memcpy(&value, record.data() + field->offset, sizeof value);
  return value;
}

// Nothing: it could not be read.
std::optional<std::string> text(const EventCall& event, Record record, const std::string& name) {
  const EventField* const field = event.find(name);
  uint32_t where = 0;
  if (!field || record.size() < sizeof where || field->offset > record.size() - sizeof where)
    return std::nullopt;
  std::memcpy(&where, record.data() + field->offset, sizeof where);
  const size_t begin = where & 0xffff, length = where >> 16;
  if (length == 0 || begin > record.size() || length > record.size() - begin) return std::nullopt;
  const std::string_view bytes(reinterpret_cast<const char*>(record.data()) + begin, length);
  return std::string(bytes.substr(0, bytes.find('\0')));
}

// A type has a base at its begin where its type_info is of the same class as that of
// std::runtime_error, which has one.
bool has_text(const EventCall& event, Record record) {
  const uint64_t kind = number(event, record, "kind0");
  for (int level = 0; level < kLevels; level++) {
    if (number(event, record, "kind" + std::to_string(level)) != kind || kind == 0) return false;
    const std::optional<std::string> name = text(event, record, "type" + std::to_string(level));
    if (!name) return false;
    if (std::find(std::begin(kWithText), std::end(kWithText), *name) != std::end(kWithText))
      return true;
  }
  return false;
}

}  // namespace

// %di is the address of the runtime's own part; the type_info stands 80 bytes before it, the thrown
// object 32 behind it. A copy (std::rethrow_exception()) has the address of the thrown object where
// others have their type_info. A type_info has its name at byte 8, and its base at 16.
const char* CaughtExceptions::fetches() {
  return "sp=%sp:x64 header=%di:x64 class=+0(%di):x64"
         " kind0=+0(-80(%di)):x64 type0=+0(+8(-80(%di))):string"
         " kind1=+0(+16(-80(%di))):x64 type1=+0(+8(+16(-80(%di)))):string"
         " kind2=+0(+16(+16(-80(%di)))):x64 type2=+0(+8(+16(+16(-80(%di))))):string"
         " kind3=+0(+16(+16(+16(-80(%di))))):x64 type3=+0(+8(+16(+16(+16(-80(%di)))))):string"
         " copied=+0(+8(-112(-80(%di)))):string what=+0(+40(%di)):string";
}

const char* CaughtExceptions::fetches_of_throw() { return "sp=%sp:x64 object=%di:x64"; }

std::string CaughtExceptions::text_of(Record record) const {
  if (!event_) return "";
  // "GNUCC++" and "CLNGC++", read as a number; the lowest byte is 1 of a copy. Another language's
  // exception has no type_info.
  const uint64_t runtime = number(*event_, record, "class");
  const bool is_copy = (runtime & 0xff) == 1;
  if ((runtime >> 8 & 0xffffff) != kCxx || (runtime & 0xff) > 1) return "";
  const std::optional<std::string> type = text(*event_, record, is_copy ? "copied" : "type0");
  if (!type || type->empty()) return "";
  std::string shown;
  append_escaped(&shown, demangle_type(*type));
  if (is_copy || !has_text(*event_, record)) return shown;
  const std::optional<std::string> what = text(*event_, record, "what");
  if (!what) return shown;
  shown += ": ";
  append_escaped(&shown, *what);
  return shown;
}

// Its return address is on top.
uint64_t CaughtExceptions::stack_of(Record record) const {
  return event_ ? number(*event_, record, "sp") : 0;
}

uint64_t CaughtExceptions::object_of(Record record) const {
  constexpr uint64_t kHeaderBytes = 32;
  const uint64_t header = event_ ? number(*event_, record, "header") : 0;
  return header == 0 ? 0 : header + kHeaderBytes;
}

}  // namespace patchbay::cmd
