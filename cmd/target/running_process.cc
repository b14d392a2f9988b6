// SPDX-License-Identifier: MIT
#include "cmd/target/running_process.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/text.h"
#include "base/unique_fd.h"
#include "cmd/target/target_program.h"
#include "serve/directory.h"

namespace patchbay::cmd {
namespace {

// Of /proc/PID/stat, behind the name: proc_pid_stat(5) counts from 1, and the state is its third.
enum : size_t { kState = 0, kParent = 1, kStartTime = 19, kStartCode = 23, kStartStack = 25 };

std::string proc_path(int pid, const char* name) {
  return "/proc/" + std::to_string(pid) + "/" + name;
}

std::string proc_text(int pid, const char* name) {
  Result<std::string> text = read_file(proc_path(pid, name));
  return text.ok() ? *text : "";
}

}  // namespace

std::optional<RunningProcess> running_process(int pid) {
  const std::string stat = proc_text(pid, "stat");
  const size_t name_end = stat.rfind(')');
  if (name_end == stat.npos) return std::nullopt;
  const std::vector<std::string_view> fields =
      split_words(std::string_view(stat).substr(name_end + 1));
  RunningProcess process;
  if (fields.size() <= kStartStack || !to_number(fields[kParent], &process.parent))
    return std::nullopt;
  process.pid = pid;
  process.start = fields[kStartTime];
  process.image = std::string(fields[kStartCode]) + " " + std::string(fields[kStartStack]);
  process.has_ended = fields[kState] == "Z" || fields[kState] == "X";
  return process;
}

std::vector<int> running_pids() {
  std::vector<int> pids;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", none)) {
    const std::string name = entry.path().filename();
    int pid = 0;
    if (to_number(std::string_view(name), &pid) && pid != ::getpid()) pids.push_back(pid);
  }
  return pids;
}

std::vector<std::string> command_line_of(int pid) {
  const std::string text = proc_text(pid, "cmdline");
  std::vector<std::string> words;
  std::string_view rest = text;
  while (!rest.empty()) words.emplace_back(cut_at(&rest, '\0'));
  return words;
}

std::string short_name_of(int pid) {
  const std::string exe = exe_of(pid);
  return exe.empty() ? comm_of(pid) : std::string(base_name(exe));
}

bool is_alive(int pid) { return ::kill(pid, 0) == 0 || errno != ESRCH; }

std::string comm_of(int pid) {
  const std::string comm = proc_text(pid, "comm");
  return std::string(trim_back(comm, "\n"));
}

int buffer_owner_in(std::string_view maps, const std::string& runtime) {
  const std::string below = " " + runtime + "/", end = std::string("/") + serve::kBufferName;
  while (!maps.empty()) {
    const std::string_view line = cut_at(&maps, '\n');
    const size_t at = line.find(below);
    if (at == line.npos || line.find(" rw-s ") == line.npos || !line.ends_with(end)) continue;
    std::string_view rest = line.substr(at + below.size());
    int owner = 0;
    rest = cut_at(&rest, '/');  // PID, or PID.N of a program that it ran before
    if (to_number(cut_at(&rest, '.'), &owner) && owner > 0) return owner;
  }
  return 0;
}

int records_with(int pid, const std::string& runtime) {
  std::error_code none;  // maps have no symbolic links
  const std::string real = std::filesystem::canonical(runtime, none);
  const int owner = buffer_owner_in(proc_text(pid, "maps"), none ? runtime : real);
  return owner == pid ? 0 : owner;
}

// The inode and the name: the device of maps is not that of stat() where file systems are laid over
// each other, and the way to the directory may have symbolic links.
bool MappedBuffer::is_in(std::string_view line) const {
  const std::vector<std::string_view> words = split_words(line);
  uint64_t number = 0;
  if (inode == 0 || words.size() < 6 || words[1] != "rw-s" || !to_number(words[4], &number) ||
      number != inode)
    return false;
  for (const std::string_view tail : {" (deleted)", serve::kBufferName}) {
    if (line.ends_with(tail))
      line.remove_suffix(tail.size());
    else if (tail == serve::kBufferName)
      return false;
  }
  if (!line.ends_with('/')) return false;
  line.remove_suffix(1);
  std::string_view name = line.substr(line.rfind('/') + 1);
  return cut_at(&name, '.') == directory;
}

MappedBuffer mapped_buffer(const std::string& directory) {
  struct stat status {};
  if (::stat((directory + "/" + serve::kBufferName).c_str(), &status) != 0) return {};
  return {uint64_t(status.st_ino), std::string(base_name(directory))};
}

std::vector<SharedMaps> shared_maps() {
  std::vector<SharedMaps> found;
  for (const int pid : running_pids()) {
    SharedMaps one;
    one.pid = pid;
    const std::string maps = proc_text(one.pid, "maps");
    for (std::string_view rest = maps; !rest.empty();) {
      const std::string_view line = cut_at(&rest, '\n');
      if (line.find(" rw-s ") != line.npos) one.lines.emplace_back(line);
    }
    if (!one.lines.empty()) found.push_back(std::move(one));
  }
  return found;
}

std::vector<RunningProcess> writers_of(const MappedBuffer& file,
                                       const std::vector<SharedMaps>& maps) {
  std::vector<RunningProcess> writers;
  for (const SharedMaps& one : maps) {
    const bool writes = std::any_of(one.lines.begin(), one.lines.end(),
                                    [&](const std::string& line) { return file.is_in(line); });
    const std::optional<RunningProcess> process =
        writes ? running_process(one.pid) : std::optional<RunningProcess>();
    if (process && !process->has_ended) writers.push_back(*process);
  }
  return writers;
}

}  // namespace patchbay::cmd
