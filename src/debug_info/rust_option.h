// SPDX-License-Identifier: MIT
//
// Option<T> of Rust, where its parts are one or two numbers: how it lies, and in which registers it
// is passed.
//
//   Option<i32>    two numbers, {is there, value}, each in a register of its own
//   Option<&T>     the address, which is 0 for None
//   Option<&str>   the address, which is 0 for None, and the length
#pragma once

#include <optional>

#include "debug_info/calling_convention.h"
#include "debug_info/probe_type.h"

namespace patchbay {

struct RustOption {
  TypeFacts value;      // T
  bool has_tag = true;  // false: the first word of the value is 0 for None
  uint64_t tag_size = 0;
  size_t nr_words = 0;  // of the value
};
// Nothing: it is another type, or passed in a way that is not known.
std::optional<RustOption> rust_option(const TypeFacts& facts);

}  // namespace patchbay
