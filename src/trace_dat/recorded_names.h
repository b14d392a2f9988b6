// SPDX-License-Identifier: MIT
// The names of a trace.dat: its kallsyms, and in a recording of several programs those of each.
#pragma once

#include "output/address_names.h"
#include "trace_dat/trace_dat_read.h"

namespace patchbay {

// The one place where the addresses of a recorded file get names. `file` outlives them.
AddressNames recorded_names(const TraceDatReader& file);
// The same for one more thread; what does not change they share. `names`: of recorded_names(file).
AddressNames recorded_names_like(const TraceDatReader& file, const AddressNames& names);

}  // namespace patchbay
