// SPDX-License-Identifier: MIT
//
// What is asked of `patchbay serve`, and who may ask:
//
//   GET  /metrics    the series                    Bearer TOKEN; with --no-token Host has to be an
//   GET  /sd         http_sd: who serves here      address or localhost, so that no name of a
//   GET  /           what there is                 foreign page leads here
//   POST /alert      what alertmanager posts       Bearer TOKEN, always
//   GET  /-/healthy  that it runs                  anybody
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cmd/common/web_server.h"
#include "cmd/serve/alert_text.h"
#include "cmd/serve/metrics.h"

namespace patchbay::cmd {

struct ListenAddress {
  std::string address = "127.0.0.1";
  uint16_t port = 9797;
  bool is_loopback() const;
  std::string text() const;  // "127.0.0.1:9797", "[::1]:9797"
};
// "ADDRESS:PORT", "[ADDRESS]:PORT", "PORT". EINVAL with a sentence.
Result<ListenAddress> parse_listen(std::string_view text);

// A secret of a file: 16 to 4096 printable characters, without the line end. EPERM: others may read
// it, or it belongs to neither root nor us. EINVAL: it is too short, or no ordinary file.
Result<std::string> read_secret(const std::string& path);
// A file for the web server, of at most 1 MiB.
Result<std::string> read_pem(const std::string& path, bool is_secret);

struct ServedThings {
  std::string token;                     // empty: --no-token
  std::function<std::string()> targets;  // what /sd answers
  std::function<std::shared_ptr<const std::string>(const std::string& scraper, Format)> metrics;
  // Null: there is no such hook. Returns what is answered; false: nothing could be done.
  std::function<bool(const std::vector<Alert>&, std::string* answer)> alert;
};
HttpAnswer answer_request(const HttpRequest& request, const ServedThings& things);

// [{"targets": ["127.0.0.1:9797"], "labels": {…}}]: a file of file_sd, and what http_sd asks for.
std::string targets_json(const std::string& address, bool has_tls);

}  // namespace patchbay::cmd
