// SPDX-License-Identifier: MIT
// What orders.bpf.c and watch_orders.c share: keys and values of the maps, and what the ring buffer
// has. Both are compiled for 64 bits.
#pragma once

#include <linux/types.h>

enum { kNameBytes = 16, kMostFrames = 127 };

struct customer_key {
  char name[kNameBytes];  // the rest is 0: a key is compared byte for byte
};

struct customer_sums {
  __u64 orders;
  __s64 takings;
};

struct dear_order {
  __s64 price;
  __s32 item;
  char customer[kNameBytes];
};
