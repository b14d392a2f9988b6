// SPDX-License-Identifier: MIT
//
// The unwind tables of this process: made of every loaded object when an event wants stacks for the
// first time, and then kept up with the objects that come and go. What threads walk is one array
// behind one pointer (unwind_hot.h), replaced as a whole. Control side, under the agent's lock.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "probe/records/unwind_hot.h"
#include "symbol/symbol.h"
#include "symbol/unwind_table.h"

namespace patchbay {

class UnwindTables {
 public:
  explicit UnwindTables(SymbolTable& symbols) : symbols_(symbols) {}

  // From now on there are tables. They are never given back: a thread may be walking.
  void want();
  // Objects may have come or gone. Cheap when they have not; nothing before want(). An object that
  // is loaded since the last call is walked by frame pointers until then.
  void follow();
  bool wanted() const { return wanted_; }

  struct Counts {
    uint64_t modules = 0, rows = 0, bytes = 0, text_bytes = 0, made_ns = 0;
  };
  Counts counts() const;  // of what is published; made_ns: of all tables ever

 private:
  // An array as it was published.
  struct Version {
    std::vector<UnwindModule> modules;
    UnwindModules view;
  };
  const UnwindTable& table_of(Module* module);
  void publish(std::vector<UnwindModule> modules);

  SymbolTable& symbols_;
  bool wanted_ = false;
  std::vector<Module*> looked_at_;
  std::unordered_map<const Module*, const UnwindTable*> of_module_;
  std::unordered_map<std::string, std::unique_ptr<UnwindTable>> by_identity_;
  // Objects that come and go at the same place make the same arrays: each is kept once.
  std::deque<Version> versions_;
  const Version* current_ = nullptr;
  uint64_t made_ns_ = 0;
};

}  // namespace patchbay
