// SPDX-License-Identifier: MIT
// Names and types of the arguments that a recording has of its functions (options func-args and
// funcgraph-args), out of the debug information of the files that were loaded.
#pragma once

#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "cmd/common/trace_input.h"
#include "debug_info/prototypes.h"
#include "event/call_arguments.h"
#include "symbol/symbol.h"

namespace patchbay::cmd {

class RecordedArguments {
 public:
  // Nothing is known of a recording that does not say which files were loaded.
  explicit RecordedArguments(const TraceInput& input);

  // Null: the file is gone or another one by now, it has no debug information, or that does not
  // know the function.
  const CallArguments* of(uint64_t function);

 private:
  struct Object {
    RecordedModule module;
    bool is_tried = false;
    std::unique_ptr<FunctionPrototypes> prototypes;
  };
  std::optional<CallArguments> find(uint64_t function);

  std::vector<Object> objects_;
  std::unordered_map<uint64_t, std::optional<CallArguments>> known_;
};

}  // namespace patchbay::cmd
