// SPDX-License-Identifier: MIT
#include "uprobes/kernel_mirrors.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/text.h"
#include "mirror/mirror_layout.h"

namespace patchbay {
namespace {

constexpr std::string_view kPrefix = "mirror.";
constexpr int kRemoveTries = 100, kRemoveUs = 20000;  // 2 s for a listener that is just going

// The numbers of a place without leading zeros.
std::string plain_place(std::string_view place) {
  std::string text;
  for (size_t i = 0; i < place.size(); i++) {
    text.push_back(place[i]);
    if (!text.ends_with("0x")) continue;
    while (i + 2 < place.size() && place[i + 1] == '0' && digit_value(place[i + 2]) >= 0) i++;
  }
  return text;
}

bool has_line(const std::vector<std::string>& lines, const KernelMirrorLine& line) {
  return std::any_of(lines.begin(), lines.end(), [&](const std::string& text) {
    KernelMirrorLine other;
    return KernelMirrorLine::parse(text, &other) && other.is_same(line);
  });
}

// A tool's file.
struct ToolFile {
  std::string path;
  bool is_held;
  std::vector<std::string> lines;
};

// Of our own user alone: another one could have written anything into it.
bool is_ours(int fd) {
  struct stat about = {};
  return ::fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && about.st_uid == ::geteuid();
}

std::vector<ToolFile> tool_files(const std::string& runtime, const std::string& except) {
  std::vector<ToolFile> files;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(runtime, none)) {
    const std::string path = entry.path().string();
    if (!base_name(path).starts_with(kPrefix) || path == except) continue;
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!fd.valid() || !is_ours(fd.get())) continue;
    ToolFile file{path, ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0, {}};
    Result<std::string> text = read_file(path);
    if (text.ok()) file.lines = split_lines(*text);
    files.push_back(std::move(file));
  }
  return files;
}

std::vector<std::string> kernel_lines(const TracefsDirectory& top) {
  Result<std::string> text = top.read("uprobe_events");
  return text.ok() ? split_lines(*text) : std::vector<std::string>();
}

// Takes out the kernel's line that is the same as `text`, and no other one. False: somebody
// listens to it.
bool remove_line(const TracefsDirectory& top, const std::string& text, bool waits) {
  KernelMirrorLine line;
  if (!KernelMirrorLine::parse(text, &line)) return true;
  for (int i = 0; i < (waits ? kRemoveTries : 1); i++) {
    if (i) ::usleep(kRemoveUs);
    bool is_there = false;
    for (const std::string& shown : kernel_lines(top)) {
      KernelMirrorLine found;
      if (!KernelMirrorLine::parse(shown, &found) || !found.is_same(line)) continue;
      is_there = true;
      Status removed =
          top.write("uprobe_events", "-:" + found.event + " " + found.place + "\n", O_APPEND);
      if (removed.ok()) return true;
    }
    if (!is_there) return true;
  }
  return false;
}

// Removes those of `lines` that no living tool has. What has to stay is returned.
std::vector<std::string> remove_lines(const TracefsDirectory& top,
                                      const std::vector<std::string>& lines,
                                      const std::vector<ToolFile>& others, bool waits) {
  std::vector<std::string> stay;
  for (const std::string& text : lines) {
    KernelMirrorLine line;
    if (!KernelMirrorLine::parse(text, &line)) continue;
    const bool is_needed = std::any_of(others.begin(), others.end(), [&](const ToolFile& other) {
      return other.is_held && has_line(other.lines, line);
    });
    if (!is_needed && !remove_line(top, text, waits)) stay.push_back(text);
  }
  return stay;
}

std::string event_of(const std::string& text) {
  KernelMirrorLine line;
  (void)KernelMirrorLine::parse(text, &line);
  std::replace(line.event.begin(), line.event.end(), '/', ':');
  return line.event;
}

// The caller holds the lock.
std::vector<std::string> remove_leftovers(const TracefsDirectory& top, const std::string& runtime,
                                          const std::string& except, bool dry_run) {
  std::vector<std::string> events;
  const std::vector<ToolFile> files = tool_files(runtime, except);
  for (const ToolFile& file : files) {
    if (file.is_held) continue;
    for (const std::string& line : file.lines) events.push_back(event_of(line));
    if (dry_run) continue;
    const std::vector<std::string> stay = remove_lines(top, file.lines, files, false);
    if (stay.empty()) ::unlink(file.path.c_str());
    for (const std::string& line : stay) std::erase(events, event_of(line));
  }
  return events;
}

Status append(int fd, const std::string& line) {
  const std::string text = line + "\n";
  if (::write(fd, text.data(), text.size()) == ssize_t(text.size())) return {};
  return sys_error("write the list of mirrors", errno);
}

}  // namespace

// --- lines

