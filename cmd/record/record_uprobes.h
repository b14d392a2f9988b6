// SPDX-License-Identifier: MIT
// `patchbay record` of programs that cannot take the agent, by the kernel's uprobes.
#pragma once

#include <optional>

#include "cmd/record/record.h"

namespace patchbay::cmd {

// `refusal`: why the agent cannot be had; null: uprobes were asked for. Returns the exit status, or
// nothing where uprobes are no way either, and the refusal is all that there is to say.
std::optional<int> record_by_uprobes(const RecordOptions& options, const Error* refusal);

}  // namespace patchbay::cmd
