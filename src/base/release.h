// SPDX-License-Identifier: MIT
#pragma once

namespace patchbay {

// Empties a container and gives back its memory. (`container = {}` keeps a vector's: it assigns an
// empty list.)
template <typename Container>
void release(Container* container) {
  Container().swap(*container);
}

}  // namespace patchbay
