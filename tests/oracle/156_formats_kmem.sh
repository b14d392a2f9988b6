# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
r events/kmem/kfree/format
r events/kmem/kmem_cache_free/format
# The names of the allocator's flags are the kernel's own affair.
for event in kmalloc kmem_cache_alloc; do
  r events/kmem/$event/format | grep -v 'print fmt'
done
