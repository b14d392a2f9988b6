// SPDX-License-Identifier: MIT
//
//   slot:   0            free: a search ends here
//           pid          taken
//           kGone        was taken: a search goes on
//
// A reader (pid_set_has) starts at pid_slot() and walks on. Every store is one atomic word, so that
// a reader finds each pid that was in the set for the whole of its search. `reserved` counts the
// slots that are not free, for the control side: never more than half of them.
#include "registry/pid_set.h"
#include "base/check.h"

#include <bit>
#include <cstdlib>

namespace patchbay {

namespace {

constexpr uint32_t kGone = ~uint32_t{0};
constexpr uint32_t kMinSlots = 16;

uint32_t load(const uint32_t* slot) { return __atomic_load_n(slot, __ATOMIC_RELAXED); }
void store(uint32_t* slot, uint32_t value) { __atomic_store_n(slot, value, __ATOMIC_RELEASE); }

}  // namespace

void PidSetDeleter::operator()(PidSet* set) const { std::free(set); }

PidSetPtr make_pid_set(std::span<const uint32_t> pids) {
  uint32_t slots = std::bit_ceil(uint32_t(pids.size()) * 4 + kMinSlots);
  auto* set = static_cast<PidSet*>(std::calloc(1, sizeof(PidSet) + slots * sizeof(uint32_t)));
  if (!set) return nullptr;
  set->mask = slots - 1;
  for (uint32_t pid : pids) pid_set_insert(set, pid);
  return PidSetPtr(set);
}

bool pid_set_insert(PidSet* set, uint32_t pid) {
  if (pid == 0 || pid == kGone) return true;
  PB_CHECK_VALUES(set->reserved <= set->mask, set->reserved, set->mask);  // a search has an end
  uint32_t i = pid_slot(set, pid);
  for (; load(&set->slot[i]); i = (i + 1) & set->mask)
    if (load(&set->slot[i]) == pid) return true;
  if (set->reserved > set->mask / 2) return false;
  set->reserved++;
  store(&set->slot[i], pid);
  return true;
}

void pid_set_erase(PidSet* set, uint32_t pid) {
  if (pid == 0) return;
  for (uint32_t i = pid_slot(set, pid); load(&set->slot[i]); i = (i + 1) & set->mask) {
    if (load(&set->slot[i]) != pid) continue;
    store(&set->slot[i], kGone);
    return;
  }
}

}  // namespace patchbay
