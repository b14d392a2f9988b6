// SPDX-License-Identifier: MIT
#include "event/stack_how_text.h"

namespace patchbay {
namespace {

const char* end_text(StackEnd end) {
  switch (end) {
    case StackEnd::kOutermost:
      return "";
    case StackEnd::kLimit:
      return "; there are more";
    case StackEnd::kNoTable:
      return "; ended early: code without an unwind table";
    case StackEnd::kNoRule:
      return "; ended early: an unusual rule in .eh_frame";
    case StackEnd::kBadMemory:
      return "; ended early: a word of the stack cannot be read";
    case StackEnd::kNotUpwards:
      return "; ended early: the next frame is not above this one";
  }
  return "; ended early";
}

}  // namespace

std::string stack_how_text(StackHow how) {
  if (!how.known) return "";
  // The first frame is where the event happened; nothing had to be found for it.
  std::string text = "# stack: " + std::to_string(how.frames);
  text += how.frames == 1 ? " frame" : " frames";
  const unsigned pointers = how.by_frame_pointer;
  if (!pointers) return text + " by .eh_frame" + end_text(how.end);
  text += ", " + std::to_string(pointers) + " by frame pointer";
  if (how.frames > pointers + 1)
    text += ", " + std::to_string(how.frames - pointers) + " by .eh_frame";
  return text + end_text(how.end);
}

}  // namespace patchbay
