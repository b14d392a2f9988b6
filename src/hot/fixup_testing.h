// SPDX-License-Identifier: MIT
// Loads that may fault, in tests: as long as this lives, the test's handler does what the agent's
// does, which asks fault_fixup() where to go on. Any other fault ends the test.
#pragma once

#include <signal.h>
#include <ucontext.h>

#include <cstdint>
#include <cstdlib>

#include "hot/fault.h"

namespace patchbay::test {

class FaultFixups {
 public:
  FaultFixups() {
    struct sigaction action = {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    ::sigaction(SIGSEGV, &action, &old_segv_);
    ::sigaction(SIGBUS, &action, &old_bus_);
  }
  ~FaultFixups() {
    ::sigaction(SIGSEGV, &old_segv_, nullptr);
    ::sigaction(SIGBUS, &old_bus_, nullptr);
  }
  FaultFixups(const FaultFixups&) = delete;
  FaultFixups& operator=(const FaultFixups&) = delete;

  static inline int seen = 0;  // all that there have been

 private:
  static void on_fault(int, siginfo_t*, void* context) {
    auto& ip = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP];
    const uint64_t fixup = fault_fixup(uint64_t(ip));
    if (!fixup) std::abort();
    ip = greg_t(fixup);
    seen++;
  }

  struct sigaction old_segv_, old_bus_;
};

}  // namespace patchbay::test
