/* SPDX-License-Identifier: MIT
 *
 * Static events: trace points that a program or library brings along. Header only, C11 and C++20,
 * gcc and clang. A program runs the same with and without the agent: a use of an event is one
 * 5-byte nop until somebody enables the event. Formats are the kernel's: a PB_TRACE_EVENT says what
 * a TRACE_EVENT says there (Documentation/trace/tracepoints.rst, include/linux/tracepoint.h).
 *
 *   // shop_events.h, included by every source that uses the events
 *   #include <patchbay/trace_event.h>
 *
 *   PB_TRACE_EVENT(shop, shop_sold,
 *     PB_FIELDS(PB_FIELD(int, item),
 *               PB_FIELD(unsigned long, flags),
 *               PB_ARRAY(char, till, 16),
 *               PB_STRING(customer),
 *               PB_DYNAMIC_ARRAY(int, prices)),
 *     PB_PRINT("item=%d flags=%s till=%s customer=%s", REC->item,
 *              __print_flags(REC->flags, "|", {1, "GIFT"}, {2, "RETURN"}),
 *              REC->till, __get_str(customer)));
 *
 *   // shop.c
 *   PB_TRACE(shop_sold, item, flags, "till 3", name, prices, nr_prices);
 *
 *   if (PB_TRACE_ENABLED(shop_sold)) total = sum_up(basket);   // computed for the event alone
 *
 * An enabled use takes these steps:
 *
 *   nop, made a jmp while the event is on
 *     '--> out of line: the arguments are evaluated, the record is built on the stack
 *          (8 bytes for the common header, the fields in order and aligned as in a C struct, then
 *          strings and dynamic arrays), event->hit(event, record, size)
 *     <--- back behind the nop
 *
 * PB_TRACE takes the arguments of the fields in field order. The compiler checks them against these
 * types like those of any function. They are evaluated only when the event is wanted.
 *
 *   field                         argument
 *   PB_FIELD(type, name)          type. A function pointer, or a template with commas, needs a
 *                                 typedef.
 *   PB_ARRAY(type, name, count)   const type *, with exactly count elements. NULL gives zeros.
 *   PB_ARRAY(char, name, count)   const char *, a text. It is copied up to its NUL and cut to
 *                                 count - 1 bytes. Of an object that is declared char[count] or
 *                                 larger all count - 1 bytes are copied. NULL gives "(null)".
 *   PB_STRING(name)               const char *; in C++ also std::string and std::string_view. NULL
 *                                 gives "(null)"
 *   PB_DYNAMIC_ARRAY(type, name)  const type *, size_t: two arguments
 *
 * A record has at most PATCHBAY_MAX_RECORD bytes; strings and dynamic arrays are cut to fit. The
 * format file shows types as they are written here.
 *
 * PB_PRINT may be left out: then lines show every field as name=value. Its format and arguments are
 * text for readers (trace-cmd, perf, patchbay). They may use REC->field, __get_str(f),
 * __get_dynamic_array(f), __print_flags, __print_symbolic, __print_hex, __print_array, ?: and
 * casts. Macros in them are expanded, so that PRIu64 and O_CREAT work; a field must therefore not
 * have the name of a macro. Enumerators are not expanded. A PB_ENUMS(…) behind PB_PRINT names them,
 * and then their values are put in.
 *
 * PB_TRACE_EVENT stands at file scope or in a named namespace, best in a header: all sources that
 * include it share one event per program or shared library. PB_TRACE works in any function of the
 * same namespace or below, also in templates, lambdas and inline functions. An event has at most 40
 * fields. Its name is an identifier, and unique in the program within its system.
 *
 * Threads: any thread may use an event, also in signal handlers.
 *
 * Other processors than x86-64: the header compiles, and no event is ever enabled.
 */
#ifndef PATCHBAY_TRACE_EVENT_H
#define PATCHBAY_TRACE_EVENT_H

#pragma GCC system_header

#include <patchbay/static_event_abi.h>
#include <stddef.h>
#include <stdint.h>

/* --- what a program writes -------------------------------------------------------------------- */

#define PB_TRACE_EVENT(system, name, ...) PB_I_EVENT(#system, #name, name, __VA_ARGS__, (), (), )

