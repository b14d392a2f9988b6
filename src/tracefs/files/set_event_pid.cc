// SPDX-License-Identifier: MIT
// set_event_pid, set_event_notrace_pid: thread ids whose events are kept, or left out
// (spec: ftrace.md 2.8). All words of one write count, or none: a bad one leaves the list as it
// was. O_TRUNC empties the list; a NUL ends the write early (kernel).
#include <fcntl.h>

#include "tracefs/files/files.h"

namespace patchbay::tracefs {
namespace {

class PidFile : public ArrayFile {
 public:
  PidFile(const Place& place, Registry::PidList which) : ArrayFile(place), which_(which) {}
  uint32_t mode() const override { return kWritable; }

  Result<std::string> read() override {
    Result<TraceArray*> found = array();
    if (!found.ok()) return found.error();
    std::string text;
    for (uint32_t pid : list(**found)) text += std::to_string(pid) + "\n";
    return text;
  }

  Result<size_t> write(std::string_view bytes) override {
    Result<TraceArray*> found = array();
    if (!found.ok()) return found.error();
    std::string words;
    size_t consumed = 0;
    while (consumed < bytes.size()) {
      Result<Token> token = take_token(bytes.substr(consumed));
      if (!token.ok()) return token.error();
      consumed += token->consumed;
      if (token->word.empty()) break;
      words.append(token->word).append(" ");
    }
    if (!words.empty()) PB_TRY(registry().add_pids(**found, which_, words));
    return consumed;
  }

 protected:
  Status opened(TraceArray& array, uint32_t flags) override {
    if ((flags & O_ACCMODE) == O_RDONLY || !(flags & O_TRUNC)) return {};
    return registry().clear_pids(array, which_);
  }

 private:
  const std::vector<uint32_t>& list(const TraceArray& array) const {
    return which_ == Registry::PidList::kTrace ? array.pids : array.notrace_pids;
  }
  const Registry::PidList which_;
};

}  // namespace

FilePtr make_set_event_pid(const Place& place) {
  return std::make_unique<PidFile>(place, Registry::PidList::kTrace);
}

FilePtr make_set_event_notrace_pid(const Place& place) {
  return std::make_unique<PidFile>(place, Registry::PidList::kNotrace);
}

}  // namespace patchbay::tracefs
