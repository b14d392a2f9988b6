// SPDX-License-Identifier: MIT
#include "cmd/ship/ship_spool.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "base/output_file.h"
#include "base/text.h"

namespace patchbay::cmd {
namespace {

constexpr const char kPart[] = ".part", kState[] = ".state";
constexpr size_t kMostLines = 1 << 16;

uint64_t wall_now() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return uint64_t(now.tv_sec) * 1'000'000'000 + uint64_t(now.tv_nsec);
}

Status write_whole(const std::string& path, const std::string& text) {
  PB_ASSIGN(OutputFile file, OutputFile::replacement(path, ".new"));
  PB_TRY(file.write(text));
  return file.take_place();
}

std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator at(directory, error), end; !error && at != end;
       at.increment(error))
    names.push_back(at->path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

bool is_own_directory(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
         status.st_uid == ::geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

void remove_all(const std::string& path) {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

}  // namespace

std::string SegmentMeta::text() const {
  std::string text = "source " + std::to_string(source) + "\npid " + std::to_string(pid) +
                     "\nstart " + std::to_string(start) + "\nevents " + std::to_string(events) +
                     "\ndropped " + std::to_string(int(dropped)) + "\nwall " +
                     std::to_string(wall_ns) + "\n";
  for (const auto& [key, ring] : rings)
    text += "ring " + std::to_string(key.second) + " " + std::to_string(ring.entries) + " " +
            std::to_string(ring.dropped) + " " + key.first + "\n";
  return text + "end\n";
}

Result<SegmentMeta> parse_segment_meta(std::string_view text) {
  const Error wrong = user_error(EINVAL, "this is no description of a segment");
  SegmentMeta meta;
  bool has_end = false;
  size_t lines = 0;
  while (!text.empty() && !has_end) {
    std::string_view line = cut_at(&text, '\n');
    if (++lines > kMostLines) return wrong;
    const std::string_view word = cut_at(&line, ' ');
    bool is_right = true;
    if (word == "source") {
      is_right = to_number(line, &meta.source);
    } else if (word == "pid") {
      is_right = to_number(line, &meta.pid) && meta.pid > 0;
    } else if (word == "start") {
      is_right = to_number(line, &meta.start);
    } else if (word == "events") {
      is_right = to_number(line, &meta.events);
    } else if (word == "dropped") {
      meta.dropped = line == "1";
      is_right = meta.dropped || line == "0";
    } else if (word == "wall") {
      is_right = to_number(line, &meta.wall_ns);
    } else if (word == "ring") {
      SegmentMeta::Ring ring;
      uint32_t number = 0;
      is_right = to_number(cut_at(&line, ' '), &number) &&
                 to_number(cut_at(&line, ' '), &ring.entries) &&
                 to_number(cut_at(&line, ' '), &ring.dropped);
      meta.rings[{std::string(line), number}] = ring;
    } else {
      has_end = word == "end";
      is_right = has_end;
    }
    if (!is_right) return wrong;
  }
  if (!has_end || meta.pid == 0) return wrong;
  return meta;
}

Result<std::unique_ptr<ShipSpool>> ShipSpool::open(const std::string& directory,
                                                   uint64_t most_bytes) {
  std::unique_ptr<ShipSpool> spool(new ShipSpool);
  spool->directory_ = directory;
  spool->most_bytes_ = most_bytes;
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(directory).parent_path(), error);
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST)
    return sys_error("make the directory " + directory, errno);
  if (!is_own_directory(directory))
    return user_error(EPERM, "The spool " + directory +
                                 " belongs to another user, or others may write to it: name "
                                 "another one with --spool.");
  const std::string lock = directory + "/lock";
  spool->lock_.reset(::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!spool->lock_.valid()) return sys_error("write " + lock, errno);
  if (::flock(spool->lock_.get(), LOCK_EX | LOCK_NB) != 0)
    return user_error(EBUSY, "Another patchbay ship has the spool " + directory +
                                 ": name another one with --spool.");
  for (const std::string& name : names_in(directory)) {
    const std::string path = directory + "/" + name;
    if (name.ends_with(kPart) || name.ends_with(".new")) remove_all(path);
  }
  for (const Segment& segment : spool->segments())
    spool->last_source_ = std::max(spool->last_source_, segment.meta.source);
  return spool;
}

