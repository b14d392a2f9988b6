// SPDX-License-Identifier: MIT
// Processes that fork when they are told to, for tests/scripts/attach_forked.py:
//   forks FOLDER    FOLDER has a fifo NAME.in for each process; the first one is called "first"
// Each line of its fifo is a command; its answer, with its process id, goes behind FOLDER/NAME.out:
//   fork NAME    a child reads NAME.in from here on
//   let NAME     the same, but the child outlives this process
//   leave        this process ends with status 7, and waits for nobody
//   exec         this process becomes `sleep`
//   work N       calls tick() N times
//   spin         a thread calls tock() until the end
//   thread N     as work, in a thread made for it
//   end          all threads end, and the process with status 7; a child is waited for before
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const char* folder;
static FILE *in, *out;
static atomic_int ends;
static pthread_t spinner;
static int spins;

__attribute__((noinline)) int tick(int n) {
  __asm__ volatile("" : "+r"(n));
  return n;
}
__attribute__((noinline)) int tock(int n) {
  __asm__ volatile("" : "+r"(n));
  return n;
}

static void* spin(void* unused) {
  (void)unused;
  for (int n = 0; !atomic_load(&ends); n++)
    if (tock(n) != n) abort();
  return 0;
}
static void* work(void* count) {
  for (int n = 0; n < (int)(long)count; n++)
    if (tick(n) != n) abort();
  return 0;
}

static FILE* open_file(const char* name, const char* end, const char* mode) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s.%s", folder, name, end);
  FILE* file = fopen(path, mode);
  if (!file) perror(path), abort();
  return file;
}
static void become(const char* name) {
  in = open_file(name, "in", "r+");
  out = open_file(name, "out", "a");
  setvbuf(out, 0, _IOLBF, BUFSIZ);
  fprintf(out, "ready %d\n", (int)getpid());
}

// In the child, whose first answer is "ready", 0.
static pid_t do_fork(const char* name, int outlives) {
  const pid_t child = fork();
  if (child < 0) abort();
  if (child) {
    fprintf(out, "forked %d\n", (int)child);
    return child;
  }
  if (!outlives) prctl(PR_SET_PDEATHSIG, SIGKILL);
  spins = 0;
  become(name);
  return 0;
}
static void do_thread(long count) {
  pthread_t thread;
  if (pthread_create(&thread, 0, work, (void*)count) != 0 || pthread_join(thread, 0) != 0) abort();
}
static int do_end(void) {
  int status = 0, bad = 0;
  atomic_store(&ends, 1);
  if (spins) pthread_join(spinner, 0);
  while (wait(&status) > 0) bad += status != 7 << 8 && status != SIGKILL;
  fprintf(out, "ended %d\n", bad);
  return bad ? 1 : 7;
}

int main(int argc, char** argv) {
  char line[256], word[64], argument[128];
  if (argc != 2) return 2;
  folder = argv[1];
  become("first");
  while (fgets(line, sizeof line, in)) {
    argument[0] = '\0';
    if (sscanf(line, "%63s %127s", word, argument) < 1) continue;
    if (strcmp(word, "fork") == 0 && !do_fork(argument, 0)) continue;
    if (strcmp(word, "let") == 0 && !do_fork(argument, 1)) continue;
    if (strcmp(word, "leave") == 0) return 7;
    if (strcmp(word, "exec") == 0) return execlp("sleep", "sleep", "600", (char*)0);
    if (strcmp(word, "spin") == 0) spins = pthread_create(&spinner, 0, spin, 0) == 0;
    if (strcmp(word, "work") == 0) work((void*)atol(argument));
    if (strcmp(word, "thread") == 0) do_thread(atol(argument));
    if (strcmp(word, "end") == 0) return do_end();
    fprintf(out, "did %s\n", word);
  }
  return 3;
}
