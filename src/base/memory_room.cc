// SPDX-License-Identifier: MIT
#include "base/memory_room.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "base/text.h"
#include "base/unique_fd.h"

namespace patchbay {

namespace {

// Version 1 says "no limit" by a number that no machine has.
constexpr uint64_t kNoLimit = uint64_t{1} << 60;
// Stays free for the program, and for what is not counted.
constexpr uint64_t kLeastSpare = 256 << 10, kMostSpare = 4 << 20, kSparePart = 32;

// An octal escape of mountinfo: "\040" is a blank.
std::string unescaped(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); i++) {
    const bool is_escape = text[i] == '\\' && text.size() - i > 3 &&
                           text.substr(i + 1, 3).find_first_not_of("01234567") == text.npos;
    if (is_escape)
      plain += char((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
    else
      plain += text[i];
    i += is_escape ? 3 : 0;
  }
  return plain;
}

bool has_word(std::string_view list, std::string_view word) {
  const std::vector<std::string_view> words = split_words(list, ",");
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Nothing: there is no such file, or no number in it ("max").
std::optional<uint64_t> number_in(const std::string& path) {
  Result<std::string> text = read_file(path);
  uint64_t number = 0;
  if (!text.ok() || !to_number(trim(*text), &number)) return {};
  return number;
}

// Of a file with lines "NAME NUMBER"; 0: there is none.
uint64_t number_of(const std::string& path, std::string_view name) {
  Result<std::string> text = read_file(path);
  std::string_view rest = text.ok() ? std::string_view(*text) : std::string_view();
  uint64_t number = 0;
  while (!rest.empty()) {
    std::string_view line = cut_at(&rest, '\n');
    if (cut_at(&line, ' ') == name && to_number(line, &number)) return number;
  }
  return 0;
}

std::optional<MemoryRoom> room_in(const std::string& group, bool is_second) {
  const std::string files = group + "/memory.";
  const auto limit = number_in(files + (is_second ? "max" : "limit_in_bytes"));
  const auto used = number_in(files + (is_second ? "current" : "usage_in_bytes"));
  if (!limit || !used || *limit >= kNoLimit) return {};
  const uint64_t cache =
      number_of(files + "stat", is_second ? "inactive_file" : "total_inactive_file");
  const uint64_t held = *used - std::min(*used, cache);
  return MemoryRoom{group, *limit, *limit - std::min(*limit, held)};
}

// Where the line "4:memory:/a/b" leads below this mount; "": it is not seen there.
std::string directory_of(std::string_view line, const CgroupMount& mount) {
  cut_at(&line, ':');
  const std::string_view controllers = cut_at(&line, ':');
  const bool is_meant =
      mount.is_second ? controllers.empty() : mount.has_memory && has_word(controllers, "memory");
  if (!is_meant || line.find("/..") != line.npos) return "";
  const std::string_view root = mount.root == "/" ? "" : std::string_view(mount.root);
  if (!line.starts_with(root)) return "";
  line.remove_prefix(root.size());
  if (!line.empty() && line[0] != '/') return "";
  return mount.point + std::string(line == "/" ? "" : line);
}

std::string megabytes(uint64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f MB", double(bytes) / (1 << 20));
  return text;
}

}  // namespace

std::vector<CgroupMount> cgroup_mounts(std::string_view mountinfo) {
  std::vector<CgroupMount> mounts;
  while (!mountinfo.empty()) {
    const std::string_view line = cut_at(&mountinfo, '\n');
    const size_t end = line.find(" - ");
    if (end == line.npos) continue;
    const std::vector<std::string_view> words = split_words(line.substr(0, end));
    const std::vector<std::string_view> of_kind = split_words(line.substr(end + 3));
    if (words.size() < 5 || of_kind.empty()) continue;
    const bool is_second = of_kind[0] == "cgroup2";
    if (!is_second && of_kind[0] != "cgroup") continue;
    mounts.push_back({unescaped(words[3]), unescaped(words[4]), is_second,
                      !is_second && has_word(of_kind.back(), "memory")});
  }
  std::stable_partition(mounts.begin(), mounts.end(),
                        [](const CgroupMount& mount) { return mount.is_second; });
  return mounts;
}

std::optional<MemoryRoom> memory_room(std::string_view cgroups,
                                      const std::vector<CgroupMount>& mounts) {
  std::optional<MemoryRoom> least;
  while (!cgroups.empty()) {
    const std::string_view line = cut_at(&cgroups, '\n');
    for (const CgroupMount& mount : mounts) {
      std::string at = directory_of(line, mount);
      while (at.size() >= mount.point.size() && !at.empty()) {
        const std::optional<MemoryRoom> room = room_in(at, mount.is_second);
        if (room && (!least || room->left < least->left)) least = room;
        at.resize(std::max<size_t>(at.rfind('/') + 1, 1) - 1);
      }
    }
  }
  return least;
}

std::optional<MemoryRoom> memory_room_of(int pid) {
  const std::string process = pid ? std::to_string(pid) : "self";
  Result<std::string> cgroups = read_file("/proc/" + process + "/cgroup");
  Result<std::string> mounts = read_file("/proc/self/mountinfo");
  if (!cgroups.ok() || !mounts.ok()) return {};
  return memory_room(*cgroups, cgroup_mounts(*mounts));
}

KilledInGroup::KilledInGroup(int pid) {
  Result<std::string> cgroups = read_file("/proc/" + std::to_string(pid) + "/cgroup");
  Result<std::string> mounts = read_file("/proc/self/mountinfo");
  if (!cgroups.ok() || !mounts.ok()) return;
  for (const CgroupMount& mount : cgroup_mounts(*mounts)) {
    for (std::string_view rest = *cgroups; !rest.empty() && file_.empty();) {
      const std::string at = directory_of(cut_at(&rest, '\n'), mount);
      const std::string file = at + (mount.is_second ? "/memory.events" : "/memory.oom_control");
      if (at.empty() || !read_file(file).ok()) continue;
      group_ = at;
      file_ = file;
    }
  }
  before_ = count();
}

uint64_t KilledInGroup::count() const { return file_.empty() ? 0 : number_of(file_, "oom_kill"); }

std::string KilledInGroup::group() const { return count() > before_ ? group_ : ""; }

Status check_memory_room(const std::optional<MemoryRoom>& room, uint64_t bytes,
                         std::string_view what, std::string_view advice) {
  if (!room) return {};
  const uint64_t spare = std::clamp(room->limit / kSparePart, kLeastSpare, kMostSpare);
  if (bytes <= room->left && room->left - bytes >= spare) return {};
  return user_error(ENOMEM, std::string(what) + " would take about " + megabytes(bytes) +
                                ", and the control group " + room->group + " has " +
                                megabytes(room->left) + " left of " + megabytes(room->limit) +
                                ": the kernel would kill a process of it. " + std::string(advice));
}

}  // namespace patchbay
