// SPDX-License-Identifier: MIT
//
// Where a value is, as a probe can fetch it. DWARF's stack machine is run over symbols instead of
// numbers. The result is a chain: a register (or a constant, a variable's address …), then "add and
// load" any number of times, then an addition.
//
//   DW_OP_fbreg -40; deref; plus 8    ->  memory at  8 + load(-24 + %bp)   +8(-24(%bp))
//
// A value that does not fit into a chain (a sum of two registers, a computed value) is nowhere, and
// the reason is kept.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "debug_info/debug_info.h"
#include "debug_info/die.h"

namespace patchbay {

// Integers are passed in rdi rsi rdx rcx r8 r9: their numbers in DWARF.
inline constexpr uint64_t kArgumentRegisters[] = {5, 4, 1, 2, 8, 9};

struct LoadChain {
  enum class Start : uint8_t {
    kRegister,     // number as in DWARF: 0..15, 16 = ip
    kVector,       // xmm register
    kConstant,     // number
    kAddress,      // of the object's memory, before it is loaded somewhere
    kReturnValue,  // $retval
    kArgument,     // $argN, in a return probe
  };
  Start start = Start::kConstant;
  uint64_t number = 0;
  std::vector<int64_t> loads;  // v = load(v + loads[i])
  int64_t add = 0;             // and then v + add
  unsigned width = 64;         // only so many low bits are the value
  unsigned shift = 0;          // of them those from here on; in a Where that is its first_bit

  bool is_constant() const { return start == Start::kConstant && loads.empty(); }
  uint64_t constant() const { return number + uint64_t(add); }
};

struct Where {
  enum class Kind : uint8_t {
    kMemory,     // chain is its address
    kValue,      // chain is its value, from bit first_bit on
    kBytes,      // a constant
    kPieces,     // several places, each so many bytes
    kPointerTo,  // a pointer that exists no more, to a variable that does
    kNowhere,    // why
  };
  Kind kind = Kind::kNowhere;
  LoadChain chain;
  unsigned first_bit = 0;
  std::string bytes;
  struct Piece;
  std::vector<Piece> pieces;
  std::optional<Dwarf_Die> target;  // kPointerTo, with target_offset
  int64_t target_offset = 0;
  std::string why;

  static Where nowhere(std::string why);
  static Where memory(LoadChain chain);
  static Where value(LoadChain chain);
};
struct Where::Piece {
  Where where;
  uint64_t bytes;
};
inline constexpr const char kOptimizedOut[] = "optimized out at this place";

// The place at which locations are asked for.
struct ProbePoint {
  uint64_t pc = 0;
  Dwarf_Die function{};  // DW_TAG_subprogram with the code, or DW_TAG_inlined_subroutine
  Dwarf_Die concrete{};  // the subprogram whose frame it is
  bool is_inlined = false;
  bool at_entry = false;   // at the first byte of a function that is not inlined
  bool at_return = false;  // behind its return: no registers, but $retval and $argN
};

// Whether the attribute has a list of locations, and not one for the whole function.
bool is_location_list(Dwarf_Attribute attribute);
// The location that an attribute (DW_AT_location, DW_AT_frame_base …) gives for point.pc.
Where read_location(DebugInfo& info, const ProbePoint& point, Dwarf_Attribute attribute);
// The location that a list begins with, at its address, which may be an empty range: gcc's list of
// a parameter that is used up at once has its entry alone. Nowhere: it is no list, or has none.
Where read_first_location(DebugInfo& info, ProbePoint point, Dwarf_Attribute attribute,
                          uint64_t* begin);
// Of a variable, parameter or constant: DW_AT_location, else DW_AT_const_value.
Where read_variable(DebugInfo& info, const ProbePoint& point, Dwarf_Die variable);

// Bytes [offset, offset + size) of what is there.
Where part_of(const Where& whole, uint64_t offset, uint64_t size);
// The place to which the pointer of 8 bytes that is there points.
Where pointee_of(DebugInfo& info, const ProbePoint& point, const Where& pointer);

// `address_text` writes "@SYM+OFF" for an address of the object; nothing when there is no way.
using TextOfAddress = std::function<std::optional<std::string>(uint64_t address)>;
// "+8(%sp)", "@counter+4", "%di", "\\42" … of kMemory and kValue; an error says why not.
Result<std::string> fetch_text(const Where& where, const TextOfAddress& address_text);

}  // namespace patchbay
