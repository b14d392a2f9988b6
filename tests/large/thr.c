// SPDX-License-Identifier: MIT
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static void *body(void *a) {
  for (int i = 0; i < 100; i++) free(malloc(i + 1));
  if ((long)a % 3 == 0) pthread_exit(a);
  return a;
}
int main(void) {
  for (int round = 0; round < 20; round++) {
    pthread_t t[100];
    for (long i = 0; i < 100; i++) pthread_create(&t[i], 0, body, (void *)i);
    for (int i = 0; i < 100; i++) pthread_join(t[i], 0);
  }
  puts("ok");
  return 3;
}
