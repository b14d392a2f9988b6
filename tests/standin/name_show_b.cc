// SPDX-License-Identifier: MIT
//
// One of two static functions of the same name.
#include <string.h>

#include "kernel.h"

static int name_show(const char* name) __asm__("name_show");
STANDIN_FUNCTION static int name_show(const char* name) {
  asm volatile("" : : "r"(name));
  return int(strlen(name));
}

extern "C" STANDIN_FUNCTION int driver_name_length(const char* name) { return name_show(name); }
