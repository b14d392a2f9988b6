// SPDX-License-Identifier: MIT
//
// A recording goes on in the programs that its program executes:
//
//   the program, with its agent           the program that it executes
//
//   execve() of libc: jmp to ours
//     is the tool still there?
//     which program is it, can it take the agent?        (exec_target.h)
//       no: written to the log, called as it stands
//       yes: the same call with LD_PRELOAD and PATCHBAY_FOLLOW  (exec_environment.h)
//                                ------>  the agent's constructor, before main()
//                                           hides the variables again
//                                           hooks execve() of this program's libc
//                                           looks whether it has anything that is wanted
//                                             no:  says so in the log, and sleeps for good: no
//                                                  thread, no file, no memory of a buffer
//                                             yes: starts as in any program, says so in the log,
//                                                  and waits until the tool has set it up
//
// All of exec*(), posix_spawn(), system() and popen() end in libc's execve(), execveat() or
// fexecve(), whose entries are hooked: so calls within libc come by as well. A bare system call
// does not. The hook also runs in the child of a vfork(), which has its parent's memory, and behind
// a fork() of a program with many threads: it takes no lock, no memory, and makes raw system calls.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "agent/environment.h"

namespace patchbay {

enum class Follow : uint8_t {
  kNo,       // this process is not of a recording that follows
  kOver,     // it was to be, but the tool has ended
  kNothing,  // it is, and has nothing that is wanted
  kWanted,
};
// In the constructor, before the environment is hidden. With kNo nothing has been done. Where
// something is wanted, `settings` get what the tool says about buffers, and wait for it.
Follow begin_following(AgentSettings* settings);
// The process that the tool has started itself: those that it executes are followed.
void begin_following_first();
// The agent is ready: the tool is told, and will set it up.
void tell_tool_of_agent();
// False: the tool that this process waits for is gone.
bool is_followed();
// DIR/PID was made: the tool finds it, also if this process ends before it has said anything.
// False: it is gone by now.
bool mark_directory(const std::string& directory);
// A sentence that would be a line on the program's stderr goes to the tool instead. False: this is
// no program that another one has executed.
bool tell_tool(std::string_view sentence);

}  // namespace patchbay
