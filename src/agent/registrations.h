// SPDX-License-Identifier: MIT
//
// Objects of the program that hand over their static events (patchbay/static_event_abi.h). They may
// do so before our constructor has run, and from any thread while a library is being loaded.
#pragma once

namespace patchbay {

struct Agent;

// What came before there was an agent.
void take_early_registrations(Agent* agent);

}  // namespace patchbay
