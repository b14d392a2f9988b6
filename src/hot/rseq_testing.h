// SPDX-License-Identifier: MIT
// The fast path in tests: the agent sets pb_rseq_offset when it starts, a test for as long as it
// needs it.
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>

#include "hot/rseq.h"

namespace patchbay::test {

// Where libc has registered struct rseq in each thread; 0: this libc or kernel has none.
inline int64_t rseq_offset() {
  auto* offset = static_cast<const ptrdiff_t*>(::dlsym(RTLD_DEFAULT, "__rseq_offset"));
  auto* size = static_cast<const unsigned*>(::dlsym(RTLD_DEFAULT, "__rseq_size"));
  return offset && size && *size ? int64_t{*offset} : 0;
}

}  // namespace patchbay::test
