// SPDX-License-Identifier: MIT
//
// Code of one shape: what is left of a place's code when its site, function and event are taken
// out. Fifty thousand functions with the same arguments share one.
#pragma once

#include "arch/emitter.h"
#include "codegen/probe_compile.h"

namespace patchbay {

struct CodeTemplate {
  GeneratedCode code;
  uint16_t stack_shape;  // patch/stub_views.h; 0 when it is a return's
};

// Null when there can be none: the code would be too large. Called by the control thread only
// (patch/patcher.h).
CodeTemplatePtr find_template(const ProbeCode& code);

}  // namespace patchbay