bool KernelMirrorLine::parse(std::string_view untrusted_line, KernelMirrorLine* line) {
  const std::vector<std::string_view> words = split_words(untrusted_line);
  if (words.size() < 2 || !words[0].starts_with("p") || words[1].find(':') == words[1].npos)
    return false;
  const size_t colon = words[0].find(':');
  if (colon == words[0].npos || words[0].find('/') == words[0].npos) return false;
  line->event = words[0].substr(colon + 1);
  line->place = words[1];
  return true;
}

bool KernelMirrorLine::is_same(const KernelMirrorLine& other) const {
  return event == other.event && plain_place(place) == plain_place(other.place);
}

// --- one tool's

Result<std::unique_ptr<KernelMirrors>> KernelMirrors::open(const std::string& runtime_directory) {
  PB_ASSIGN(TracefsDirectory top, open_kernel_tracefs(KernelUse::kUprobes));
  Result<std::string> readme = top.read("README");
  if (readme.ok() && readme->find("ref_ctr_offset") == readme->npos)
    return user_error(EOPNOTSUPP,
                      "this kernel's uprobes know no semaphores (it is older than 4.20), and a "
                      "mirror would not notice that somebody listens");
  std::unique_ptr<KernelMirrors> made(new KernelMirrors(std::move(top), runtime_directory));
  PB_ASSIGN(const UniqueFd all, lock_instances(made->top_));
  (void)remove_leftovers(made->top_, runtime_directory, "", false);
  made->own_path_ = runtime_directory + "/" + std::string(kPrefix) + std::to_string(::getpid());
  made->own_.reset(
      ::open(made->own_path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!made->own_.valid()) return sys_error("make " + made->own_path_, errno);
  if (::flock(made->own_.get(), LOCK_EX | LOCK_NB) != 0)
    return sys_error("lock " + made->own_path_, errno);
  // Of a tool that had our number, and whose events were listened to at its end.
  Result<std::string> left = read_file(made->own_path_);
  if (left.ok()) made->lines_ = split_lines(*left);
  return made;
}

Result<std::string> KernelMirrors::group_for(const EventCall& call, const std::string& file,
                                             int pid) {
  KernelMirrorLine own;
  std::string group = call.system;
  for (int i = 0; i < 2; i++) {
    std::vector<std::string> ignored;
    PB_ASSIGN(const std::string text, mirror_kernel_line(call, group, file, &ignored));
    (void)KernelMirrorLine::parse(text, &own);
    if (has_line(kernel_lines(top_), own)) return group;
    const std::string path = "events/" + group + "/" + call.name;
    if (::faccessat(top_.get(), path.c_str(), F_OK, 0) != 0) return group;
    if (i == 0) group += "_" + std::to_string(pid);
  }
  return user_error(EEXIST, "the kernel has an event " + group + ":" + call.name + " already");
}

Result<std::string> KernelMirrors::add(const EventCall& call, const std::string& file, int pid,
                                       std::vector<std::string>* left_out) {
  PB_ASSIGN(const UniqueFd all, lock_instances(top_));
  PB_ASSIGN(const std::string group, group_for(call, file, pid));
  PB_ASSIGN(const std::string text, mirror_kernel_line(call, group, file, left_out));
  KernelMirrorLine line;
  (void)KernelMirrorLine::parse(text, &line);
  const std::string name = group + ":" + call.name;
  const bool is_there = has_line(kernel_lines(top_), line);
  const std::vector<ToolFile> others = tool_files(runtime_, own_path_);
  const bool is_a_tools = std::any_of(others.begin(), others.end(), [&](const ToolFile& other) {
    return has_line(other.lines, line);
  });
  if (is_there && !is_a_tools) return name;  // somebody wrote it by hand, and has it removed
  PB_TRY(append(own_.get(), text));
  lines_.push_back(text);
  if (!is_there) PB_TRY(define_uprobe(top_, text));
  return name;
}

std::vector<std::string> KernelMirrors::remove() {
  std::vector<std::string> events;
  if (!own_.valid()) return events;
  Result<UniqueFd> all = lock_instances(top_);
  const std::vector<std::string> stay =
      remove_lines(top_, lines_, tool_files(runtime_, own_path_), true);
  for (const std::string& line : stay) events.push_back(event_of(line));
  if (stay.empty()) ::unlink(own_path_.c_str());
  own_.reset();
  return events;
}

std::vector<std::string> remove_mirror_leftovers(const std::string& runtime_directory,
                                                 bool dry_run) {
  if (tool_files(runtime_directory, "").empty()) return {};
  Result<TracefsDirectory> top = open_kernel_tracefs(KernelUse::kUprobes);
  if (!top.ok()) return {};
  Result<UniqueFd> all = lock_instances(*top);
  if (!all.ok()) return {};
  return remove_leftovers(*top, runtime_directory, "", dry_run);
}

}  // namespace patchbay
