// SPDX-License-Identifier: MIT
//
// The agent in a process that was started without it. A command that needs it puts it in, and the
// last of the commands that need it takes it out:
//
//   DIR/PID.attached   the agent is there for commands that measure and end (attached_mark.h).
//                      Locked by one that is putting it in, or taking it out, or lets it stay.
//
//   record -p        no agent: makes the file, attaches    ...    its end: asks the agent to leave
//   hist -p                     finds the agent        ...        its end: asks the agent to leave
//
// The agent refuses (EBUSY) while another command is connected, so the last one has it out. What a
// killed command has left goes with the next one that ends. Commands whose work stays (attach,
// start, write, probe) remove the file while they are connected: the agent is there until `patchbay
// detach` then. When the process has ended, or has executed another program, what its agent has
// left in the directory goes, too.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "attach/attach.h"
#include "base/result.h"
#include "cmd/target/attached_mark.h"
#include "serve/client.h"
#include "serve/held_directory.h"

namespace patchbay::cmd {

struct AttachOptions {
  uint64_t buffer_kb = 0;  // of one CPU; 0: what the agent has without being told
  int wait_ms = 20'000;    // for another command, and for an agent that is coming or going
};

// What one command has to do with the agent's coming and going. It has to outlive the command's
// clients: the agent stays while anybody is connected.
class Attachment {
 public:
  Attachment();
  ~Attachment();
  Attachment(const Attachment&) = delete;

  // Signals that would end the command (Ctrl-C) wait from attach_if_needed() on, so that none comes
  // before the command handles them, and the agent would stay. They are let through from here on;
  // otherwise at the end.
  void deliver_signals();

  // The command is done with the process.
  void leave();
  // The agent is there until `patchbay detach`, also when another command has meant it to go. One
  // that this command has put in is told of on standard error. False: a signal has asked this
  // command to end, and the agent goes with this object. A signal that comes later is too late.
  bool stay(bool say = true);
  // Another process of this command does all that.
  void forget() { pid_ = 0; }
  // This command has put it in; how that was.
  bool is_ours() const { return is_ours_; }
  const attach::Arrived& arrived() const { return arrived_; }

 private:
  friend Result<std::unique_ptr<serve::Client>> attach_if_needed(int, Attachment*,
                                                                 const AttachOptions&);
  friend Status detach_process(int pid);
  class SignalsLater;

  void join(const std::string& runtime, int pid);
  Result<std::unique_ptr<serve::Client>> put_in(int pid, const AttachOptions& options);
  void take_out(int pid);

  int pid_ = 0;  // 0: there is nothing to do at the end
  std::string runtime_, start_time_;
  serve::HeldDirectory directory_;  // DIR/PID of this process
  bool is_marked_ = false;          // the agent was there for commands that end
  bool is_ours_ = false;
  attach::Arrived arrived_;
  std::unique_ptr<SignalsLater> later_;
};

// The agent of process `pid`, which is put in when it is not there. 0: the only process that has
// one. ESRCH: there is no such process. EINTR: a signal has come meanwhile that asks the command to
// end; where it is not handled, it has ended it. Nothing is left behind when it fails.
Result<std::unique_ptr<serve::Client>> attach_if_needed(int pid, Attachment* attachment,
                                                        const AttachOptions& options = {});

// A signal has come that will end this command, or that it handles, as soon as it is let through.
bool is_told_to_end();

// Takes the agent out, also of a forked child that has it from its parent, and removes what it has
// left in the runtime directory. EBUSY: another
// command is connected to it. EINVAL: the program was started with it.
Status detach_process(int pid);

}  // namespace patchbay::cmd
