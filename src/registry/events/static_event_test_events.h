// SPDX-License-Identifier: MIT
//
// One event with a field of every kind, defined from C (static_event_c_test.c) and from C++
// (static_event_call_test.cc).
#include <patchbay/trace_event.h>
#include <sys/types.h>
#include <time.h>
#ifndef __cplusplus
#include <stdbool.h>
#endif

enum test_color { TEST_RED = 1, TEST_BLUE = 1 << 20 };
enum test_shift { TEST_DOWN = -1, TEST_UP = 1 };
#define TEST_FLAG_GIFT 0x10

#ifdef __cplusplus
namespace cxx_side {
#endif

PB_TRACE_EVENT(kinds, scalars,
               PB_FIELDS(PB_FIELD(bool, b), PB_FIELD(char, c), PB_FIELD(unsigned char, uc),
                         PB_FIELD(short, s), PB_FIELD(unsigned short, us), PB_FIELD(int, i),
                         PB_FIELD(unsigned int, ui), PB_FIELD(long, l), PB_FIELD(unsigned long, ul),
                         PB_FIELD(uint8_t, u8), PB_FIELD(int64_t, s64), PB_FIELD(pid_t, pid),
                         PB_FIELD(float, f), PB_FIELD(double, d), PB_FIELD(const char*, p),
                         PB_FIELD(enum test_color, color), PB_FIELD(enum test_shift, shift),
                         PB_FIELD(struct timespec, when)));

PB_TRACE_EVENT(kinds, arrays,
               PB_FIELDS(PB_ARRAY(char, comm, 16), PB_ARRAY(int, four, 4),
                         PB_ARRAY(uint8_t, mac, 6), PB_STRING(name), PB_DYNAMIC_ARRAY(int, values),
                         PB_DYNAMIC_ARRAY(uint64_t, words), PB_STRING(last)));

PB_TRACE_EVENT(kinds, empty, PB_FIELDS());

PB_TRACE_EVENT(kinds, printed,
               PB_FIELDS(PB_FIELD(uint64_t, n), PB_FIELD(int, color),
                         PB_FIELD(unsigned long, flags)),
               PB_PRINT("n=%"
                        "lu"
                        " \"%s\"\n flags=%s",
                        REC->n,
                        __print_symbolic(REC->color, {TEST_RED, "TEST_RED"}, {TEST_BLUE, "blue"}),
                        __print_flags(REC->flags, "|", {TEST_FLAG_GIFT, "GIFT"})),
               PB_ENUMS(TEST_RED, TEST_BLUE));

#ifdef __cplusplus
}
#endif
