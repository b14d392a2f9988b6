// SPDX-License-Identifier: MIT
#include "serve/peer_watch.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string_view>
#include <vector>

#include "base/monotonic_clock.h"
#include "base/text.h"
#include "base/unique_fd.h"

namespace patchbay::serve {
namespace {

struct CloseDir {
  void operator()(DIR* stream) const { ::closedir(stream); }
};

// Of /proc: one read is the whole file. Empty when there is none.
std::string read_proc(const std::string& path) {
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char text[1024];
  const ssize_t size = file.valid() ? ::read(file.get(), text, sizeof text) : -1;
  return std::string(text, size > 0 ? size_t(size) : 0);
}

// The letter behind the name of a `stat`, which may have brackets and blanks; 0: not known.
char state_letter(const std::string& stat) {
  const size_t behind = stat.rfind(')');
  return behind != stat.npos && behind + 2 < stat.size() ? stat[behind + 2] : '\0';
}
bool is_stop_letter(char letter) { return letter == 'T' || letter == 't'; }

// The processor time of a `stat`: fields 14 and 15, which are the 12th and 13th behind the name.
std::string times_of(const std::string& stat) {
  size_t at = stat.rfind(')');
  for (int field = 0; field < 12 && at != stat.npos; field++) at = stat.find(' ', at + 1);
  if (at == stat.npos) return "";
  return stat.substr(at, stat.find(' ', stat.find(' ', at + 1) + 1) - at);
}

}  // namespace

int PeerWatch::control_thread() {
  if (tid_ != 0) return tid_;
  const std::string tasks = "/proc/" + std::to_string(pid_) + "/task";
  std::unique_ptr<DIR, CloseDir> stream(::opendir(tasks.c_str()));
  while (const dirent* entry = stream ? ::readdir(stream.get()) : nullptr) {
    if (entry->d_name[0] == '.') continue;
    if (read_proc(tasks + "/" + entry->d_name + "/comm") == std::string(kControlThreadName) + "\n")
      tid_ = std::atoi(entry->d_name);
  }
  if (tid_ == 0) tid_ = pid_;
  return tid_;
}

std::string PeerWatch::file_of_thread(const char* name) {
  return read_proc("/proc/" + std::to_string(pid_) + "/task/" + std::to_string(control_thread()) +
                   "/" + name);
}

bool PeerWatch::is_stopped() {
  return pid_ != 0 && is_stop_letter(state_letter(file_of_thread("stat")));
}

bool PeerWatch::stands_in_freezer() {
  const std::string place = file_of_thread("wchan");
  return place == "__refrigerator" || place == "do_freezer_trap";
}

bool PeerWatch::is_held() { return is_stopped() || (pid_ != 0 && stands_in_freezer()); }

// Where the thread waits tells it; others' may not be read. Then its control groups do: in a
// version 1 hierarchy of the freezer, or in version 2.
bool PeerWatch::is_frozen() {
  if (pid_ == 0) return false;
  if (stands_in_freezer()) return true;
  const Result<std::string> groups = read_file("/proc/" + std::to_string(pid_) + "/cgroup");
  for (const std::string& line : split_lines(groups.ok() ? groups.value() : "")) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string kind = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (kind == "freezer" &&
        read_proc("/sys/fs/cgroup/freezer" + path + "/freezer.state").starts_with("FROZEN"))
      return true;
    for (const char* root : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"})
      if (kind.empty() &&
          read_proc(root + path + "/cgroup.events").find("frozen 1") != std::string::npos)
        return true;
  }
  return false;
}

// `schedule`: "nanoseconds on a processor, waiting for one, turns".
void PeerWatch::note_use(char state, const std::string& schedule, bool moved) {
  const uint64_t now = monotonic_ns(), passed = now - looked_ns_;
  const std::vector<std::string_view> words = split_words(schedule);
  uint64_t ran = 0, waited = 0;
  if (words.size() > 1) (void)(to_number(words[0], &ran) && to_number(words[1], &waited));
  const uint64_t used = ran + waited;
  // The processor time of the other threads has steps of 10 ms.
  is_busy_ = state == 'R' || (looked_ns_ && used - used_ns_ > passed / 10) || moved;
  used_ns_ = used;
  looked_ns_ = now;
}

PeerWatch::Sign PeerWatch::look() {
  is_busy_ = true;
  if (pid_ == 0) return Sign::kLife;
  char state = state_letter(file_of_thread("stat"));
  if (state == '\0') {  // the thread is another one now, or the process has ended
    tid_ = 0;
    state = state_letter(file_of_thread("stat"));
  }
  if (state == '\0') return Sign::kLife;
  const std::string schedule = file_of_thread("schedstat");
  std::string times = times_of(read_proc("/proc/" + std::to_string(pid_) + "/stat"));
  const bool is_first = looked_ns_ == 0;
  const bool others_moved = !is_first && times != last_times_;
  const bool moved = others_moved || (!is_first && schedule != last_);
  note_use(state, schedule, others_moved);
  last_ = schedule;
  last_times_ = std::move(times);
  if (state == 'R') return Sign::kLife;
  if (!moved && is_frozen()) return Sign::kFrozen;
  if (moved || state == 'D') return Sign::kLife;
  return is_stop_letter(state) ? Sign::kStopped : Sign::kStill;
}

}  // namespace patchbay::serve
