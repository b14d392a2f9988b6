// SPDX-License-Identifier: MIT
//
// Whether a load that may fault may be made. The probe path follows pointers that may be bad; the
// fault is a SIGSEGV or SIGBUS, whose handler goes on behind the load (hot/fault.h has the
// table). But the kernel kills a thread that faults with the signal blocked, and in the child
// of posix_spawn there is no handler of ours. Which threads run where, and in what state:
//
//   program's code            open    our handlers are there, the signals are open in the kernel
//                                     (agent/signal_hooks.h): ProbeThread.open is 1
//   libc, between             blocked where a thread begins, ends, makes a thread or a process, or
//   its own block and restore         signals one: the interposed function has made `open` 0
//   child of posix_spawn      blocked, and SIG_DFL stands for our handler: is_lent() as well
//   threads nobody announced  ?       timers and aio of libc, raw clone: `open` was never 1
//
// Where `open` is 0 so is fast_tid, so that every quick way is left before it loads anything. The
// general ways make an OpenSignals: it asks the kernel, opens our signals if they are blocked, and
// closes them again. That is one system call where they are open, and two or more where they are
// not; good paths make none, and no load differs. A signal that somebody sends in between is held
// until the mask is as it was.
#pragma once

#include <cstdint>

#include "ring_buffer/ring_set.h"

namespace patchbay {

// The kernel's struct sigaction.
struct KernelSignalAction {
  void (*handler)();
  uint64_t flags;
  void (*restorer)();
  uint64_t mask;
};

// Of the agent, set once before `ours`.
struct OwnSignals {
  uint64_t ours;  // atomic; the signals that have to be open; 0: there are no handlers
  KernelSignalAction action;
};

extern "C" {
extern OwnSignals pb_own_signals;
}

class OpenSignals {
 public:
  OpenSignals() {
    if (!pb_thread.open && __atomic_load_n(&pb_own_signals.ours, __ATOMIC_ACQUIRE)) open();
  }
  ~OpenSignals() {
    if (blocked_ || replaced_) close();
  }
  OpenSignals(const OpenSignals&) = delete;
  OpenSignals& operator=(const OpenSignals&) = delete;

 private:
  void open();
  void close();
  void replace_handlers();

  uint64_t blocked_ = 0;  // those of ours that were
  bool replaced_ = false;
  KernelSignalAction before_[2];  // of SIGSEGV and SIGBUS
};

}  // namespace patchbay
