// SPDX-License-Identifier: MIT
//
// What the C++ library knows of the exceptions that a thread has thrown and caught. The agent's own
// copy of the library keeps it in thread-local data, 16 bytes of every thread; here it is in the
// thread's block (hot/thread_block.h), because few threads ever throw in the agent's code. These
// two stand before the library's member of the same names, which is not linked then. A thread for
// which there is no block ends the program, as one does for which the library has no memory.
#include <cstdint>
#include <exception>

#include "probe/thread_blocks.h"

namespace {

// As the C++ ABI has it.
struct ExceptionGlobals {
  void* caught;
  unsigned int uncaught;
};
static_assert(sizeof(ExceptionGlobals) == sizeof patchbay::ThreadBlock{}.exceptions);

}  // namespace

extern "C" {
__attribute__((visibility("hidden"))) ExceptionGlobals* __cxa_get_globals() noexcept {
  patchbay::ThreadBlock* block = patchbay::thread_block();
  if (!block) std::terminate();
  return reinterpret_cast<ExceptionGlobals*>(block->exceptions);
}
__attribute__((visibility("hidden"))) ExceptionGlobals* __cxa_get_globals_fast() noexcept {
  return __cxa_get_globals();
}
}
