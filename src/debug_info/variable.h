// SPDX-License-Identifier: MIT
//
// Variables that the program has at a place, and expressions over them:
//
//   EXPR := '*' EXPR | NAME | $retval | '(' EXPR ')'      then any of  ->M  .M  [N]
//
// A name alone inside a method may be a member of *this. References are followed without a sign.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "debug_info/calling_convention.h"
#include "debug_info/location.h"
#include "debug_info/probe_type.h"
#include "debug_info/unit_index.h"

namespace patchbay {

struct Variable {
  std::string name;
  Dwarf_Die die{};
  bool is_parameter = false;
};

struct Value {
  Where where;
  std::optional<Dwarf_Die> type;
  size_t dimension = 0;   // of an array of several: indexes already taken
  unsigned bit_size = 0;  // a bitfield; `where` is then what it lies in
  uint64_t first_bit = 0;
};

// One argument of a probe's definition.
struct FetchArgument {
  std::string name, fetch, type;
  std::string note;  // for people: enumerators, how much of an array it is
  std::string text() const { return name + "=" + fetch + (type.empty() ? "" : ":" + type); }
};

class VariableReader {
 public:
  VariableReader(DebugInfo& info, const UnitIndex& index, const ProbePoint& point,
                 TextOfAddress address_text)
      : info_(info), index_(index), point_(point), address_text_(std::move(address_text)) {}

  // Parameters and locals of the innermost function, inner scopes first; each name once.
  std::vector<Variable> visible() const;
  Value value_of(const Variable& variable);
  // EXPR. The sentence of an error names what is wrong in it.
  Result<Value> evaluate(std::string_view expression);
  // How a probe fetches and shows the value; a string_view gives two arguments. `type`: as the user
  // wants it shown, or empty.
  Result<std::vector<FetchArgument>> arguments_of(const Value& value, const std::string& name,
                                                  const std::string& type);

 private:
  friend class ExpressionParser;
  void collect(Dwarf_Die scope, int depth, std::vector<Variable>* found) const;
  Result<Value> named(std::string_view name);
  Result<Value> member_of_this(std::string_view name, bool* is_there);
  std::optional<Value> global(std::string_view name);
  Result<Value> returned();
  Error unknown(std::string_view name) const;
  Result<Value> member(Value value, std::string_view name);
  Result<Value> element(Value value, uint64_t index);
  Result<Value> pointee(Value value);
  Value follow_reference(Value value);
  Where parameter_place(const Variable& variable);
  bool is_optimised_clone() const;
  Result<FetchArgument> bitfield(const Value& value, const std::string& name);
  Result<std::vector<FetchArgument>> aggregate(const Value& value, const TypeFacts& facts,
                                               const std::string& name);
  Result<std::vector<FetchArgument>> array(const Value& value, const TypeFacts& facts,
                                           const std::string& name, const std::string& type);
  Result<FetchArgument> scalar(const Value& value, const TypeFacts& facts, const std::string& name,
                               const std::string& type);
  Result<std::string> text_of(const Where& where) const;

  DebugInfo& info_;
  const UnitIndex& index_;
  ProbePoint point_;
  TextOfAddress address_text_;
};

}  // namespace patchbay
