// SPDX-License-Identifier: MIT
// The static events of bench/peers/loop.c for LTTng-UST: the same arguments.
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER patchbay_peer
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./lttng_peer.h"
#if !defined(PATCHBAY_LTTNG_PEER_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define PATCHBAY_LTTNG_PEER_H
#include <lttng/tracepoint.h>
LTTNG_UST_TRACEPOINT_EVENT(patchbay_peer, work, LTTNG_UST_TP_ARGS(long, a, int, b),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(long, a, a)
                                                   lttng_ust_field_integer(int, b, b)))
LTTNG_UST_TRACEPOINT_EVENT(patchbay_peer, say, LTTNG_UST_TP_ARGS(const char*, text, int, n),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_string(text, text)
                                                   lttng_ust_field_integer(int, n, n)))
#endif
#include <lttng/tracepoint-event.h>
