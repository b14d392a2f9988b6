// SPDX-License-Identifier: MIT
#include "cmd/common/peer_uid.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/testing.h"
#include "base/unique_fd.h"

namespace patchbay::cmd {
namespace {

// A listening socket at a port of the kernel's choice; its address.
UniqueFd listening(int family, sockaddr_in6* address, socklen_t* size) {
  UniqueFd fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  *address = {};
  address->sin6_family = sa_family_t(family);
  *size = family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  auto* plain = reinterpret_cast<sockaddr*>(address);
  const bool is_open = fd.valid() && ::bind(fd.get(), plain, *size) == 0 &&
                       ::listen(fd.get(), 1) == 0 && ::getsockname(fd.get(), plain, size) == 0;
  return is_open ? std::move(fd) : UniqueFd();
}

// 0: the kernel names `uid` where it connects. 3: it names nobody.
int named(int family, uid_t uid) {
  sockaddr_in6 address;
  socklen_t size = 0;
  const UniqueFd server = listening(family, &address, &size);
  if (!server.valid()) return -1;
  const int status = test::status_of_child([&] {
    if (::geteuid() == 0 && ::setresuid(0, uid, 0) != 0) return 1;
    UniqueFd client(::socket(family, SOCK_STREAM, 0));
    if (::connect(client.get(), reinterpret_cast<sockaddr*>(&address), size) != 0) return 2;
    const UniqueFd accepted(::accept(server.get(), nullptr, nullptr));
    const std::optional<uid_t> found = uid_of_peer(accepted.get());
    return !found ? 3 : *found == uid ? 0 : 4;
  });
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(PeerUid, IsOfTheProcessThatHasConnected) {
  const uid_t other = ::geteuid() == 0 ? 65534 : ::geteuid();
  const int by_four = named(AF_INET, ::geteuid());
  if (by_four == 3) GTEST_SKIP() << "the kernel has no tcp_diag";
  EXPECT_EQ(by_four, 0);
  EXPECT_EQ(named(AF_INET, other), 0);
  // Without IPv6 nobody connects; the wrong one would be 4.
  EXPECT_NE(named(AF_INET6, other), 4);
  EXPECT_FALSE(uid_of_peer(-1));
  EXPECT_FALSE(uid_of_peer(0));
}

}  // namespace
}  // namespace patchbay::cmd
