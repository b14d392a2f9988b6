// SPDX-License-Identifier: MIT
//
// `patchbay report --group`: the lines of a thread, a process, a CPU or an event together, below a
// head. Groups stand in the order of their first events, and the lines of each in order of time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cmd/common/input_people.h"
#include "cmd/common/trace_input.h"
#include "cmd/common/who_options.h"
#include "cmd/report/group_spool.h"
#include "event/event_call.h"
#include "output/merge.h"
#include "output/trace_line.h"

namespace patchbay::cmd {

// What the lines are grouped by. The names are those of `report --fields`, and pid is a process.
enum class GroupBy : uint8_t { kNone, kTid, kPid, kComm, kExe, kCpu, kEvent };
// kNone: it is none of them.
GroupBy group_by_of(std::string_view name);
// "# == NAME: 12 events ==\n"
std::string group_head(const std::string& name, uint64_t events);

// Which group an event belongs to, and what is written above it.
class GroupNames {
 public:
  GroupNames(GroupBy by, const TraceInput& input, const std::vector<EventCall>& events,
             TraceLineWriter* lines);
  uint32_t key_of(const MergedEvent& event);
  // "thread 1234 (sh)", "process 1230 (sh)", "cpu 2", "app:app_work"; without a control character.
  std::string name_of(uint32_t key);

 private:
  uint32_t event_of(uint16_t id, int32_t tid);
  uint32_t key_of_text(const std::string& text);
  std::string process_name(int32_t pid);

  const GroupBy by_;
  const std::vector<EventCall>& events_;
  TraceLineWriter* lines_;
  InputPeople people_;
  std::unordered_map<int32_t, std::string> programs_;  // by process
  std::unordered_map<std::string, uint32_t> text_keys_;
  std::vector<std::string> texts_;  // by key: names of threads, programs
  std::vector<bool> is_stack_ = std::vector<bool>(65536, false);  // by id
  std::unordered_map<int32_t, uint16_t> last_event_;              // of each thread, for its stack
};

// The groups of one buffer.
class ReportGroups {
 public:
  struct Group {
    uint32_t key = 0;
    uint64_t events = 0;
    std::optional<uint64_t> before_ns;  // the time of its last event, for --deltatime
  };
  explicit ReportGroups(GroupNames* names) : names_(names) {}

  // The group of an event; valid until the next one is asked for.
  Group* of(const MergedEvent& event);
  // Its next line.
  Status append(const Group& group, std::string_view line);
  std::string head_of(const Group& group) const;
  const std::vector<Group>& all() const { return groups_; }
  Status read(const Group& group, const GroupSpool::Out& out) {
    return spool_.read(size_t(&group - groups_.data()), out);
  }

 private:
  GroupNames* names_;
  std::vector<Group> groups_;
  std::unordered_map<uint32_t, size_t> by_key_;
  GroupSpool spool_;
};

}  // namespace patchbay::cmd
