// SPDX-License-Identifier: MIT
//
// Types of the program: their names as C++ writes them, what they consist of, and how a probe shows
// a value of them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "debug_info/die.h"
#include "event/value_names.h"

namespace patchbay {

enum class TypeKind : uint8_t {
  kVoid,
  kInteger,  // also bool and characters
  kEnum,
  kFloat,
  kPointer,    // also references
  kAggregate,  // struct, class, union
  kArray,
  kFunction,
  kOther,
};

struct TypeFacts {
  TypeKind kind = TypeKind::kVoid;
  std::optional<Dwarf_Die> die;  // without typedefs and qualifiers; nothing for void
  uint64_t size = 0;             // 0: not known
  bool is_signed = false;
  bool is_bool = false;
  bool is_character = false;  // char, signed char, unsigned char
  bool is_plain_char = false;
  bool is_reference = false;
};
TypeFacts facts_of(std::optional<Dwarf_Die> type);
// Two words: the function, or where its class has it, and what is added to `this`.
bool is_member_function_pointer(const TypeFacts& facts);

// "const char*", "struct node*", "ns::Box<int>", "int[4]".
std::string type_name(std::optional<Dwarf_Die> type);

// s32 u8 x64 char double …; empty when a probe cannot show it (an aggregate, 16 bytes).
std::string scalar_type(const TypeFacts& facts);

// What a pointer, reference or array consists of.
std::optional<Dwarf_Die> element_of(const TypeFacts& facts);
// Of an array's first dimension; nothing for `[]`.
std::optional<uint64_t> length_of(const TypeFacts& array);
// Bytes of one element of an array, which may be an array itself; 0: not known.
uint64_t stride_of(const TypeFacts& array);
// An array of several dimensions that has lost one index is still the same entry: `indexes` counts
// the lost ones.
size_t dimensions_of(const TypeFacts& array);
std::vector<std::optional<uint64_t>> lengths_of(const TypeFacts& array);

struct Member {
  std::string name;
  std::optional<Dwarf_Die> type;
  uint64_t offset = 0;     // bytes
  unsigned bit_size = 0;   // > 0: a bitfield
  uint64_t first_bit = 0;  // of the bitfield, from the aggregate's first bit
  uint64_t alignment = 0;  // that the source asks for; 0: that of its type
  bool has_offset = true;  // false: of a virtual base, or a static member
};
// Also in anonymous members and base classes. `names` gets all names there are.
std::optional<Member> find_member(const TypeFacts& aggregate, std::string_view name,
                                  std::vector<std::string>* names);

// Members in order, with those of base classes and anonymous ones; for passing conventions.
std::vector<Member> members_of(const TypeFacts& aggregate);

// The enumerators of an enumeration as the source writes them in `scope`, "ns::Class": "kRed",
// "Mode::kFast" where it is `enum class`, "other::kBlue" of another namespace; of bool false and
// true. Null when it is neither, or has no names.
//
// A header's enumeration stands in each unit that includes it, and many functions take it: with a
// cache they share the names.
struct ValueNamesCache {
  std::map<std::pair<const void*, std::string>, SharedValueNames> by_place;  // and prefix
  std::map<std::string, SharedValueNames> by_content;  // the names and values as a text
};
SharedValueNames value_names_of(const TypeFacts& facts, std::string_view scope,
                                ValueNamesCache* cache = nullptr);

// Some enumerators: "RED=0, GREEN=1"; empty when it is no enum.
std::string enumerators_of(const TypeFacts& facts);

}  // namespace patchbay
