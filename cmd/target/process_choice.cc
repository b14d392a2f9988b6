// SPDX-License-Identifier: MIT
#include "cmd/target/process_choice.h"

#include "cmd/target/process_word.h"

namespace patchbay::cmd {
namespace {

const char* take_name(const std::string& value, std::vector<std::string>* names,
                      const char* what_is_needed) {
  names->push_back(value);
  return value.empty() ? what_is_needed : nullptr;
}

}  // namespace

const char* ProcessChoice::take(int id, const std::string& value) {
  switch (id) {
    case kAllId:
      all = true;
      return nullptr;
    case kServiceId:
      return take_name(value, &services, "--service takes the name of a service.");
    case kCgroupId:
      return take_name(value, &cgroups, "--cgroup takes the path of a control group.");
    case kContainerId:
      return take_name(value, &containers,
                       "--container takes the id of a container, or a process id.");
    case kWhoExe:
    case kWhoComm:
    case kWhoTree:
      return take_who_option(id, value.c_str(), &who);
    default:
      return take_pids(value, &pids);
  }
}

}  // namespace patchbay::cmd
