// SPDX-License-Identifier: MIT
//
// An open file whose operations stand behind a pointer, as in the kernel's struct file.
//
//   patchbay record -e 'vfs_read_(symbol read+40[0]+16)' -- ./file_ops
//
// follows file + 40 to the operations and prints the function at 16 behind them by its name; the
// second file has no such function and shows (null).
#include <cstddef>
#include <cstdio>

struct File;
struct FileOperations {
  void* owner;
  long (*seek)(File*, long);
  long (*read)(File*, char*, size_t);
};
struct File {
  char inode[40];
  const FileOperations* operations;
  long position;
};
static_assert(offsetof(File, operations) == 40 && offsetof(FileOperations, read) == 16);

extern "C" {
[[gnu::noinline]] long tty_read(File* file, char* buffer, size_t size) {
  if (size > 0) buffer[0] = 't';
  return file->position += static_cast<long>(size);
}

[[gnu::noinline]] long vfs_read_(File* file, char* buffer, size_t size) {
  asm volatile("" ::: "memory");
  if (file->operations->read == nullptr) return -22;
  return file->operations->read(file, buffer, size);
}

[[gnu::noinline]] long vfs_read(File* file, char* buffer, size_t size) {
  long result = vfs_read_(file, buffer, size);
  asm volatile("" : "+r"(result)::"memory");
  return result;
}
}

int main() {
  const FileOperations tty{nullptr, nullptr, tty_read};
  const FileOperations silent{nullptr, nullptr, nullptr};
  File terminal{{}, &tty, 0};
  File quiet{{}, &silent, 0};
  char buffer[64];
  long a = vfs_read(&terminal, buffer, 10);
  long b = vfs_read(&quiet, buffer, 10);
  long c = vfs_read(&terminal, buffer, 20);
  std::printf("file_ops: %ld %ld %ld\n", a, b, c);
  return 0;
}
