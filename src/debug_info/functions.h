// SPDX-License-Identifier: MIT
//
// Functions by name, with each piece of code of theirs. A function's own code is an instance. So is
// each copy that was inlined somewhere, and each clone that the optimiser made.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "debug_info/debug_info.h"
#include "debug_info/die.h"
#include "debug_info/unit_index.h"

namespace patchbay {

struct FunctionInstance {
  Dwarf_Die die{};       // DW_TAG_subprogram with code, or DW_TAG_inlined_subroutine
  Dwarf_Die concrete{};  // the subprogram whose code it lies in; die itself if not inlined
  bool is_inlined = false;
  uint64_t entry = 0;
  std::string name;  // ns::Class::function, without parameters
};

class FunctionFinder {
 public:
  FunctionFinder(const DebugInfo& info, const UnitIndex& index) : info_(info), index_(index) {}

  // `name`: function, ns::Class::function, with or without a parameter list, or mangled. `file`:
  // the end of the path of the source file that declares it; empty: any. Sorted by address. An
  // error says what is wrong with the function, or which names are near.
  Result<std::vector<FunctionInstance>> find(std::string_view name, std::string_view file);
  // Whether many names will be asked for, one after the other: what all units declare is read once
  // for them. Copies that were inlined are not looked for then.
  void expect_many(bool many) { expects_many_ = many; }
  bool expects_many() const { return expects_many_; }
  // The innermost instance in a unit whose code has the address.
  std::optional<FunctionInstance> innermost(Dwarf_Die unit, uint64_t pc);
  // Whether an entry of the debug information can be that of code: see DebugInfo.
  bool is_code(uint64_t address) const { return info_.is_code(address); }
  // All functions with code, as they are shown, sorted. Read at the first question.
  const std::vector<std::string>& names();

 private:
  struct Scope {
    std::string name;
    Dwarf_Die concrete{};
    int depth = 0;
  };
  struct Code {
    Dwarf_Die die, concrete;
  };
  struct Head {
    std::string name, qualified;
    Dwarf_Die die;
  };
  // What stands outside of functions' bodies, in all units.
  struct Heads {
    std::vector<Head> declarations;                   // by name
    std::vector<std::pair<void*, Dwarf_Die>> codes;   // by the declaration that each is of
    std::unordered_map<uint64_t, Dwarf_Die> entries;  // by address
  };
  void ask(std::string_view name, std::string_view file);
  std::vector<Dwarf_Die> units_to_search() const;
  void read_heads();
  std::vector<FunctionInstance> find_in_heads();
  Result<std::vector<FunctionInstance>> checked(std::vector<FunctionInstance> found) const;
  void walk(Dwarf_Die die, const Scope& scope);
  void visit_function(Dwarf_Die die, const Scope& scope);
  void add_head(Dwarf_Die die, const Scope& scope, bool is_declaration);
  void walk_names(Dwarf_Die die, const std::string& scope, int depth,
                  std::vector<std::string>* names);
  bool matches(Dwarf_Die die, const std::string& qualified) const;
  bool is_in_file(Dwarf_Die die) const;
  void find_by_symbol(std::vector<FunctionInstance>* found);
  void collect(std::vector<FunctionInstance>* found) const;
  Status check_one_name(std::vector<FunctionInstance>* found) const;
  Error no_function();

  const DebugInfo& info_;
  const UnitIndex& index_;
  // Of the question:
  std::string asked_, name_, listed_, last_, parameters_, file_;
  std::unordered_map<void*, std::string> declarations_;  // that match -> qualified name
  std::vector<Code> codes_;
  std::vector<Dwarf_Die> bodies_;  // without code, of which code elsewhere may be an instance
  bool has_other_file_ = false;
  // Of all questions. Where a glob asks for a thousand names, nobody reads what is near them.
  static constexpr int kMostAnswersWithNear = 10;
  int nr_answers_with_near_ = 0;
  std::vector<std::string> names_;
  bool expects_many_ = false;
  std::unique_ptr<Heads> heads_;  // null: not read yet
  bool reads_heads_ = false;      // walk() fills them, whatever was asked
  bool into_bodies_ = true;  // false: only the heads of functions are looked at
};

// Whether `path` is the file that somebody means by `asked`: equal, or equal behind a '/'.
bool is_file(std::string_view path, std::string_view asked);

}  // namespace patchbay
