// SPDX-License-Identifier: MIT
//
// The filter language (docs/files.md): parse, check against the fields of one event, compile.
// Control side only; a traced thread sees filter_abi.h.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "filter/filter_abi.h"

namespace patchbay {

struct FilterField {
  enum class Kind : uint8_t {
    kNumber,      // size 1 2 4 8
    kChars,       // char[size]
    kDataLoc,     // __data_loc char[]
    kRelLoc,      // __rel_loc char[]
    kPointer,     // char *: 8 bytes, the text is followed (at most 1024 bytes)
    kRestText,    // char[] that runs to the end of the record (ftrace:print buf)
    kCpumask,     // __data_loc unsigned long[]
    kCpu,         // generic: the CPU this thread runs on
    kComm,        // generic: this thread's comm
    kStacktrace,  // generic: accepted, of no use in a filter
    kReal,        // float or double: size 4 8
    kOther,       // known, but neither number nor text
  };
  Kind kind = Kind::kNumber;
  uint32_t offset = 0;
  uint32_t size = 0;
  bool is_signed = false;
  // Of a USDT probe: the bit of a u16 at `known_offset` says that the record has the field; 0: it
  // has. What it does not have is in no relation to any value.
  uint32_t known_offset = 0;
  uint16_t known_bit = 0;
  bool is_counted = false;  // of kDataLoc: a text of a function event, with NULs of its own
};

struct FilterContext {
  // The event's own fields, then the common ones. Generic names (CPU, COMM …) are filter/'s own and
  // come after these.
  std::function<std::optional<FilterField>(std::string_view name)> field;
  // `.function`: [start, end) of the function of that name, or at that address. False: not found.
  std::function<bool(std::string_view name, uint64_t address, uint64_t* start, uint64_t* end)>
      function;
  uint32_t nr_cpus = 1;
};

struct FilterError {
  std::string text;       // "Field not found"; empty: the kernel's nameless error ("Error: (0)")
  uint32_t position = 0;  // caret column in the expression, as in error_log
};

// Frees code and instructions. Programs that a thread may still run are parked by their owner.
struct FilterDeleter {
  void operator()(FilterProgram* program) const;
};
using FilterProgramPtr = std::unique_ptr<FilterProgram, FilterDeleter>;

struct FilterResult {
  FilterProgramPtr program;          // null on error
  std::optional<FilterError> error;  // every error is EINVAL (docs/decisions.md, D7)
};

// `text` as written, without trailing newline. Never called with "0" (clear) or an empty text.
FilterResult compile_filter(std::string_view text, const FilterContext& context);

// Matches a record that one of them matches; for records of one event, whose fixed fields are all
// there. Uses what they point to: they must outlive it. Null: too many predicates.
FilterProgramPtr any_filter(std::span<const FilterProgram* const> filters);

// The expression and, below, the caret: "<expression>\n   ^\n".
std::string filter_caret(std::string_view expression, const FilterError& error);
// What the `filter` file shows after a failed write:
//   <expression>\n<caret>\nparse_error: <text>\n\n
std::string filter_error_text(std::string_view expression, const FilterError& error);

}  // namespace patchbay
