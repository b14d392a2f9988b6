/* SPDX-License-Identifier: MIT
 *
 * One system call on one tracefs file, and its answer as a line: what `echo` hides (the count of a
 * short write, the errno of open, write and read) is what the sequences of this folder compare.
 *
 *   tracefs_call w FILE TEXT       write(2) of TEXT, opened as the shell's >>
 *   tracefs_call t FILE TEXT       the same, opened as the shell's > (O_TRUNC)
 *   tracefs_call fill FILE N [C]   write(2) of N bytes C (x)
 *   tracefs_call r FILE [SIZE]     the whole text, by reads of SIZE bytes
 *   tracefs_call p FILE            what a non-blocking reader gets, until it would block
 *   tracefs_call n FILE [SIZE]     the count of each of at most four non-blocking reads of SIZE
 *   tracefs_call o FILE MODE       open as r, w, rw, t (w, O_TRUNC) or c (w, O_CREAT)
 *   tracefs_call mkdir|rmdir|unlink|mode PATH      tracefs_call rename OLD NEW
 *
 * FILE &N is the shell's descriptor N. TEXT knows \n, \t, \\ and \xHH. The call is made on CPU 0,
 * so that per_cpu/cpu0 has the records. Plain C, no dependency: a static build of it also runs in
 * the kernel under test.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char* error_name(void) {
  const char* name = strerrorname_np(errno);
  return name ? name : "unknown errno";
}

static int open_file(const char* file, int flags) {
  return file[0] == '&' ? atoi(file + 1) : open(file, flags, 0644);
}

/* A text as it stands in the line of the answer: one line, at most 60 characters of it. */
static void print_text(const char* text, size_t length) {
  size_t shown = length > 60 ? 60 : length;
  putchar('"');
  for (size_t i = 0; i < shown; i++) {
    unsigned char c = (unsigned char)text[i];
    if (c == '\n')
      printf("\\n");
    else if (isprint(c))
      putchar(c);
    else
      printf("\\x%02x", c);
  }
  printf(shown < length ? "\"... (%zu)" : "\"", length);
}

static size_t unescape(const char* text, char* out) {
  size_t n = 0;
  for (; *text; text++) {
    if (*text != '\\' || !text[1]) {
      out[n++] = *text;
      continue;
    }
    text++;
    if (*text == 'x' && isxdigit((unsigned char)text[1]) && isxdigit((unsigned char)text[2])) {
      char hex[3] = {text[1], text[2], 0};
      out[n++] = (char)strtoul(hex, NULL, 16);
      text += 2;
    } else {
      out[n++] = *text == 'n' ? '\n' : *text == 't' ? '\t' : *text;
    }
  }
  return n;
}

static int write_once(const char* how, const char* file, const char* text, size_t length) {
  int fd = open_file(file, O_WRONLY | (how[0] == 't' ? O_TRUNC : O_APPEND));
  printf("%s %s ", how[0] == 't' ? ">" : ">>", file);
  print_text(text, length);
  if (fd < 0) {
    printf(": open %s\n", error_name());
    return 1;
  }
  ssize_t n = write(fd, text, length);
  if (n < 0)
    printf(": %s\n", error_name());
  else
    printf(": %zd\n", n);
  return n < 0;
}

/* Prints what it reads as it comes; a text that does not end in a newline is shown to do so. */
static int read_all(const char* file, int flags, size_t size) {
  static char bytes[1 << 20];
  int fd = open_file(file, O_RDONLY | flags), last = '\n';
  printf("< %s", file);
  if (fd < 0) {
    printf(": open %s\n", error_name());
    return 1;
  }
  putchar('\n');
  for (;;) {
    ssize_t n = read(fd, bytes, size);
    if (n > 0) {
      fwrite(bytes, 1, (size_t)n, stdout);
      last = bytes[n - 1];
      continue;
    }
    if (last != '\n') printf("(no newline)\n");
    if (n < 0) printf("read: %s\n", error_name());
    return n < 0;
  }
}

static int read_counts(const char* file, size_t size) {
  static char bytes[1 << 20];
  int fd = open_file(file, O_RDONLY | O_NONBLOCK);
  printf("< %s by %zu:", file, size);
  if (fd < 0) {
    printf(" open %s\n", error_name());
    return 1;
  }
  for (int i = 0; i < 4; i++) {
    ssize_t n = read(fd, bytes, size);
    if (n < 0)
      printf(" %s", error_name());
    else
      printf(" %zd", n);
    if (n <= 0) break;
  }
  putchar('\n');
  return 0;
}

static int open_only(const char* file, const char* mode) {
  int flags = strcmp(mode, "r") == 0    ? O_RDONLY
              : strcmp(mode, "rw") == 0 ? O_RDWR
              : strcmp(mode, "t") == 0  ? O_WRONLY | O_TRUNC
              : strcmp(mode, "c") == 0  ? O_WRONLY | O_CREAT
                                        : O_WRONLY;
  int fd = open(file, flags | O_NONBLOCK, 0644);
  printf("open %s %s: %s\n", file, mode, fd < 0 ? error_name() : "0");
  return fd < 0;
}

static int path_call(const char* what, const char* path, const char* other) {
  struct stat st;
  int result = -1;
  errno = EINVAL;
  if (strcmp(what, "mkdir") == 0) result = mkdir(path, 0755);
  if (strcmp(what, "rmdir") == 0) result = rmdir(path);
  if (strcmp(what, "unlink") == 0) result = unlink(path);
  if (strcmp(what, "rename") == 0 && other) result = rename(path, other);
  if (strcmp(what, "mode") == 0) result = stat(path, &st);
  printf("%s %s%s%s: ", what, path, other ? " " : "", other ? other : "");
  if (result != 0)
    printf("%s\n", error_name());
  else if (strcmp(what, "mode") == 0)
    printf("%06o\n", st.st_mode);
  else
    printf("0\n");
  return result != 0;
}

static int usage(void) {
  fprintf(stderr, "usage: tracefs_call w|t FILE TEXT | fill FILE N [C] | r|p|n FILE [SIZE] | "
                  "o FILE MODE | mkdir|rmdir|unlink|mode PATH | rename OLD NEW\n");
  return 2;
}

int main(int argc, char** argv) {
  static char text[1 << 21];
  cpu_set_t first;
  CPU_ZERO(&first);
  CPU_SET(0, &first);
  sched_setaffinity(0, sizeof(first), &first);
  if (argc < 3) return usage();
  const char *what = argv[1], *file = argv[2], *third = argc > 3 ? argv[3] : NULL;
  size_t number = third ? strtoul(third, NULL, 10) : 0;
  if ((what[0] == 'w' || what[0] == 't') && !what[1]) {
    if (!third || strlen(third) >= sizeof(text)) return usage();
    return write_once(what, file, text, unescape(third, text));
  }
  if (strcmp(what, "fill") == 0) {
    if (!third || number > sizeof(text)) return usage();
    memset(text, argc > 4 ? argv[4][0] : 'x', number);
    return write_once("w", file, text, number);
  }
  if (strcmp(what, "r") == 0) return read_all(file, 0, number ? number : 65536);
  if (strcmp(what, "p") == 0) return read_all(file, O_NONBLOCK, 65536);
  if (strcmp(what, "n") == 0) return read_counts(file, number ? number : 65536);
  if (strcmp(what, "o") == 0) return open_only(file, third ? third : "r");
  return path_call(what, file, third);
}
