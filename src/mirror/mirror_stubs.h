// SPDX-License-Identifier: MIT
//
// The mirrors of this process: for each event that has the trigger a file in DIR/PID/mirror, and
// where it is mapped.
//
//   trigger ── stub_of() ─┬─ mapped already, and the file is still there, and as it was: that one
//                         └─ written beside, linked to its name, mapped twice: text, semaphore
//
// A mapping stays until the agent leaves: a thread may be in its stub, and listeners count in it.
// A forked child has it from its parent; a child that repeats the trigger maps the parent's file,
// so that one line of the kernel's uprobe_events is about all of them. Under the agent's lock.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "event/event_call.h"
#include "mirror/mirror_layout.h"
#include "probe/triggers/mirror_hot.h"

namespace patchbay {

// "functions.malloc"; what an event's name cannot be in a path of uprobe_events becomes `_`.
std::string mirror_file_name(std::string_view system, std::string_view event);

class MirrorStubs {
 public:
  MirrorStubs();
  ~MirrorStubs();

  // `directory`: DIR/PID/mirror, made when it is missing. A sentence: it lies on a file system that
  // is mounted noexec, names are too long, … In a forked child whose parent has made no such file
  // a stub that never has listeners.
  Result<const MirrorStub*> stub_of(const EventCall& call, const std::string& directory);

  // The agent leaves the process: the files go with their directory, and the mappings become plain
  // memory with the same code, since a thread may be late in one. Otherwise bpftrace, which looks
  // for a probe's name in all that is mapped, would attach to the next mirror once for each of
  // them.
  void leave();

 private:
  struct Mapped;
  Result<const MirrorStub*> map(const std::string& path, MirrorLayout layout,
                                const std::vector<uint8_t>& bytes);
  const MirrorStub* nobody_listens();

  std::vector<std::unique_ptr<Mapped>> mapped_;
};

}  // namespace patchbay
