// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace patchbay {

// What a consumer of a place does with a hit.
enum class ConsumerKind : uint8_t {
  kRecord,      // a record of its own event: fetch, filter, publish. The function tracer is one.
  kGraph,       // function_graph (probe/returns/graph_hot.h); stands in return programs only
  kProfile,     // the function profiler (probe/returns/graph_hot.h); in return programs only
  kStackDepth,  // the stack tracer (probe/records/stack_hot.h)
  kAction,      // a command of set_ftrace_filter: `action` says what (probe/triggers/action_hot.h)
  kCallback,    // a function of the program: `callback` (probe/callbacks/callback_hot.h)
};

}  // namespace patchbay
