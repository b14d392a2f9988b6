// SPDX-License-Identifier: MIT
//
// Whether the processor compares each return of this process with a stack of its own, which nobody
// can write (x86's user shadow stacks). Then no call may be moved: its stub would push the address
// behind the original call and jump, and the shadow stack would not have that address.
#pragma once

namespace patchbay {

bool has_shadow_stack();
// For tests, which run on machines without one.
void pretend_shadow_stack(bool there);

}  // namespace patchbay
