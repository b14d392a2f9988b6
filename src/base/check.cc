// SPDX-License-Identifier: MIT
#include "base/check.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace patchbay {
namespace {
std::atomic<CheckHandler> g_handler{nullptr};
}

void set_check_handler(CheckHandler handler) { g_handler.store(handler); }

void check_failed(const char* file, int line, const char* expression, uint64_t a, uint64_t b) {
  if (CheckHandler handler = g_handler.load()) return handler(file, line, expression, a, b);
  std::fprintf(stderr, "patchbay: %s:%d: check failed: %s (%#llx, %#llx)\n", file, line, expression,
               (unsigned long long)a, (unsigned long long)b);
  std::abort();
}

}  // namespace patchbay
