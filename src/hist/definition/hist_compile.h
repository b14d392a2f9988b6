// SPDX-License-Identifier: MIT
//
// From HistData to what a hit runs (hist_program.h).
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "hist/definition/hist_data.h"

namespace patchbay {

// Makes data->program, and data->table unless it is there already (named histograms; variables of
// others refer to it). What a synthetic event's `params` go into is found by SyntheticDefinition in
// its EventCall. ENOMEM; EINVAL: a key that does not fit.
Status compile_hist(HistData* data);

// The memory of texts in entries, as hist_text.cc reads it: offset of the text or stack of variable
// `index`; ~0u: it is a number.
uint32_t hist_variable_text(const HistProgram& program, uint32_t index);

// What onmax().save() or onchange().save() keeps of an entry, of one event.
struct HistSavedFields {
  bool is_set = false;
  uint64_t value = 0;  // that is tracked
  std::vector<uint64_t> bytes;
};
// False: this histogram has no save().
bool read_hist_saved(const HistProgram& program, uint32_t entry, HistSavedFields* out);
// Where variable `index` stands in `bytes`, or kHistSavedValue. False: not there.
inline constexpr uint32_t kHistSavedValue = ~0u;
bool find_hist_saved(const HistProgram& program, uint32_t index, uint32_t* at);

// The tracked value that set off the last snapshot of action number `action`, and its entry of the
// table. False: there was no snapshot.
bool read_hist_tracked(const HistProgram& program, uint32_t action, uint64_t* value,
                       uint32_t* entry);

}  // namespace patchbay
