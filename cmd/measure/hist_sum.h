// SPDX-License-Identifier: MIT
//
// The tables of several processes as one: what one process would show that had all their hits.
//
//   asked for        hist:keys=n:vals=size.percent,lat.quantiles
//   written to each  hist:keys=n:vals=size,lat.counters            what can be added up
//
//   { n:  3 } hitcount:  2  size:  9  lat.counters: sum=70,3=1,64=1  ─┐
//   { n:  3 } hitcount:  1  size:  1  lat.counters: sum=3,3=1        ─┴─ equal keys
//   { n:  3 } hitcount:  3  size (%): 100.00  lat.p50:  3  …         sorted as the definition says
//
// Keys are equal when their texts are. The address of a symbol is another one in each process, but
// for its last three digits, which stay where a library is loaded: they and the name are compared.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace patchbay::cmd {

// A histogram's definition as it is written to each of several processes. EINVAL: what its actions
// keep is of one process.
Result<std::string> summable_definition(std::string_view definition);

struct HistSumShape {
  std::string definition;               // as it was asked for
  std::set<std::string> signed_fields;  // of the event
};
// Texts of a histogram whose definition was made summable, as one text, in the form that was asked
// for; also of one text. Empty texts are left out; of none: empty.
std::string hist_sum(const std::vector<std::string>& untrusted_texts, const HistSumShape& shape);
// The same in the form in which they were written, to be added up again. Empty: that cannot be, as
// a sum does not have the addresses of its symbols.
std::string hist_part_sum(const std::vector<std::string>& untrusted_texts,
                          const HistSumShape& shape);

}  // namespace patchbay::cmd
