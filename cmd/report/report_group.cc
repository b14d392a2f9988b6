// SPDX-License-Identifier: MIT
#include "cmd/report/report_group.h"

#include <algorithm>
#include <cstring>

#include "abi/buffer_abi.h"
#include "base/text.h"
#include "output/tracer_text.h"

namespace patchbay::cmd {
namespace {

struct Name {
  const char* name;
  GroupBy by;
};
constexpr Name kNames[] = {{"tid", GroupBy::kTid},   {"pid", GroupBy::kPid},
                           {"comm", GroupBy::kComm}, {"exe", GroupBy::kExe},
                           {"cpu", GroupBy::kCpu},   {"event", GroupBy::kEvent}};

abi::RecordHeader header_of(std::span<const uint8_t> record) {
  abi::RecordHeader header{};
  if (!record.empty()) std::memcpy(&header, record.data(), std::min(sizeof header, record.size()));
  return header;
}

}  // namespace

GroupBy group_by_of(std::string_view name) {
  for (const Name& known : kNames)
    if (name == known.name) return known.by;
  return GroupBy::kNone;
}

std::string group_head(const std::string& name, uint64_t events) {
  return "# == " + name + ": " + std::to_string(events) +
         (events == 1 ? " event ==\n" : " events ==\n");
}

GroupNames::GroupNames(GroupBy by, const TraceInput& input, const std::vector<EventCall>& events,
                       TraceLineWriter* lines)
    : by_(by), events_(events), lines_(lines) {
  for (const EventCall& event : events) {
    const TracerText::Kind kind = TracerText(event).kind();
    is_stack_[event.id] = kind == TracerText::Kind::kStack || kind == TracerText::Kind::kUserStack;
  }
  if (by == GroupBy::kPid || by == GroupBy::kComm || by == GroupBy::kExe) people_.add(input);
}

// A stack is an event of its own, behind the one that it belongs to, and stays with it.
uint32_t GroupNames::event_of(uint16_t id, int32_t tid) {
  if (!is_stack_[id]) return last_event_[tid] = id;
  const auto before = last_event_.find(tid);
  return before == last_event_.end() ? id : before->second;
}

uint32_t GroupNames::key_of(const MergedEvent& event) {
  const abi::RecordHeader header = header_of(event.record);
  if (by_ == GroupBy::kCpu) return event.cpu;
  if (by_ == GroupBy::kEvent) return event_of(header.common_type, header.common_pid);
  if (by_ == GroupBy::kTid) return uint32_t(header.common_pid);
  const Who& who = people_.finder.find(0, header.common_pid, event.cpu, event.ns);
  if (by_ == GroupBy::kComm) return key_of_text(who.comm);
  if (by_ == GroupBy::kExe) return key_of_text(who.exe);
  programs_.try_emplace(who.pid, base_name(who.exe));
  return uint32_t(who.pid);
}

uint32_t GroupNames::key_of_text(const std::string& text) {
  const auto [found, is_new] = text_keys_.try_emplace(text, uint32_t(texts_.size()));
  if (is_new) append_escaped(&texts_.emplace_back(), text.empty() ? "?" : text);
  return found->second;
}

// A main thread that has recorded nothing has no comm in the file; its program has a name.
std::string GroupNames::process_name(int32_t pid) {
  std::string name = lines_->comm_of(pid);
  const auto found = programs_.find(pid);
  if (name != "<...>" || found == programs_.end() || found->second.empty()) return name;
  name.clear();
  append_escaped(&name, found->second);
  return name;
}

std::string GroupNames::name_of(uint32_t key) {
  const std::string number = std::to_string(int32_t(key));
  if (by_ == GroupBy::kCpu) return "cpu " + std::to_string(key);
  if (by_ == GroupBy::kTid) return "thread " + number + " (" + lines_->comm_of(int32_t(key)) + ")";
  if (by_ == GroupBy::kPid) return "process " + number + " (" + process_name(int32_t(key)) + ")";
  if (by_ == GroupBy::kComm) return "threads " + texts_[key];
  if (by_ == GroupBy::kExe) return "program " + texts_[key];
  for (const EventCall& event : events_) {
    if (event.id != key) continue;
    std::string name;
    append_escaped(&name, event.system + ":" + event.name);
    return name;
  }
  return "unknown event " + std::to_string(key);
}

ReportGroups::Group* ReportGroups::of(const MergedEvent& event) {
  const uint32_t key = names_->key_of(event);
  const auto [found, is_new] = by_key_.try_emplace(key, groups_.size());
  if (is_new) groups_.emplace_back().key = key;
  return &groups_[found->second];
}

Status ReportGroups::append(const Group& group, std::string_view line) {
  return spool_.append(size_t(&group - groups_.data()), line);
}

std::string ReportGroups::head_of(const Group& group) const {
  return group_head(names_->name_of(group.key), group.events);
}

}  // namespace patchbay::cmd
