// SPDX-License-Identifier: MIT
//
// Functions whose return address must stand where the caller put it while they run: those that
// return twice, that look at it, or that take it away (return_hook.h). All others get a
// return hook.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "symbol/symbol.h"

namespace patchbay {

// A jump out of a function that leaves its return address to another one: a tail call.
struct TailJump {
  int64_t target;       // from the function's entry on
  bool through_memory;  // the word there says where it goes
};
inline constexpr char kTailRefusal[] =
    "it ends in a jump to a function that looks at its return address, or has no use of it";

// Why a call of `function` may not have its return hooked; null: it may. The reason is a constant.
// `code`: its bytes as in the file, from its entry to its end; when the end is not known, up to the
// next function. Only so much of it is decoded as a bound allows. `tail_jumps`: those that were
// seen, for a function that is not refused for itself.
const char* return_hook_refusal(const FunctionSymbol& function, std::string_view code,
                                std::vector<TailJump>* tail_jumps = nullptr);
// The same for what has this name, which is another object's.
const char* return_refusal_by_name(std::string_view name);

}  // namespace patchbay
