// SPDX-License-Identifier: MIT
//
// The bytes of a record in generated code: its head and its fields, from registers.
#pragma once

#include "codegen/code_frame.h"

namespace patchbay {

// Writes the whole record to reg::kPlace + `at`. Spends reg::kValue.
void emit_record(const CodeFrame& frame, uint32_t at);

}  // namespace patchbay
