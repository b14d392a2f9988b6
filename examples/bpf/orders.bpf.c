// SPDX-License-Identifier: MIT
//
// What the kernel runs at each hit of the probe orders:sold: counts by customer, counts by stack,
// and a ring buffer with the orders above a price. watch_orders.c loads it.
#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/usdt.bpf.h>

#include "orders_abi.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

const volatile long least_price = 990;  // of what goes into the ring buffer

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 1024);
  __type(key, struct customer_key);
  __type(value, struct customer_sums);
} by_customer SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_STACK_TRACE);
  __uint(max_entries, 1024);
  __uint(key_size, sizeof(__u32));
  __uint(value_size, kMostFrames * sizeof(__u64));
} stacks SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 1024);
  __type(key, __s32);  // the id of a stack
  __type(value, __u64);
} by_stack SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 1 << 20);
} dear SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, __u64);
} lost SEC(".maps");  // orders that the ring buffer had no room for

SEC("usdt")
int BPF_USDT(on_sold, int item, long price, const char *customer) {
  struct customer_key key = {};
  struct customer_sums none = {}, *sums;
  __u32 zero = 0;
  __u64 *count, first = 0;
  bpf_probe_read_user_str(key.name, sizeof key.name, customer);
  sums = bpf_map_lookup_elem(&by_customer, &key);
  if (!sums) {
    bpf_map_update_elem(&by_customer, &key, &none, BPF_NOEXIST);
    sums = bpf_map_lookup_elem(&by_customer, &key);
  }
  if (sums) {
    __sync_fetch_and_add(&sums->orders, 1);
    __sync_fetch_and_add(&sums->takings, price);
  }
  __s32 stack = (__s32)bpf_get_stackid(ctx, &stacks, BPF_F_USER_STACK);
  count = bpf_map_lookup_elem(&by_stack, &stack);
  if (!count) {
    bpf_map_update_elem(&by_stack, &stack, &first, BPF_NOEXIST);
    count = bpf_map_lookup_elem(&by_stack, &stack);
  }
  if (count) __sync_fetch_and_add(count, 1);
  if (price < least_price) return 0;
  struct dear_order *order = bpf_ringbuf_reserve(&dear, sizeof *order, 0);
  if (!order) {
    count = bpf_map_lookup_elem(&lost, &zero);
    if (count) __sync_fetch_and_add(count, 1);
    return 0;
  }
  order->item = item;
  order->price = price;
  __builtin_memcpy(order->customer, key.name, sizeof order->customer);
  bpf_ringbuf_submit(order, 0);
  return 0;
}
