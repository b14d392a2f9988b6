// SPDX-License-Identifier: MIT
//
// A recording of many processes while it is made: each has a file of its own beside the output,
// OUTPUT.PID-N.RANDOM.part, and at the end these become the output (trace_dat/merge.h). Programs
// that are followed (followed.h) and running processes (process_member.h) are recorded so.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cmd/record/record.h"
#include "cmd/record/recording.h"
#include "trace_dat/merge.h"

namespace patchbay::cmd {

// One process's share.
struct RecordedPart {
  MergedPart part;
  std::unique_ptr<Recording> recording;  // null: it has ended, or had nothing of the request
  // Of a recording that has ended:
  std::vector<RingCounts> counts;
  uint64_t events = 0, bytes = 0;
  std::vector<std::string> recorded;  // the texts of -e that it has records of
  bool is_saved = true;               // false: the disk was full, or failed
  uint64_t not_saved = 0;             // events of it that the disk did not take
  uint64_t missed = 0, ring_bytes = 0;
  uint32_t nr_cpus = 0;

  uint64_t published() const { return recording ? recording->published() : events; }
  uint64_t bytes_spooled() const { return recording ? recording->bytes() : bytes; }
  uint64_t lost() const;
};

// "nginx (4711): SENTENCE" of each part that has a note.
std::string sentence_of(const MergedPart& part);

// By ring, of all processes.
void add_counts(const std::vector<RingCounts>& counts, std::vector<RingCounts>* sum);

class RecordingParts {
 public:
  RecordingParts() = default;
  // `what` takes an ordinary file as its output: the words of the error.
  static Result<RecordingParts> beside(const RecordOptions& options, const std::string& what);

  const std::string& output() const { return output_; }
  // Begins the file of a process, the `number`th of this recording.
  Status open(RecordedPart* part, std::vector<RecordedBuffer> buffers, size_t number) const;
  // Its last sub-buffers, and its file. What could not be saved is the part's note.
  void finish(RecordedPart* part, const TraceRequest& request) const;
  // They become the output. On an error they stay where they are, and `what_stays` is said.
  Result<MergeResult> merge(const std::vector<MergedPart>& parts,
                            const std::vector<NotFollowed>& not_followed,
                            const std::string& what_stays) const;
  // The files of a recording that has failed.
  void remove(const RecordedPart& part) const;

 private:
  std::string output_;
  OutputPlace place_;
  mode_t mode_ = 0644;  // of the output
  int version_ = 7;
};

}  // namespace patchbay::cmd
