// SPDX-License-Identifier: MIT
//
// The tables of several processes as one: what one process would show that had all their hits.
//
//   { n:  3 } 2 hits  size 9  lat 3, 64  ─┐
//   { n:  3 } 1 hit   size 1  lat 3      ─┴─ equal keys
//   { n:  3 } 3 hits  size 10 lat 3, 3, 64
//
// Keys are equal when their values are: numbers, the bytes of texts. An address is another one in
// each process: it is known by its place in its object. What onmax() keeps is that of the process
// with the largest value; of onchange() that of each is shown, and so is each snapshot.
#pragma once

#include <memory>
#include <vector>

#include "hist/image/hist_image.h"

namespace patchbay::cmd {

using HistImagePtr = std::shared_ptr<const HistImage>;  // null: nothing was read yet

// Their columns are alike, so that they can be added up.
bool same_columns(const std::vector<HistColumn>& a, const std::vector<HistColumn>& b);
bool same_columns(const HistImage& a, const HistImage& b);
// The definition is the first one's. Null ones are left out, and those with other columns; of none:
// null.
HistImagePtr hist_sum(const std::vector<HistImagePtr>& images);

}  // namespace patchbay::cmd
