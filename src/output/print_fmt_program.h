// SPDX-License-Identifier: MIT
// The program that print_fmt_parse.cc makes and print_fmt.cc runs. Internal to the two.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "output/print_fmt.h"

namespace patchbay {

// A value's number has the type it would have in C: 4 or 8 bytes, signed or not.
enum class FmtOp : uint8_t {
  kNumber,    // number
  kText,      // texts[a]
  kField,     // ref: a number, a text or an array, by ref.kind
  kArray,     // ref (kDataLoc, kRelLoc): its bytes
  kArrayLen,  // ref: its length in bytes / ref.elem
  kIndex,     // nodes[a][nodes[b]]
  kCast,      // nodes[a] as width, is_unsigned
  kPointer,   // nodes[a] as a pointer to elements of width, is_unsigned
  kNegate,
  kNot,
  kInvert,
  kMultiply,
  kDivide,
  kModulo,
  kAdd,
  kSubtract,
  kShiftLeft,
  kShiftRight,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kEqual,
  kNotEqual,
  kBitAnd,
  kBitXor,
  kBitOr,
  kAnd,
  kOr,
  kChoose,         // nodes[a] ? nodes[b] : nodes[c]
  kFlags,          // names of nodes[a]'s bits: table b .. b + c, joined by texts[number]
  kSymbolic,       // name of nodes[a]: table b .. b + c
  kHexBytes,       // nodes[b] bytes at nodes[a]; width 1: blanks between
  kPrintArray,     // nodes[b] elements at nodes[a], of nodes[c] bytes
  kBitmask,        // ref
  kStack,          // ref: addresses; width 1: behind their number, each with a newline
  kSocketAddress,  // ref
};

struct FieldRef {
  enum class Kind : uint8_t { kNumber, kFloat, kText, kRestText, kBytes, kDataLoc, kRelLoc };
  Kind kind = Kind::kNumber;
  uint32_t offset = 0, size = 0;
  uint8_t elem = 1;         // bytes of an element of kBytes, kDataLoc, kRelLoc
  bool elem_float = false;  // of kBytes: a float or double
  bool is_signed = false;
};

struct FmtNode {
  FmtOp op = FmtOp::kNumber;
  uint8_t width = 4;  // of kNumber, kCast, kPointer
  bool is_unsigned = false;
  uint32_t a = 0, b = 0, c = 0;
  uint64_t number = 0;
  FieldRef ref = {};
};

struct FmtName {
  uint64_t value;
  std::string name;
};

// A text, then perhaps a conversion.
struct FmtStep {
  enum class Kind : uint8_t {
    kEnd,  // no conversion
    kSigned,
    kUnsigned,
    kHex,
    kUpperHex,
    kOctal,
    kChar,
    kString,
    kFloat,
    kPointer,  // suffix
  };
  std::string text;
  Kind kind = Kind::kEnd;
  bool plain = false;  // no flags, no width, no precision
  // An unadorned conversion of a plain field, which needs no detour.
  enum class Short : uint8_t { kNo, kText, kSigned, kUnsigned, kHex };
  Short how = Short::kNo;
  bool may_be_fault = false;  // \"%s\" of a __data_loc text: length 0 is shown as (fault)
  bool left = false, zero = false, plus = false, blank = false, alternate = false;
  uint8_t size = 4;  // bytes of the number that are shown
  char letter = 0;   // e, f, g
  int width = 0, precision = -1;
  uint32_t node = 0, width_node = 0, precision_node = 0;  // index + 1; 0: none
  std::string suffix;                                     // of %p
  FieldRef field;                                         // of a short one
};

struct PrintFormat::Program {
  std::vector<FmtStep> steps;
  std::vector<FmtNode> nodes;
  std::vector<std::string> texts;
  std::vector<FmtName> names;
};

// False: the text cannot be understood.
bool parse_print_fmt(const EventCall& call, PrintFormat::Program* program);
// The value of nodes[index], which uses no record. Numbers only.
uint64_t constant_of(const PrintFormat::Program& program, uint32_t index);

}  // namespace patchbay
