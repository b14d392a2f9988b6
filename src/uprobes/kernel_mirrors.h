// SPDX-License-Identifier: MIT
//
// The lines of the kernel's uprobe_events that make mirrored events of ours events of the kernel's
// (docs/mirror.md), and whose they are.
//
//   DIR/mirror.N        one tool's, flock()ed as long as it lives: the lines that it needs
//   uprobe_events       p:functions/work DIR/7/mirror/functions.work:0x400(0x1000) n=+24(%di):s32
//
//   add()      in turn (the lock of instances/, kernel_tracefs.h): what killed tools have left
//              goes; noted in our file, then written, unless the kernel has this very line
//   ~, remove  in turn: each line of ours that no living tool's file has, and no other line
//
// An event that somebody listens to cannot be removed: its line stays in our file, for the next
// tool, or `patchbay clean`.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "event/event_call.h"
#include "uprobes/kernel_tracefs.h"

namespace patchbay {

// A line's event and place, as the kernel takes them to remove it: "-:GROUP/EVENT FILE:0x…(0x…)".
struct KernelMirrorLine {
  std::string event;  // GROUP/EVENT
  std::string place;  // FILE:OFFSET(SEMAPHORE), as it was written

  // Of a line of uprobe_events. False: it is none.
  static bool parse(std::string_view untrusted_line, KernelMirrorLine* line);
  // Also where the kernel shows the numbers with leading zeros.
  bool is_same(const KernelMirrorLine& other) const;
};

class KernelMirrors {
 public:
  // No rights, no tracefs, no uprobes, a kernel that knows no semaphores: a sentence each.
  static Result<std::unique_ptr<KernelMirrors>> open(const std::string& runtime_directory);
  ~KernelMirrors() { (void)remove(); }
  KernelMirrors(const KernelMirrors&) = delete;

  // Makes SYSTEM:EVENT an event of the kernel's; where that has such an event already, of another
  // process or of its own, SYSTEM_PID:EVENT. Its name. `left_out`: fields that the kernel has no
  // form for.
  Result<std::string> add(const EventCall& call, const std::string& file, int pid,
                          std::vector<std::string>* left_out);
  // Names of events that somebody still listens to; their lines stay.
  std::vector<std::string> remove();

 private:
  KernelMirrors(TracefsDirectory top, std::string runtime)
      : top_(std::move(top)), runtime_(std::move(runtime)) {}
  Result<std::string> group_for(const EventCall& call, const std::string& file, int pid);

  TracefsDirectory top_;
  const std::string runtime_;
  UniqueFd own_;  // locked
  std::string own_path_;
  std::vector<std::string> lines_;
};

// Lines that killed tools have left: removed, but for a `dry_run`; their events. Without the rights
// to look there are none.
std::vector<std::string> remove_mirror_leftovers(const std::string& runtime_directory,
                                                 bool dry_run);

}  // namespace patchbay
