// SPDX-License-Identifier: MIT
//
// How a recording says which hits make a synthetic event. For each action trace() of a histogram
// there is a line: in the meta log of the buffer file a record of its own (buffer_abi.h), in a
// trace.dat the option kDatMatches has all, each with \n; other programs pass over it.
//
//   SYNTHETIC \t END [\t START \t KEY[,KEY…]]
//
//   SYNTHETIC    the name of the synthetic event
//   END, START   "system:event": whose hit makes it; and the event of onmatch()
//   KEY          "field=field": of END, and of START, which have the same value
//
// START is there only where the keys are plain fields, and each hit of START sets the variables.
#pragma once

#include <cstdint>

namespace patchbay::abi {

inline constexpr uint32_t kMetaMatch = 4;        // MetaRecord.type
inline constexpr uint16_t kDatMatches = 0x5042;  // no number that trace-cmd has given out

}  // namespace patchbay::abi
