// SPDX-License-Identifier: MIT
// A thread that plays a task, in tests.
#pragma once

#include <cstdint>
#include <cstdio>

#include "hot/thread_block.h"

namespace patchbay::test {

class Playing {
 public:
  Playing(uint32_t id, const char* comm) : before_(pb_thread_block) {
    block_.played = {id, comm != nullptr, ""};
    if (comm) std::snprintf(block_.played.comm, sizeof block_.played.comm, "%s", comm);
    pb_thread_block = &block_;
  }
  ~Playing() { pb_thread_block = before_; }
  Playing(const Playing&) = delete;
  Playing& operator=(const Playing&) = delete;

 private:
  ThreadBlock* before_;
  ThreadBlock block_ = {};
};

}  // namespace patchbay::test
