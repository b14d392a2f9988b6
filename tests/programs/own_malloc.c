// SPDX-License-Identifier: MIT
// A program with malloc(), calloc(), realloc() and free() of its own, as glibc allows, and with no
// aligned_alloc(): libc's is there, and its own free() does not know what that gives. Its heap is
// the program break, which nobody else moves. It ends at the first block that is not its own, and
// where the break is not where its heap ends.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "traced.h"

enum { kHead = 16, kStep = 64 << 10 };
static const uint64_t kOurs = 0x70617463686261;
struct head {
  uint64_t magic, size;
};
static char *heap, *heap_used, *heap_end;

static void end(const char* said) {
  if (write(2, said, strlen(said)) < 0) _exit(78);
  _exit(77);
}
static int grow(size_t size) {
  const size_t step = (size + kStep - 1) & ~(size_t)(kStep - 1);
  char* more = sbrk((intptr_t)step);
  if (more == (char*)-1) return 0;
  if (heap && more != heap_end) end("own_malloc: somebody has moved the break\n");
  if (!heap) heap = heap_used = (char*)(((uintptr_t)more + kHead - 1) & ~(uintptr_t)(kHead - 1));
  heap_end = more + step;
  return 1;
}

#define PUBLIC __attribute__((visibility("default")))
PUBLIC void* malloc(size_t size) {
  const size_t whole = (size + 2 * kHead - 1) & ~(size_t)(kHead - 1);
  static int lock;
  if (whole < size) return NULL;
  while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE)) usleep(1);
  if ((size_t)(heap_end - heap_used) < whole && !grow(whole + kHead)) end("no memory\n");
  struct head* head = (struct head*)heap_used;
  heap_used += whole;
  __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
  head->magic = kOurs;
  head->size = size;
  return head + 1;
}
static struct head* head_of(void* memory) {
  struct head* head = (struct head*)((uintptr_t)memory - kHead);
  if ((char*)head < heap || (char*)head >= heap_end || head->magic != kOurs)
    end("own_malloc: a block of somebody else\n");
  return head;
}
PUBLIC void free(void* memory) {
  if (memory) head_of(memory)->magic = ~kOurs;
}
PUBLIC void* calloc(size_t count, size_t size) {  // what is never used again is zero
  size_t whole;
  return __builtin_mul_overflow(count, size, &whole) ? NULL : malloc(whole);
}
PUBLIC void* realloc(void* memory, size_t size) {
  void* larger = malloc(size);
  if (!memory || !larger) return larger;
  const size_t before = head_of(memory)->size;
  memcpy(larger, memory, before < size ? before : size);
  free(memory);
  return larger;
}

int main(void) {
  int sum = 0;
  for (int i = 0; i < 1000; i++) {
    char* text = malloc((size_t)i + 1);
    memset(text, 'x', (size_t)i);
    text = realloc(text, (size_t)i + 100);
    sum += traced(text[i / 2]);
    free(text);
  }
  printf("%d\n", sum);
  return 0;
}
