// SPDX-License-Identifier: MIT
//
// Functions whose return address must stand where the caller put it while they run: those that
// return twice, that look at it, or that take it away (return_hook.h). All others get a
// return hook.
#pragma once

#include <string_view>

#include "symbol/symbol.h"

namespace patchbay {

// Why a call of `function` may not have its return hooked; null: it may. The reason is a constant.
// `code`: its bytes as in the file, from its entry to its end; when the end is not known, up to the
// next function. Only so much of it is decoded as a bound allows.
const char* return_hook_refusal(const FunctionSymbol& function, std::string_view code);

}  // namespace patchbay
