// SPDX-License-Identifier: MIT
// Small questions about one debugging information entry, for all of this folder.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace patchbay {

inline constexpr int kMaxDepth = 128;  // of nested entries, types, references
inline constexpr size_t kMaxChildren = 1 << 20;

// Reads it from an entry, or from the one that it is an instance of (DW_AT_abstract_origin,
// DW_AT_specification).
std::string name_of(Dwarf_Die die);
std::optional<Dwarf_Attribute> attribute_of(Dwarf_Die die, unsigned attribute);
std::optional<uint64_t> number_of(Dwarf_Die die, unsigned attribute);
bool flag_of(Dwarf_Die die, unsigned attribute);
std::string text_of(Dwarf_Die die, unsigned attribute);
std::optional<Dwarf_Die> reference_of(Dwarf_Die die, unsigned attribute);
// DW_AT_type; nothing for void.
std::optional<Dwarf_Die> type_of(Dwarf_Die die);
std::vector<Dwarf_Die> children_of(Dwarf_Die die);
// The end of the chain of origins and specifications.
Dwarf_Die declaration_of(Dwarf_Die die);
// The source file that declares it; empty when it is not known. (libdw 0.188 takes file 0 of
// DWARF 5, which is clang's usual one, for none.)
std::string declaration_file(Dwarf_Die die);
// Of an inlined copy: the file that the call stands in.
std::string call_file(Dwarf_Die die);
bool same_entry(Dwarf_Die a, Dwarf_Die b);
// Whether clang, rustc or their like made it, and not gcc.
bool is_unit_of_llvm(Dwarf_Die unit);

// Lowest address at which the entry's code is entered; nothing for one without code.
std::optional<uint64_t> entry_of(Dwarf_Die die);
bool holds(Dwarf_Die die, uint64_t pc);

}  // namespace patchbay
