// SPDX-License-Identifier: MIT
//
// Synthetic events (docs/files.md): one line of synthetic_events, or an `s:` line of
// dynamic_events, from text to an EventCall. Plain data and text.
//
//   NAME TYPE FIELD[; TYPE FIELD]…      s:[synthetic/]NAME TYPE FIELD[; …]
//     SyntheticDefinition
//       make_synthetic_event_call      format and print fmt as the kernel's
//       show                           the line that the files show
//
// Errors are the kernel's: text, caret, errno. The caret stands where the faulty word
// is first found in the line, as the kernel has it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "event/event_call.h"

namespace patchbay {

inline constexpr std::string_view kSyntheticSystem = "synthetic";
inline constexpr std::string_view kSyntheticLocation = "synthetic_events";  // in error_log
inline constexpr size_t kMaxSyntheticFields = 64;
inline constexpr uint32_t kSyntheticTextSize = 256;  // of a text, with its NUL
inline constexpr uint32_t kSyntheticStackDepth = 31;

struct SyntheticField {
  enum class Kind : uint8_t {
    kNumber,
    kText,         // char[N]: N bytes of kSyntheticTextSize that it takes in the record
    kDynamicText,  // char[]: 8 bytes, of which the lower 4 are a __data_loc word
    kStack,        // long[]: the same; words, the first of which says how many follow
  };
  std::string type;  // as listed: "u64" "unsigned int" "char[16]" "long[]"
  std::string name;
  Kind kind = Kind::kNumber;
  uint32_t size = 0;    // as the format file says
  uint32_t offset = 0;  // in the record
  bool is_signed = false;
};

struct SyntheticDefinition {
  std::string name;
  std::vector<SyntheticField> fields;

  std::string show() const;     // "NAME\tTYPE FIELD; TYPE FIELD"
  uint32_t fixed_size() const;  // of a record, with the common header
  uint32_t max_size() const;    // with texts and stacks as long as they may be
};

struct SyntheticError {
  std::string text;
  size_t position = 0;  // characters of the command before the caret
  int error = 0;        // EINVAL EEXIST
};

struct SyntheticParse {  // exactly one of the two
  std::optional<SyntheticDefinition> definition;
  std::optional<SyntheticError> error;
};

// Of synthetic_events, dynamic_events, or of the program itself, which may have float and double.
enum class SyntheticForm : uint8_t { kOwn, kDynamic, kProgram };

// `line`: one definition (not a removal), without newline and blanks in front. `exists` is asked
// whether there is an event of this name.
SyntheticParse parse_synthetic_event(std::string_view line, SyntheticForm form,
                                     const std::function<bool(std::string_view)>& exists);

// "u64", "unsigned int" …: a type of one number.
bool is_synthetic_number_type(std::string_view type);
// "float", "double": those that only the program can define.
bool is_synthetic_real_type(std::string_view type);

EventCall make_synthetic_event_call(const SyntheticDefinition& definition);

}  // namespace patchbay
