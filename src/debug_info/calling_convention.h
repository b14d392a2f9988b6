// SPDX-License-Identifier: MIT
//
// Where the System V convention for x86-64 puts a function's parameters. The debug information of
// unoptimised code says where they lie after the prologue. At the first byte only the convention
// knows.
#pragma once

#include <string>
#include <vector>

#include "debug_info/location.h"
#include "debug_info/pointer_use.h"
#include "debug_info/probe_type.h"

namespace patchbay {

struct PassedParameter {
  // What a compiler that knows all callers has made of it (entry_parameters.h).
  enum class Fate : uint8_t {
    kPassed,
    kConstant,  // it is the same at each call: `constant`
    kGone,      // nothing says where it is
    kParts,     // parts of it are there: `parts`
  };
  Dwarf_Die die{};           // of the entry that has its name and type
  Dwarf_Die location_die{};  // of the function's own copy, which says where it is; or none
  Fate fate = Fate::kPassed;
  std::string constant;  // its bytes
  Where parts;
  // Of what is passed by its address, where a caller may have left out what is never read.
  std::optional<ReadBytes> read;
  std::string name;
  std::optional<Dwarf_Die> type;
  // The registers that hold the value, in the order of its bytes. Both empty: it is on the stack.
  struct Register {
    bool is_vector;
    unsigned index;  // 0..5 of rdi rsi rdx rcx r8 r9; 0..7 of xmm0 …
  };
  std::vector<Register> registers;
  uint64_t stack_offset = 0;       // from the first argument on the stack
  bool in_memory = false;          // on the stack also where registers are free
  bool is_known = true;            // false: the convention does not tell (damaged or foreign type)
  bool by_reference = false;       // a class with a copy constructor: a pointer is passed
  bool is_behind_pointer = false;  // a pointer is passed as well, as Fortran does
  bool is_promoted = false;        // a float of a definition without a prototype is a double
};

struct PassedParameters {
  std::vector<PassedParameter> parameters;
  bool is_variadic = false;        // `...` behind them
  bool has_hidden_result = false;  // the first register points to where the result goes
};
// A union of C that is passed as its first member is, mostly a pointer (__SOCKADDR_ARG of
// connect()). gcc leaves out its members.
bool is_transparent_union(const TypeFacts& facts);
// A pointer that Rust calls `&T` or `&mut T`.
bool is_rust_reference(const TypeFacts& facts);
// How a value of a type is passed, by itself.
struct PassedClass {
  bool in_memory = false;   // on the stack
  bool is_vector[2] = {};   // else: the kind of each word
  bool is_aligned = false;  // on the stack to 16 bytes
};
PassedClass passed_class(std::optional<Dwarf_Die> type);
// A class of C++ whose copy is more than a copy of its bytes: its caller says where it goes.
bool is_returned_by_reference(const TypeFacts& facts);
// The parameters of a function's entry, or of its declaration, as the source has them: of the one
// that lists them. None has a place yet.
PassedParameters listed_parameters(Dwarf_Die function);
// Gives those that are passed the places that the convention has for them.
void assign_places(Dwarf_Die function, PassedParameters* passed);
// Both: for a function whose callers the compiler does not know.
PassedParameters passed_parameters(Dwarf_Die function);

// Where it is at the function's first byte; with at_return, where it was then.
Where place_of(const PassedParameter& parameter, bool at_return);

// The result: in rax, xmm0, or memory that rax points to. kNowhere with why: void, two registers.
Where returned_value(Dwarf_Die function);

}  // namespace patchbay
