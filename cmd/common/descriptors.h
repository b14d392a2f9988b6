// SPDX-License-Identifier: MIT
//
// A command that works on many processes takes some descriptors for each.
#pragma once

#include <string>

namespace patchbay::cmd {

// As many as the hard limit allows. Children inherit it.
void raise_descriptor_limit();

// Fewer are free than one more process needs: a failure that looks like its end may be this.
bool lacks_descriptors();

// What a person can do when that was not enough (EMFILE).
std::string no_descriptors_text();

}  // namespace patchbay::cmd
