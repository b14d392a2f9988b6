// SPDX-License-Identifier: MIT
//
// Loads through pointers of the traced program, which may be anything. A load that faults is
// answered by the table of faults (hot/fault.h) and costs some microseconds; one that does not is
// one instruction.
//
// For the probe path. Where the thread may have blocked the signals of a fault, the caller opens
// them first (probe/open_signals.h).
#pragma once

#include "hot/fault.h"

namespace patchbay {

// The value; 0 if it cannot be read: the result is set to 0 before the load, and a fault continues
// just behind it.
#define PB_LOAD(name, mov, operand)        \
  inline uint64_t name(uint64_t address) { \
    uint64_t value;                        \
    asm volatile(                          \
        "xorl %k0, %k0\n"                  \
        "1: " mov " (%1), " operand        \
        "\n"                               \
        "2:\n" PB_FAULT_ENTRY("1b", "2b")  \
        : "=&r"(value)                     \
        : "r"(address)                     \
        : "cc");                           \
    return value;                          \
  }
PB_LOAD(load1, "movzbl", "%k0")
PB_LOAD(load2, "movzwl", "%k0")
PB_LOAD(load4, "movl", "%k0")
PB_LOAD(load8, "movq", "%0")
#undef PB_LOAD

// The bytes, and whether they could be read (a value of 0 alone does not tell).
#define PB_TRY_LOAD(name, mov, operand)                 \
  inline bool name(uint64_t address, uint64_t* value) { \
    uint64_t loaded;                                    \
    uint32_t faulted = 1;                               \
    asm volatile("1: " mov " (%2), " operand            \
                 "\n"                                   \
                 "xorl %1, %1\n"                        \
                 "2:\n" PB_FAULT_ENTRY("1b", "2b")      \
                 : "=&r"(loaded), "+&r"(faulted)        \
                 : "r"(address)                         \
                 : "cc");                               \
    *value = loaded;                                    \
    return !faulted;                                    \
  }
PB_TRY_LOAD(try_load1, "movzbl", "%k0")
PB_TRY_LOAD(try_load2, "movzwl", "%k0")
PB_TRY_LOAD(try_load4, "movl", "%k0")
PB_TRY_LOAD(try_load8, "movq", "%0")
#undef PB_TRY_LOAD

}  // namespace patchbay
