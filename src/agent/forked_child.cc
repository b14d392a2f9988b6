// SPDX-License-Identifier: MIT
#include "agent/forked_child.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <new>

#include "agent/agent.h"
#include "agent/arrival.h"
#include "agent/followers.h"
#include "base/agreed.h"
#include "base/raw_syscall.h"
#include "base/shared_memory.h"
#include "serve/journal.h"

namespace patchbay {

bool is_inherited(const Agent& agent) { return agent.pid != pid_t(raw_syscall(SYS_getpid)); }

namespace {

// The descriptors of the server are numbers of the parent's control thread, and its socket and
// directory are the parent's: nothing of that is closed or removed. Files that were open there hold
// instances here.
void disown(Agent* agent) {
  set_forked_child();
  (void)agent->server.release();
  agent->directory.clear();
  serve::OpenFiles::close_inherited();
  close_followed_files();
}

}  // namespace

Status go_own_way(Agent* agent) {
  std::lock_guard guard(agent->lock());
  if (!is_inherited(*agent)) return {};
  agent->asleep = true;  // who is forked from here on follows nobody
  disown(agent);
  PB_TRY(agent->registry->leave_parent());
  PB_TRY(leave_shared_memory());
  PB_TRY(switch_all_off(agent));
  leave_family();
  followers_begin_anew();
  agent->ended_instances.clear();
  agent->pid = ::getpid();
  const Status moved = agent->registry->move_top("", "", 1024);
  agent->symbols->drop_caches();
  return moved;
}

Status leave_parent(Agent* agent) {
  if (!end_following())
    return user_error(EBUSY, "it follows what its parent does, and does not come to an end");
  return go_own_way(agent);
}

}  // namespace patchbay
