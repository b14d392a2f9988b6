// SPDX-License-Identifier: MIT
#include "cmd/common/peer_uid.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>

#include "base/unique_fd.h"

namespace patchbay::cmd {
namespace {

struct Question {
  nlmsghdr head;
  inet_diag_req_v2 body;
};

// An end of the connection, as sock_diag has it. An address of IPv4 in one of IPv6 is one of IPv4
// to whoever has connected by it.
sa_family_t take_end(const sockaddr_storage& end, __be16* port, __be32* address) {
  const auto& four = reinterpret_cast<const sockaddr_in&>(end);
  const auto& six = reinterpret_cast<const sockaddr_in6&>(end);
  if (end.ss_family == AF_INET) {
    *port = four.sin_port;
    *address = four.sin_addr.s_addr;
    return AF_INET;
  }
  *port = six.sin6_port;
  if (IN6_IS_ADDR_V4MAPPED(&six.sin6_addr)) {
    std::memcpy(address, six.sin6_addr.s6_addr + 12, sizeof *address);
    return AF_INET;
  }
  std::memcpy(address, six.sin6_addr.s6_addr, sizeof six.sin6_addr);
  return AF_INET6;
}

}  // namespace

std::optional<uid_t> uid_of_peer(int socket) {
  sockaddr_storage peer = {}, own = {};
  socklen_t peer_size = sizeof peer, own_size = sizeof own;
  if (::getpeername(socket, reinterpret_cast<sockaddr*>(&peer), &peer_size) != 0 ||
      ::getsockname(socket, reinterpret_cast<sockaddr*>(&own), &own_size) != 0)
    return std::nullopt;
  Question question = {};
  question.head = {sizeof question, SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST, 1, 0};
  inet_diag_sockid& id = question.body.id;
  question.body.sdiag_protocol = IPPROTO_TCP;
  question.body.idiag_states = ~uint32_t{0};
  question.body.sdiag_family = uint8_t(take_end(peer, &id.idiag_sport, id.idiag_src));
  (void)take_end(own, &id.idiag_dport, id.idiag_dst);
  id.idiag_cookie[0] = id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  const UniqueFd kernel(::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  alignas(nlmsghdr) char answer[4096];
  if (!kernel.valid() || ::send(kernel.get(), &question, sizeof question, 0) < 0)
    return std::nullopt;
  const ssize_t size = ::recv(kernel.get(), answer, sizeof answer, 0);
  const auto* head = reinterpret_cast<const nlmsghdr*>(answer);
  if (size < ssize_t(NLMSG_LENGTH(sizeof(inet_diag_msg))) ||
      head->nlmsg_type != SOCK_DIAG_BY_FAMILY)
    return std::nullopt;
  return static_cast<const inet_diag_msg*>(NLMSG_DATA(head))->idiag_uid;
}

}  // namespace patchbay::cmd
