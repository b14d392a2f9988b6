/* SPDX-License-Identifier: MIT
 *
 * Two components of one program, each with a ring buffer of its own: the lines of one never
 * overwrite those of the other.
 *
 *   ./api_trace_array
 *     network: packet 1 of 3 to 10.0.0.1 …
 *     storage: 3000 lines written, the last kept
 */
#include <patchbay/patchbay.h>
#include <patchbay/trace.h>
#include <stdio.h>
#include <string.h>

static struct trace_array *network, *storage;

static struct trace_array* make_buffer(const char* name) {
  struct trace_array* array = trace_array_get_by_name(name, NULL);
  if (array && trace_array_init_printk(array)) return NULL;
  return array;
}

static __attribute__((noinline)) void work(void) {
  for (int packet = 1; packet <= 3; packet++) {
    trace_array_printk(network, _THIS_IP_, "packet %d of %d to %s", packet, 3, "10.0.0.1");
    for (int block = 0; block < 1000; block++)
      trace_array_printk(storage, _THIS_IP_, "block %d", packet * 1000 + block);
  }
}

/* What stands behind the printing function's name in each line of an instance's trace. */
static int show(const char* instance, int print) {
  static char text[1 << 22];
  char path[64];
  int lines = 0;
  snprintf(path, sizeof path, "instances/%s/trace", instance);
  if (patchbay_read(path, text, sizeof text) < 0) return -1;
  for (char* line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
    if (line[0] == '#') continue;
    lines++;
    const char* message = strstr(line, "work: ");
    if (print) printf("%s: %s\n", instance, message ? message + 6 : line);
  }
  return lines;
}

int main(void) {
  network = make_buffer("network");
  storage = make_buffer("storage");
  if (!network || !storage) return fprintf(stderr, "no buffers\n"), 1;
  patchbay_write("instances/storage/buffer_size_kb", "16");
  work();
  tracing_off(); /* the root's: these buffers go on */
  const int kept = show("storage", 0);
  show("network", 1);
  printf("storage: 3000 lines written, the last %s\n", kept > 0 && kept < 3000 ? "kept" : "lost");
  trace_array_put(network);
  trace_array_put(storage);
  return trace_array_destroy(network) || trace_array_destroy(storage);
}
