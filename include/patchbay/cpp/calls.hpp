/* SPDX-License-Identifier: MIT
 *
 * The functions of the headers for C that patchbay.hpp uses. They are in a namespace, and have no
 * name of the kernel's: a program that includes patchbay.hpp may have a tracing_on(), a struct
 * module and a trace_printk of its own. A program that uses the kernel's names includes
 * <patchbay/trace.h>, <patchbay/trace_events.h> or <patchbay/ftrace.h> as well, in any order. The
 * structures are those of these headers; tests/programs/api_cpp.cc compares them.
 */
#ifndef PATCHBAY_CPP_CALLS_HPP
#define PATCHBAY_CPP_CALLS_HPP

#include <patchbay/api_names.h>
#include <patchbay/patchbay.h>
#include <patchbay/subscribe.h>
#include <patchbay/this_module.h>

#include <cstdarg>
#include <cstddef>
#include <cstdint>

/* The types of handle(), for the functions of the headers for C. */
struct trace_array;
struct trace_event_file;

namespace patchbay::c {

#define PATCHBAY_I_CALL(type, name, ...) \
  PATCHBAY_EXPORTED type name(__VA_ARGS__) __asm__("patchbay_" #name)

struct synth_field_desc {
  const char* type;
  const char* name;
};

struct ftrace_regs;
struct ftrace_ops {
  void (*func)(unsigned long ip, unsigned long parent_ip, ftrace_ops* ops, ftrace_regs* regs);
  unsigned long flags;
  void* private_data;
  uint64_t patchbay_id;
  uint64_t patchbay_reserved[4];
};
inline constexpr unsigned long ftrace_ops_is_enabled = 1;

PATCHBAY_I_CALL(::trace_array*, trace_array_create, const char* name);
PATCHBAY_I_CALL(::trace_array*, trace_array_get_by_name, const char* name, const char* systems);
PATCHBAY_I_CALL(::trace_array*, trace_array_next, ::trace_array* array);
PATCHBAY_I_CALL(const char*, trace_array_name, const ::trace_array* array);
PATCHBAY_I_CALL(int, trace_array_hold, ::trace_array* array);
PATCHBAY_I_CALL(void, trace_array_put, ::trace_array* array);
PATCHBAY_I_CALL(int, trace_array_end, ::trace_array* array);
PATCHBAY_I_CALL(int, trace_array_init_printk, ::trace_array* array);
PATCHBAY_I_CALL(int, trace_array_set_clr_event, ::trace_array* array, const char* system,
                const char* event, bool enable);
PATCHBAY_I_CALL(int, trace_array_vprintk, ::trace_array* array, unsigned long ip,
                const char* format, va_list values);
PATCHBAY_I_CALL(void, tracer_tracing_on, ::trace_array* array);
PATCHBAY_I_CALL(void, tracer_tracing_off, ::trace_array* array);
PATCHBAY_I_CALL(int, tracer_tracing_is_on, ::trace_array* array);
PATCHBAY_I_CALL(int, tracing_alloc_snapshot_instance, ::trace_array* array);

PATCHBAY_I_CALL(int, event_id, const char* system, const char* event);
PATCHBAY_I_CALL(int, event_end, const char* system, const char* event, int id);
PATCHBAY_I_CALL(int, synth_event_create, const char* name, synth_field_desc* fields,
                unsigned int nr_fields, void* module);
PATCHBAY_I_CALL(int, synth_event_delete, const char* name);
PATCHBAY_I_CALL(int, synth_event_nr_fields, const ::trace_event_file* file);
PATCHBAY_I_CALL(int, synth_event_is_wanted, const ::trace_event_file* file);
PATCHBAY_I_CALL(int, synth_event_trace_array, ::trace_event_file* file, const uint64_t* values,
                unsigned int nr_values);
PATCHBAY_I_CALL(::trace_event_file*, trace_get_event_file, const char* instance, const char* system,
                const char* event);
PATCHBAY_I_CALL(void, trace_put_event_file, ::trace_event_file* file);

PATCHBAY_I_CALL(int, register_ftrace_function, ftrace_ops* ops);
PATCHBAY_I_CALL(int, unregister_ftrace_function, ftrace_ops* ops);
PATCHBAY_I_CALL(int, ftrace_set_filter, ftrace_ops* ops, unsigned char* pattern, int length,
                int reset);
PATCHBAY_I_CALL(void, ftrace_free_filter, ftrace_ops* ops);
PATCHBAY_I_CALL(uint64_t, ftrace_missed, const ftrace_ops* ops);
PATCHBAY_I_CALL(unsigned long, ftrace_regs_get_argument, ftrace_regs* regs, unsigned int n);

#undef PATCHBAY_I_CALL

/* An object that contains a printk() has buffers for it from the moment when it is loaded. */
inline __attribute__((always_inline)) void printk_is_used() {
#ifdef __x86_64__
  __asm__ volatile(
      ".pushsection .init_array.00101,\"aw\",@init_array\n\t.balign 8\n\t"
      ".quad patchbay_printk_used\n\t.popsection");
#endif
}

/* Returns the errno that a pointer is, or 0 when it is none. */
inline int errno_of(const void* pointer) {
  constexpr intptr_t most_errno = 4095;
  const auto answer = reinterpret_cast<intptr_t>(pointer);
  return answer < 0 && answer >= -most_errno ? int(answer) : 0;
}

}  // namespace patchbay::c

#endif
