// SPDX-License-Identifier: MIT
#include "serve/peer_watch.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>

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

PeerWatch::Sign PeerWatch::look() {
  if (pid_ == 0) return Sign::kLife;
  char state = state_letter(file_of_thread("stat"));
  if (state == '\0') {  // the thread is another one now, or the process has ended
    tid_ = 0;
    state = state_letter(file_of_thread("stat"));
  }
  if (state == '\0' || state == 'R' || state == 'D') return Sign::kLife;
  std::string now =
      file_of_thread("schedstat") + times_of(read_proc("/proc/" + std::to_string(pid_) + "/stat"));
  const bool moved = !last_.empty() && now != last_;
  last_ = std::move(now);
  if (moved) return Sign::kLife;
  return is_stop_letter(state) ? Sign::kStopped : Sign::kStill;
}

}  // namespace patchbay::serve
