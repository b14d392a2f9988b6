// SPDX-License-Identifier: MIT
//
// The kernel gives some things to a process of one thread alone, and libc does some in all threads
// and ends the process where these differ. The program does not see our thread, so that is out of
// the way meanwhile:
//
//   the program's thread                     the control thread
//   unshare(CLONE_NEWUSER), setresuid(), …
//     is the program's only one
//     a pair of sockets
//     "leave" -------------------------------> ends run()
//                                              its descriptors and their numbers into the socket
//     waits until it is no thread any more <--- ends
//     the call itself
//     makes it again ------------------------> a table of its own, the descriptors as they were
//                                              run()
//
// So clients stay connected, and what they see is a moment without an answer. The thread of a
// forked child (followers.h) has no descriptors, and ends and begins again.
#pragma once

#include <cstdint>

namespace patchbay {

// While one of these lives our thread is gone, where that was asked for, can be, and is of use. The
// calling thread has no signals meanwhile.
class ThreadAside {
 public:
  explicit ThreadAside(bool wanted);
  ~ThreadAside();
  ThreadAside(const ThreadAside&) = delete;
  ThreadAside& operator=(const ThreadAside&) = delete;

 private:
  bool make_control_thread_leave();
  bool is_follower_aside_ = false, is_control_aside_ = false;
  int ends_[2] = {-1, -1};
  uint64_t signals_ = 0;  // of the calling thread, as they were
};

// Whether libc would find that the calling thread may do what our thread may not, or the other way
// round: capabilities and their switches are a thread's own.
bool has_other_rights_than_our_thread();

// Whether the process has more threads than the calling one and ours.
bool program_has_other_threads();

// --- for the control thread

// Its first and its last words. False: it goes on, nobody wants it to leave any more.
void control_thread_is_there(bool has_own_descriptors);
bool control_thread_leaves(bool has_own_descriptors);

}  // namespace patchbay
