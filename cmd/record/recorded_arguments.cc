// SPDX-License-Identifier: MIT
#include "cmd/record/recorded_arguments.h"

#include <utility>

#include "abi/trace_dat_abi.h"
#include "attach/process_files.h"
#include "base/text.h"
#include "output/trace_line.h"
#include "trace_dat/metadata.h"

namespace patchbay::cmd {
namespace {

// `pid`: the process that has them, as the first line says.
std::vector<RecordedModule> modules_of(const TraceInput& input, int* pid) {
  std::vector<RecordedModule> modules;
  if (input.buffer) {
    auto meta = read_recorded_meta(*input.buffer);
    if (meta.ok()) modules = std::move(meta->modules);
  } else if (input.dat) {
    for (const TraceDatReader::Part& option : input.dat->options())
      if (option.id == abi::kDatProcMaps) {
        if (*pid == 0) to_number(option.body.substr(0, option.body.find(' ')), pid, 16);
        for (RecordedModule& module : modules_of_text(option.body))
          modules.push_back(std::move(module));
      }
  }
  return modules;
}

}  // namespace

RecordedArguments::RecordedArguments(const TraceInput& input) {
  const auto add = [this](int pid, std::vector<RecordedModule> modules) {
    Image& image = images_.emplace_back();
    image.pid = pid;
    for (RecordedModule& module : modules) image.objects.push_back({std::move(module)});
  };
  int pid = 0;
  std::vector<RecordedModule> modules = modules_of(input, &pid);
  add(pid, std::move(modules));
  if (!input.dat) return;
  for (const ProcessImage& image : input.dat->images().images)
    add(image.pid, modules_of_text(image.process_maps));
}

// The file of a process in another root directory is reached as long as that process lives.
FunctionPrototypes* RecordedArguments::prototypes_of(Image* image, const RecordedModule& module) {
  const auto [known, is_new] = opened_.try_emplace(module.path + '\0' + module.build_id);
  if (!is_new) return known->second.get();
  auto opened = FunctionPrototypes::open(module.path, module.build_id);
  if (!opened.ok() && !module.build_id.empty() && image->pid) {
    attach::hold_files_of(std::exchange(image->pid, 0));
    opened = FunctionPrototypes::open(module.path, module.build_id);
  }
  if (opened.ok()) known->second = std::move(*opened);
  return known->second.get();
}

std::optional<CallArguments> RecordedArguments::find(Image* image, uint64_t function) {
  for (Object& object : image->objects) {
    if (function < object.module.start || function >= object.module.end) continue;
    if (!object.is_tried) object.prototypes = prototypes_of(image, object.module);
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
