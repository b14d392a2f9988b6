// SPDX-License-Identifier: MIT
#include "cmd/ship/ring_taker.h"

#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/monotonic_clock.h"
#include "cmd/common/buffer_source.h"
#include "cmd/common/commands.h"

namespace patchbay::cmd {
namespace {

constexpr int64_t kLookMs = 500, kPauseMs = 1000;

bool is_snapshot(const std::string& name) {
  return name == "snapshot" || name.ends_with("/snapshot");
}

}  // namespace

struct RingTaker::Member {
  serve::ProcessEntry entry;
  std::vector<std::string> parts;       // instances that were there when it was opened
  std::vector<RecordedBuffer> buffers;  // between two segments
  std::unique_ptr<Recording> recording;
  std::string part;  // directory of the segment
  uint64_t source = 0, start = 0;
  uint64_t known = 0;  // events of its rings that were read before this segment
  int64_t begun_ms = 0, pause_until_ms = 0;
  bool is_in_trouble = false;
  std::string process() const { return std::to_string(entry.pid) + "-" + std::to_string(start); }
};

RingTaker::RingTaker(RingChoice choice, ShipSpool* spool, Say say)
    : choice_(std::move(choice)), spool_(spool), say_(std::move(say)) {}

RingTaker::~RingTaker() = default;

// Ours alone: what another user has put there is not read (serve::check_directory() keeps others
// out, and root may have been told of somebody's).
Status RingTaker::open(Member* member) {
  const std::string& directory = member->entry.directory;
  struct stat status, above;
  if (::lstat(directory.c_str(), &status) != 0) return sys_error("open " + directory, errno);
  if (::lstat(choice_.runtime.c_str(), &above) != 0 || status.st_uid != above.st_uid ||
      !S_ISDIR(status.st_mode))
    return user_error(EPERM, directory + " belongs to somebody else.");
  const BufferSource source = source_of_directory(directory);
  member->buffers.clear();
  member->parts.clear();
  PB_ASSIGN(auto top, BufferFile::open(source.top, false));
  member->start = top->header().start_realtime_ns;
  const auto known = spool_->rings_of(member->process());
  const auto add = [&](const std::string& name, const std::string& path,
                       std::unique_ptr<BufferFile> file) {
    RecordedBuffer buffer{name, std::move(file), path};
    for (uint32_t ring = 0; ring < buffer.file->nr_rings(); ring++) {
      const auto found = known.find({name, ring});
      if (found == known.end()) continue;
      buffer.file->skip_to(ring, found->second.entries);
      buffer.dropped_before.resize(buffer.file->nr_rings());
      buffer.dropped_before[ring] = found->second.dropped;
    }
    member->buffers.push_back(std::move(buffer));
  };
  add("", source.top, std::move(top));
  for (const BufferPart& part : source.parts) {
    member->parts.push_back(part.name);
    if (part.name.empty() || is_snapshot(part.name)) continue;
    Result<std::unique_ptr<BufferFile>> file = BufferFile::open(part.path, false);
    if (file.ok()) add(part.name, part.path, std::move(*file));
  }
  return {};
}

Status RingTaker::begin_segment(Member* member) {
  member->known = 0;
  for (const RecordedBuffer& buffer : member->buffers)
    for (uint32_t ring = 0; ring < buffer.file->nr_rings(); ring++)
      member->known += buffer.file->position(ring).entries;
  member->source = spool_->next_source();
  PB_ASSIGN(member->part, spool_->begin(member->source, member->entry.pid));
  auto recording = Recording::open(std::move(member->buffers), member->part + "/data", 7);
  if (!recording.ok()) {
    spool_->abandon(member->part);
    return recording.error();
  }
  member->recording = std::move(*recording);
  member->begun_ms = monotonic_ms();
  return {};
}

// An empty one stays open: there is nothing to ship.
Status RingTaker::close_segment(Member* member, bool is_last) {
  Recording& recording = *member->recording;
  // drain() leaves the sub-buffers that are being written; these count, too.
  const bool has_nothing = recording.published() == member->known && recording.lost() == 0;
  if (has_nothing && !is_last) {
    member->begun_ms = monotonic_ms();
    return {};
  }
  PB_ASSIGN(const TraceDatResult written, recording.finish());
  if (!written.moved_to.empty()) {  // the rings have it still
    ::unlink(written.moved_to.c_str());
    return user_error(ENOENT, member->part + " was removed from the spool");
  }
  SegmentMeta meta;
  meta.source = member->source;
  meta.pid = member->entry.pid;
  meta.start = member->start;
  meta.events = recording.events();
  meta.wall_ns = int64_t(member->source);
  // What the disk did not take is lost like what the spool had no room for.
  meta.dropped = written.events_lost != 0;
  if (meta.dropped) ::unlink((member->part + "/data").c_str());
  const bool is_empty = meta.events == 0 && recording.lost() == 0;
  member->buffers = recording.take_buffers();
  for (const RecordedBuffer& buffer : member->buffers)
    for (uint32_t ring = 0; ring < buffer.file->nr_rings(); ring++)
      meta.rings[{buffer.instance, ring}] = {buffer.file->position(ring).entries,
                                             buffer.dropped_before[ring]};
  member->recording.reset();
  const std::string part = std::exchange(member->part, "");
  if (is_empty) return spool_->abandon(part), Status();
  PB_TRY(spool_->close(part, meta));
  if (const uint64_t events = spool_->keep_bound())
    say_("the spool is full: " + std::to_string(events) + " events were given up");
  return {};
}

void RingTaker::look() {
  if (monotonic_ms() < looked_ms_ + kLookMs) return;
  looked_ms_ = monotonic_ms();
  auto found = serve::list_processes(choice_.runtime);
  if (!found.ok()) return;
  for (serve::ProcessEntry& entry : *found) {
    if (!entry.has_buffer || (!choice_.pids.empty() && !choice_.pids.count(entry.pid))) continue;
    if (refused_.count(entry.directory)) continue;
    auto& member = members_[entry.directory];
    if (member) {
      member->entry.state = entry.state;
      continue;
    }
    auto made = std::make_unique<Member>();
    made->entry = std::move(entry);
    const Status opened = open(made.get());
    if (!opened.ok()) {
      // A buffer that is being made has no head yet.
      if (opened.error().errno_value != EINVAL || made->entry.state == serve::ProcessState::kDead) {
        say_("process " + std::to_string(made->entry.pid) + ": " + opened.error().message());
        refused_.insert(made->entry.directory);
      }
      members_.erase(made->entry.directory);
      continue;
    }
    if (ended_.count(made->process())) {
      members_.erase(made->entry.directory);
      continue;
    }
    member = std::move(made);
  }
}

// The disk is full, most likely. What is in the rings stays there, and is read from where the last
// whole segment ends.
void RingTaker::start_again(Member* member, const Error& error) {
  if (!std::exchange(member->is_in_trouble, true))
    say_("process " + std::to_string(member->entry.pid) + ": " + error.message() +
         "; it is tried again");
  member->recording.reset();
  if (!member->part.empty()) spool_->abandon(member->part);
  member->part.clear();
  member->buffers.clear();
  member->pause_until_ms = monotonic_ms() + kPauseMs;
}

unsigned RingTaker::turn() {
  look();
  unsigned filled = 0;
  std::vector<std::string> over;
  for (auto& [directory, member] : members_) {
    Status done;
    const bool is_dead = member->entry.state == serve::ProcessState::kDead;
    if (monotonic_ms() < member->pause_until_ms) continue;
    if (member->buffers.empty() && !member->recording) done = open(member.get());
    if (done.ok() && !member->recording) done = begin_segment(member.get());
    if (done.ok()) {
      filled = std::max(filled, member->recording->drain());
      const bool is_due = monotonic_ms() >= member->begun_ms + choice_.segment_ms;
      const bool is_large = member->recording->bytes() >= choice_.segment_bytes;
      if (is_dead || is_due || is_large) {
        done = close_segment(member.get(), is_dead);
        // Instances that were made since are opened with all others.
        std::vector<std::string> parts;
        for (const BufferPart& part : source_of_directory(directory).parts)
          parts.push_back(part.name);
        if (done.ok() && !member->recording && !is_dead && parts != member->parts)
          done = open(member.get());
      }
    }
    if (!done.ok()) {
      start_again(member.get(), done.error());
    } else if (is_dead) {
      over.push_back(directory);
    }
  }
  for (const std::string& directory : over) {
    ended_.insert(members_[directory]->process());
    members_.erase(directory);
  }
  return filled;
}

void RingTaker::finish() {
  for (auto& [directory, member] : members_) {
    if (!member->recording) continue;
    const Status done = close_segment(member.get(), true);
    if (!done.ok())
      say_("process " + std::to_string(member->entry.pid) + ": " + done.error().message());
  }
  members_.clear();
}

bool RingTaker::is_over() const {
  if (choice_.pids.empty() || !members_.empty()) return false;
  for (const int pid : choice_.pids) {
    const bool has_ended = std::any_of(ended_.begin(), ended_.end(), [&](const std::string& one) {
      return one.starts_with(std::to_string(pid) + "-");
    });
    if (!has_ended) return false;
  }
  return true;
}

}  // namespace patchbay::cmd
