// SPDX-License-Identifier: MIT
// set_ftrace_pid, set_ftrace_notrace_pid: thread ids that function tracers look at, or leave out;
// with the option function-fork their children too.
#include "registry/pid_lists.h"
#include "tracefs/files/pid_file.h"

namespace patchbay::tracefs {
namespace {

class TracerPidFile : public PidFile {
 public:
  using PidFile::PidFile;

 protected:
  std::string show(const TraceArray& array) const override {
    return place_.tree->context.tracers.show_pids(array, which_);
  }
};

}  // namespace

FilePtr make_set_ftrace_pid(const Place& place) {
  return std::make_unique<TracerPidFile>(place, PidList::kFtrace);
}

FilePtr make_set_ftrace_notrace_pid(const Place& place) {
  return std::make_unique<TracerPidFile>(place, PidList::kFtraceNotrace);
}

}  // namespace patchbay::tracefs
