// SPDX-License-Identifier: MIT
#pragma once

#include "tracefs/files/files.h"

namespace patchbay::tracefs {

FilePtr make_refused_returns(const Place& place);

}  // namespace patchbay::tracefs
