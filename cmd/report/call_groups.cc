// SPDX-License-Identifier: MIT
#include "cmd/report/call_groups.h"

#include "base/text.h"
#include "cmd/common/commands.h"

namespace patchbay::cmd {

bool is_group_of_calls(GroupBy by) {
  return by == GroupBy::kTid || by == GroupBy::kPid || by == GroupBy::kComm || by == GroupBy::kExe;
}

int32_t CallGroups::of(int32_t tid) {
  if (by_ == GroupBy::kNone) return 0;
  if (by_ == GroupBy::kTid) return tid;
  const Who& who = source_->who();
  if (known_.size() <= who.index) known_.resize(who.index + 1);
  if (known_[who.index]) return known_[who.index] - 1;
  const std::string program = who.exe.empty() ? "?" : who.exe;
  Group group{by_ == GroupBy::kComm  ? who.comm
              : by_ == GroupBy::kExe ? program
                                     : std::string(base_name(program)),
              who.pid};
  const std::string key = by_ == GroupBy::kPid ? std::to_string(who.pid) : group.name;
  const auto [found, is_new] = by_name_.try_emplace(key, int32_t(groups_.size()));
  if (is_new) groups_.push_back(std::move(group));
  known_[who.index] = found->second + 1;
  return found->second;
}

std::string CallGroups::name_of(int32_t group) const {
  if (by_ == GroupBy::kTid) return source_->thread_name(group);
  const Group& of = groups_[size_t(group)];
  const std::string name = printable(of.name);
  return by_ == GroupBy::kPid ? std::to_string(of.pid) + " (" + name + ")" : name;
}

std::string CallGroups::title_of(int32_t group) const {
  const char* const what = by_ == GroupBy::kTid   ? "thread: "
                           : by_ == GroupBy::kPid ? "process: "
                           : by_ == GroupBy::kExe ? "program: "
                                                  : "threads: ";
  return what + name_of(group);
}

std::string CallGroups::json_of(int32_t group) const {
  if (by_ == GroupBy::kNone) return "";
  if (by_ == GroupBy::kTid)
    return "\"tid\": " + std::to_string(group) +
           ", \"thread\": " + json_quote(source_->thread_name(group)) + ", ";
  const Group& of = groups_[size_t(group)];
  if (by_ == GroupBy::kPid)
    return "\"pid\": " + std::to_string(of.pid) + ", \"process\": " + json_quote(of.name) + ", ";
  return (by_ == GroupBy::kExe ? "\"exe\": " : "\"comm\": ") + json_quote(of.name) + ", ";
}

}  // namespace patchbay::cmd
