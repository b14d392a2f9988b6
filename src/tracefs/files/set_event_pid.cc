// SPDX-License-Identifier: MIT
// set_event_pid, set_event_notrace_pid: thread ids whose events are kept, or left out.
#include "registry/pid_lists.h"
#include "tracefs/files/pid_file.h"

namespace patchbay::tracefs {
namespace {

class EventPidFile : public PidFile {
 public:
  using PidFile::PidFile;

 protected:
  std::string show(const TraceArray& array) const override {
    std::string text;
    for (uint32_t pid : which_ == PidList::kTrace ? array.pids : array.notrace_pids) {
      text += std::to_string(pid) + "\n";
    }
    return text;
  }
};

}  // namespace

FilePtr make_set_event_pid(const Place& place) {
  return std::make_unique<EventPidFile>(place, PidList::kTrace);
}

FilePtr make_set_event_notrace_pid(const Place& place) {
  return std::make_unique<EventPidFile>(place, PidList::kNotrace);
}

}  // namespace patchbay::tracefs
