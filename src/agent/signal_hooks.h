// SPDX-License-Identifier: MIT
//
// The agent's share of SIGTRAP, SIGSEGV and SIGBUS, and of SIGFPE and SIGILL: those come from moved
// instructions too, and the program's handlers must see where it believes that they are. Our
// handler stays installed in the kernel; the program sees and sets its own view of these five
// through the interposed functions (sigaction, signal, sigprocmask, pthread_sigmask and their
// relatives), as if we were not there. They also stay unblocked in the kernel, because a trap at a
// blocked SIGTRAP kills the process. docs/signals.md lists every way to the kernel's signals, and
// where each comes by here.
//
// vfork, posix_spawn, system and popen are interposed for another reason: their child runs in our
// memory and on our thread-local storage, but without this thread's rseq registration.
//
// All of it works before install_signal_hooks(): then calls go to the kernel unchanged.
#pragma once

#include <signal.h>

#include <cstdint>

#include "ring_buffer/ring_set.h"

namespace patchbay {

// Takes over the five signals. What the program had set becomes its view. Control side; raw system
// calls only.
void install_signal_hooks();
// Gives them back: the dispositions become what the program believes. The same.
void uninstall_signal_hooks();

// For a tool that corrects the threads of a running program (abi/attach_abi.h): signal sets as the
// kernel has them, and where the words of a thread are, from its thread pointer.
struct SignalWords {
  uint64_t signals, others;
  int64_t blocked, blocked_with, open, held;
};
SignalWords signal_words();

// Called by each new thread, before anything else, with the id of the thread that made it.
void set_thread_hook(void (*started)(uint32_t creator));

// Around a call in which libc blocks all signals for a while (probe/open_signals.h).
class ClosedSignals {
 public:
  ClosedSignals() : open_(pb_thread.open) {
    pb_thread.open = 0;
    pb_thread.fast_tid = 0;
  }
  ~ClosedSignals() { pb_thread.open = open_; }
  ClosedSignals(const ClosedSignals&) = delete;
  ClosedSignals& operator=(const ClosedSignals&) = delete;

 private:
  uint8_t open_;
};

// While one of these lives the kernel has the program's dispositions, mask and pending signals: a
// program that is executed inherits them. Raw system calls alone.
class ExecSignals {
 public:
  ExecSignals();
  ~ExecSignals();  // the exec has failed
  ExecSignals(const ExecSignals&) = delete;
  ExecSignals& operator=(const ExecSignals&) = delete;

 private:
  uint64_t blocked_ = 0, ignored_ = 0;
};

// Functions of libc's that all others of libc's change dispositions and masks by. Each does all
// that the one in libc does, which is one system call (libc_entries.cc).
extern "C" {
int pb_sigaction(int sig, const struct sigaction* action, struct sigaction* old);
int pb_sigprocmask(int how, const sigset_t* set, sigset_t* old);
int pb_pthread_sigmask(int how, const sigset_t* set, sigset_t* old);
}

// In a forked child: another thread of the parent may have been changing the view at that moment.
void signal_hooks_after_fork();

}  // namespace patchbay
