// SPDX-License-Identifier: MIT
#include "event/probe_event_words.h"

#include <cerrno>
#include <iterator>
#include <limits>

#include "base/text.h"

namespace patchbay {

namespace {

constexpr std::string_view kTexts[] = {
    "Failed to find the given file",
    "Not a regular file",
    "Invalid reference counter offset",
    "Reference counter brace is not closed",
    "Reference counter has wrong suffix",
    "Invalid uprobe offset",
    "Maxactive is only for function exit",
    "Invalid maxactive number",
    "Maxactive is too big",
    "Invalid probed address or symbol",
    "The symbol is not unique",
    "Retprobe address must be an function entry",
    "Invalid character in tracepoint name",
    "Invalid probed address suffix",
    "Group name is not specified",
    "Group name is too long",
    "Group name must follow the same rules as C identifiers",
    "Event name is not specified",
    "Event name is too long",
    "Event name must follow the same rules as C identifiers",
    "$retval is not available on probe",
    "Invalid stack number",
    "Invalid argument number",
    "Invalid $-variable specified",
    "Invalid register name",
    "Invalid memory address",
    "Invalid immediate value",
    "String is not closed with '\"'",
    "File offset is not available with kprobe",
    "Invalid file offset value",
    "Symbol is not available with uprobe",
    "Dereference is too much nested",
    "Dereference needs a brace",
    "Invalid dereference offset",
    "Dereference brace is not closed",
    "$comm can not be dereferenced",
    "Invalid fetch argument",
    "Array is not closed",
    "Array has wrong suffix",
    "Invalid array size",
    "Array number is too big",
    "Unknown type is specified",
    "String accepts only memory argument",
    "Symbol String doesn't accept data/userdata",
    "Invalid bitfield",
    "Argument name is too long",
    "Argument name is not specified",
    "Argument name must follow the same rules as C identifiers",
    "This argument name is already used",
    "Argument expression is too long",
    "No argument expression",
    "Failed to register probe event",
    "This requires both group and event name to attach",
    "Attached event does not exist",
    "No filter rule after 'if'",
    "BTF is not available or not supported",
    "This variable is not found at this probe point",
    "$arg* can be used only on function entry or exit",
    "$arg* can be used only once in the parameters",
    "$comm and immediate-string only accepts string type",
    "Event too big (too many fields?)",
};
static_assert(std::size(kTexts) == size_t(ProbeFault::kEventTooBig) + 1);

// Cuts "0x" off where that is meant.
int base_of(std::string_view* text) {
  if (!text->starts_with('0')) return 10;
  const bool is_hex =
      text->size() > 2 && ((*text)[1] | 0x20) == 'x' && digit_value((*text)[2]) < 16;
  if (!is_hex) return 8;
  text->remove_prefix(2);
  return 16;
}

struct Digits {
  uint64_t value = 0;  // saturated
  size_t count = 0;
  bool overflow = false;
};

Digits take_digits(std::string_view* text, int base) {
  if (base == 0) base = base_of(text);
  Digits digits;
  for (; !text->empty() && digit_value(text->front()) < base; text->remove_prefix(1)) {
    const auto digit = uint64_t(digit_value(text->front()));
    digits.count++;
    digits.overflow |= __builtin_mul_overflow(digits.value, uint64_t(base), &digits.value) ||
                       __builtin_add_overflow(digits.value, digit, &digits.value);
  }
  if (digits.overflow) digits.value = std::numeric_limits<uint64_t>::max();
  return digits;
}

int read_plain(std::string_view text, int base, uint64_t* value) {
  const Digits digits = take_digits(&text, base);
  if (digits.overflow) return ERANGE;
  if (!digits.count || !text.empty()) return EINVAL;
  *value = digits.value;
  return 0;
}

bool is_good(std::string_view name, bool with_hyphen) {
  if (name.empty() || is_digit(name[0])) return false;
  for (char c : name)
    if (!is_name_char(c) && !(with_hyphen && c == '-')) return false;
  return true;
}

}  // namespace

size_t caret_position(const std::vector<std::string_view>& words, size_t word, size_t offset) {
  size_t position = 0;
  for (size_t i = 0; i < words.size() && i < word; i++) position += words[i].size() + 1;
  return word < words.size() ? position + offset : position;
}

int read_unsigned(std::string_view text, int base, uint64_t* value) {
  if (text.starts_with('+')) text.remove_prefix(1);
  return read_plain(text, base, value);
}

int read_signed(std::string_view text, int base, int64_t* value) {
  const bool negative = text.starts_with('-');
  uint64_t magnitude = 0;
  const int error = negative ? read_plain(text.substr(1), base, &magnitude)
                             : read_unsigned(text, base, &magnitude);
  if (error) return error;
  const uint64_t limit = uint64_t{1} << 63;
  if (magnitude > limit || (magnitude == limit && !negative)) return ERANGE;
  *value = int64_t(negative ? -magnitude : magnitude);
  return 0;
}

bool take_unsigned(std::string_view* text, uint64_t* value) {
  const Digits digits = take_digits(text, 0);
  *value = digits.value;
  return digits.count != 0;
}

bool is_good_name(std::string_view name) { return is_good(name, false); }
bool is_good_group(std::string_view name) { return is_good(name, true); }

std::string_view fault_text(ProbeFault fault) { return kTexts[size_t(fault)]; }

bool ProbeFaults::fail(ProbeFault fault, size_t offset, int error, std::string help) {
  const size_t position = caret_position(words_, word_, offset);
  if (entries_ == 0) {
    error_.text = fault_text(fault);
    error_.position = position;
    error_.help = std::move(help);
  } else if (entries_ == 1) {
    error_.second_text = fault_text(fault);
    error_.second_position = position;
  }
  entries_++;
  error_.error = error;
  return false;
}

bool ProbeFaults::fail_silently(int error, std::string help) {
  error_.error = error;
  error_.help = std::move(help);
  return false;
}

std::optional<ProbeError> ProbeFaults::take() {
  if (!error_.error) return std::nullopt;
  error_.is_logged = entries_ != 0;
  return std::move(error_);
}

}  // namespace patchbay
