// SPDX-License-Identifier: MIT
//
// From HistData to what a hit runs (hist_program.h).
#pragma once

#include "base/result.h"
#include "hist/hist_data.h"

namespace patchbay {

// Makes data->program, and data->table unless it is there already (named histograms; variables of
// others refer to it). What a synthetic event's `params` go into is found by SyntheticDefinition in
// its EventCall. ENOMEM; EINVAL: a key that does not fit.
Status compile_hist(HistData* data);

// The memory of texts in entries, as hist_text.cc reads it: offset of the text or stack of variable
// `index`; ~0u: it is a number.
uint32_t hist_variable_text(const HistProgram& program, uint32_t index);

// What set off the last snapshot of action number `action`: the tracked value, and the entry of the
// table. False: none was asked for.
bool read_hist_tracked(const HistProgram& program, uint32_t action, uint64_t* value,
                       uint32_t* entry);

}  // namespace patchbay
