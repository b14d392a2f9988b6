// SPDX-License-Identifier: MIT
// What the programs of tests/attach share. Each has one nasty property and is run twice: alone, and
// while an agent comes and goes (tests/scripts/attach_cases.py). So that both runs can print the
// same, nothing here counts how long a program ran:
//   ready\n      on stderr, as soon as it is in its state
//   a byte       on stdin, or its end: the program checks itself, prints and ends
//   CALL: ERRNO… on stdout, for each call with a name which answers it gave, each once
//   wrong: N     and each sentence of wrong(): what should never be seen. Exit status 1 then.
//   77           exit status where the machine does not offer what the case needs
#pragma once

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define UNUSED __attribute__((unused))

enum { kAnswers = 64, kNoSuchThing = 77 };
struct answer {
  const char* call;
  int error;
};
static struct answer case_answers[kAnswers];
static int case_answer_count, case_wrong_count;
static pthread_mutex_t case_lock = PTHREAD_MUTEX_INITIALIZER;

// note(CALL, 0 or ERRNO): kept once a pair. Returns the errno.
UNUSED static int note(const char* call, int error) {
  pthread_mutex_lock(&case_lock);
  int at = 0;
  while (at < case_answer_count && (case_answers[at].error != error ||
                                    strcmp(case_answers[at].call, call) != 0))
    at++;
  if (at == case_answer_count && at < kAnswers) {
    case_answers[at].call = call;
    case_answers[at].error = error;
    case_answer_count++;
  }
  pthread_mutex_unlock(&case_lock);
  return error;
}
// The same for a call that answers -1 and sets errno.
UNUSED static long noted(const char* call, long result) {
  note(call, result < 0 ? errno : 0);
  return result;
}

UNUSED __attribute__((format(printf, 1, 2))) static void wrong(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  pthread_mutex_lock(&case_lock);
  if (case_wrong_count++ < 10) {
    char line[256];
    int size = vsnprintf(line, sizeof line - 1, format, arguments);
    if (size > (int)sizeof line - 2) size = (int)sizeof line - 2;
    line[size] = '\n';
    if (write(STDOUT_FILENO, line, (size_t)size + 1) < 0) abort();
  }
  pthread_mutex_unlock(&case_lock);
  va_end(arguments);
}

static int compare_answers(const void* a, const void* b) {
  const struct answer *x = (const struct answer*)a, *y = (const struct answer*)b;
  int order = strcmp(x->call, y->call);
  return order ? order : x->error - y->error;
}
// The last that main() does: the log, and its exit status.
UNUSED static int finish(void) {
  qsort(case_answers, (size_t)case_answer_count, sizeof case_answers[0], compare_answers);
  for (int i = 0; i < case_answer_count; i++) {
    int error = case_answers[i].error;
    printf("%s: %s\n", case_answers[i].call, error ? strerrorname_np(error) : "ok");
  }
  printf("wrong: %d\n", case_wrong_count);
  fflush(stdout);
  return case_wrong_count ? 1 : 0;
}

UNUSED static void ready(void) {
  if (write(STDERR_FILENO, "ready\n", 6) != 6) abort();
}
UNUSED static void not_offered(const char* what) {
  fprintf(stderr, "not offered here: %s: %s\n", what, strerror(errno));
  exit(kNoSuchThing);
}

// Is there a byte on stdin, or its end?
UNUSED static int told(void) {
  struct pollfd in = {STDIN_FILENO, POLLIN, 0};
  return poll(&in, 1, 0) != 0;
}
UNUSED static void wait_until_told(void) {
  char byte;
  noted("read of stdin", read(STDIN_FILENO, &byte, 1));
}

UNUSED static long long now_us(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000LL + time.tv_nsec / 1000;
}
// A wait that began at `since` must not have ended before its time. A clock's tick is allowed.
UNUSED static void check_time(const char* call, long long since, long long least_us) {
  long long took = now_us() - since;
  if (took < least_us - 1000) wrong("%s took %lld us instead of %lld", call, took, least_us);
}

// Memory that a child shares.
UNUSED static void* shared_memory(size_t size) {
  void* memory = mmap(0, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) abort();
  return memory;
}
// A child that reads stdin and calls wake(): the program itself has a single thread and does not
// look at stdin. Returns its pid. It ends with the program.
UNUSED static pid_t wake_by_child(void (*wake)(pid_t parent)) {
  pid_t parent = getpid(), child = fork();
  if (child != 0) return child;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  char byte;
  while (read(STDIN_FILENO, &byte, 1) < 0 && errno == EINTR) {}
  wake(parent);
  _exit(7);
}
UNUSED static void end_child(pid_t child) {
  int status = 0;
  if (noted("waitpid", waitpid(child, &status, 0)) != child || status != 7 << 8)
    wrong("the child ended with %#x", status);
}

// A word of the command line, and what it runs.
struct word {
  const char* name;
  void (*run)(const char* argument);
};
UNUSED static int run_word(const struct word* words, int argc, char** argv) {
  setvbuf(stdout, 0, _IOFBF, BUFSIZ);
  for (; argc > 1 && words->name; words++) {
    if (strcmp(words->name, argv[1]) != 0) continue;
    words->run(argc > 2 ? argv[2] : "");
    return finish();
  }
  fprintf(stderr, "usage: a word, see the source\n");
  return 2;
}
