// SPDX-License-Identifier: MIT
//
// Forked children follow what their parent's tree is told after the fork.
//
//   parent (control thread)                            child (a thread of its own: the follower)
//   1. a session changes the tree, under the lock      sleeps on `generation`, in shared memory
//   2. appends what was done to the journal,           3. wakes up, takes the child's lock, repeats
//      generation += 1, wakes all who sleep on it         what is new on its copy of the tree,
//   5. waits until all have said so, but not long;        in order
//      then the client has its answer                  4. says how far it is, wakes the parent
//
// So what a client has switched off is off in every child when the write returns, and what it has
// switched on is on. A child that is stopped, or has no time, is not waited for again before it has
// caught up; it does all of it, in order, when it runs.
//
// The journal is a ring in memory that was mapped before the first fork (base/shared_memory.h). A
// fork takes the lock of the process that forks, so a child begins exactly where that one stands:
// children of children follow the same journal. A child that has missed a part of it, because it
// was stopped for long, can no longer know what is wanted and stops recording. So does a child that
// cannot repeat something or has no follower. It says so once, and debug/counters counts it.
//
// The follower is a thread of the child that the program does not see: all signals blocked, a
// descriptor table and a root of its own (so a chroot or closing all descriptors does not matter),
// not in glibc's count of threads. exec ends it. It also goes when the agent leaves the parent, and
// when it is the last thread. It steps aside while the program calls what wants a single thread
// (thread_aside.h).
#pragma once

#include <memory>
#include <string>

#include "serve/journal.h"

namespace patchbay {

struct Agent;

// Maps the shared memory, before the first fork. Where there is none, children follow nothing and
// keep what they have.
void make_followers(Agent* agent);

// For SessionHooks; null: there is no shared memory.
serve::OperationJournal* follower_journal();
// Waits, without the lock, until the children have repeated everything: half a second for those
// that do not begin (one may be stopped), a few seconds for those that have begun.
void wait_for_followers();
// Lines for debug/counters; empty while nothing was forked.
std::string follower_counts();

// The agent leaves this process, which everything has been switched off in: so do its children, by
// forked_child.h. Under the lock; wait_for_followers() waits for them.
void tell_followers_to_leave();
// In a child: its follower is gone when this returns, or does not come to its end within a second
// (false). Nothing follows the parent's changes any more.
bool end_following();
// What it has opened for that. Under the lock.
void close_followed_files();
// The child is no longer one: it may have children that follow it. After leave_shared_memory().
void followers_begin_anew();

// From the fork hooks, under the lock; `clean`: the forking thread was not in agent code itself.
void followers_before_fork();
void follow_after_fork(bool clean);
int follower_thread();  // its id; 0: there is none, -1: it just begins
// The two stand around a call that wants the program to have one thread. True: it has stepped
// aside.
bool follower_steps_aside();
void follower_steps_back();

}  // namespace patchbay
