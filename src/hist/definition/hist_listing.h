// SPDX-License-Identifier: MIT
//
// Histograms as the `trigger` file lists them (docs/files.md): constants folded, old
// spellings in the new form, modifiers and sort keys written out.
#pragma once

#include <string>

#include "hist/definition/hist_data.h"

namespace patchbay {

// How a field is called: "mask", "common_cpu", "mask+1", "sched.sched_waking.ts0" (a reference,
// here without its $). What sort= names it by.
std::string hist_name(const HistField& field);

// "hex", "usecs"; empty: none. One of them, though a field may have several.
std::string hist_modifier(const HistField& field);

// The name of an expression, from its operator and operands.
std::string hist_expression_name(const HistField& expression);

// "common_pid.execname,mask".
std::string hist_keys_text(const HistData& hist);

// "onmatch(sched.sched_waking).wakeup(ts,$lat)".
std::string hist_action_text(const HistActionData& action);

// "hist:keys=…:vals=…:sort=…:size=… if …", without " [active]". Of a named one the first's, with
// its own filter.
std::string hist_listing(const HistData& hist);

}  // namespace patchbay
