// SPDX-License-Identifier: MIT
#include "cmd/record/process_member.h"

#include <algorithm>
#include <cerrno>
#include <optional>

#include "base/monotonic_clock.h"
#include "base/raw_syscall.h"
#include "cmd/common/commands.h"
#include "cmd/common/descriptors.h"
#include "cmd/target/memory_need.h"
#include "cmd/target/target_program.h"
#include "serve/directory.h"

namespace patchbay::cmd {

Result<std::unique_ptr<ProcessMember>> ProcessMember::make(const RecordOptions& options,
                                                           const RunningProcess& process,
                                                           const RecordingParts& parts,
                                                           size_t number) {
  std::unique_ptr<ProcessMember> member(new ProcessMember(process));
  member->describe();
  Status ready = member->set_up(options, parts, number);
  const bool went_away = !ready.ok() && member->client_ && member->client_->gone();
  if (ready.ok()) return member;
  if (lacks_descriptors()) ready = user_error(EMFILE, no_descriptors_text());
  member->recording.reset();
  parts.remove(*member);
  if (!went_away || ready.error().errno_value == EMFILE) return ready.error();
  return user_error(ESRCH, "process " + std::to_string(process.pid) +
                               " has ended, or executed another program, before it was set up");
}

void ProcessMember::describe() {
  part.pid = process_.pid;
  part.parent = process_.parent;
  part.inside = ids_.number();
  part.begin_ns = raw_monotonic_ns();
  part.exe = exe_of(process_.pid);
  part.words = command_line_of(process_.pid);
}

bool ProcessMember::has_any(const RecordOptions& options) const {
  const auto has_events = [&](const InstanceRequest& one) {
    return std::any_of(one.events.begin(), one.events.end(), [&](const EventRequest& event) {
      return applied_.found.contains(event.text);
    });
  };
  const auto& instances = options.request.instances();
  return !options.request.has_events() || !applied_.tracing.empty() ||
         std::any_of(instances.begin(), instances.end(), has_events);
}

Status ProcessMember::set_up(const RecordOptions& options, const RecordingParts& parts,
                             size_t number) {
  const int pid = process_.pid;
  PB_ASSIGN(const std::string runtime, serve::runtime_directory(false));
  const std::string directory = runtime + "/" + std::to_string(pid);
  PB_TRY(check_room_for_request(pid, options.request));
  Result<std::unique_ptr<serve::Client>> client = attach_if_needed(pid, &attachment_);
  attachment_.deliver_signals();  // in this thread they are blocked
  if (!client.ok()) return client.error();
  client_ = std::move(*client);
  const std::optional<RunningProcess> now = running_process(pid);
  if (!now || !now->is_same_program(process_))
    return user_error(ESRCH, "process " + std::to_string(pid) +
                                 " has ended, or executed another program, before it was set up");
  PB_ASSIGN(uses_, ToolUses::begin(*client_, directory));
  applied_.uses = uses_.get();
  applied_.on_missing = AppliedRequest::Missing::kAnyNamed;
  TraceRequest request = options.request;
  {
    std::optional<RemarksOff> quiet;  // what is said of the first one goes for all
    if (number > 0) quiet.emplace();
    PB_TRY(make_stand_ins(*client_, &request, uses_.get(), bool(options.prepare)));
    if (options.prepare) PB_TRY(options.prepare(*client_, &request, &applied_));
    PB_TRY(apply_request(request, *client_, &applied_));
  }
  for (const std::string& name : applied_.missing)
    part.note += (part.note.empty() ? "has no '" : ", '") + name + "'";
  if (part.note.empty() && !applied_.failed.empty()) part.note = applied_.failed.front();
  if (!has_any(options)) return {};
  Result<std::vector<RecordedBuffer>> buffers = open_buffers(request, *client_, directory, true);
  if (!buffers.ok()) return buffers.error();
  buffer_ = mapped_buffer(directory);
  PB_TRY(parts.open(this, std::move(*buffers), number));
  uses_->ready();
  return {};
}

void ProcessMember::leave() {
  if (uses_) uses_->release();
  if (client_) say_what_stays(*client_);
  uses_.reset();
  client_.reset();
  const bool has_put_in = attachment_.is_ours();
  attachment_.leave();
  if (!has_put_in || !has_ended() || !has_children()) return;
  // They have the agent from this process, and nobody else knows of it.
  for (const RunningProcess& child : children_)
    if (const Status done = detach_process(child.pid); !done.ok())
      remark("the agent stays in process " + std::to_string(child.pid) + ", a forked child of " +
             std::to_string(process_.pid) + ", which has ended: " + done.error().message());
  children_.clear();
}

void ProcessMember::note_end() { part.end_ns = raw_monotonic_ns(); }

bool ProcessMember::is_settled() {
  constexpr int kMostMs = 500;
  const int64_t now = monotonic_ms();
  if (gone_since_ == 0) gone_since_ = now;
  const std::optional<RunningProcess> process = running_process(process_.pid);
  return !process || process->has_ended || !process->is_same_program(process_) ||
         now - gone_since_ >= kMostMs;
}

std::string ProcessMember::successor() const {
  const std::optional<RunningProcess> now = running_process(process_.pid);
  if (!now || now->has_ended || !now->is_same_process(process_) || now->image == process_.image)
    return "";
  return exe_of(process_.pid);
}

bool ProcessMember::has_children() {
  std::erase_if(children_, [](const RunningProcess& child) {
    const std::optional<RunningProcess> now = running_process(child.pid);
    return !now || now->has_ended || !now->is_same_program(child);
  });
  return !children_.empty();
}

}  // namespace patchbay::cmd
