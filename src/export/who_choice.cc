// SPDX-License-Identifier: MIT
#include "export/who_choice.h"

#include <fnmatch.h>

#include <algorithm>

#include "base/text.h"

namespace patchbay {
namespace {

bool has(const std::vector<uint64_t>& list, int32_t number) {
  return list.empty() || std::find(list.begin(), list.end(), uint64_t(number)) != list.end();
}

bool fits_any(const std::vector<std::string>& globs, const std::string& name) {
  return globs.empty() || std::any_of(globs.begin(), globs.end(), [&](const std::string& glob) {
           return ::fnmatch(glob.c_str(), name.c_str(), 0) == 0;
         });
}

}  // namespace

bool WhoChoice::takes_tid(int32_t tid) const { return has(tids, tid); }

bool WhoChoice::takes_pid(int32_t pid) const { return has(pids, pid); }

bool WhoChoice::takes_comm(const std::string& comm) const { return fits_any(comms, comm); }

bool WhoChoice::takes_exe(const std::string& exe) const {
  return fits_any(exes, exe) || fits_any(exes, std::string(base_name(exe)));
}

}  // namespace patchbay
