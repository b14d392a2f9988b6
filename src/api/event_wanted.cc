// SPDX-License-Identifier: MIT
#include <patchbay/trace_events.h>

#include "base/error_pointer.h"
#include "probe/synthetic_hot.h"

using namespace patchbay;

int patchbay_synth_event_is_wanted(const trace_event_file* file) {
  if (!is_pointer(file)) return 0;
  const auto* handle = reinterpret_cast<const EventFileHandle*>(file);
  if (!__atomic_load_n(&handle->references, __ATOMIC_ACQUIRE)) return 0;
  // Pairs with SyntheticEvents, which puts it there.
  return __atomic_load_n(&handle->target.program, __ATOMIC_ACQUIRE) != nullptr;
}
