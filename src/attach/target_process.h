// SPDX-License-Identifier: MIT
//
// What /proc says of a process that is to be attached to: whether it can be, which of its threads
// may be stopped, and where functions of its libc are. Nothing here touches the process.
#pragma once

#include <sys/types.h>
#include <sys/user.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attach/process_maps.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace patchbay::attach {

// One sentence for each reason why process `pid` cannot be attached to, and what to do. `proc` is
// /proc, but for tests.
Status may_attach(pid_t pid, const std::string& proc = "/proc");

// The module that has pthread_create(), dlopen() and their like, or the modules.
class TargetLibc {
 public:
  // ENOEXEC: it has none that is known. A program that has just been executed is waited for.
  static Result<TargetLibc> find(pid_t pid);

  // 0: it has none of this name.
  uint64_t function(std::string_view name) const;
  // The first bytes of a function are not those of its file.
  bool is_changed(std::string_view function) const;
  // Of an instruction `syscall` with a `ret` behind it.
  uint64_t syscall_instruction() const { return syscall_; }
  // Of __restore_rt, where a signal's handler returns to.
  uint64_t restorer() const { return restorer_; }
  // Also of the kernel's vdso.
  bool has_code(uint64_t address) const;

 private:
  static Result<TargetLibc> find_now(pid_t pid);
  Status find_instructions(pid_t pid);

  pid_t pid_ = 0;
  std::vector<Module> modules_;  // libc first
  std::vector<Range> code_;
  uint64_t syscall_ = 0, restorer_ = 0;
};

// /proc/PID/task/TID/syscall: "running", or NUMBER ARGUMENT… SP PC. False: it does not say where.
bool parse_syscall(std::string_view text, long* number, uint64_t* pc);
// A wait in which a thread holds no lock of libc.
bool is_harmless_wait(long number);

}  // namespace patchbay::attach
