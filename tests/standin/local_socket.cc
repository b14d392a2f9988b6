// SPDX-License-Identifier: MIT
#include "local_socket.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace standin {
namespace {

struct Service {
  int listener;
  void (*serve)(int connection);
};

bool name_socket(const char* path, sockaddr_un* address) {
  *address = {};
  address->sun_family = AF_UNIX;
  if (strlen(path) >= sizeof(address->sun_path)) {
    errno = ENAMETOOLONG;
    return false;
  }
  strcpy(address->sun_path, path);
  return true;
}

int open_socket(const char* path, sockaddr_un* address) {
  return name_socket(path, address) ? socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) : -1;
}

void* accept_each(void* argument) {
  const Service service = *static_cast<Service*>(argument);
  free(argument);
  for (;;) {
    const int connection = accept4(service.listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection >= 0) service.serve(connection);
  }
  return nullptr;
}

}  // namespace

int listen_at(const char* path) {
  sockaddr_un address;
  const int fd = open_socket(path, &address);
  if (fd < 0) return -1;
  unlink(path);
  if (bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0 && listen(fd, 1) == 0)
    return fd;
  close(fd);
  return -1;
}

int connect_to(const char* path) {
  sockaddr_un address;
  const int fd = open_socket(path, &address);
  if (fd < 0 || connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0) return fd;
  const int error = errno;
  close(fd);
  errno = error;
  return -1;
}

bool serve_each(int listener, void (*serve)(int connection)) {
  auto* service = static_cast<Service*>(malloc(sizeof(Service)));  // no C++ library in a kernel
  if (!service) return false;
  *service = {listener, serve};
  pthread_t thread;
  errno = pthread_create(&thread, nullptr, accept_each, service);
  if (errno) return false;
  pthread_detach(thread);
  return true;
}

}  // namespace standin
