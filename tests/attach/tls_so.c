// SPDX-License-Identifier: MIT
// A library that uses up the room which libc keeps for thread-local data of libraries that come
// late (case 45).
__attribute__((tls_model("initial-exec"))) __thread char tls_bytes[1600];
char* tls_address(void);
char* tls_address(void) { return tls_bytes; }
