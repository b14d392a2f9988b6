// SPDX-License-Identifier: MIT
//
// What decides against a jump: a thread may be in any stub that was ever built and come out of it
// at any later time. So a jump is never written over an address at which some stub ends, but for
// the jump's own first byte.

#include "patch/site_layout.h"

#include <algorithm>
#include <span>

namespace patchbay {
namespace {

// Bytes from its address on that the site's text changes.
uint64_t footprint(const Site& site, bool single) {
  if (single || site.kind == SiteKind::kTrap || site.kind == SiteKind::kProbeTrap) return 1;
  return site.kind == SiteKind::kShortJump ? kShortJumpSize : kJumpSize;
}

bool is_boundary(const Site& site, uint64_t address) {
  const uint8_t* end = site.boundary + site_count(site);
  return std::find(site.boundary, end, address - site.address) != end;
}

// The site whose jump covers the address with bytes that are not its first.
Site* covering(const Around& around) {
  for (int64_t distance = 1; distance < int64_t{kJumpSize}; distance++) {
    Site* site = around.at(-distance);
    if (site && site->next_text && uint64_t(distance) < footprint(*site, site->single)) return site;
  }
  return nullptr;
}

// A stub ends behind the first byte of [address, address + size).
bool stub_ends_inside(const Around& around, uint64_t address, uint64_t size) {
  for (int64_t distance = -int64_t{kMaxDisplaced}; distance < int64_t(size); distance++) {
    const Site* site = around.at(distance);
    for (const StubRecord* stub = site ? site->stubs : nullptr; stub; stub = stub->older) {
      if (stub->exit() > address && stub->exit() < address + size) return true;
    }
  }
  return false;
}

// The jmp in front of some function whose 5 bytes overlap [address, address + size).
const Site* padding_in(const Around& around, uint64_t address, uint64_t size) {
  for (int64_t distance = 1 - int64_t{kJumpSize}; distance < int64_t(size); distance++) {
    const Site* site = around.find(distance);
    const uint64_t at = address + uint64_t(distance);
    if (site && site->alias == at && site->address != at && site->next_text && !site->single)
      return site;
  }
  return nullptr;
}

bool padding_is_taken(const Site& site) {
  if (site.kind != SiteKind::kShortJump) return false;
  const uint64_t room = site.room;
  const Around around(room);
  for (int64_t distance = 1 - int64_t{kJumpSize}; distance < int64_t{kJumpSize}; distance++) {
    const Site* other = around.at(distance);
    const uint64_t at = room + uint64_t(distance);
    if (other && other->next_text && at + footprint(*other, other->single) > room) return true;
  }
  return site.alias != room;  // its address belongs to a site that was placed in the padding
}

// `inner` gives up its text and runs in the stub of `site`, with all that runs in its own.
bool absorb(const Site& site, Site* inner, std::vector<Site*>* absorbs) {
  const bool can_move = inner->kind != SiteKind::kShortJump &&
                        inner->state == SiteState::kPatched && is_boundary(site, inner->address);
  if (!can_move) return false;
  absorbs->push_back(inner);
  bool good = true;
  visit_inner(*inner, [&](uint8_t, Site* further) {
    good &= is_boundary(site, further->address);
    absorbs->push_back(further);
  });
  return good;
}

// The jump that was planned has the bytes for itself.
bool may_jump(const Site& site, const Around& around, std::vector<Site*>* absorbs) {
  const uint64_t size = footprint(site, false);
  if (size == 1) return false;
  if (stub_ends_inside(around, site.address, size)) return false;
  if (padding_in(around, site.address, size) || padding_is_taken(site)) return false;
  for (int64_t distance = 1; distance < int64_t(size); distance++) {
    Site* inner = around.at(distance);
    if (inner && inner->next_text && !absorb(site, inner, absorbs)) return false;
  }
  return true;
}

// A site that is off, and whose jump would displace the address: its stub of former times may end
// in the bytes that a jump there needs, but not in those of its own jump.
Site* former_host(uint64_t address) {
  for (uint64_t distance = 1; distance < kJumpSize; distance++) {
    Site* site = site_at(address - distance);
    const bool is_free = site && site->state == SiteState::kOriginal && !site->next_text &&
                         !site->next_host && !site->touched && site->boundary_count > 1;
    std::vector<Site*> absorbs;
    if (!is_free || distance >= footprint(*site, false) || site->kind == SiteKind::kKey) continue;
    const std::span boundaries(site->boundary, site->boundary_count);
    if (std::find(boundaries.begin(), boundaries.end(), distance) == boundaries.end()) continue;
    if (may_jump(*site, Around(site->address), &absorbs) && absorbs.empty()) return site;
  }
  return nullptr;
}

}  // namespace

const char* placement_refusal(const SitePlan& plan) {
  if (const Site* known = site_at(plan.patch_address);
      known && (known->next_text || known->next_host))
    return nullptr;
  Site site;
  site.address = plan.patch_address;
  site.entry = plan.entry;
  site.kind = plan.kind;
  site.no_trap = plan.no_trap;
  site.displaced = uint8_t(plan.displaced);
  site.boundary_count = plan.boundary_count;
  std::copy(plan.boundary.begin(), plan.boundary.end(), site.boundary);
  if (plan.kind == SiteKind::kShortJump) site.room = site.alias = plan.target;
  return place_site(site).refusal;
}

Site* site_at(uint64_t address) {
  Site* site = site_find(address);
  return site && site->address == address ? site : nullptr;
}

Placement place_site(const Site& site) {
  Placement placement;
  const Around around(site.address);
  if (padding_in(around, site.address, 1)) {
    placement.refusal = "the jump of a function behind it stands in these unused bytes";
  } else if (Site* host = covering(around)) {
    if (is_boundary(*host, site.address)) {
      placement.host = host;
    } else {
      placement.refusal = "the jump of another probe stands in these unused bytes";
    }
  } else if (!may_jump(site, around, &placement.absorbs)) {
    placement.absorbs.clear();
    const bool needs_trap = site.kind != SiteKind::kKey && site.no_trap;
    if (needs_trap) placement.host = former_host(site.address);
    placement.single = !placement.host;
    if (needs_trap && !placement.host)
      placement.refusal = "another probe has, or had, the bytes of its jump";
  }
  return placement;
}

}  // namespace patchbay
