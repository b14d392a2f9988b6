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
  const auto add = [this](std::vector<RecordedModule> modules) {
    Image& image = images_.emplace_back();
    for (RecordedModule& module : modules) image.objects.push_back({std::move(module)});
  };
  add(modules_of(input));
  if (!input.dat) return;
  for (const ProcessImage& image : input.dat->images().images)
    add(modules_of_text(image.process_maps));
}

FunctionPrototypes* RecordedArguments::prototypes_of(const RecordedModule& module) {
  const auto [known, is_new] = opened_.try_emplace(module.path + '\0' + module.build_id);
  if (!is_new) return known->second.get();
  auto opened = FunctionPrototypes::open(module.path, module.build_id);
  if (opened.ok()) known->second = std::move(*opened);
  return known->second.get();
}

std::optional<CallArguments> RecordedArguments::find(Image* image, uint64_t function) {
  for (Object& object : image->objects) {
    if (function < object.module.start || function >= object.module.end) continue;
    if (!object.is_tried) object.prototypes = prototypes_of(object.module);
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

const CallArguments* RecordedArguments::of(uint64_t function, uint32_t image) {
  Image& from = images_[image < images_.size() ? image : 0];
  auto [known, is_new] = from.known.try_emplace(function);
  if (is_new) known->second = find(&from, function);
  return known->second ? &*known->second : nullptr;
}

}  // namespace patchbay::cmd
