// SPDX-License-Identifier: MIT
// What an emitter has noted of the stack, as unwinders read it.
#pragma once

#include <algorithm>
#include <vector>

#include "arch/emitter.h"
#include "patch/stub_views.h"

namespace patchbay {

inline StackShape stack_shape_of(const std::vector<StackNote>& notes) {
  StackShape shape;
  shape.count = uint32_t(std::min(notes.size(), kMaxStackRows));
  for (uint32_t i = 0; i < shape.count; i++)
    shape.row[i] = {uint16_t(notes[i].at), uint16_t(notes[i].moved), notes[i].is_saved};
  return shape;
}

}  // namespace patchbay
