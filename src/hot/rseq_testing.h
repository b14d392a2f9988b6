// SPDX-License-Identifier: MIT
// The fast path in tests: the agent sets pb_rseq_offset when it starts, a test for as long as it
// needs it.
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>

#include "base/libc_thread.h"
#include "hot/rseq.h"

namespace patchbay::test {

// Where libc has registered struct rseq in each thread; 0: this libc or kernel has none.
// Sets pb_rseq_size and pb_libc_tid_offset.
inline int64_t rseq_offset() {
  auto* offset = static_cast<const ptrdiff_t*>(::dlsym(RTLD_DEFAULT, "__rseq_offset"));
  auto* size = static_cast<const unsigned*>(::dlsym(RTLD_DEFAULT, "__rseq_size"));
  if (!offset || !size || !*size) return 0;
  pb_rseq_size = find_rseq_size(*offset);
  pb_libc_tid_offset = offset_of_pthread_tid();
  return int64_t{*offset};
}

}  // namespace patchbay::test
