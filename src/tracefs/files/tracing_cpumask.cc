// SPDX-License-Identifier: MIT
// tracing_cpumask: the CPUs that record, in hexadecimal, groups of eight digits with commas between
// them, the highest first. Answers of the kernel with two CPUs:
//   "3" " 3" "3 " "1," ",1" "00000003" taken; "" "0x3" "g" EINVAL; "4" "ff" "0,00000003"
//   "100000000" EOVERFLOW; only blanks: no CPU.
#include "base/text.h"
#include "registry/settings.h"
#include "tracefs/files/files.h"

namespace patchbay::tracefs {
namespace {

constexpr size_t kGroupDigits = 8;

bool ends_group(char c) { return c == ',' || c == ' ' || (c >= '\t' && c <= '\r'); }

Error too_many() { return user_error(EOVERFLOW, "The mask names more CPUs than there are."); }

// The digits of one group, the last digit first.
Status set_group(std::string_view digits, size_t first_cpu, std::vector<bool>& cpus) {
  for (size_t i = 0; i < digits.size(); i++) {
    int digit = digit_value(digits[digits.size() - 1 - i]);
    if (digit >= 16) return user_error(EINVAL, "A mask of CPUs is written in hexadecimal digits.");
    if (i >= kGroupDigits) return too_many();
    for (size_t bit = 0; bit < 4; bit++) {
      if (!(digit >> bit & 1)) continue;
      size_t cpu = first_cpu + i * 4 + bit;
      if (cpu >= cpus.size()) return too_many();
      cpus[cpu] = true;
    }
  }
  return {};
}

Result<std::vector<bool>> parse_mask(std::string_view text, size_t nr_cpus) {
  std::vector<bool> cpus(nr_cpus);
  size_t groups = (nr_cpus + 31) / 32;
  for (size_t group = 0;; group++) {
    while (!text.empty() && ends_group(text.back())) text.remove_suffix(1);
    if (text.empty()) return cpus;
    if (group == groups) return too_many();
    size_t length = 0;
    while (length < text.size() && !ends_group(text[text.size() - 1 - length])) length++;
    PB_TRY(set_group(text.substr(text.size() - length), group * 32, cpus));
    text.remove_suffix(length);
  }
}

Result<std::string> show(TraceArray& array, const Place&) {
  size_t nr_cpus = array.buffer->rings()->nr_cpus;
  std::string text;
  for (size_t nibble = (nr_cpus + 3) / 4; nibble-- > 0;) {
    unsigned value = 0;
    for (size_t bit = 0; bit < 4; bit++) {
      size_t cpu = nibble * 4 + bit;
      if (cpu < array.cpumask.size() && array.cpumask[cpu]) value |= 1u << bit;
    }
    text += "0123456789abcdef"[value];
    if (nibble > 0 && nibble % kGroupDigits == 0) text += ',';
  }
  return text + "\n";
}

Status write(TraceArray& array, const Place& place, std::string_view bytes) {
  if (bytes.empty()) return user_error(EINVAL, "A mask of CPUs is written in hexadecimal digits.");
  std::string_view text = bytes.substr(0, bytes.find('\n'));
  text = text.substr(0, text.find('\0'));
  PB_ASSIGN(std::vector<bool> cpus, parse_mask(text, array.buffer->rings()->nr_cpus));
  return place.registry().settings().set_cpumask(array, cpus);
}

}  // namespace

FilePtr make_tracing_cpumask(const Place& place) { return make_value_file(place, show, write); }

}  // namespace patchbay::tracefs
