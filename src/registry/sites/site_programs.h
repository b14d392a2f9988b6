// SPDX-License-Identifier: MIT
//
// The SitePrograms of this process, one for each distinct list of consumers: sites that serve the
// same consumers share it, however many there are. One that no site runs any more is kept (a thread
// may be on its way with it) and is taken again when its list comes again.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "probe/probe_abi.h"

namespace patchbay {

class SitePrograms {
 public:
  SitePrograms() = default;
  SitePrograms(const SitePrograms&) = delete;
  SitePrograms& operator=(const SitePrograms&) = delete;
  ~SitePrograms();

  // A transaction begins: what programs depend on may have changed.
  void begin() { last_ = nullptr; }
  // The program for these consumers, in this order; null: no memory. Sites are not counted here.
  // `likely`: the one that it may be; null: nothing is known.
  const SiteProgram* get(std::span<const SiteEvent> list, bool on_return,
                         const SiteProgram* likely = nullptr);
  // A site runs `to` from now on, and no longer `from`; either may be null.
  void move(const SiteProgram* from, const SiteProgram* to);
  // debug/combinations: "SITES entry|return NAMES" of each that sites run, those with most first.
  // `names`: of the consumers of a program, with a blank before each.
  std::string show(const std::function<std::string(const SiteProgram*)>& names) const;

 private:
  struct Entry;  // stands in front of its program
  static Entry* entry_of(const SiteProgram* program);
  static SiteProgram* program_of(Entry* entry);
  Entry* find(std::span<const SiteEvent> list, bool on_return, uint64_t hash) const;
  Entry* make(std::span<const SiteEvent> list, bool on_return, uint64_t hash);
  void grow();

  std::vector<Entry*> table_;  // open addressing by hash; a power of two, null: free
  size_t used_ = 0;
  const SiteProgram* last_ = nullptr;  // that get() gave
  bool last_on_return_ = false;
};

}  // namespace patchbay
