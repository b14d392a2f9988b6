// SPDX-License-Identifier: MIT
#include "cmd/record/recorded_arguments.h"

#include "abi/trace_dat_abi.h"
#include "output/trace_line.h"
#include "trace_dat/metadata.h"

namespace patchbay::cmd {
namespace {

std::vector<RecordedModule> modules_of(const TraceInput& input) {
  std::vector<RecordedModule> modules;
  if (input.buffer) {
    auto meta = read_recorded_meta(*input.buffer);
    if (meta.ok()) modules = std::move(meta->modules);
  } else if (input.dat) {
    for (const TraceDatReader::Part& option : input.dat->options())
      if (option.id == abi::kDatProcMaps)
        for (RecordedModule& module : modules_of_text(option.body))
          modules.push_back(std::move(module));
  }
  return modules;
}

}  // namespace

RecordedArguments::RecordedArguments(const TraceInput& input) {
  for (RecordedModule& module : modules_of(input))
    objects_.push_back({std::move(module), false, nullptr});
}

std::optional<CallArguments> RecordedArguments::find(uint64_t function) {
  for (Object& object : objects_) {
    if (function < object.module.start || function >= object.module.end) continue;
    if (!object.is_tried) {
      auto opened = FunctionPrototypes::open(object.module.path, object.module.build_id);
      if (opened.ok()) object.prototypes = std::move(*opened);
    }
    object.is_tried = true;
    if (!object.prototypes) return std::nullopt;
    auto arguments = object.prototypes->at(function - object.module.bias);
    for (size_t i = 0; arguments && i < arguments->size(); i++) {
      std::string safe;
      append_escaped(&safe, (*arguments)[i].name);
      (*arguments)[i].name = std::move(safe);
    }
    return arguments;
  }
  return std::nullopt;
}

const CallArguments* RecordedArguments::of(uint64_t function) {
  auto [known, is_new] = known_.try_emplace(function);
  if (is_new) known->second = find(function);
  return known->second ? &*known->second : nullptr;
}

}  // namespace patchbay::cmd
