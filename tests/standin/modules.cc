// SPDX-License-Identifier: MIT
#include "modules.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "local_socket.h"

namespace standin {
namespace {

constexpr int kMaxModules = 8;
struct Module {
  char name[64];
  void* handle;
};
Module loaded[kMaxModules];  // of the thread that serves

struct Request {
  bool load;
  char name[64];
};

Module* find_module(const char* name) {
  for (Module& module : loaded)
    if (module.handle && strcmp(module.name, name) == 0) return &module;
  return nullptr;
}

int load_module(const char* name) {
  char program[4096], path[4096 + 80];
  const ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
  if (length < 0) return errno;
  program[length] = 0;
  *strrchr(program, '/') = 0;
  snprintf(path, sizeof(path), "%s/modules/%s", program, name);
  for (Module& module : loaded) {
    if (module.handle) continue;
    module.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!module.handle) return fprintf(stderr, "standin: %s\n", dlerror()), ENOENT;
    strcpy(module.name, name);
    return 0;
  }
  return ENOSPC;
}

// Loaded twice is loaded, unloaded twice is not: as modprobe and rmmod see it.
int change(const Request& request) {
  Module* module = find_module(request.name);
  if (request.load) return module ? 0 : load_module(request.name);
  if (!module) return ENOENT;
  dlclose(module->handle);
  module->handle = nullptr;
  return 0;
}

void serve_one(int connection) {
  Request request = {};
  int error = EPROTO;
  if (recv(connection, &request, sizeof(request), MSG_WAITALL) == sizeof(request)) {
    request.name[sizeof(request.name) - 1] = 0;
    error = strchr(request.name, '/') ? EINVAL : change(request);
  }
  send(connection, &error, sizeof(error), MSG_NOSIGNAL);
  close(connection);
}

int ask(const char* socket_path, const Request& request) {
  const int fd = connect_to(socket_path);
  if (fd < 0) return errno;
  int error = 0;
  if (send(fd, &request, sizeof(request), MSG_NOSIGNAL) != sizeof(request)) error = errno;
  if (!error && recv(fd, &error, sizeof(error), MSG_WAITALL) != sizeof(error)) error = EPROTO;
  close(fd);
  return error;
}

}  // namespace

bool serve_modules_at(const char* socket_path) {
  const int listener = listen_at(socket_path);
  return listener >= 0 && serve_each(listener, serve_one);
}

int change_module(const char* socket_path, const char* how, const char* name) {
  Request request = {};
  request.load = strcmp(how, "load") == 0;
  if (strlen(name) >= sizeof(request.name)) return 2;
  strcpy(request.name, name);
  for (char* at = request.name; *at; at++)
    if (*at == '-') *at = '_';
  const int error = ask(socket_path, request);
  if (error) fprintf(stderr, "standin: %s %s: %s\n", how, name, strerror(error));
  return error != 0;
}

}  // namespace standin
