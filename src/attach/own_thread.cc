// SPDX-License-Identifier: MIT
#include "attach/own_thread.h"

#include <sys/wait.h>

#include "attach/proc_text.h"

namespace patchbay::attach {

// A stop is left to the thread that traces, the first thread to the parent, which we may be.
void reap_ended(pid_t pid) {
  for (const pid_t tid : tasks_of(pid)) {
    if (tid == pid || !has_ended(pid, tid)) continue;
    siginfo_t found = {};
    const int ended = WEXITED | WNOHANG | __WALL;
    if (::waitid(P_PID, id_t(tid), &found, ended | WNOWAIT) != 0 || found.si_pid != tid) continue;
    const int how = found.si_code;
    if (how == CLD_EXITED || how == CLD_KILLED || how == CLD_DUMPED)
      (void)::waitid(P_PID, id_t(tid), &found, ended);
  }
}

}  // namespace patchbay::attach
