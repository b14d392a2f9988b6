// SPDX-License-Identifier: MIT
// PB_CHECK finds our own mistakes, in every build. In tests and in the tool a failed check aborts.
// In a traced program the agent installs a handler (set_check_handler): it stops recording, counts
// the failures, reports the first one and lets the program run.
#pragma once

#include <cstdint>

namespace patchbay {

// Gets the expression's text and the two values that the check names. When the handler returns, the
// code behind the check runs: code of the agent must tolerate that.
using CheckHandler = void (*)(const char* file, int line, const char* expression, uint64_t a,
                              uint64_t b);

void set_check_handler(CheckHandler handler);
void check_failed(const char* file, int line, const char* expression, uint64_t a, uint64_t b);

#define PB_CHECK(expr)                                                                           \
  do {                                                                                           \
    if (__builtin_expect(!(expr), 0)) ::patchbay::check_failed(__FILE__, __LINE__, #expr, 0, 0); \
  } while (0)
#define PB_CHECK_VALUES(expr, a, b)                                                      \
  do {                                                                                   \
    if (__builtin_expect(!(expr), 0))                                                    \
      ::patchbay::check_failed(__FILE__, __LINE__, #expr, (uint64_t)(a), (uint64_t)(b)); \
  } while (0)

}  // namespace patchbay
