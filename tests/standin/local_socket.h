// SPDX-License-Identifier: MIT
// Sockets of the file system, between the stand-in and its helpers.
#pragma once

namespace standin {

// Each answers a descriptor, or -1 with errno.
int listen_at(const char* path);
int connect_to(const char* path);

// A thread that is called with each connection; false: errno.
bool serve_each(int listener, void (*serve)(int connection));

}  // namespace standin
