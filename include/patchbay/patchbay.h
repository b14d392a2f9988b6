/* SPDX-License-Identifier: MIT
 *
 * Patchbay's C interface: a program that links libpatchbay.so drives its own tracefs tree.
 *
 * Threads: every function may be called from any thread. It waits while another command is being
 * carried out. Signal handlers must not call these functions. docs/files.md says what each file of
 * the tree takes and shows.
 */
#ifndef PATCHBAY_PATCHBAY_H
#define PATCHBAY_PATCHBAY_H

#include <stddef.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the version of the library, such as "0.1.0". The text is constant. */
const char* patchbay_version(void);

/* Writes `text` to a file of the tree, as `echo text >> PATH` does. `path` is relative to the root
 * of the tree: "function_events", "events/functions/NAME/enable", "tracing_on". Returns 0, or the
 * negative errno of the file; among them are:
 *
 *   -EINVAL  an argument is NULL, or the text is wrong: patchbay_error_text() says where
 *   -ENOENT  there is no such file
 *   -EBUSY   the object is in use
 *   -ESRCH   no agent runs in this process
 */
int patchbay_write(const char* path, const char* text);

/* Replaces the content of a file by `text`, as `echo text > PATH` does. The text "" removes the
 * content and adds none: "trace" is then an empty buffer, "kprobe_events" has no probe, and a
 * trigger file has no histogram. Answers as patchbay_write() does. */
int patchbay_replace(const char* path, const char* text);

/* Reads a whole file into `buffer`, and stores at most `size` - 1 bytes and a NUL. Returns the full
 * length of the file in bytes, which may be more than was stored, or a negative errno. `buffer` may
 * be NULL when `size` is 0. */
ssize_t patchbay_read(const char* path, char* buffer, size_t size);

/* Reads at most `most` bytes of a file, and calls `take` once with these bytes and `data` before it
 * returns. The text is valid during that call only. Returns the length in bytes, or a negative
 * errno; on an error it does not call `take`. */
typedef void (*patchbay_take_fn)(const char* text, size_t length, void* data);
ssize_t patchbay_read_to(const char* path, size_t most, patchbay_take_fn take, void* data);

/* Waits until a read of the file gives something: a line of "trace_pipe", or a hit since the call
 * in a hist file. Waits at most `timeout_ms` milliseconds; a negative number has no limit. Returns
 * 1 when there is something, 0 when the time has passed, or a negative errno: -EBUSY, another
 * reader has trace_pipe open. */
int patchbay_wait(const char* path, int timeout_ms);

/* Stores the sentence that says why the last call of this thread to Patchbay was refused, as
 * error_log and the tool say it. Stores at most `size` - 1 bytes and a NUL. Returns the length of
 * the whole sentence in bytes; 0 means that there is none, and that the errno says everything. */
size_t patchbay_error_text(char* buffer, size_t size);

/* Returns the directory with the socket and the buffer file of this process. Returns "" when no
 * agent runs, and "memory", which is no path, when the agent could make no directory and therefore
 * has no file and no socket (patchbay(1), PATCHBAY_DIR). The text lives as long as the process. */
const char* patchbay_directory(void);

#ifdef __cplusplus
}
#endif
#endif
