// SPDX-License-Identifier: MIT
//
// Where a site that is switched on runs: places may overlap, jumps may not.
//
//   A: 53        push %rbx     e9 ..        Jumps only ever displace what nothing but the first
//   B: 48 89 fb  mov …         .. .. ..     instruction leads to. So whoever comes to B has come
//   C: 90        nop           ..           through A, and A's stub runs B's prologue in front of
//                                           B's instruction: A is B's host.
#pragma once

#include <vector>

#include "patch/site_table.h"

namespace patchbay {

// Bytes of `jmp rel32` and `jmp rel8`.
inline constexpr uint64_t kJumpSize = 5;
inline constexpr uint64_t kShortJumpSize = 2;

struct Placement {
  // Runs in its stub; else the site gets text of its own. A host that has no text now gets its jump
  // again, for its guest alone.
  Site* host = nullptr;
  bool single = false;         // its text is an int3 on one instruction
  std::vector<Site*> absorbs;  // sites with text whose host it becomes, and what these were host of
  const char* refusal = nullptr;
};

// For a site that has neither text nor a host. All sites before it have been placed.
Placement place_site(const Site& site);
// Why a place that is planned so could not be switched on as things are now; null: it could.
const char* placement_refusal(const SitePlan& plan);

// The site at exactly this address; null: none.
Site* site_at(uint64_t address);

// What is near an address. Mostly that is nothing, and then nothing is looked up.
class Around {
 public:
  explicit Around(uint64_t address) : address_(address), keys_(sites_around(address)) {}
  // site_find() and site_at() of address + distance, which is from -32 to 31.
  Site* find(int64_t distance) const {
    const bool any = keys_ >> (32 + distance) & 1;
    return any ? site_find(address_ + uint64_t(distance)) : nullptr;
  }
  Site* at(int64_t distance) const {
    Site* site = find(distance);
    return site && site->address == address_ + uint64_t(distance) ? site : nullptr;
  }

 private:
  uint64_t address_, keys_;
};
// Calls visit(index, inner) for the sites that will run in the stub of `host` but itself.
template <typename Visit>
void visit_inner(const Site& host, Visit visit) {
  if (site_count(host) < 2) return;
  const Around around(host.address);
  for (uint8_t i = 1; i < site_count(host); i++) {
    Site* inner = around.at(host.boundary[i]);
    if (inner && inner->next_host == &host) visit(i, inner);
  }
}

}  // namespace patchbay
