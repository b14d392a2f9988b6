// SPDX-License-Identifier: MIT
//
// The objects that addresses in records lie in. They are named in the meta log, so that addresses
// keep their names. The tables by which stacks are walked follow them, too
// (probe/records/unwind_tables.h). Registry::objects() hands it out. Under the agent's lock.
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "probe/records/unwind_tables.h"
#include "symbol/symbol.h"

namespace patchbay {

struct TraceArray;

class ObjectLog {
 public:
  // `top`: the instance whose buffer has the meta log.
  ObjectLog(SymbolTable& symbols, TraceArray& top) : symbols_(symbols), top_(top) {}

  // Objects that were loaded since the last call go into the meta log. Called wherever something
  // new may be recorded from now on.
  Status describe();
  // The meta log is another one, and empty: the next describe() names all of them.
  void forget_described() {
    described_.clear();
    last_.clear();
  }
  // The same for the tables, if want_stacks() was called.
  void follow_stacks() { unwind_.follow(); }
  // From now on stacks are walked by tables.
  void want_stacks() { unwind_.want(); }

 private:
  SymbolTable& symbols_;
  TraceArray& top_;
  UnwindTables unwind_{symbols_};
  std::unordered_set<std::string> described_;
  std::vector<Module*> last_;  // all of these were looked at
};

}  // namespace patchbay
