// SPDX-License-Identifier: MIT
// Names and types of the arguments that a recording has of its functions (options func-args and
// funcgraph-args), out of the debug information of the files that were loaded.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
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

  // `image`: of a recording of several programs, AddressNames::image(); else 0.
  // Null: the file is gone or another one by now, it has no debug information, or that does not
  // know the function.
  const CallArguments* of(uint64_t function, uint32_t image = 0);

 private:
  struct Object {
    RecordedModule module;
    bool is_tried = false;
    FunctionPrototypes* prototypes = nullptr;
  };
  struct Image {
    int pid = 0;  // 0: not known, or asked already
    std::vector<Object> objects;
    std::unordered_map<uint64_t, std::optional<CallArguments>> known;
  };
  std::optional<CallArguments> find(Image* image, uint64_t function);
  FunctionPrototypes* prototypes_of(Image* image, const RecordedModule& module);

  std::vector<Image> images_;  // the first one is for what belongs to no image
  std::map<std::string, std::unique_ptr<FunctionPrototypes>> opened_;  // by path and build-id
};

}  // namespace patchbay::cmd
