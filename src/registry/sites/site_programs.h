// SPDX-License-Identifier: MIT
//
// The SitePrograms of this process, one for each distinct list of consumers: sites that serve the
// same consumers share it, however many there are. One that no site runs any more is kept (a thread
// may be on its way with it) and is taken again when its list comes again.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>

#include "probe/probe_abi.h"

namespace patchbay {

class SitePrograms {
 public:
  // A transaction begins: what programs depend on may have changed.
  void begin() { last_ = nullptr; }
  // The program for these consumers, in this order; null: no memory. `names`: who they are, for
  // show(); called when the list is new. Sites are not counted here.
  const SiteProgram* get(std::span<const SiteEvent> list, bool on_return,
                         const std::function<std::string()>& names);
  // A site runs `to` from now on, and no longer `from`; either may be null.
  void move(const SiteProgram* from, const SiteProgram* to);
  // debug/combinations: "SITES entry|return NAMES" of each that sites run, those with most first.
  std::string show() const;

 private:
  struct Free {
    void operator()(SiteProgram* program) const;
  };
  struct Entry {
    std::unique_ptr<SiteProgram, Free> program;
    uint64_t hash;
    bool on_return;
    uint32_t sites = 0;  // that run it now
    std::string names;
  };
  const SiteProgram* make(std::span<const SiteEvent> list, bool on_return, uint64_t hash);
  void count(const SiteProgram* program, int sites);

  std::unordered_multimap<uint64_t, const SiteProgram*> by_hash_;
  std::unordered_map<const SiteProgram*, Entry> entries_;
  const SiteProgram* last_ = nullptr;  // that get() gave
  bool last_on_return_ = false;
  // The programs that were counted last, by two bits of their address.
  std::pair<const SiteProgram*, Entry*> counted_[4] = {};
};

}  // namespace patchbay
