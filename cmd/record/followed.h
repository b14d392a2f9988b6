// SPDX-License-Identifier: MIT
//
// The programs that a recorded program executes (agent/follow.h), as `record` follows them: each is
// set up as the first was, before its main(), and recorded into a file of its own. At the end these
// files become one.
//
//   DIR/tree-N/wanted   says which programs have to wait for us     (abi/follow_abi.h)
//   DIR/tree-N/log      an agent: "I wait in DIR/PID"
//     connect, set up what the program has of the request, OUTPUT.PID-K.part, let it run
//     take its sub-buffers as those of the first
//     it ends, or executes another: the part is finished. Its forked children record in the same
//     buffers, so they are waited for.
//   the end             all parts and the log are merged into OUTPUT  (trace_dat/merge.h)
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "cmd/record/record.h"
#include "cmd/record/recording.h"
#include "cmd/record/recording_parts.h"
#include "cmd/target/follow_tree.h"
#include "serve/client.h"
#include "trace_dat/merge.h"

namespace patchbay::cmd {

// What the whole recording has, for the summary.
struct FollowedTotals {
  std::vector<std::string> programs;  // whose events may be in the file: their names
  uint64_t has_nothing = 0;           // that had nothing of what is recorded
  uint64_t events = 0;
  std::vector<RingCounts> counts;  // by ring, of all programs
};

class FollowedPrograms {
 public:
  // Makes the directory, before the program starts. `options` has to live on.
  static Result<std::unique_ptr<FollowedPrograms>> make(const std::string& runtime,
                                                        const RecordOptions& options);
  // Removes it, and the directories of the programs.
  ~FollowedPrograms();

  const std::string& directory() const { return tree_->directory(); }  // for PATCHBAY_FOLLOW
  int descriptor() const {
    return tree_->descriptor();
  }  // readable when there is something for look()
  // The first program has ended, and its directory goes with the others.
  void first_ended() { first_ended_ = true; }
  // The first program runs now, in the directory DIR/PID.
  void first_runs(pid_t pid, const std::string& exe, const std::vector<std::string>& words);

  // Reads what the agents have said, and sets up those who wait.
  void look();
  // As Recording::drain(), over all programs.
  unsigned drain();
  uint64_t published() const;
  uint64_t bytes() const;
  uint64_t lost() const;
  // The process of the first program has become another one, which is recorded or known.
  bool knows_successor(pid_t pid) const;

  // Programs that go on record nothing any more.
  void stop();
  size_t go_on() const { return go_on_; }  // how many these are, after finish()
  // Why programs could not be set up, a sentence each.
  std::vector<std::string> failures() const;
  // No program is followed any more, and the parts are finished.
  void close();
  // After close(): whether there is more than the first program.
  bool has_more() const;
  // After close(): the file of the first program becomes that of all. On an error the parts stay,
  // and it says so.
  Result<MergeResult> finish(const Recording& first, const std::string& moved_to);
  FollowedTotals totals(const Recording& first) const;
  const std::vector<NotFollowed>& not_followed() const { return not_followed_; }
  // Programs that were not followed either, but have not found the room to say which they are.
  uint64_t unnamed() const { return tree_->unnamed(); }
  bool is_damaged() const { return tree_->is_damaged(); }
  // -e and -l, by their text: what the first program has, and what it has not.
  void first_has(const std::set<std::string>& found, const std::vector<std::string>& missing) {
    found_ = found;
    awaited_ = missing;
  }
  const std::vector<std::string>& awaited() const { return awaited_; }
  // The texts of -e that another program than the first has records of.
  const std::set<std::string>& recorded() const { return recorded_; }
  bool was_found(const std::string& name) const { return found_.contains(name); }

 private:
  struct Image;
  explicit FollowedPrograms(const RecordOptions& options);
  Image* owner_of(pid_t pid) const;
  void not_followed(const FollowSaid& said);
  void take(FollowSaid said);
  void arrive(const FollowSaid& said, bool waits);
  void hear(FollowSaid said);
  Status set_up(Image* image);
  void let_go(Image* image);
  void keep_reserve();
  void leave(Image* image);
  void end_image(Image* image);
  void end_those_that_ended();
  bool has_children(Image* image);

  const RecordOptions& options_;
  std::unique_ptr<FollowTree> tree_;
  RecordingParts parts_;
  UniqueFd reserve_;  // a descriptor for the last need
  bool is_closing_ = false;
  std::vector<std::unique_ptr<Image>> images_;  // the first is the first program
  std::vector<Image*> live_;                    // those that have or need something of us
  std::map<pid_t, Image*> owner_;               // of each process that is known: what it runs
  std::vector<NotFollowed> not_followed_;
  std::set<std::string> found_;  // by any program
  std::vector<std::string> awaited_;
  std::set<std::string> recorded_;
  bool first_ended_ = false;
  uint64_t has_nothing_ = 0;
  size_t go_on_ = 0;
};

}  // namespace patchbay::cmd
