// SPDX-License-Identifier: MIT
//
// Opens files through libc: the event sits on a function of a library, its path is user memory.
//
//   patchbay record -e 'openat(int dfd, string path, x32 flags, x16 mode)' -- ./open_files
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

__attribute__((noinline)) int open_one(const char* path, int flags) {
  int fd = openat(AT_FDCWD, path, flags, 0);
  __asm__ volatile("" : "+r"(fd)::"memory");
  return fd;
}

int main(void) {
  int opened = 0;
  const char* paths[] = {"/proc/self/maps", "/dev/null", "/no/such/file"};
  for (int i = 0; i < 3; ++i) {
    int fd = open_one(paths[i], i == 0 ? 0x100 : 0);
    if (fd >= 0) {
      ++opened;
      close(fd);
    }
  }
  printf("open_files: opened %d of 3\n", opened);
  return 0;
}
