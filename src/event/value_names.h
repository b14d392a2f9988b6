// SPDX-License-Identifier: MIT
//
// What a program calls the values of a number: an enumeration, or a word of flags.
//
//   2        SEEK_END                   an enumeration; a value without a name is a number
//   0x80001  O_WRONLY|O_CLOEXEC         flags; bits without a name are one hexadecimal number
//
// Flags are taken apart like this, so that no name says what the value does not:
//
//   1. A name that is the whole value stands alone, unless it is beside a field (2).
//   2. An enumerator NAME_MASK of several bits says which bits are one number, a field, if some
//      enumerator inside it is more than one bit: SOCK_TYPE_MASK = 15 beside SOCK_SEQPACKET = 5. A
//      field has the name that is its whole value, also where that is 0 (O_RDONLY|O_CLOEXEC). The
//      name of a mask of a field is never shown.
//   3. Of the rest, names of several bits come first, those of most bits before others (O_SYNC
//      before O_DSYNC), then single bits. They are shown in the order in which they are declared.
//   4. What is left is a hexadecimal number: O_RDWR|0x40000000.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace patchbay {

struct NamedValue {
  std::string name;
  int64_t value = 0;
};

class ValueNames {
 public:
  enum class Kind : uint8_t { kEnumeration, kFlags };
  // Of names with the same value the first is shown.
  ValueNames(std::vector<NamedValue> names, Kind kind);

  // Where nothing else says it, the values do: flags have three single bits or more (any, when the
  // enumeration is called so: "open_flags", "ModeFlags", "flag_bits"), all else is 0, a combination
  // of them, or the end of a range (-1, a MAX_ENUM), and combinations are fewer than single bits.
  // Where 1, 2, 3 and 4 all have names, that is counting, unless five or more are single bits.
  static Kind kind_of(std::string_view name, const std::vector<NamedValue>& names);

  // Of the `size` low bytes of `bits`. The names may hold any bytes.
  std::string text(uint64_t bits, uint32_t size, bool is_signed) const;
  Kind kind() const { return kind_; }
  size_t count() const { return names_.size(); }

 private:
  struct Word;
  const std::string* find(uint64_t bits, uint64_t all) const;
  void take_fields(Word* word) const;
  void take_flags(Word* word) const;
  std::string flags_text(uint64_t bits, uint64_t all) const;

  Kind kind_;
  std::vector<NamedValue> names_;  // by value; without masks of fields
  std::vector<size_t> declared_;   // of each of names_: which one it was
  std::vector<uint64_t> masks_;    // of fields
  uint64_t in_fields_ = 0;
  std::vector<size_t> candidates_;  // of names_: flags, those of most bits first
};

using SharedValueNames = std::shared_ptr<const ValueNames>;

// false and true.
SharedValueNames names_of_bool();

// An argument that is passed only when another one has one of these bits, or one of these values:
// the mode of open(path, O_CREAT, mode).
struct ArgumentCondition {
  std::string argument, of;
  uint64_t mask = 0;
  std::vector<uint64_t> values;
};

// Those of a function: shared, as many functions take the same.
struct FunctionValueNames {
  std::vector<std::pair<std::string, SharedValueNames>> arguments;  // by the argument's name
  SharedValueNames result;                                          // null: it has none
  std::vector<ArgumentCondition> conditions;
  std::vector<std::string> octal;  // arguments that are shown so: modes of files
  SharedValueNames of(std::string_view argument) const;             // null: it has none
};

}  // namespace patchbay
