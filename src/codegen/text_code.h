// SPDX-License-Identifier: MIT
//
// The texts of a record, copied from where the program has them straight to where they stay.
//
//       text         ..|.......|.......|NUL....        aligned words, which never span two pages
//                    --|-------|-------|-------
//       record  head fields |...............NUL|next text
//                           ^ Spill::kBegin     ^ reg::kPlace, the end so far
//
//     first word: the bytes before the text are shifted out, 0xff comes in from above
//     while there is no NUL in the word:
//       store it; next word, unless it lies behind the bound  -> unusual
//     store what is in front of the NUL, and zeros
//     the end is behind the bound?  -> unusual
//     offset and length into the fixed part
//
// The bound is what a small record has room for, or the field's own limit: what is cut there is the
// general way's to cut. A load that faults leaves the sequence (hot/fault.h). Ahead of the end the
// code writes up to kTextSlack bytes: nothing there is published.
#pragma once

#include "codegen/code_frame.h"

namespace patchbay {

// Beyond kMaxSmallData, for the last word of a text.
inline constexpr uint32_t kTextSlack = 8;

// Copies all texts of the record that begins `at` bytes behind reg::kPlace. Spends every register
// of reg::kSpent; on return kPlace is the end of the record.
void emit_texts(const CodeFrame& frame, uint32_t at, const Label& unusual);

}  // namespace patchbay
