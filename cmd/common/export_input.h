// SPDX-License-Identifier: MIT
// What exporting commands read: several recordings at once, of the kinds that report takes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cmd/common/trace_input.h"
#include "export/export_source.h"

namespace patchbay::cmd {

// Each path as report takes it; a runtime directory stands for all processes in it. The arguments
// of calls have no names here: whoever has debug information sets arguments_of.
Result<std::vector<ExportInput>> open_export_inputs(const std::vector<std::string>& paths);

// The recording behind an input of these.
const TraceInput& trace_input_of(const ExportInput& input);

}  // namespace patchbay::cmd
