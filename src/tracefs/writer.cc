// SPDX-License-Identifier: MIT
#include "tracefs/writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <string>

#include "base/unique_fd.h"
#include "registry/markers.h"

namespace patchbay::tracefs {
namespace {

constexpr const char kUnknownComm[] = "<...>";
constexpr size_t kMostWriters = 1024;
constexpr std::string_view kTgidLine = "\nTgid:\t";

// The first bytes of /proc/TID/NAME; empty when the thread is gone.
std::string proc_text(uint32_t tid, const char* name) {
  std::string path = "/proc/" + std::to_string(tid) + "/" + name;
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return {};
  char text[512];
  ssize_t length = ::read(fd.get(), text, sizeof text);
  return std::string(text, length > 0 ? size_t(length) : 0);
}

uint32_t tgid_of(const std::string& status) {
  size_t line = status.find(kTgidLine);
  uint32_t tgid = 0;
  if (line != status.npos) {
    const char* digits = status.data() + line + kTgidLine.size();
    std::from_chars(digits, status.data() + status.size(), tgid);
  }
  return tgid;
}

// Field 39 of /proc/TID/stat; right while the thread waits for our answer.
int cpu_of(uint32_t tid) {
  std::string stat = proc_text(tid, "stat");
  size_t at = stat.rfind(')');  // the comm may have blanks; field 3 follows
  for (int field = 2; field < 39 && at != stat.npos; field++) at = stat.find(' ', at + 1);
  int cpu = -1;
  if (at != stat.npos) std::from_chars(stat.data() + at + 1, stat.data() + stat.size(), cpu);
  return cpu;
}

}  // namespace

const Markers::Writer& WriterNames::of(uint32_t tid) {
  std::string comm = proc_text(tid, "comm");
  if (!comm.empty() && comm.back() == '\n') comm.pop_back();
  if (comm.empty()) comm = kUnknownComm;
  auto known = writers_.find(tid);
  if (known != writers_.end() && known->second.comm == comm) return known->second;
  if (writers_.size() >= kMostWriters) writers_.clear();
  Markers::Writer writer{tid, tgid_of(proc_text(tid, "status")), std::move(comm)};
  return writers_[tid] = std::move(writer);
}

const Markers::Writer& FileWriter::of(const Caller& caller) {
  if (known_ && asked_ == caller.tid) {
    if (caller.tid) writer_.cpu = cpu_of(caller.tid);
    return writer_;
  }
  writer_ = names_.of(caller.tid != 0 ? caller.tid : uint32_t(::getpid()));
  if (caller.tid) writer_.cpu = cpu_of(caller.tid);
  known_ = true;
  asked_ = caller.tid;
  return writer_;
}

}  // namespace patchbay::tracefs
