// SPDX-License-Identifier: MIT
//
// The parts of a demangled C++ name, and names made comparable: what a user types and what the
// demangler prints differ in blanks, `const char*` or `char const*`, and std::string.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace patchbay {

struct DemangledName {
  std::string_view prefix;      // "non-virtual thunk to ", "vtable for "; mostly empty
  std::string_view name;        // ns::Box<int>::get, without the return type
  std::string_view parameters;  // "(int, char)"; empty when there is no list
  std::string_view trailing;    // " const", " [clone .isra.0]"
};

DemangledName split_demangled(std::string_view text);
// Of "vtable for X", "non-virtual thunk to f", with blanks or as lists have it, with '_': how long
// what stands in front of the name is. 0: nothing does.
size_t special_prefix(std::string_view text);
// Behind "operator": how long the sign is, "<<=" or " new[]". 0: a conversion or a literal.
size_t operator_sign(std::string_view text);

// Without blanks that carry no meaning.
std::string squeeze(std::string_view text);
// squeeze() of a parameter list with `const T` as `T const`, `std::string` written out, `(void)` as
// `()`.
std::string canonical_parameters(std::string_view parameters);
// f[abi:cxx11](int) -> f(int).
std::string without_abi_tags(std::string_view name);
// ns::Box<int>::get -> ns::Box::get; ABI tags go as well.
std::string without_template_arguments(std::string_view name);
// Each "<length><identifier>" that a mangled name must contain to demangle to `name`: the
// identifiers outside of brackets, less those that the mangling abbreviates.
std::vector<std::string> mangled_needles(std::string_view name);
// A part of a glob that each symbol contains, letter by letter, whose shown name the glob matches.
// Empty when no part is certain: the demangler writes `operator`, `std`, `int`, … by itself.
std::string_view symbol_fragment(std::string_view glob);
// _Z3foov.isra.0 -> ".isra.0"; empty for a name that is no clone.
std::string_view clone_suffix(std::string_view symbol);
// The same of a name as it is shown: ns::f.llvm.12 -> ".llvm.12". Not every dot begins one:
// main.work is a function of Go.
std::string_view shown_clone_suffix(std::string_view shown);
// A .cold part: never called as a function.
bool is_cold_name(std::string_view symbol);

}  // namespace patchbay
