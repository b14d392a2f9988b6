// SPDX-License-Identifier: MIT
#include "cmd/serve/requests.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cerrno>

#include "base/foreign_file.h"
#include "base/secret_file.h"
#include "base/text.h"
#include "cmd/common/commands.h"

namespace patchbay::cmd {
namespace {

constexpr size_t kLeastSecret = 16, kMostSecret = 4096, kMostPem = 1 << 20;

bool is_address(const std::string& text) {
  in6_addr bytes;
  return ::inet_pton(AF_INET, text.c_str(), &bytes) == 1 ||
         ::inet_pton(AF_INET6, text.c_str(), &bytes) == 1;
}

// "[::1]:9797" -> "::1"; "localhost:9797" -> "localhost".
std::string host_name(std::string_view host) {
  if (host.starts_with('[')) return std::string(host.substr(1, host.find(']') - 1));
  return std::string(host.substr(0, host.rfind(':')));
}

HttpAnswer plain(unsigned status, std::string text) {
  return {status, "text/plain; charset=utf-8", std::move(text)};
}

bool has_token(const HttpRequest& request, const std::string& token) {
  constexpr std::string_view kBearer = "Bearer ";
  const std::string_view given = request.authorization ? request.authorization : "";
  return !token.empty() && given.starts_with(kBearer) &&
         is_same_secret(given.substr(kBearer.size()), token);
}

HttpAnswer answer_alert(const HttpRequest& request, const ServedThings& things) {
  if (!things.alert) return plain(404, "There is no --on-alert.\n");
  if (request.method != "POST") return plain(405, "Alerts are posted.\n");
  Result<std::vector<Alert>> alerts = parse_alerts(request.untrusted_body);
  if (!alerts.ok()) return plain(400, alerts.error().message() + "\n");
  std::string text;
  const bool is_done = things.alert(*alerts, &text);
  return plain(is_done ? 200 : 500, text);
}

}  // namespace

bool ListenAddress::is_loopback() const { return address.starts_with("127.") || address == "::1"; }

std::string ListenAddress::text() const {
  const bool is_six = address.find(':') != address.npos;
  return (is_six ? "[" + address + "]" : address) + ":" + std::to_string(port);
}

Result<ListenAddress> parse_listen(std::string_view text) {
  const Error wrong =
      user_error(EINVAL, "--listen takes an address and a port: 127.0.0.1:9797, [::1]:9797, 9797.");
  ListenAddress listen;
  const size_t colon = text.rfind(':');
  if (!to_number(colon == text.npos ? text : text.substr(colon + 1), &listen.port)) return wrong;
  if (colon == text.npos) return listen;
  std::string_view address = text.substr(0, colon);
  const bool has_brackets = address.starts_with('[') && address.ends_with(']');
  if (has_brackets) address = address.substr(1, address.size() - 2);
  listen.address = address == "localhost" ? "127.0.0.1" : std::string(address);
  if ((listen.address.find(':') != listen.address.npos) != has_brackets ||
      !is_address(listen.address))
    return wrong;
  return listen;
}

Result<std::string> read_secret(const std::string& path) {
  PB_ASSIGN(const std::string text, read_secret_file(path, kMostSecret));
  const std::string_view secret = trim(text);
  const bool is_printable =
      std::all_of(secret.begin(), secret.end(), [](char c) { return c > ' ' && c < 0x7f; });
  if (secret.size() < kLeastSecret || !is_printable)
    return user_error(EINVAL, path +
                                  " has to have 16 or more printable characters, as "
                                  "`openssl rand -hex 16` makes them.");
  return std::string(secret);
}

Result<std::string> read_pem(const std::string& path, bool is_secret) {
  return is_secret ? read_secret_file(path, kMostPem) : read_foreign_file(path, kMostPem);
}

std::string targets_json(const std::string& address, bool has_tls) {
  return "[{\"targets\": [" + json_quote(address) + "], \"labels\": {" +
         (has_tls ? "\"__scheme__\": \"https\"" : "") + "}}]\n";
}

HttpAnswer answer_request(const HttpRequest& request, const ServedThings& things) {
  if (request.path == "/-/healthy") return plain(200, "patchbay serve is healthy.\n");
  const bool is_alert = request.path == "/alert";
  if ((!things.token.empty() || is_alert) && !has_token(request, things.token))
    return plain(401, "The header Authorization has to have the token: Bearer TOKEN.\n");
  if (things.token.empty()) {
    const std::string host = host_name(request.host ? request.host : "");
    if (host != "localhost" && !is_address(host))
      return plain(403, "Host has to be an address, or localhost.\n");
  }
  if (is_alert) return answer_alert(request, things);
  if (request.method != "GET" && request.method != "HEAD") return plain(405, "GET is answered.\n");
  if (request.path == "/metrics") {
    const Format format = format_of(request.accept);
    const std::string scraper =
        request.peer + " " +
        std::string(request.user_agent ? request.user_agent : "").substr(0, 64);
    HttpAnswer answer{200, content_type(format), "", things.metrics(scraper, format)};
    return answer;
  }
  if (request.path == "/sd") return {200, "application/json", things.targets()};
  if (request.path == "/")
    return plain(200,
                 "patchbay serve\n/metrics  for Prometheus\n/sd       for its http_sd\n"
                 "/alert    for its alertmanager, with --on-alert\n");
  return plain(404, "There is nothing here.\n");
}

}  // namespace patchbay::cmd
