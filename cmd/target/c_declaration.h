// SPDX-License-Identifier: MIT
//
// A function's declaration as a header of C has it, and the line of function_events that records
// its calls:
//
//   int open(const char *path, int flags, mode_t mode)
//       open(string path, int flags, u32 mode)
//   int log_msg(int level, const char *format, ...)
//       log_msg(int level, string format, ...)
//   double norm(struct point p, __int128 n)
//       norm(struct {int x, double y} p, s128 n)
//
// A user may give one (-e), and the files of prototypes consist of them (prototypes.h).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "cmd/target/c_enumeration.h"
#include "event/object_form.h"
#include "event/value_names.h"

namespace patchbay::cmd {

struct CDeclaration {
  struct Parameter {
    std::string type;  // without the name: "const char *", "void (*)(int)"
    std::string name;  // "" when it has none
  };
  std::string result;  // "" when it is not said
  std::string name;
  std::vector<Parameter> parameters;
  bool is_variadic = false;
  // Of __attribute__((format(printf, 2, 3))): its words; "" and 0 when it has none.
  std::string format_language = {};
  size_t format_parameter = 0;  // counted from 1
};

// Whether its `...` is what the last parameter, a format of printf(), reads. The attribute says it;
// without one, the names do (event/function_event.h).
bool is_printf_like(const CDeclaration& declaration);

// How a function tells that it has failed: where the number of an error is.
enum class FailureSign : uint8_t {
  kUnknown,
  kErrno,   // in errno, when the result is -1, or NULL of a pointer
  kResult,  // it is the result, when that is not 0
  kNever,   // it never returns
};

// A ';' may end it; attributes of gcc may stand anywhere. EINVAL with a caret below the text when
// it is none.
Result<CDeclaration> parse_c_declaration(std::string_view text);

// What names of types mean.
class CTypes {
 public:
  CTypes() = default;
  // What is not in these is looked for in those of `others`, which stay.
  explicit CTypes(std::function<const CTypes*()> others) : others_(std::move(others)) {}

  // "typedef unsigned int mode_t;". False: the line is none.
  bool add_typedef(std::string_view line);
  // "enum whence { SEEK_SET = 0, SEEK_CUR = 1 };" (c_enumeration.h). Of two with one name the first
  // is it.
  Status add_enum(std::string_view line);
  // "struct point { int x; double y; };" (c_structure.h).
  Status add_struct(std::string_view line);
  // Of a structure that was added; null for any other type. `meaning`: as meaning_of() has it.
  const std::vector<CDeclaration::Parameter>* members_of(const std::string& meaning) const;
  // Without typedefs; what a name means that is not known, or leads in a circle, is the name.
  std::string meaning_of(const std::string& type) const;
  // Of an enumeration that was added, and of bool; null for any other type.
  SharedValueNames names_of(const std::string& type) const;
  // The atom of function_events: "int", "x64", "string", "symbol", "float", "s128", "long double";
  // "" for a type that is none (a structure). `is_known` becomes false when a name's meaning had to
  // be guessed.
  std::string atom_of(const std::string& type, bool* is_known) const;

 private:
  struct Enumeration {
    std::string atom;
    SharedValueNames names;
  };
  const Enumeration* enum_of(const std::string& meaning) const;
  const std::string* find_typedef(const std::string& name) const;

  std::function<const CTypes*()> others_;  // asked when it is needed
  std::unordered_map<std::string, std::string> typedefs_;
  std::unordered_map<std::string, Enumeration> enums_;                             // by tag
  std::unordered_map<std::string, std::vector<CDeclaration::Parameter>> structs_;  // by tag
};

struct FunctionLine {
  std::string line;
  std::vector<std::string> notes;  // what a person should know: "'g' (struct s) … is left out"
  FunctionValueNames names;        // of parameters, by their names in the line, and of the result
  // Structures by value, values of 16 bytes; a std::type_info has its name.
  ObjectArguments objects = {};
  WholeResult whole = {};  // where result_atom() says nothing
};
// `name`: the function as function_events is to find it, "libfoo:parse". `rest`: what is passed
// behind the parameters (`...`), and when; a `|` is between what may be in one place, a `;` between
// places:
//
//   mode_t mode if oflag & 0x410040
//   int arg if cmd = 0 2 4 | struct flock *lock if cmd = 5 6 7
FunctionLine function_line(const CDeclaration& declaration, const CTypes& types,
                           const std::string& name, const std::string& rest = "");

// What it returns: an atom, "string" of a text by its address, "void"; "" when no single register
// holds it, or nothing says it.
std::string result_atom(const CDeclaration& declaration, const CTypes& types);

}  // namespace patchbay::cmd
