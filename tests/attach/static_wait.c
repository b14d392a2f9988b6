// SPDX-License-Identifier: MIT
// Waits for a byte: built static, static-pie, with musl and with sanitizers (cases 57 to 59).
#include <stdio.h>
#include <unistd.h>

int main(void) {
  char byte;
  if (write(STDERR_FILENO, "ready\n", 6) != 6) return 1;
  if (read(STDIN_FILENO, &byte, 1) < 0) return 2;
  puts("done");
  return 0;
}