#define PB_FIELDS(...) (__VA_ARGS__)
#define PB_FIELD(type, name) (pb_i_fixed, type, pb_f_##name, #type, #name, 0)
#define PB_ARRAY(type, name, count) (pb_i_array, type, pb_f_##name, #type, #name, count)
#define PB_STRING(name) (pb_i_string, char, pb_f_##name, "__data_loc char[]", #name, 0)
#define PB_DYNAMIC_ARRAY(type, name) \
  (pb_i_dynamic, type, pb_f_##name, "__data_loc " #type "[]", #name, 0)
#define PB_PRINT(...) (PB_I_TEXT(__VA_ARGS__))
#define PB_ENUMS(...) (__VA_ARGS__)

/* PB_TRACE(name, arguments …) records an event. Unless the event is enabled, only the nop is
 * executed, and no argument is evaluated. It is an expression of type void. */
#define PB_TRACE(...) PB_I_CAT(PB_I_TRACE_, PB_I_ONE_OR_MORE(__VA_ARGS__))(__VA_ARGS__)
/* PB_TRACE_ENABLED(name) is true when the event is enabled in some instance. */
#define PB_TRACE_ENABLED(name) __builtin_expect(pb_i_enabled_##name(), 0)

/* --- implementation: no program uses anything below ------------------------------------------- */

#define PB_I_TEXT(...) #__VA_ARGS__
#define PB_I_CAT(a, b) PB_I_CAT_(a, b)
#define PB_I_CAT_(a, b) a##b
#define PB_I_HIDDEN __attribute__((visibility("hidden")))

#define PB_I_TRACE_1(name) ((void)(PB_TRACE_ENABLED(name) && (pb_i_emit_##name(), 0)))
#define PB_I_TRACE_2(name, ...) \
  ((void)(PB_TRACE_ENABLED(name) && (pb_i_emit_##name(__VA_ARGS__), 0)))

/* 1 for one argument, 2 for several (up to 63). */
#define PB_I_ONE_OR_MORE(...)                                                                      \
  PB_I_64TH(__VA_ARGS__, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2,   \
            2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, \
            2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 0)
#define PB_I_64TH(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, \
                  a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32, a33, a34,  \
                  a35, a36, a37, a38, a39, a40, a41, a42, a43, a44, a45, a46, a47, a48, a49, a50,  \
                  a51, a52, a53, a54, a55, a56, a57, a58, a59, a60, a61, a62, a63, n, ...)         \
  n

/* PB_I_EACH(m, c, (a, b, …)): m(c, a) m(c, b) … */
#define PB_I_EACH(m, c, list) PB_I_EACH_LIST(m, c, PB_I_UNWRAP list)
#define PB_I_EACH_LIST(m, c, ...) PB_I_EACH_LIST_(PB_I_COUNT(__VA_ARGS__), m, c, __VA_ARGS__)
#define PB_I_EACH_LIST_(n, ...) PB_I_CAT(PB_I_EACH_, n)(__VA_ARGS__)
#define PB_I_UNWRAP(...) __VA_ARGS__
#define PB_I_COUNT(...)                                                                          \
  PB_I_42ND(__VA_ARGS__, 41, 40, 39, 38, 37, 36, 35, 34, 33, 32, 31, 30, 29, 28, 27, 26, 25, 24, \
            23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define PB_I_42ND(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, \
                  a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32, a33, a34,  \
                  a35, a36, a37, a38, a39, a40, a41, n, ...)                                       \
  n
#define PB_I_EACH_1(m, c, a) m(c, a)
#define PB_I_EACH_2(m, c, a, ...) m(c, a) PB_I_EACH_1(m, c, __VA_ARGS__)
#define PB_I_EACH_3(m, c, a, ...) m(c, a) PB_I_EACH_2(m, c, __VA_ARGS__)
#define PB_I_EACH_4(m, c, a, ...) m(c, a) PB_I_EACH_3(m, c, __VA_ARGS__)
#define PB_I_EACH_5(m, c, a, ...) m(c, a) PB_I_EACH_4(m, c, __VA_ARGS__)
#define PB_I_EACH_6(m, c, a, ...) m(c, a) PB_I_EACH_5(m, c, __VA_ARGS__)
#define PB_I_EACH_7(m, c, a, ...) m(c, a) PB_I_EACH_6(m, c, __VA_ARGS__)
#define PB_I_EACH_8(m, c, a, ...) m(c, a) PB_I_EACH_7(m, c, __VA_ARGS__)
#define PB_I_EACH_9(m, c, a, ...) m(c, a) PB_I_EACH_8(m, c, __VA_ARGS__)
#define PB_I_EACH_10(m, c, a, ...) m(c, a) PB_I_EACH_9(m, c, __VA_ARGS__)
#define PB_I_EACH_11(m, c, a, ...) m(c, a) PB_I_EACH_10(m, c, __VA_ARGS__)
#define PB_I_EACH_12(m, c, a, ...) m(c, a) PB_I_EACH_11(m, c, __VA_ARGS__)
#define PB_I_EACH_13(m, c, a, ...) m(c, a) PB_I_EACH_12(m, c, __VA_ARGS__)
#define PB_I_EACH_14(m, c, a, ...) m(c, a) PB_I_EACH_13(m, c, __VA_ARGS__)
#define PB_I_EACH_15(m, c, a, ...) m(c, a) PB_I_EACH_14(m, c, __VA_ARGS__)
#define PB_I_EACH_16(m, c, a, ...) m(c, a) PB_I_EACH_15(m, c, __VA_ARGS__)
#define PB_I_EACH_17(m, c, a, ...) m(c, a) PB_I_EACH_16(m, c, __VA_ARGS__)
#define PB_I_EACH_18(m, c, a, ...) m(c, a) PB_I_EACH_17(m, c, __VA_ARGS__)
#define PB_I_EACH_19(m, c, a, ...) m(c, a) PB_I_EACH_18(m, c, __VA_ARGS__)
#define PB_I_EACH_20(m, c, a, ...) m(c, a) PB_I_EACH_19(m, c, __VA_ARGS__)
#define PB_I_EACH_21(m, c, a, ...) m(c, a) PB_I_EACH_20(m, c, __VA_ARGS__)
#define PB_I_EACH_22(m, c, a, ...) m(c, a) PB_I_EACH_21(m, c, __VA_ARGS__)
#define PB_I_EACH_23(m, c, a, ...) m(c, a) PB_I_EACH_22(m, c, __VA_ARGS__)
#define PB_I_EACH_24(m, c, a, ...) m(c, a) PB_I_EACH_23(m, c, __VA_ARGS__)
#define PB_I_EACH_25(m, c, a, ...) m(c, a) PB_I_EACH_24(m, c, __VA_ARGS__)
#define PB_I_EACH_26(m, c, a, ...) m(c, a) PB_I_EACH_25(m, c, __VA_ARGS__)
#define PB_I_EACH_27(m, c, a, ...) m(c, a) PB_I_EACH_26(m, c, __VA_ARGS__)
#define PB_I_EACH_28(m, c, a, ...) m(c, a) PB_I_EACH_27(m, c, __VA_ARGS__)
#define PB_I_EACH_29(m, c, a, ...) m(c, a) PB_I_EACH_28(m, c, __VA_ARGS__)
#define PB_I_EACH_30(m, c, a, ...) m(c, a) PB_I_EACH_29(m, c, __VA_ARGS__)
#define PB_I_EACH_31(m, c, a, ...) m(c, a) PB_I_EACH_30(m, c, __VA_ARGS__)
#define PB_I_EACH_32(m, c, a, ...) m(c, a) PB_I_EACH_31(m, c, __VA_ARGS__)
#define PB_I_EACH_33(m, c, a, ...) m(c, a) PB_I_EACH_32(m, c, __VA_ARGS__)
#define PB_I_EACH_34(m, c, a, ...) m(c, a) PB_I_EACH_33(m, c, __VA_ARGS__)
#define PB_I_EACH_35(m, c, a, ...) m(c, a) PB_I_EACH_34(m, c, __VA_ARGS__)
#define PB_I_EACH_36(m, c, a, ...) m(c, a) PB_I_EACH_35(m, c, __VA_ARGS__)
#define PB_I_EACH_37(m, c, a, ...) m(c, a) PB_I_EACH_36(m, c, __VA_ARGS__)
#define PB_I_EACH_38(m, c, a, ...) m(c, a) PB_I_EACH_37(m, c, __VA_ARGS__)
#define PB_I_EACH_39(m, c, a, ...) m(c, a) PB_I_EACH_38(m, c, __VA_ARGS__)
#define PB_I_EACH_40(m, c, a, ...) m(c, a) PB_I_EACH_39(m, c, __VA_ARGS__)
#define PB_I_EACH_41(m, c, a, ...) m(c, a) PB_I_EACH_40(m, c, __VA_ARGS__)

/* PB_I_BY_KIND(m, c, field): m_KIND(c, type, member, type text, name text, count); the empty field
 * of an empty list is of the kind pb_i_none. */
#define PB_I_BY_KIND(m, c, field) \
  PB_I_APPLY(PB_I_CAT(m, PB_I_SECOND(PB_I_KIND field, pb_i_none, )), c, PB_I_REST field)
#define PB_I_APPLY(m, ...) m(__VA_ARGS__)
#define PB_I_KIND(kind, ...) , kind
#define PB_I_REST(kind, ...) __VA_ARGS__
#define PB_I_SECOND(...) PB_I_SECOND_(__VA_ARGS__)
#define PB_I_SECOND_(a, b, ...) b

/* The members of the record. */
#define PB_I_MEMBER(c, field) PB_I_BY_KIND(PB_I_MEMBER_, c, field)
#define PB_I_MEMBER_pb_i_none(...)
#define PB_I_MEMBER_pb_i_fixed(c, type, f, ...) type f;
#define PB_I_MEMBER_pb_i_array(c, type, f, type_text, name_text, count) type f[count];
#define PB_I_MEMBER_pb_i_string(c, type, f, ...) uint32_t f;
#define PB_I_MEMBER_pb_i_dynamic(c, type, f, ...) uint32_t f;

/* The rows of the table that readers get. */
#define PB_I_ROW(c, field) PB_I_BY_KIND(PB_I_ROW_, c, field)
#define PB_I_ROW_AT(c, f) (uint32_t) __builtin_offsetof(struct pb_i_record_##c, f)
#define PB_I_ROW_pb_i_none(...)
#define PB_I_ROW_pb_i_fixed(c, type, f, type_text, name_text, count) \
  {type_text, name_text, PB_I_ROW_AT(c, f), sizeof(type), PB_I_SIGNED(type), 0, 0},
#define PB_I_ROW_pb_i_array(c, type, f, type_text, name_text, count) \
  {type_text,                                                        \
   name_text,                                                        \
   PB_I_ROW_AT(c, f),                                                \
   sizeof(type) * (count), /* a text? */                             \
   PB_I_IS_CHAR(type) ? 0 : PB_I_SIGNED(type),                       \
   count,                                                            \
   sizeof(type)},
#define PB_I_ROW_pb_i_string(c, type, f, type_text, name_text, count) \
  {type_text, name_text, PB_I_ROW_AT(c, f), 4, 0, 0, 1},
#define PB_I_ROW_pb_i_dynamic(c, type, f, type_text, name_text, count) \
  {type_text, name_text, PB_I_ROW_AT(c, f), 4, PB_I_SIGNED(type), 0, sizeof(type)},

/* The parameters of a use, each with a comma before it. */
#define PB_I_PARAMETER(c, field) PB_I_BY_KIND(PB_I_PARAMETER_, c, field)
#define PB_I_PARAMETER_pb_i_none(...)
#define PB_I_PARAMETER_pb_i_fixed(c, type, f, ...) , type f
#define PB_I_PARAMETER_pb_i_array(c, type, f, ...) , type const* const f PB_I_WITH_SIZE
#define PB_I_PARAMETER_pb_i_string(c, type, f, ...) , PB_I_STRING_ARGUMENT f
#define PB_I_PARAMETER_pb_i_dynamic(c, type, f, ...) , type const *f, size_t f##_count
#define PB_I_PARAMETERS(...) PB_I_CAT(PB_I_PARAMETERS_, PB_I_ONE_OR_MORE(__VA_ARGS__))(__VA_ARGS__)
#define PB_I_PARAMETERS_1(none) (void)
#define PB_I_PARAMETERS_2(none, ...) (__VA_ARGS__)

/* The arguments that a use hands to the function that records. An array also has the size that the
 * compiler knows, so that a text need not be searched for its end byte by byte. */
#define PB_I_ARGUMENT(c, field) PB_I_BY_KIND(PB_I_ARGUMENT_, c, field)
#define PB_I_ARGUMENT_pb_i_none(...)
#define PB_I_ARGUMENT_pb_i_fixed(c, type, f, ...) , f
#define PB_I_ARGUMENT_pb_i_array(c, type, f, ...) , f, __builtin_object_size(f, 3)
#define PB_I_ARGUMENT_pb_i_string(c, type, f, ...) , f
#define PB_I_ARGUMENT_pb_i_dynamic(c, type, f, ...) , f, f##_count
#define PB_I_ARGUMENTS(...) PB_I_CAT(PB_I_ARGUMENTS_, PB_I_ONE_OR_MORE(__VA_ARGS__))(__VA_ARGS__)
#define PB_I_ARGUMENTS_1(none) ()
#define PB_I_ARGUMENTS_2(none, ...) (__VA_ARGS__)

/* The parameters of that function. */
#define PB_I_TAKEN(c, field) PB_I_BY_KIND(PB_I_TAKEN_, c, field)
#define PB_I_TAKEN_pb_i_none(...)
#define PB_I_TAKEN_pb_i_fixed(c, type, f, ...) , type f
#define PB_I_TAKEN_pb_i_array(c, type, f, ...) , type const *f, size_t f##_size
#define PB_I_TAKEN_pb_i_string(c, type, f, ...) , PB_I_STRING_ARGUMENT f
#define PB_I_TAKEN_pb_i_dynamic(c, type, f, ...) , type const *f, size_t f##_count

/* The statements that store them. */
#define PB_I_STORE(c, field) PB_I_BY_KIND(PB_I_STORE_, c, field)
#define PB_I_STORE_pb_i_none(...)
#define PB_I_STORE_pb_i_fixed(c, type, f, ...) pb_u.record.f = f;
#define PB_I_STORE_pb_i_array(c, type, f, ...) \
  PB_I_PUT_ARRAY(type)(pb_u.record.f, f, sizeof pb_u.record.f, f##_size);
#define PB_I_STORE_pb_i_string(c, type, f, ...) \
  pb_u.record.f = PB_I_PUT_STRING(pb_u.bytes, &pb_end, &pb_room, f);
#define PB_I_STORE_pb_i_dynamic(c, type, f, ...)                                      \
  pb_u.record.f = patchbay_i_put_dynamic(pb_u.bytes, &pb_end, &pb_room, f, f##_count, \
                                         sizeof(type), PB_I_ALIGNOF(type));

/* The room that dynamic data takes in any case: the NUL of a string, alignment of an array. */
#define PB_I_LEAST(c, field) PB_I_BY_KIND(PB_I_LEAST_, c, field)
#define PB_I_LEAST_pb_i_none(...)
#define PB_I_LEAST_pb_i_fixed(...)
#define PB_I_LEAST_pb_i_array(...)
#define PB_I_LEAST_pb_i_string(...) +1
#define PB_I_LEAST_pb_i_dynamic(...) +8

#define PB_I_ENUM(c, name) PB_I_CAT(PB_I_ENUM_, PB_I_ONE_OR_MORE(PB_I_COMMA name()))(name)
#define PB_I_COMMA() ,
#define PB_I_ENUM_1(name) {#name, (int64_t)(name)},
#define PB_I_ENUM_2(none)

/* From here on declarations: first what all events share. */
#ifdef __cplusplus
#define PB_I_STRUCT(type) ::type
#define PB_I_ALIGNOF(type) alignof(type)
#define PB_I_SIGNED(type) ::patchbay::trace_event::IsSigned<type>::value
#define PB_I_IS_CHAR(type) ::patchbay::trace_event::IsChar<type>::value
#define PB_I_STRING_ARGUMENT ::patchbay::trace_event::StringArgument
#define PB_I_PUT_ARRAY(type) ::patchbay::trace_event::put_array
#define PB_I_PUT_STRING(bytes, end, room, from) \
  patchbay_i_put_string(bytes, end, room, (from).text, (from).size)
extern "C" {
#else
#define PB_I_STRUCT(type) struct type
#define PB_I_ALIGNOF(type) _Alignof(type)
#define PB_I_SIGNED(type)                                                                \
  _Generic(*(type*)0, char                                                               \
           : (char)-1 < 0, signed char : 1, short : 1, int : 1, long : 1, long long : 1, \
             float : 1, double : 1, long double : 1, default : 0)
#define PB_I_IS_CHAR(type) _Generic(*(type*)0, char : 1, default : 0)
#define PB_I_STRING_ARGUMENT const char*
#define PB_I_PUT_ARRAY(type) \
  _Generic(*(type*)0, char : patchbay_i_put_text, default : patchbay_i_put_array)
#define PB_I_PUT_STRING(bytes, end, room, from) \
  patchbay_i_put_string(bytes, end, room, from, SIZE_MAX)
#endif
/* Calls of the agent go through pointers that control-flow integrity knows nothing of. */
#if !defined(__clang__)
#define PB_I_CALLS_AGENT
#elif __has_feature(kcfi) /* a name that older ones warn of */
#define PB_I_CALLS_AGENT __attribute__((no_sanitize("kcfi")))
#else
#define PB_I_CALLS_AGENT __attribute__((no_sanitize("cfi")))
#endif
#define PB_I_INLINE static __inline__ __attribute__((always_inline, unused))
/* Marks the path behind a wanted site as out of line. */
#if defined(__clang__)
#define PB_I_COLD_LABEL
#define PB_I_WITH_SIZE __attribute__((pass_object_size(3))) /* else it does not know in time */
#else
#define PB_I_COLD_LABEL __attribute__((cold))
#define PB_I_WITH_SIZE
#endif

/* The first `length` bytes of a text, less than 8, as a word with zeros behind them. No other byte
 * is read. */
PB_I_INLINE uint64_t patchbay_i_end_of_text(const char* text, size_t length) {
  if (length >= 4) { /* from both ends: what they share is the same */
    uint32_t low, high;
    __builtin_memcpy(&low, text, 4);
    __builtin_memcpy(&high, text + length - 4, 4);
    return low | (uint64_t)high << (length - 4) * 8;
  }
  if (!length) return 0;
  const unsigned char* bytes = (const unsigned char*)text;
  return bytes[0] | (uint64_t)bytes[length / 2] << length / 2 * 8 |
         (uint64_t)bytes[length - 1] << (length - 1) * 8;
}

PB_I_INLINE void patchbay_i_put_bytes(char* to, uint64_t word, size_t size) {
  const uint32_t four = (uint32_t)word;
  const uint16_t two = (uint16_t)(size & 4 ? word >> 32 : word);
  if (size & 4) __builtin_memcpy(to, &four, 4);
  if (size & 2) __builtin_memcpy(to + (size & 4), &two, 2);
  if (size & 1) to[size - 1] = (char)(word >> (size - 1) * 8);
}

/* A text in place, cut to `size` - 1 characters. So many bytes of it are `readable` in any case: if
 * that is enough it is copied as it is, else up to its NUL, with NULs behind it. By words, since a
 * core that reads a word behind smaller stores to it has to wait for them. */
PB_I_INLINE void patchbay_i_put_text(char* to, const char* text, size_t size, size_t readable) {
  uint64_t word = 0;
  size_t i = 0;
  if (text && readable >= size) {
    i = size & ~(size_t)7;
    __builtin_memcpy(to, text, i);
    if (size & 7) {
      __builtin_memcpy(&word, text + i, (size - 1) & 7); /* a compiler sees: at most 7 */
    } else {
      __builtin_memcpy(&word, text + i - 8, 8);
      word &= UINT64_MAX >> 8;
      __builtin_memcpy(to + i - 8, &word, 8);
    }
  } else {
    if (!text) text = "(null)";
    const char* nul = (const char*)__builtin_memchr(text, 0, size - 1);
    size_t left = nul ? (size_t)(nul - text) : size - 1;
    for (; left >= 8; i += 8, left -= 8) {
      __builtin_memcpy(&word, text + i, 8);
      __builtin_memcpy(to + i, &word, 8);
    }
    for (word = patchbay_i_end_of_text(text + i, left); i + 8 <= size; i += 8, word = 0)
      __builtin_memcpy(to + i, &word, 8);
  }
  patchbay_i_put_bytes(to + i, word, size & 7);
}

PB_I_INLINE void patchbay_i_put_array(void* to, const void* from, size_t size, size_t readable) {
  (void)readable;
  if (from) {
    __builtin_memcpy(to, from, size);
  } else {
    __builtin_memset(to, 0, size);
  }
}

/* Appends dynamic data at *end, for which *room bytes are left. They return what __data_loc holds:
 * offset, length << 16. The NUL has its room already. */
PB_I_INLINE uint32_t patchbay_i_put_string(unsigned char* record, uint32_t* end, uint32_t* room,
                                           const char* text, size_t size) {
  if (!text) text = "(null)", size = 6;
  if (size > *room) size = *room;
  const char* nul = (const char*)__builtin_memchr(text, 0, size);
  const uint32_t length = nul ? (uint32_t)(nul - text) : (uint32_t)size;
  const uint32_t place = *end;
  __builtin_memcpy(record + place, text, length);
  record[place + length] = 0;
  *room -= length;
  *end = place + length + 1;
  return place | (length + 1) << 16;
}

PB_I_INLINE uint32_t patchbay_i_put_dynamic(unsigned char* record, uint32_t* end, uint32_t* room,
                                            const void* from, size_t count, size_t size,
                                            size_t align) {
  const uint32_t mask = align < 8 ? (uint32_t)align - 1 : 7;
  const uint32_t place = (*end + mask) & ~mask;
  if (!from) count = 0;
  if (count > *room / size) count = *room / size;
  const uint32_t length = (uint32_t)(count * size);
  if (length) __builtin_memcpy(record + place, from, length);
  *room -= length;
  *end = place + length;
  return place | length << 16;
}

/* The sections of this program or library; null where it has none. */
extern struct patchbay_event __start_patchbay_events[] __attribute__((weak)) PB_I_HIDDEN;
extern struct patchbay_event __stop_patchbay_events[] __attribute__((weak)) PB_I_HIDDEN;
extern const struct patchbay_site __start_patchbay_sites[] __attribute__((weak)) PB_I_HIDDEN;
extern const struct patchbay_site __stop_patchbay_sites[] __attribute__((weak)) PB_I_HIDDEN;

/* The agent by name; in a static program there is no dlsym either. */
static void* patchbay_i_dlsym(void* handle, const char* name) __attribute__((weakref("dlsym")));
static char* patchbay_i_dlerror(void) __attribute__((weakref("dlerror")));

PB_I_INLINE void* patchbay_i_agent(const char* function) {
  void* found = patchbay_i_dlsym ? patchbay_i_dlsym((void*)0, function) : (void*)0;
  if (!found && patchbay_i_dlerror) (void)patchbay_i_dlerror(); /* not the program's business */
  return found;
}

/* Every source that includes this asks for them; the linker keeps one, which acts once. They come
 * before the object's other constructors and after its other destructors. */
extern unsigned char patchbay_i_registered __attribute__((weak)) PB_I_HIDDEN;
unsigned char patchbay_i_registered = 0;

PB_I_CALLS_AGENT PB_I_HIDDEN __attribute__((weak, constructor(101))) void patchbay_i_register(
    void) {
  if (patchbay_i_registered || !__start_patchbay_events) return;
  patchbay_i_registered = 1;
  int (*enter)(uint32_t, struct patchbay_event*, uint64_t, const struct patchbay_site*, uint64_t);
  void* found = patchbay_i_agent("patchbay_register_events");
  if (!found) return;
  __builtin_memcpy(&enter, &found, sizeof enter);
  (void)enter(PATCHBAY_EVENT_ABI, __start_patchbay_events,
              (uint64_t)(__stop_patchbay_events - __start_patchbay_events), __start_patchbay_sites,
              (uint64_t)(__stop_patchbay_sites - __start_patchbay_sites));
}

PB_I_CALLS_AGENT PB_I_HIDDEN __attribute__((weak, destructor(101))) void patchbay_i_unregister(
    void) {
  if (!patchbay_i_registered) return;
  patchbay_i_registered = 0;
  void (*leave)(struct patchbay_event*, uint64_t);
  void* found = patchbay_i_agent("patchbay_unregister_events");
  if (!found) return;
  __builtin_memcpy(&leave, &found, sizeof leave);
  leave(__start_patchbay_events, (uint64_t)(__stop_patchbay_events - __start_patchbay_events));
}

#ifdef __cplusplus
} /* extern "C" */

namespace patchbay {
namespace trace_event {

template <typename T, bool = __is_enum(T)>
struct IsSigned {
  static constexpr bool value = false;
};
template <typename T>
struct IsSigned<T, true> {
  static constexpr bool value = IsSigned<__underlying_type(T)>::value;
};
#define PB_I_IS_SIGNED(type, is)      \
  template <>                         \
  struct IsSigned<type, false> {      \
    static constexpr bool value = is; \
  };
PB_I_IS_SIGNED(char, char(-1) < 0)
PB_I_IS_SIGNED(signed char, true)
PB_I_IS_SIGNED(wchar_t, wchar_t(-1) < 0)
PB_I_IS_SIGNED(short, true)
PB_I_IS_SIGNED(int, true)
PB_I_IS_SIGNED(long, true)
PB_I_IS_SIGNED(long long, true)
PB_I_IS_SIGNED(float, true)
PB_I_IS_SIGNED(double, true)
PB_I_IS_SIGNED(long double, true)
#undef PB_I_IS_SIGNED
template <typename T>
struct IsChar {
  static constexpr bool value = false;
};
template <>
struct IsChar<char> {
  static constexpr bool value = true;
};

// const char*, or whatever has data() and size(): std::string, std::string_view.
struct StringArgument {
  const char* text;
  size_t size;
  StringArgument(const char* from) : text(from), size(SIZE_MAX) {}
  template <typename T, typename = decltype(static_cast<const T*>(nullptr)->data())>
  StringArgument(const T& from) : text(from.data()), size(from.size()) {
    if (!size) text = "";  // an empty view may have no data
  }
};

template <typename T>
PB_I_INLINE void put_array(void* to, const T* from, size_t size, size_t readable) {
  patchbay_i_put_array(to, from, size, readable);
}
PB_I_INLINE void put_array(char* to, const char* from, size_t size, size_t readable) {
  patchbay_i_put_text(to, from, size, readable);
}

}  // namespace trace_event
}  // namespace patchbay
#endif

/* One event. Its struct is weak, so that the sources of an object share it; the other objects of
 * the process have their own. The alignment keeps the section an array. */
#define PB_I_EVENT(system, name_text, name, fields, print, enums, ...)                            \
  struct pb_i_record_##name {                                                                     \
    uint64_t pb_header;                                                                           \
    PB_I_EACH(PB_I_MEMBER, name, fields)                                                          \
    unsigned char pb_data[1];                                                                     \
  };                                                                                              \
  enum {                                                                                          \
    pb_i_end_##name = __builtin_offsetof(struct pb_i_record_##name, pb_data),                     \
    pb_i_least_##name = 0 PB_I_EACH(                                                              \
        PB_I_LEAST, name,                                                                         \
        fields), /* Negative, an error: the record would be larger than PATCHBAY_MAX_RECORD. */   \
    pb_i_room_##name = sizeof(char[PATCHBAY_MAX_RECORD - pb_i_end_##name - pb_i_least_##name]),   \
    pb_i_fixed_##name = (pb_i_end_##name + 3) & ~3                                                \
  };                                                                                              \
  static const PB_I_STRUCT(patchbay_field)                                                        \
      pb_i_fields_##name[] = {PB_I_EACH(PB_I_ROW, name, fields){0, 0, 0, 0, 0, 0, 0}};            \
  static const PB_I_STRUCT(patchbay_enum)                                                         \
      pb_i_enums_##name[] = {PB_I_EACH(PB_I_ENUM, name, enums){0, 0}};                            \
  extern PB_I_STRUCT(patchbay_event) pb_i_event_##name PB_I_EVENT_SYMBOL(system, name_text)       \
      PB_I_HIDDEN;                                                                                \
  __attribute__((weak, used, section("patchbay_events"), aligned(8))) PB_I_STRUCT(patchbay_event) \
      pb_i_event_##name = {PATCHBAY_EVENT_ABI,                                                    \
                           sizeof pb_i_fields_##name / sizeof *pb_i_fields_##name - 1,            \
                           system,                                                                \
                           name_text,                                                             \
                           pb_i_fields_##name,                                                    \
                           "" PB_I_UNWRAP print,                                                  \
                           pb_i_enums_##name,                                                     \
                           sizeof pb_i_enums_##name / sizeof *pb_i_enums_##name - 1,              \
                           pb_i_fixed_##name,                                                     \
                           pb_i_least_##name ? PATCHBAY_MAX_RECORD : pb_i_fixed_##name,           \
                           0,                                                                     \
                           0,                                                                     \
                           0,                                                                     \
                           {0, 0}};                                                               \
  PB_I_INLINE int pb_i_enabled_##name(void){                                                      \
      PB_I_USE(system, name_text, pb_i_event_##name)} PB_I_CALLS_AGENT static                     \
      __attribute__((noinline, unused)) void pb_i_put_##name                                      \
      PB_I_PARAMETERS(PB_I_EACH(PB_I_TAKEN, name, fields)) {                                      \
    union {                                                                                       \
      struct pb_i_record_##name record;                                                           \
      unsigned char bytes[pb_i_least_##name ? PATCHBAY_MAX_RECORD : pb_i_fixed_##name];           \
    } pb_u;                                                                                       \
    uint32_t pb_end = pb_i_end_##name, pb_room = pb_i_room_##name;                                \
    PB_I_EACH(PB_I_STORE, name, fields)                                                           \
    (void)pb_room;                                                                                \
    void (*pb_hit)(PB_I_STRUCT(patchbay_event)*, void*, uint32_t) =                               \
        __atomic_load_n(&pb_i_event_##name.hit, __ATOMIC_ACQUIRE);                                \
    if (pb_hit) pb_hit(&pb_i_event_##name, &pb_u, (pb_end + 3) & ~3u);                            \
  }                                                                                               \
  PB_I_INLINE void pb_i_emit_##name PB_I_PARAMETERS(PB_I_EACH(PB_I_PARAMETER, name, fields)) {    \
    pb_i_put_##name PB_I_ARGUMENTS(PB_I_EACH(PB_I_ARGUMENT, name, fields));                       \
  }                                                                                               \
  struct pb_i_record_##name

/* Whether the event is wanted. Sites stand in code for x86-64 alone, as there is no agent for other
 * processors: there a program is the same without its events. */
#if defined(__x86_64__) && defined(__LP64__)
#define PB_I_USE(system, name_text, event)                                               \
  __asm__ goto(PB_I_SITE(system, name_text) : : PB_I_SITE_EVENT(event) : : pb_i_wanted); \
  return 0;                                                                              \
  pb_i_wanted:                                                                           \
  PB_I_COLD_LABEL;                                                                       \
  return 1;
#else
#define PB_I_USE(system, name_text, event) return 0;
#endif

/* The nop, and its row in the table: where it is, where the path behind it is, whose it is. `?`: of
 * an inline function or template that the linker drops, the row goes too. */
#define PB_I_SITE(system, name_text) \
  "1: .byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n\t"                                        \
  ".pushsection patchbay_sites,\"aw?\",@progbits\n\t"                                \
  ".balign 8\n\t"                                                                    \
  ".quad 1b, %l[pb_i_wanted], " PB_I_SITE_SYMBOL(system, name_text) "\n\t"           \
                                                                    ".popsection"

/* In the large code model no address of a symbol is an immediate operand: there the event has a
 * name in assembler that a site can write. */
#ifdef __code_model_large__
#define PB_I_EVENT_SYMBOL(system, name_text) __asm__("pb_i_event." system "." name_text)
#define PB_I_SITE_EVENT(event)
#define PB_I_SITE_SYMBOL(system, name_text) "pb_i_event." system "." name_text
#else
#define PB_I_EVENT_SYMBOL(system, name_text)
#define PB_I_SITE_EVENT(event) "i"(&event)
#define PB_I_SITE_SYMBOL(system, name_text) "%c0"
#endif

#endif
