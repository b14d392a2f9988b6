// SPDX-License-Identifier: MIT
//
// One of several running processes that are recorded together. It is set up as `record -p` sets up
// its one (record_process.cc): in an instance of its own, and it is left as it was found. It
// belongs to one thread at a time: to the search (member_search.h) while it is set up and left, to
// the recording in between.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "cmd/record/record.h"
#include "cmd/record/recording_parts.h"
#include "cmd/target/apply_request.h"
#include "cmd/target/attachment.h"
#include "cmd/target/inside_ids.h"
#include "cmd/target/running_process.h"
#include "cmd/target/tool_uses.h"
#include "serve/client.h"

namespace patchbay::cmd {

class ProcessMember : public RecordedPart {
 public:
  // Puts the agent in where there is none, and sets up what the process has of the request. When it
  // fails, the process is as it was. One that has nothing of the request has no recording.
  static Result<std::unique_ptr<ProcessMember>> make(const RecordOptions& options,
                                                     const RunningProcess& process,
                                                     const RecordingParts& parts, size_t number);
  ~ProcessMember() { leave(); }

  const RunningProcess& process() const { return process_; }
  const AppliedRequest& applied() const { return applied_; }
  int descriptor() const { return client_->descriptor(); }  // readable when the agent is gone
  bool gone() const { return client_->gone(); }

  // Threads and children of a pid namespace of its own that are there now.
  void look_inside() {
    if (!ids_.is_inside()) return;
    ids_.look();
    part.outside = ids_.outside();
  }
  // It records nothing any more.
  void stop() { stop_request(applied_, *client_); }
  // It is as it was before. It may take the seconds that a busy process needs.
  void leave();

  // --- it has ended, or has executed another program
  bool has_ended() const { return part.end_ns != 0; }
  void note_end();
  // The agent is gone a moment before its process has ended, or runs another program: false until
  // then, for half a second at most.
  bool is_settled();
  // The program that it has executed; "": it has ended.
  std::string successor() const;
  // Forked children record on with it. `maps`: of all processes, as of now.
  void find_children(const std::vector<SharedMaps>& maps) { children_ = writers_of(buffer_, maps); }
  bool has_children();
  // It has ended, or become another program; whether it has children was not looked at.
  bool may_have_children() { return has_ended() && !has_children(); }

 private:
  explicit ProcessMember(const RunningProcess& process) : process_(process), ids_(process.pid) {}
  Status set_up(const RecordOptions& options, const RecordingParts& parts, size_t number);
  void describe();
  bool has_any(const RecordOptions& options) const;

  RunningProcess process_;
  InsideIds ids_;
  AppliedRequest applied_;
  MappedBuffer buffer_;
  std::vector<RunningProcess> children_;
  int64_t gone_since_ = 0;  // ms; 0: it was not seen to be gone
  // In this order: the agent goes when nobody is connected, and what was made is taken back before.
  Attachment attachment_;
  std::unique_ptr<serve::Client> client_;
  std::unique_ptr<ToolUses> uses_;
};

}  // namespace patchbay::cmd
