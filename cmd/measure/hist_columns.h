// SPDX-License-Identifier: MIT
//
// What the columns of a text of a file `hist` are, as its definition says it:
//
//   # trigger info: hist:keys=n.log2,name:vals=hitcount,size.hex:sort=n:size=2048 [active]
//   { n: ~ 2^3 , name: sh   } hitcount:          2  size:         1f
//        ^^^^^^        ^^   parts of the key
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hist/text/hist_values.h"

namespace patchbay::cmd {

// hist/text/hist_text.cc
inline constexpr size_t kHistKeyTextWidth = 50;
inline constexpr std::string_view kHistStackMargin = "         ";  // before each of its functions
// Stands for the address of a symbol that has several: "[*] main" (hist_sum.h).
inline constexpr std::string_view kHistSeveral = "*";

// "size.log2" is size with the modifier log2, "n.buckets=5" is n with buckets.
struct HistColumn {
  std::string name, modifier;
};
HistColumn hist_column(std::string_view text);
// The fields behind "keys=" or "vals=".
std::vector<HistColumn> hist_columns(std::string_view definition, std::string_view part);
// Texts have their values in the order of the definition, each under its name, and some twice:
// "vals=size,size.hex". This is the column of the value that is shown as `name`, from column `next`
// on, which goes behind it; null: there is none.
const HistColumn* next_hist_column(const std::vector<HistColumn>& columns, std::string_view name,
                                   size_t* next);
// In the head of a text, without " [active]"; empty: there is none.
std::string hist_definition(std::string_view text);

// Blanks, perhaps a `-` (then it is an int64_t), digits, nothing else.
std::optional<uint64_t> hist_number(std::string_view text, int base = 10);
std::string_view without_hist_padding(std::string_view text);

// The values behind a key as they are written, in their order. They point into the text.
struct HistWord {
  std::string_view name, word;
  const HistColumn* column = nullptr;  // null: none of `columns`
};
std::vector<HistWord> hist_words(std::string_view text, const std::vector<HistColumn>& columns);

// The same as numbers: "} hitcount:  3  size: 1f  lat.counters: sum=70,64=1".
// `name` is "lat" for the last one, whose number is its sum.
inline constexpr std::string_view kHistCountersEnd = ".counters";
struct HistValue {
  std::string_view name;
  uint64_t number = 0;
  std::optional<HistCounters> counters;
};
std::vector<HistValue> hist_values(std::string_view text, const std::vector<HistColumn>& columns);

// The value of a field in a key, as it is written; of a stack its lines.
struct HistKeyPart {
  std::string_view text;
  bool is_stack = false;
};
// Those of a key without its braces, in the order of the fields. They point into the text. A key
// that is another one has fewer parts.
std::vector<HistKeyPart> hist_key_parts(std::string_view key, const std::vector<HistColumn>& keys);

}  // namespace patchbay::cmd
