// SPDX-License-Identifier: MIT
#include "event/stack_how_text.h"

#include <gtest/gtest.h>

namespace patchbay {
namespace {

TEST(StackHow, Texts) {
  const struct {
    StackHow how;
    const char* text;
  } kCases[] = {
      {{12, 0, StackEnd::kOutermost, 1}, "# stack: 12 frames by .eh_frame"},
      {{1, 0, StackEnd::kOutermost, 1}, "# stack: 1 frame by .eh_frame"},
      {{9, 2, StackEnd::kOutermost, 1}, "# stack: 9 frames, 2 by frame pointer, 7 by .eh_frame"},
      {{3, 2, StackEnd::kNoTable, 1},
       "# stack: 3 frames, 2 by frame pointer; ended early: code without an unwind table"},
      {{64, 0, StackEnd::kLimit, 1}, "# stack: 64 frames by .eh_frame; there are more"},
      {{4, 0, StackEnd::kNoRule, 1},
       "# stack: 4 frames by .eh_frame; ended early: an unusual rule in .eh_frame"},
      {{4, 0, StackEnd::kBadMemory, 1},
       "# stack: 4 frames by .eh_frame; ended early: a word of the stack cannot be read"},
      {{4, 0, StackEnd::kNotUpwards, 1},
       "# stack: 4 frames by .eh_frame; ended early: the next frame is not above this one"},
      {{0, 0, StackEnd::kOutermost, 0}, ""},
  };
  for (const auto& c : kCases) EXPECT_EQ(stack_how_text(c.how), c.text);
}

}  // namespace
}  // namespace patchbay
