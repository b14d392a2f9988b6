/* SPDX-License-Identifier: MIT
 *
 * Tracing at the right moment, from within: a connection that drops switches detailed events on in
 * a buffer of its own, and off when it has come back; then it takes a snapshot. The events of the
 * reconnect stay there, whatever the rest of the program records meanwhile and afterwards.
 *
 *     connected ──lost()──> events conn:* on ──attempts…──> back() ──> events off, snapshot
 *                           in instances/reconnect          the snapshot stays as it is
 *
 *   ./api_connection
 *     reconnect: 6 attempts, 6 in the snapshot, 0 of others
 *     storage: its own buffer was overwritten
 */
#include <patchbay/patchbay.h>
#include <patchbay/trace.h>
#include <patchbay/trace_event.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

PB_TRACE_EVENT(conn, attempt, PB_FIELDS(PB_FIELD(int, number), PB_FIELD(int, wait_ms)));
PB_TRACE_EVENT(conn, packet, PB_FIELDS(PB_FIELD(int, bytes)));
PB_TRACE_EVENT(storage, block, PB_FIELDS(PB_FIELD(long, number)));

enum { ATTEMPTS = 6 };

/* --- the connection and what it records of its own trouble */

struct connection {
  int is_up;
  struct trace_array* trouble;
};

static int open_trouble_buffer(struct connection* connection) {
  connection->trouble = trace_array_get_by_name("reconnect", NULL);
  if (!connection->trouble) return -1;
  if (trace_array_init_printk(connection->trouble)) return -1;
  /* The snapshot's memory is there before it is needed. */
  return patchbay_write("instances/reconnect/snapshot", "1");
}

static void lost(struct connection* connection) {
  connection->is_up = 0;
  trace_array_set_clr_event(connection->trouble, "conn", NULL, true);
  trace_array_printk(connection->trouble, _THIS_IP_, "connection lost");
}

static void back(struct connection* connection, int attempts) {
  connection->is_up = 1;
  trace_array_printk(connection->trouble, _THIS_IP_, "back after %d attempts", attempts);
  trace_array_set_clr_event(connection->trouble, "conn", NULL, false);
  tracing_snapshot_instance(connection->trouble);
}

static void reconnect(struct connection* connection, atomic_long* blocks) {
  for (int number = 1; number <= ATTEMPTS; number++) {
    PB_TRACE(attempt, number, 1 << number);
    for (long before = *blocks; *blocks < before + 2000;) sched_yield(); /* others go on */
  }
  back(connection, ATTEMPTS);
}

static void send_packets(int count) {
  for (int i = 0; i < count; i++)
    PB_TRACE(packet, 1500); /* detailed: only of interest in trouble */
}

/* --- another component, which fills its buffer all the time */

struct storage {
  atomic_int stop;
  atomic_long blocks;
};

static void* write_blocks(void* argument) {
  struct storage* storage = argument;
  while (!storage->stop) {
    PB_TRACE(block, storage->blocks);
    storage->blocks++;
  }
  return NULL;
}

static struct trace_array* open_storage_buffer(void) {
  struct trace_array* array = trace_array_get_by_name("storage", NULL);
  if (!array) return NULL;
  patchbay_write("instances/storage/buffer_size_kb", "64");
  return trace_array_set_clr_event(array, "storage", NULL, true) ? NULL : array;
}

/* --- what is left of it */

static int count_lines(const char* path, const char* wanted) {
  static char text[1 << 22];
  int lines = 0;
  if (patchbay_read(path, text, sizeof text) < 0) return -1;
  for (char* line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
    lines += line[0] != '#' && strstr(line, wanted) != NULL;
  return lines;
}

static int was_overwritten(const char* instance) {
  for (int cpu = 0; cpu < 1024; cpu++) {
    char path[128], text[1024];
    snprintf(path, sizeof path, "instances/%s/per_cpu/cpu%d/stats", instance, cpu);
    if (patchbay_read(path, text, sizeof text) < 0) return 0;
    const char* overrun = strstr(text, "overrun: ");
    if (overrun && atol(overrun + 9) > 0) return 1;
  }
  return 0;
}

int main(void) {
  static struct connection connection = {1, NULL};
  static struct storage storage;
  pthread_t thread;
  struct trace_array* storage_array = open_storage_buffer();
  if (!storage_array || open_trouble_buffer(&connection)) return fprintf(stderr, "no buffers\n"), 1;
  pthread_create(&thread, NULL, write_blocks, &storage);
  send_packets(100);
  lost(&connection);
  reconnect(&connection, &storage.blocks);
  send_packets(100);
  for (long before = storage.blocks; storage.blocks < before + 20000;) sched_yield();
  storage.stop = 1;
  pthread_join(thread, NULL);

  const char* snapshot = "instances/reconnect/snapshot";
  printf("reconnect: %d attempts, %d in the snapshot, %d of others\n", ATTEMPTS,
         count_lines(snapshot, "attempt: number="),
         count_lines(snapshot, "block:") + count_lines(snapshot, "packet:"));
  printf("reconnect: %s\n", count_lines(snapshot, "lost") == 1 && count_lines(snapshot, "back") == 1
                                ? "from its beginning to its end"
                                : "not whole");
  printf("storage: its own buffer was %s\n",
         was_overwritten("storage") ? "overwritten" : "not even full");
  trace_array_put(storage_array);
  trace_array_put(connection.trouble);
  return trace_array_destroy(storage_array) || trace_array_destroy(connection.trouble);
}
