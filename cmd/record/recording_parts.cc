// SPDX-License-Identifier: MIT
#include "cmd/record/recording_parts.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/text.h"
#include "cmd/record/record_report.h"

namespace patchbay::cmd {

uint64_t RecordedPart::lost() const {
  if (recording) return recording->lost();
  uint64_t sum = 0;
  for (const RingCounts& one : counts) sum += one.overwritten + one.dropped;
  return sum;
}

std::string sentence_of(const MergedPart& part) {
  return one_line(base_name(part.exe)) + " (" + std::to_string(part.pid) + "): " + part.note;
}

void add_counts(const std::vector<RingCounts>& counts, std::vector<RingCounts>* sum) {
  sum->resize(std::max(sum->size(), counts.size()));
  for (size_t ring = 0; ring < counts.size(); ring++) {
    (*sum)[ring].events += counts[ring].events;
    (*sum)[ring].overwritten += counts[ring].overwritten;
    (*sum)[ring].dropped += counts[ring].dropped;
  }
}

Result<RecordingParts> RecordingParts::beside(const RecordOptions& options,
                                              const std::string& what) {
  RecordingParts parts;
  std::error_code error;
  parts.output_ = std::filesystem::canonical(options.output, error).string();
  struct stat status;
  PB_ASSIGN(parts.place_, OutputPlace::of(options.output));
  if (parts.place_.is_kernels()) {
    PB_ASSIGN(parts.place_, OutputPlace::of(parts.output_));
  }
  if (error || ::stat(parts.output_.c_str(), &status) != 0 || !S_ISREG(status.st_mode))
    return user_error(EINVAL, what + " takes an ordinary file as its output, which " +
                                  options.output + " is not.");
  parts.mode_ = status.st_mode & 0777;
  parts.version_ = options.version;
  return parts;
}

Status RecordingParts::open(RecordedPart* part, std::vector<RecordedBuffer> buffers,
                            size_t number) const {
  PB_ASSIGN(OutputFile file, OutputFile::beside(place_, ".part", mode_,
                                                "." + std::to_string(part->part.pid) + "-" +
                                                    std::to_string(number)));
  file.keep();
  part->part.path = file.path();
  PB_ASSIGN(part->recording, Recording::open(std::move(buffers), std::move(file), version_));
  return {};
}

void RecordingParts::finish(RecordedPart* part, const TraceRequest& request) const {
  if (!part->recording) return;
  Result<TraceDatResult> result = part->recording->finish();
  if (!result.ok()) {
    part->part.note = result.error().message();
    ::unlink(part->part.path.c_str());  // no file that a merge could read
    part->part.path.clear();
  } else if (result->events_lost) {
    part->part.note = std::to_string(result->events_lost) + " events did not fit on the disk";
  }
  if (result.ok() && !result->moved_to.empty()) part->part.path = result->moved_to;
  part->not_saved = result.ok() ? result->events_lost : part->recording->events();
  const Status& followed = part->recording->followed();
  if (!followed.ok() && part->part.note.empty()) part->part.note = followed.error().message();
  part->is_saved = result.ok() && result->events_lost == 0 && result->pages_lost == 0;
  part->missed = part->recording->missed();
  part->ring_bytes = part->recording->ring_bytes();
  part->nr_cpus = part->recording->buffer().header().nr_cpus;
  part->counts = part->recording->counts();
  part->events = part->recording->events();
  part->recorded = recorded_texts(request, *part->recording);
  part->bytes = result.ok() ? result->bytes : 0;
  part->recording.reset();
}

void RecordingParts::remove(const RecordedPart& part) const {
  if (!part.part.path.empty()) ::unlink(part.part.path.c_str());
}

Result<MergeResult> RecordingParts::merge(const std::vector<MergedPart>& parts,
                                          const std::vector<NotFollowed>& not_followed,
                                          const std::string& what_stays) const {
  // Where the directory of the output has been removed the file stands elsewhere.
  Result<OutputFile> whole = OutputFile::beside(place_, ".merged", mode_);
  const bool is_elsewhere = !whole.ok() && whole.error().errno_value == ENOENT;
  if (is_elsewhere) whole = OutputFile::elsewhere(place_);
  if (!whole.ok()) return user_error(EIO, whole.error().message() + "; " + what_stays);
  Result<MergeResult> merged = merge_trace_dats(parts, not_followed, &*whole, version_);
  std::string why = merged.ok() ? "" : merged.error().message();
  if (merged.ok() && (merged->file.events_lost || merged->file.pages_lost))
    why = std::string("there is no room for one file (") +
          std::strerror(merged->file.error ? merged->file.error : EIO) + ")";
  if (why.empty())
    if (const Status placed = whole->take_place(); !placed.ok()) why = placed.error().message();
  if (!why.empty()) {
    whole->remove();
    return user_error(EIO, why + "; " + what_stays);
  }
  if (is_elsewhere) merged->file.moved_to = whole->path();
  for (const MergedPart& part : parts)
    if (part.path != output_ && !part.path.empty()) ::unlink(part.path.c_str());
  return merged;
}

}  // namespace patchbay::cmd
