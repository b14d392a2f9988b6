// SPDX-License-Identifier: MIT
//
// What a tracer sees of another task that stands still.
#pragma once

#include <stddef.h>
#include <sys/types.h>

namespace standin {

// Returns how many bytes could be read.
size_t peek_bytes(pid_t pid, unsigned long address, char* to, size_t size);
// A text with its NUL, cut to fit; empty when it cannot be read.
void peek_string(pid_t pid, unsigned long address, char* to, size_t room);
// The name behind an open descriptor, empty if there is none.
void peek_file_name(pid_t pid, unsigned fd, char* to, size_t room);
// The program it runs.
void peek_program(pid_t pid, char* to, size_t room);
// False, and nothing changed: there is no such task.
bool peek_comm(pid_t pid, char (&comm)[16]);
// As a kernel counts: 100 to 139 by the nice value, below for a real-time task.
int peek_priority(pid_t pid);

}  // namespace standin
