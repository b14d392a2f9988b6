// SPDX-License-Identifier: MIT
#include "cmd/view/loopback_server.h"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace patchbay::cmd {

Result<std::unique_ptr<LoopbackServer>> LoopbackServer::start(uint16_t port, Answer answer) {
  std::string token = random_token();
  if (token.empty()) return sys_error("getrandom", errno);
  std::unique_ptr<LoopbackServer> server(new LoopbackServer(std::move(answer), std::move(token)));
  PB_ASSIGN(server->server_,
            WebServer::start({.port = port}, [own = server.get()](const HttpRequest& request) {
              return own->answer(request);
            }));
  const std::string behind = ":" + std::to_string(server->server_->port());
  server->hosts_[0] = "127.0.0.1" + behind;
  server->hosts_[1] = "localhost" + behind;
  server->url_ = "http://" + server->hosts_[0] + "/" + server->token_ + "/";
  return server;
}

HttpAnswer LoopbackServer::answer(const HttpRequest& request) const {
  const bool is_host = request.host && (hosts_[0] == request.host || hosts_[1] == request.host);
  const std::string_view path = request.path;
  const std::string_view given = path.substr(0, std::min(path.size(), token_.size() + 1));
  if (request.method != "GET" && request.method != "HEAD")
    return {405, "text/plain; charset=utf-8", "Only GET is answered.\n"};
  if (is_host && is_same_secret(given, "/" + token_) && path.size() > given.size())
    return answer_(path.substr(given.size()));
  return {404, "text/plain; charset=utf-8", "There is nothing here.\n"};
}

}  // namespace patchbay::cmd
