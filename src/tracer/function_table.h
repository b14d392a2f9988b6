// SPDX-License-Identifier: MIT
//
// The functions that can be traced, as available_filter_functions lists them: those of all loaded
// objects in load order, by address, without the ones that the planner refuses. The kernel's
// dyn_ftrace records. Made at the first question about function tracers, and kept up to date with
// the objects that come and go. A program that is never asked pays nothing. A question about some
// names costs what these names cost: the table plans the others when the list is read, or when all
// functions are traced.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "patch/patcher.h"
#include "registry/sites/probe_sites.h"
#include "symbol/symbol.h"

namespace patchbay {

// What a function takes of the program's memory, about, and a little more: in the table, and while
// it is traced, with what setting it up takes meanwhile. Measured with the 32,000 functions of
// Redis and its libraries: 570 bytes, and then 1430 and 1790.
inline constexpr uint64_t kPlannedBytes = 640, kTracedBytes = 1600, kTracedReturnBytes = 2048;

// Stays where it is until forget_all(), also when its object is gone.
struct DynFtrace {
  ProbePlace place;  // of the entry; shared by all ops, which join it with events of their own
  // The same with on_return; refused where returns cannot be hooked. Null before plan_return().
  ProbePlace* return_place = nullptr;
  Module* module = nullptr;
  std::string_view name;    // as shown: demangled without parameters, or file@0xOFFSET
  uint32_t index = 0;       // in known(), as long as it is not gone; grows in the list's order
  uint32_t users = 0;       // ops that trace it now
  uint32_t profile = 0;     // 1 + index in the profiler's tables
  uint32_t graph = 0;       // kGraphRoot, kGraphNotrace (probe/returns/graph_hot.h)
  bool touched = false;     // some ops traced it once (touched_functions)
  bool gone = false;        // its object was unloaded; in no list any more
  bool in_program = false;  // of the executable itself
};

class FunctionTable {
 public:
  FunctionTable(SymbolTable& symbols, Patcher& patcher);
  ~FunctionTable();

  // Looks for objects that came or went. `came` and `went` get their functions (either may be
  // null): of an object that came those that are known, all of them if `plan_new`. The first call
  // makes the table.
  void refresh(std::vector<DynFtrace*>* came, std::vector<DynFtrace*>* went, bool plan_new = false);
  bool is_made() const;
  // All, in the order of available_filter_functions. Where they are not known yet they are planned;
  // without the memory for that (check_room()) it throws std::bad_alloc.
  std::span<DynFtrace* const> functions() const;
  // ENOMEM, with a sentence: what the process's control group has left is not enough to plan the
  // functions that are not known yet, and to trace `traced` of them (nothing: all), at returns if
  // `on_return`. `what` wants it.
  Status check_room(std::string_view what, std::optional<size_t> traced, bool on_return) const;
  // The functions that are planned until now, in the same order.
  std::span<DynFtrace* const> known() const;
  // The functions whose names fit become known.
  struct Names {
    std::function<bool(const Module&, bool in_program)> module;
    std::function<bool(std::string_view shown)> name;
    // Stands in each symbol whose shown name fits, symbol_fragment(); may be empty.
    std::string_view fragment;
  };
  void look_up(const Names& names) const;
  // Null: cannot be traced.
  DynFtrace* find(uint64_t entry) const;
  // As before the first refresh(). Nobody has a function of it.
  void forget_all();
  // Gives back what look_up() has read.
  void drop_caches() const;
  // The functions that a symbol of exactly this name means, though they are listed by another one:
  // an alias, one that is chosen at run time (memmove), f@file.c.
  std::vector<DynFtrace*> find_by_symbol(std::string_view name) const;
  // "" for the executable's own functions, which are listed without it; else the name that stands
  // in brackets and that :mod: matches.
  static std::string_view module_name(const DynFtrace& function);
  // "sqlite3_step [libsqlite3.so.0]".
  static std::string listed_name(const DynFtrace& function);
  // Its return_place, planned the first time; the plan says whether returns are hooked, or why not.
  const ProbePlace& plan_return(DynFtrace* function);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace patchbay
