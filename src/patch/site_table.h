// SPDX-License-Identifier: MIT
//
// Every place that was ever patched, by address, as the SIGTRAP handler sees it. Sites and stub
// records are never freed and never move: a thread may have trapped long before its signal arrives.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "arch/x86_64/relocate.h"
#include "patch/patcher.h"
#include "patch/stub_views.h"

namespace patchbay {

// What stands where a thread has to be caught. int3 is a trap: a debugger takes every SIGTRAP for
// its own, and the program would go on behind it, in the middle of an instruction. So where a
// process is traced it is hlt, which is a fault: SIGSEGV, which debuggers pass on; and whoever does
// not has the same fault again.
constexpr uint8_t kTrapInt3 = 0xcc, kTrapHalt = 0xf4;

enum class SiteState : uint8_t {
  kOriginal,
  kPatched,
  kPending,  // int3 at every instruction start, the jump is not written yet
  kLeaving,  // int3 at the head and in the padding, the original bytes are not all back yet
};

// A site is on when an event wants it. Then it has text of its own (state), or runs in the stub of
// another one, its host, whose jump displaces it. A host has text also when it is off itself.
//
// The nop of a static event (its key) may be an instruction that a probe displaces, most often the
// first one of a function. Then the key has no text: for the stub it is what the program has there,
// `jmp target` while the event is on and the nop while it is off. The event's block comes back
// behind the nop, as the stub does.
//
//   text            probe off              probe on
//   key off         nop                    jmp stub:  prologue, jmp behind the nop
//   key on          jmp target             jmp stub:  prologue, jmp target
struct Site {
  uint64_t address = 0;  // patch_address
  uint64_t entry = 0;
  SiteKind kind = SiteKind::kRefused;
  SiteState state = SiteState::kOriginal;
  uint8_t displaced = 0;
  uint8_t boundary_count = 0;
  bool runs_anywhere = false;  // SitePlan
  uint8_t boundary[kMaxBoundaries] = {};
  uint8_t original[kMaxDisplaced] = {};
  uint8_t padding[5] = {};
  uint8_t guard = kTrapInt3;  // or kTrapHalt; what the text has, if any, where threads are caught
  const char* no_trap = nullptr;  // see SitePlan
  uint64_t room = 0;              // kShortJump: where its jmp in the padding is
  uint64_t alias = 0;             // room, unless another site was there first
  bool on = false;                // a probe or the key:
  bool probe = false;             // has `prologue`
  bool key = false;               // a static event is on, kind says kKey when nothing else is
  bool single = false;  // int3 on the first instruction alone, whatever the kind says
  Site* host = nullptr;
  StubPrologue prologue;  // while a probe is on
  uint64_t target = 0;    // of the key: where its jmp goes
  // What the running transaction wants; outside of one the same as above.
  bool next_on = false, next_probe = false, next_key = false;
  bool next_text = false;  // it has bytes of its own in the text (state)
  Site* next_host = nullptr;
  const StubPrologue* next_prologue = nullptr;  // null: the one that it has
  bool touched = false;                         // some change names it
  bool in_transaction = false;                  // its text is being changed
  bool watched = false;         // a thread behind the first byte, or in the padding, is in the way
  StubRecord* stubs = nullptr;  // newest first
  StubRecord* current = nullptr;
  // What the handler answers: 0 = original bytes are back; a StubRecord*; with bit 0 set: going
  // away, skip the prologue.
  std::atomic<uintptr_t> trap{0};
};

// Control thread only.
Site* site_find_or_add(uint64_t patch_address);
void visit_sites(const std::function<void(Site*)>& visit);
Site* site_find(uint64_t patch_address);  // or by its alias
// It will be looked for soon: its place in the table is asked for.
void site_fetch_ahead(uint64_t patch_address);
// Which addresses around this one have a site or are the alias of one: bit 32 + d for address + d.
uint64_t sites_around(uint64_t address);
// Those with start <= address < end that were ever added.
std::vector<Site*> sites_between(uint64_t start, uint64_t end);
void site_set_alias(Site* site, uint64_t alias);
// The record that stands for the jump of a key to `target`; made once for each target.
StubRecord* key_record(Site* site, uint64_t target);
// Some site's text may differ from the file's in [address, address + size).
bool site_near(uint64_t address, uint64_t size);
// Length of the site's first instruction.
uint8_t first_length(const Site& site);
// Bytes and instructions that the site displaces in the form that it has.
inline uint8_t site_size(const Site& site) {
  return site.single ? first_length(site) : site.displaced;
}
inline uint8_t site_count(const Site& site) { return site.single ? 1 : site.boundary_count; }
// A watched site that a thread at `address` stands in: behind its first byte, which holds int3, or
// in its padding. Null: none.
const Site* watched_around(uint64_t address);

}  // namespace patchbay
