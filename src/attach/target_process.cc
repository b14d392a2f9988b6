// SPDX-License-Identifier: MIT
#include "attach/target_process.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <optional>

#include "attach/proc_text.h"
#include "attach/tracing.h"
#include "base/monotonic_clock.h"
#include "base/unique_fd.h"

namespace patchbay::attach {
namespace {

bool is_named(const MapLine& line, std::string_view library) {
  const std::string_view path = line.name;
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.starts_with(std::string(library) + ".so.") ||
         (name.starts_with(std::string(library) + "-2.") && name.ends_with(".so"));
}

}  // namespace

// Between the execution of a program and the moment in which the dynamic linker has mapped its
// libraries lie some milliseconds, on a busy machine more.
Result<TargetLibc> TargetLibc::find(pid_t pid) {
  constexpr int kPatienceMs = 2000, kNapUs = 2000;
  const int64_t end = monotonic_ms() + kPatienceMs;
  for (;;) {
    auto libc = find_now(pid);
    if (libc.ok() || libc.error().errno_value != ENOENT) return libc;
    if (::kill(pid, 0) != 0 && errno == ESRCH)
      return user_error(ESRCH, "process " + std::to_string(pid) + " has ended");
    if (monotonic_ms() >= end)
      return user_error(ENOEXEC, "process " + std::to_string(pid) +
                                     " has no libc.so.6 of glibc, or is still being started");
    ::usleep(kNapUs);
  }
}

Result<TargetLibc> TargetLibc::find_now(pid_t pid) {
  TargetLibc libc;
  libc.pid_ = pid;
  const std::vector<MapLine> lines = read_maps(pid);
  // What is one library since glibc 2.34 was three.
  for (const char* name : {"libc", "libpthread", "libdl"}) {
    auto module = Module::find(
        pid, lines, [&](const MapLine& line) { return line.inode != 0 && is_named(line, name); });
    if (module.ok()) {
      libc.code_.insert(libc.code_.end(), module->code().begin(), module->code().end());
      libc.modules_.push_back(std::move(*module));
    } else if (libc.modules_.empty()) {
      return module.error();
    }
  }
  for (const MapLine& line : lines)
    if (line.name == "[vdso]") libc.code_.push_back(line.range);
  PB_TRY(libc.find_instructions(pid));
  return libc;
}

// Both stand in functions that nobody replaces; what is there is looked at all the same.
Status TargetLibc::find_instructions(pid_t pid) {
  static constexpr char kSyscallReturn[] = {0x0f, 0x05, char(0xc3)};
  static constexpr char kRestorer[] = {0x48, char(0xc7), char(0xc0), 0x0f, 0, 0, 0, 0x0f, 0x05};
  const auto find = [&](const char* bytes, size_t size) -> uint64_t {
    const uint64_t at = modules_.front().code_bytes({bytes, size});
    char found[16];
    return at && read_memory(pid, at, found, size).ok() && std::memcmp(found, bytes, size) == 0 ? at
                                                                                                : 0;
  };
  syscall_ = find(kSyscallReturn, sizeof kSyscallReturn);
  restorer_ = find(kRestorer, sizeof kRestorer);
  if (syscall_ && restorer_) return {};
  return user_error(ENOEXEC, "the libc of process " + std::to_string(pid) +
                                 " is none that is known: it has no `syscall; ret`");
}

uint64_t TargetLibc::function(std::string_view name) const {
  for (const Module& module : modules_)
    if (const uint64_t address = module.function(name)) return address;
  return 0;
}

bool TargetLibc::is_changed(std::string_view function) const {
  for (const Module& module : modules_) {
    uint8_t found[16] = {};
    const uint64_t address = module.function(function);
    const std::string_view wanted = module.file_bytes(address, sizeof found);
    if (!address || wanted.empty() || !read_memory(pid_, address, found, sizeof found).ok())
      continue;
    return std::memcmp(found, wanted.data(), sizeof found) != 0;
  }
  return false;
}

bool TargetLibc::has_code(uint64_t address) const {
  return std::any_of(code_.begin(), code_.end(),
                     [&](const Range& range) { return range.contains(address); });
}

bool parse_syscall(std::string_view text, long* number, uint64_t* pc) {
  constexpr int kWords = 9;  // number, six arguments, stack pointer, program counter
  const std::string line(text);
  char* at = const_cast<char*>(line.c_str());
  unsigned long long word = 0;
  for (int i = 0; i < kWords; i++) {
    char* end = at;
    const long long first = i == 0 ? std::strtoll(at, &end, 10) : 0;
    if (i == 0) *number = long(first);
    if (i > 0) word = std::strtoull(at, &end, 16);
    if (end == at) return false;
    at = end;
  }
  *pc = word;
  return *number >= 0;
}

bool is_harmless_wait(long number) {
  static constexpr long kWaits[] = {
      SYS_epoll_wait, SYS_epoll_pwait,   SYS_epoll_pwait2, SYS_poll,    SYS_ppoll,
      SYS_select,     SYS_pselect6,      SYS_accept,       SYS_accept4, SYS_recvfrom,
      SYS_recvmsg,    SYS_recvmmsg,      SYS_wait4,        SYS_waitid,  SYS_rt_sigtimedwait,
      SYS_pause,      SYS_rt_sigsuspend, SYS_read};
  return std::find(std::begin(kWaits), std::end(kWaits), number) != std::end(kWaits);
}

}  // namespace patchbay::attach
