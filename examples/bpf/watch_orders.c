// SPDX-License-Identifier: MIT
//
// Loads orders.bpf.o, attaches it to the USDT probe of a program, and runs the program:
//
//   watch_orders OBJECT PROVIDER:NAME PROGRAM [ARG...]
//
//   customer NAME ORDERS TAKINGS      the map by argument text
//   stack COUNT FRAMES                the map by stack: how often, and how deep it is
//   dear ITEM PRICE CUSTOMER          the ring buffer, while the program runs
//   lost COUNT                        orders that the ring buffer had no room for
//
// It needs root, or CAP_BPF and CAP_PERFMON. What the program prints goes to standard error.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "orders_abi.h"

static int fail(const char *what) {
  fprintf(stderr, "watch_orders: %s: %s\n", what, strerror(errno));
  return 1;
}

static int take_dear(void *unused, void *data, size_t size) {
  const struct dear_order *order = data;
  (void)unused;
  if (size < sizeof *order) return 0;
  printf("dear %d %lld %.*s\n", order->item, (long long)order->price, kNameBytes, order->customer);
  return 0;
}

static int fd_of(const struct bpf_object *object, const char *map) {
  return bpf_object__find_map_fd_by_name(object, map);
}

static void print_customers(int map) {
  struct customer_key key, *last = NULL;
  struct customer_sums sums;
  for (; bpf_map_get_next_key(map, last, &key) == 0; last = &key)
    if (bpf_map_lookup_elem(map, &key, &sums) == 0)
      printf("customer %.*s %llu %lld\n", kNameBytes, key.name, (unsigned long long)sums.orders,
             (long long)sums.takings);
}

static void print_stacks(int counts, int stacks) {
  __s32 id, *last = NULL;
  __u64 count, frames[kMostFrames];
  for (; bpf_map_get_next_key(counts, last, &id) == 0; last = &id) {
    int depth = 0;
    memset(frames, 0, sizeof frames);
    if (id >= 0 && bpf_map_lookup_elem(stacks, &id, frames) == 0)
      while (depth < kMostFrames && frames[depth]) depth++;
    if (bpf_map_lookup_elem(counts, &id, &count) == 0)
      printf("stack %llu %d\n", (unsigned long long)count, depth);
  }
}

// Runs the program, and takes what comes until it has ended. Its status.
static int run(char **command, struct ring_buffer *ring) {
  int status = 0;
  const pid_t child = fork();
  if (child < 0) return fail("fork");
  if (child == 0) {
    dup2(STDERR_FILENO, STDOUT_FILENO);
    execvp(command[0], command);
    _exit(127);
  }
  while (waitpid(child, &status, WNOHANG) == 0) ring_buffer__poll(ring, 50);
  ring_buffer__consume(ring);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int argc, char **argv) {
  char provider[64] = "", name[64] = "";
  if (argc < 4 || sscanf(argv[2], "%63[^:]:%63s", provider, name) != 2) {
    fprintf(stderr, "usage: watch_orders OBJECT PROVIDER:NAME PROGRAM [ARG...]\n");
    return 2;
  }
  libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
  struct bpf_object *object = bpf_object__open_file(argv[1], NULL);
  if (!object) return fail(argv[1]);
  if (bpf_object__load(object) != 0) return fail("load");
  struct bpf_program *program = bpf_object__find_program_by_name(object, "on_sold");
  // Of all processes that run the file: -1.
  struct bpf_link *link =
      program ? bpf_program__attach_usdt(program, -1, argv[3], provider, name, NULL) : NULL;
  if (!link) return fail(argv[2]);
  struct ring_buffer *ring = ring_buffer__new(fd_of(object, "dear"), take_dear, NULL, NULL);
  if (!ring) return fail("ring buffer");
  const int status = run(argv + 3, ring);
  bpf_link__destroy(link);
  print_customers(fd_of(object, "by_customer"));
  print_stacks(fd_of(object, "by_stack"), fd_of(object, "stacks"));
  __u32 zero = 0;
  __u64 count = 0;
  if (bpf_map_lookup_elem(fd_of(object, "lost"), &zero, &count) == 0)
    printf("lost %llu\n", (unsigned long long)count);
  ring_buffer__free(ring);
  bpf_object__close(object);
  return status;
}
