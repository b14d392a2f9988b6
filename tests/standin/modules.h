// SPDX-License-Identifier: MIT
//
// Modules: libraries beside the stand-in (modules/NAME), which it loads and unloads when somebody
// asks at a socket, as modprobe and rmmod ask a kernel.
#pragma once

namespace standin {

// Listens at this socket. False: errno says why.
bool serve_modules_at(const char* socket);

// The other side: `how` is "load" or "unload". Returns what to exit with, after a message.
int change_module(const char* socket, const char* how, const char* name);

}  // namespace standin
