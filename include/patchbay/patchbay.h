/* SPDX-License-Identifier: MIT
 *
 * Patchbay's C interface: a program that links libpatchbay.so drives its own tracefs tree. Every
 * function may be called from any thread, but not from a signal handler; it waits while another
 * command is being carried out.
 */
#ifndef PATCHBAY_PATCHBAY_H
#define PATCHBAY_PATCHBAY_H

#include <stddef.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* "0.1.0" */
const char* patchbay_version(void);

/* Writes `text` to a file of the tree, as `echo text >> PATH` does: "function_events",
 * "events/functions/NAME/enable", "tracing_on" … Returns 0 or a negative errno: -EINVAL (a NULL, or
 * the text; reading the file back shows where), -ENOENT (no such file), -EBUSY, -ESRCH (no agent
 * runs). */
int patchbay_write(const char* path, const char* text);

/* The same, as `echo text > PATH` does: what the file had goes first. With the text "" it only
 * goes: "trace" is an empty buffer then, "kprobe_events" has no probe, a trigger file no trigger.
 */
int patchbay_replace(const char* path, const char* text);

/* Reads a whole file into `buffer`, at most `size` - 1 bytes and a NUL. Returns the file's full
 * length (which may be more than was stored), or a negative errno; `buffer` may be NULL with size
 * 0. */
ssize_t patchbay_read(const char* path, char* buffer, size_t size);

/* Reads a file once, at most `most` bytes of it, and gives `take` what it has read, before it
 * returns. The length, or a negative errno: then `take` was not called. */
typedef void (*patchbay_take_fn)(const char* text, size_t length, void* data);
ssize_t patchbay_read_to(const char* path, size_t most, patchbay_take_fn take, void* data);

/* Waits until a read of the file has something to say: "trace_pipe" a line, a hist file a hit since
 * the call. 1: it has. 0: `timeout_ms` milliseconds have passed (negative: never). -EBUSY: another
 * reader has trace_pipe open. */
int patchbay_wait(const char* path, int timeout_ms);

/* Why the last function of Patchbay that this thread has called was refused, in a sentence, as
 * error_log and the tool say it. Stores at most `size` - 1 bytes and a NUL; returns the length of
 * the whole sentence, 0: there is none, the errno says all. */
size_t patchbay_error_text(char* buffer, size_t size);

/* The directory with the socket and the buffer file of this process; "" when no agent runs.
 * "memory", which is no path, when there is no file and no socket, because no directory could be
 * had (patchbay(1), PATCHBAY_DIR). */
const char* patchbay_directory(void);

#ifdef __cplusplus
}
#endif
#endif
