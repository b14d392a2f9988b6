// SPDX-License-Identifier: MIT
//
// What was written to the directory `all` of a mount, for processes that come later (mount_all.h).
//
//   echo 'p:a work' >> kprobe_events      1  kprobe_events >> p:a work
//   echo 1 > events/kprobes/a/enable      2  events/kprobes/a/enable > 1        3 takes its place
//   echo 0 > events/kprobes/a/enable      3  events/kprobes/a/enable > 0
//   echo hello > trace_marker                not kept: it was said once
//   echo 'p:b work' > kprobe_events       4  kprobe_events > p:b work           1 goes
//
// A process that comes gets 3 and 4, in this order. Which file is kept how is kind_of(). The list
// is bounded: what does not fit is not kept, and whoever has written it is told.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace patchbay::cmd {

class KeptWrites {
 public:
  enum class Kind : uint8_t {
    kNothing,  // trace, trace_marker, snapshot: done once, and over
    kValue,    // enable, current_tracer, filter: the last one counts
    kWords,    // set_event, set_ftrace_filter: of the same words the last ones count
    kLines,    // kprobe_events, trigger: all of them, in their order
  };
  static Kind kind_of(std::string_view path);

  enum class Does : uint8_t { kWrite, kMakeDirectory };
  struct Entry {
    uint64_t id = 0;
    Does does = Does::kWrite;
    std::string path;
    bool truncates = false;  // the shell's `>`, else `>>`
    std::string text;
    bool proven = false;  // some process has taken it: it is right as a text
  };
  static constexpr size_t kMostEntries = 4096, kMostBytes = 1024 * 1024;

  // Before the processes are asked, so that one that comes meanwhile has it, too. 0: it is not
  // kept; `full` says whether that is for want of room.
  uint64_t add(Entry entry, bool* full);
  // More text of the same open file. False: there is no room, and the entry stays as it was.
  bool append(uint64_t id, std::string_view text);
  // It counts: what it replaces goes. `proven`: some process has taken it; otherwise there is none.
  void taken(uint64_t id, bool proven);
  void prove(uint64_t id);  // a process that has come has taken it
  // None has. The entry goes, or the last `bytes` of its text.
  void refused(uint64_t id);
  void refused(uint64_t id, size_t bytes);
  // A directory of instances is removed: so is what was written there.
  void removed(std::string_view directory);

  const std::vector<Entry>& entries() const { return entries_; }

 private:
  std::vector<Entry>::iterator find(uint64_t id);
  bool has_room(size_t more_entries, size_t more_bytes) const;

  std::vector<Entry> entries_;
  size_t bytes_ = 0;
  uint64_t next_ = 1;
};

}  // namespace patchbay::cmd
