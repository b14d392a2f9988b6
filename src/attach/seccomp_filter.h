// SPDX-License-Identifier: MIT
//
// What a process's filter of system calls (seccomp) says to those that the agent makes. The filter
// is read out of the kernel and run here, before anything has changed: the first call that it does
// not like may end the program.
//
//   the program's filters   newest  F3 -> F2 -> F1  oldest      each is asked, the strictest answer
//                                                               counts (run_filters())
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/types.h>

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"

namespace patchbay::attach {

using SeccompFilter = std::vector<sock_filter>;

// What one filter answers, SECCOMP_RET_… . A program that the kernel would not have taken kills.
uint32_t run_filter(const SeccompFilter& filter, const seccomp_data& call);
// What all of them answer together. None: SECCOMP_RET_ALLOW.
uint32_t run_filters(std::span<const SeccompFilter> filters, const seccomp_data& call);

// A system call that the agent makes in the process, with arguments that filters look at.
struct AgentCall {
  const char* name;
  int number;
  bool is_needed;  // false: the agent does without it where it is answered with an error
  uint64_t arguments[3];
};
std::span<const AgentCall> agent_calls();

// The sentence about the first call that ends the program, or that the agent needs and does not
// get. EPERM.
Status judge_filters(pid_t pid, std::span<const SeccompFilter> filters);

// The filters of process `pid`, whose first thread is stopped for a moment; and what they say. A
// process without filters is not stopped. `force`: filters that we may not read, or that do not
// allow everything, are taken as they are.
Status check_seccomp(pid_t pid, bool force);

}  // namespace patchbay::attach
