// SPDX-License-Identifier: MIT
//
// Function events (docs/files.md): from one line of `function_events` to an EventCall
// and a fetch program.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "event/event_call.h"
#include "fetch/fetch_abi.h"

namespace patchbay {

struct FunctionEventField {
  enum class Source : uint8_t {
    kArgument,
    kAddress,
    kResult,
    kErrno,
    kStack,
    kFormatArgs,
    kConstant,  // the same at each call: `address` has its bits
    kMissing,   // not known at all: shown as ?, and no field of the record
  };
  struct Suffix {
    bool is_index;
    uint64_t value;
  };  // [N] or +N, in the order written
  Source source = Source::kArgument;
  uint8_t position = 0;           // argument position counted from 0 as written (NULL counts)
  bool is_unsigned_word = false;  // `unsigned` stood before the atom
  bool is_out = false;  // of a call: what its pointer points to is read when the function returns
  std::string atom;     // "int", "x64", "symbol", "string", "float", "double", …
  uint32_t atom_size = 0;
  uint32_t array_len = 0;  // > 0: atom[N]
  // Of atom[LENGTH/MOST] and string/LENGTH/MOST: the field that says how many elements or bytes
  // there are, or with '<' the address behind them. Of atom[/MOST] there is no such field: so many,
  // as far as they can be read.
  std::string length = {};
  bool length_is_end = false;
  uint32_t most = 0;
  uint32_t member_at = 0;  // of a structure's member: where it begins in it
  bool is_beside = false;  // it is another view of the member before it: `string name | x64 at`
  // Of a number in memory: it is loaded only where its address is below the value of this field,
  // and is 0 elsewhere.
  std::string below = {};
  std::string name;
  std::vector<Suffix> suffixes;
  uint64_t address = 0;        // kAddress; kConstant: the value's bits
  std::string address_symbol;  // kAddress through $symbol

  bool is_array() const { return array_len || (most && atom != "string"); }
  bool is_passed() const { return source == Source::kArgument || source == Source::kResult; }
};

struct FunctionEventArg {  // one position
  bool is_null = false;
  std::string
      null_atom;  // NULL of a "float NULL" or "double NULL": it skips a vector register; else empty
  std::vector<FunctionEventField> fields;  // joined by |; of a structure: its members
  // Of a structure passed by value, `struct {long x, float y} p`: as C lays it out. Its fields are
  // p_x, p_y. Members joined by | are the same bytes.
  uint32_t struct_size = 0;  // 0: it is none
  uint32_t struct_alignment = 0;
  std::string struct_name = {};

  // Where the calling convention passes it. A position of ADDR fields only is passed nowhere; a
  // float or double without suffixes is in the next xmm register; everything else, also the address
  // of an array of floats, is in the next integer register. What finds no register is in the next
  // word of the stack.
  enum class Passed : uint8_t { kNowhere, kInteger, kVector };
  Passed passed() const;
};

inline constexpr uint32_t kMaxIntegerArgs = 6;    // rdi rsi rdx rcx r8 r9
inline constexpr uint32_t kMaxVectorArgs = 8;     // xmm0..xmm7
inline constexpr uint32_t kMaxStackArgs = 32;     // 8 bytes each, from the return address on
inline constexpr uint32_t kMaxStringBytes = 512;  // with the NUL; a longer string is cut
inline constexpr uint32_t kMaxElements = 64;      // of an array whose length a field says

struct FunctionEventDef {
  std::string event;     // of `event=function(...)`: the name that it is given; else empty
  std::string function;  // as written: name, library:name, ns::f(int), file@0xOFFSET
  std::vector<FunctionEventArg> args;
  // `int fd = open(…)`, `void = free(…)`: an event is a whole call, and recorded when it returns.
  bool is_call = false;
  std::optional<FunctionEventArg> result = {};   // none of void; one field, or a structure's
  std::optional<FunctionEventField> error = {};  // of a call: errno as it is when it returns
  bool uses_stack = false;                       // some argument is passed on the stack

  // The name that is given, or the function's made an identifier: no library, other characters -> _
  std::string event_name() const;
  std::string canonical() const;  // the line that reading function_events shows, without newline
};

struct FunctionEventError {
  std::string text;     // the three-line entry: canonical text so far + token + rest, caret
                        // line, "Unexpected token '…' for STATE state" (or its variants)
  std::string message;  // the third line alone
  size_t position = 0;  // of the offending token in the line as it was written
  std::string help;     // what the texts leave open, for the writer; often empty
};

struct FunctionEventParse {
  std::optional<FunctionEventDef> def;  // exactly one of def, error
  std::optional<FunctionEventError> error;
  bool function_was_parsed = false;  // only then the kernel stores the error entry
};

// Parses one line (no newline, not a comment). `address_of` resolves $symbol (0 = unknown).
FunctionEventParse parse_function_event(
    std::string_view line, const std::function<uint64_t(std::string_view)>& address_of);

// Whether a line of dynamic_events is one of function_events, `[NAME=][RESULT = ]FUNCTION(`, as
// they are listed: without a blank before the list. No line of another kind begins so.
bool is_function_event_line(std::string_view line);
// A definition without the name that it gives its event: what stands behind `NAME=`.
std::string_view without_event_name(std::string_view line);

// EventCall (system "functions", fields, print fmt) for a definition.
EventCall make_function_event_call(const FunctionEventDef& def, uint16_t id);

// The field with the nanoseconds that a call has taken.
inline constexpr std::string_view kDurationField = "duration";
// What `$errno` and `%sp` are called where they are given no name.
inline constexpr std::string_view kErrnoField = "errno", kStackField = "sp";

// The field of `...`: what is passed behind the format, as a text (fetch/format_args.h).
inline constexpr std::string_view kFormatArgsField = "varargs";
// Where nothing else says it: whether a function with `...` reads it by the text in front, by what
// both are called. That is "format" or "fmt", also between '_'; those of scanf() and strfmon() have
// such names, too.
bool is_printf_like(std::string_view function, std::string_view last_parameter);

// The fetch program for a definition whose EventCall is `call`; of a whole call that of its return,
// with at_entry. Both are made by calloc().
struct FetchDeleter {
  void operator()(FetchProgram* program) const;
};
using FetchProgramPtr = std::unique_ptr<FetchProgram, FetchDeleter>;
// E2BIG when the record can be larger than `max_record` bytes (what one sub-buffer holds), or what
// a call takes at its entry larger than kMostTaken.
Result<FetchProgramPtr> compile_function_event(const FunctionEventDef& def, const EventCall& call,
                                               uint32_t max_record);

}  // namespace patchbay
