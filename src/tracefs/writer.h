// SPDX-License-Identifier: MIT
//
// Who writes a marker: the thread's name and process, looked up in /proc by the id that the carrier
// gives.
#pragma once

#include "registry/registry.h"
#include "tracefs/tree.h"

namespace patchbay::tracefs {

// Of one open file: the same thread is looked up once, because a program that writes markers writes
// many. Caller.tid 0 is the process itself.
class WriterNames {
 public:
  const Registry::Writer& of(const Caller& caller);

 private:
  bool known_ = false;
  uint32_t asked_ = 0;
  Registry::Writer writer_;
};

}  // namespace patchbay::tracefs
