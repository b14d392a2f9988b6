// SPDX-License-Identifier: MIT
//
// What calls and stacks are told apart by: threads, processes, names of threads, programs. Each
// group has a number, in the order of their first records; that of a thread is its id.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "cmd/report/call_tree.h"
#include "cmd/report/graph_source.h"
#include "cmd/report/report_group.h"

namespace patchbay::cmd {

// kTid, kPid, kComm or kExe: what a call has, and not only its records.
bool is_group_of_calls(GroupBy by);

class CallGroups {
 public:
  // The source outlives this, and this what group_of() gives.
  CallGroups(GraphSource* source, GroupBy by) : source_(source), by_(by) {}
  CallGroups(const CallGroups&) = delete;
  CallGroups& operator=(const CallGroups&) = delete;

  // The group of the record that the source stands at.
  int32_t of(int32_t tid);
  CallTreeBuilder::GroupOf group_of() {
    return [this](int32_t tid) { return of(tid); };
  }

  // Without what could command a terminal.
  std::string name_of(int32_t group) const;   // "sh-12", "12 (sh)", "sh", "/bin/sh"
  std::string title_of(int32_t group) const;  // "thread: sh-12"
  std::string json_of(int32_t group) const;   // "\"tid\": 12, \"thread\": \"sh-12\", "; kNone: ""

 private:
  struct Group {
    std::string name;  // as the file has it
    int32_t pid = 0;
  };
  GraphSource* source_;
  const GroupBy by_;
  std::vector<Group> groups_;
  std::unordered_map<std::string, int32_t> by_name_;  // of kPid: by its number
  std::vector<int32_t> known_;                        // by Who::index; the group and one
};

}  // namespace patchbay::cmd
