// SPDX-License-Identifier: MIT
// PB_CHECK: our own mistakes, on in every build. In tests and in the tool a failed check aborts;
// inside a traced program the agent installs a handler that stops recording, counts, reports once
// and lets the program run (set_check_handler).
#pragma once

#include <cstdint>

namespace patchbay {

// Called with file, line, the expression's text and two values that the check names. If the handler
// returns, execution continues behind the check: code in the agent must tolerate that.
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
