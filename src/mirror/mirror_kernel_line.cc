// SPDX-License-Identifier: MIT
// The tool's alone: in a file of its own, so that the agent does without it.
#include <algorithm>
#include <cerrno>
#include <string_view>

#include "base/text.h"
#include "mirror/mirror_elf.h"
#include "mirror/mirror_layout.h"

namespace patchbay {
namespace {

Error refused(const EventCall& call, const std::string& why) {
  return user_error(EINVAL, call.system + ":" + call.name + ": the kernel takes " + why);
}

bool is_kernel_name(std::string_view name) {
  return !name.empty() && is_name_start(name[0]) &&
         std::all_of(name.begin(), name.end(), [](char c) { return is_name_char(c); });
}

Status check_names(const EventCall& call, std::string_view group) {
  for (std::string_view name : {group, std::string_view(call.name)}) {
    if (!is_kernel_name(name))
      return refused(call, "letters, digits and _ in the name of an event, and not '" +
                               std::string(name) +
                               "'; a line of function_events may name it: "
                               "'NAME=FUNC(ARGS)'");
    if (name.size() > kMostKernelName)
      return refused(call, "names of at most " + std::to_string(kMostKernelName) +
                               " characters, and this one has " + std::to_string(name.size()) +
                               "; a line of function_events may name it: "
                               "'NAME=FUNC(ARGS)'");
  }
  return {};
}

Status check_field(const EventCall& call, const std::string& name) {
  if (is_kernel_name(name) && name.size() <= kMostKernelFieldName) return {};
  return refused(call, "names of fields of at most " + std::to_string(kMostKernelFieldName) +
                           " letters, digits and _, and not '" + name + "'");
}

}  // namespace

Result<std::string> mirror_kernel_line(const EventCall& call, std::string_view group,
                                       std::string_view file, std::vector<std::string>* left_out) {
  PB_TRY(check_names(call, group));
  if (file.find_first_of(" \t\n\"'#") != file.npos)
    return refused(call, "no blanks and quotes in a path, and the runtime directory has some: " +
                             std::string(file) + " (PATCHBAY_DIR chooses another one)");
  std::string line = "p:" + std::string(group) + "/" + call.name + " " + std::string(file) + ":" +
                     hex_number(kMirrorStubAt) + "(" + hex_number(kMirrorSemaphoreAt) + ")";
  size_t count = 0;
  for (const MirrorField& field : mirror_layout(call).fields) {
    if (field.kernel.empty()) {
      left_out->push_back(field.name);
      continue;
    }
    PB_TRY(check_field(call, field.name));
    if (++count > kMostKernelFields)
      return user_error(E2BIG, call.system + ":" + call.name + " has more than " +
                                   std::to_string(kMostKernelFields) +
                                   " fields, which is what the kernel takes");
    line += " " + field.name + "=" + field.kernel;
  }
  if (line.size() <= kMostKernelLine) return line;
  return user_error(E2BIG, call.system + ":" + call.name + ": its line for uprobe_events has " +
                               std::to_string(line.size()) + " characters; the kernel takes " +
                               std::to_string(kMostKernelLine));
}

}  // namespace patchbay