uint64_t ShipSpool::next_source() { return last_source_ = std::max(last_source_ + 1, wall_now()); }

Result<std::string> ShipSpool::begin(uint64_t source, int pid) const {
  char name[64];
  std::snprintf(name, sizeof name, "%020llu-%d", static_cast<unsigned long long>(source), pid);
  const std::string part = directory_ + "/" + name + kPart;
  if (::mkdir(part.c_str(), 0700) != 0) return sys_error("make the directory " + part, errno);
  return part;
}

Status ShipSpool::close(const std::string& part, const SegmentMeta& meta) const {
  PB_TRY(write_whole(part + "/meta", meta.text()));
  const std::string whole = part.substr(0, part.size() - (sizeof kPart - 1));
  if (::rename(part.c_str(), whole.c_str()) != 0) return sys_error("rename " + part, errno);
  return {};
}

void ShipSpool::abandon(const std::string& part) const { remove_all(part); }

std::vector<Segment> ShipSpool::segments() const {
  std::vector<Segment> found;
  for (const std::string& name : names_in(directory_)) {
    if (name.size() < 22 || name[20] != '-' || name.ends_with(kPart)) continue;
    Segment segment;
    segment.directory = directory_ + "/" + name;
    Result<std::string> text = read_file(segment.directory + "/meta");
    if (!text.ok()) {
      remove_all(segment.directory);  // shipped: its meta has become the state
      continue;
    }
    Result<SegmentMeta> meta = parse_segment_meta(*text);
    if (!meta.ok()) continue;  // not ours
    segment.meta = std::move(*meta);
    struct stat status;
    if (::stat(segment.data().c_str(), &status) == 0) segment.bytes = uint64_t(status.st_size);
    found.push_back(std::move(segment));
  }
  return found;
}

Status ShipSpool::done(const Segment& segment) const {
  const std::string state = directory_ + "/" + segment.meta.process() + kState;
  if (::rename((segment.directory + "/meta").c_str(), state.c_str()) != 0)
    return sys_error("rename " + segment.directory + "/meta", errno);
  remove_all(segment.directory);
  return {};
}

uint64_t ShipSpool::bytes() const {
  uint64_t sum = 0;
  for (const Segment& segment : segments()) sum += segment.bytes;
  return sum;
}

uint64_t ShipSpool::keep_bound() const {
  std::vector<Segment> all = segments();
  uint64_t sum = 0, events = 0;
  for (const Segment& segment : all) sum += segment.bytes;
  for (Segment& segment : all) {
    if (sum <= most_bytes_) break;
    if (segment.bytes == 0 || segment.meta.source == held_) continue;
    segment.meta.dropped = true;
    if (!write_whole(segment.directory + "/meta", segment.meta.text()).ok()) break;
    ::unlink(segment.data().c_str());
    sum -= segment.bytes;
    events += segment.meta.events;
  }
  return events;
}

std::map<std::pair<std::string, uint32_t>, SegmentMeta::Ring> ShipSpool::rings_of(
    const std::string& process) const {
  std::map<std::pair<std::string, uint32_t>, SegmentMeta::Ring> rings;
  const auto take = [&](const SegmentMeta& meta) {
    for (const auto& [key, ring] : meta.rings) {
      SegmentMeta::Ring& known = rings[key];
      known.entries = std::max(known.entries, ring.entries);
      known.dropped = std::max(known.dropped, ring.dropped);
    }
  };
  if (Result<std::string> text = read_file(directory_ + "/" + process + kState); text.ok())
    if (Result<SegmentMeta> meta = parse_segment_meta(*text); meta.ok()) take(*meta);
  for (const Segment& segment : segments())
    if (segment.meta.process() == process) take(segment.meta);
  return rings;
}

}  // namespace patchbay::cmd
