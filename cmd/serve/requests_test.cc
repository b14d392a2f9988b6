// SPDX-License-Identifier: MIT
#include "cmd/serve/requests.h"

#include <gtest/gtest.h>

#include <string>

#include "cmd/serve/attach_rules.h"

namespace patchbay::cmd {
namespace {

TEST(ServeRequests, Addresses) {
  const struct {
    const char *text, *want;
  } cases[] = {{"9797", "127.0.0.1:9797"},
               {"127.0.0.1:0", "127.0.0.1:0"},
               {"[::1]:1", "[::1]:1"},
               {"localhost:2", "127.0.0.1:2"},
               {"0.0.0.0:3", "0.0.0.0:3"},
               {"::1:3", ""},
               {"host:3", ""},
               {"127.0.0.1", ""},
               {"127.0.0.1:65536", ""},
               {"127.0.0.1:-1", ""},
               {"[127.0.0.1]:1", ""},
               {"", ""}};
  for (const auto& one : cases) {
    Result<ListenAddress> listen = parse_listen(one.text);
    EXPECT_EQ(listen.ok() ? listen->text() : "", one.want) << one.text;
  }
  EXPECT_FALSE(parse_listen("0.0.0.0:1")->is_loopback());
  EXPECT_FALSE(parse_listen("[::]:1")->is_loopback());
  EXPECT_TRUE(parse_listen("127.9.9.9:1")->is_loopback());
}

TEST(ServeRequests, AlertsOfAlertmanager) {
  Result<std::vector<Alert>> alerts = parse_alerts(
      R"({"version": "4", "status": "firing", "x": [1, {"y": null}], "alerts": [
         {"status": "firing", "labels": {"pid": "12", "a\u00e4": "\"b\n"}, "startsAt": "now"},
         {"labels": {}, "status": "resolved"}]})");
  ASSERT_TRUE(alerts.ok());
  ASSERT_EQ(alerts->size(), 2u);
  EXPECT_TRUE((*alerts)[0].is_firing);
  EXPECT_EQ((*alerts)[0].labels["pid"], "12");
  EXPECT_EQ((*alerts)[0].labels["a\xc3\xa4"], "\"b\n");
  EXPECT_FALSE((*alerts)[1].is_firing);
  for (const char* bad :
       {"", "[]", "{", "{}", "{\"alerts\": 1}", "{\"alerts\": [}", "{\"alerts\": []",
        "{\"alerts\": []} x", "{\"alerts\": [{\"status\": \"fir", "\"alerts\""})
    EXPECT_FALSE(parse_alerts(bad).ok()) << bad;
  const std::string deep = "{\"alerts\": " + std::string(100000, '[');
  EXPECT_FALSE(parse_alerts(deep).ok());
}

TEST(ServeRequests, WhatAnAlertDoes) {
  EXPECT_EQ(parse_alert_action("snapshot, keep 3")->keep, 3u);
  EXPECT_EQ(parse_alert_action("snapshot")->keep, 10u);
  for (const char* bad : {"", "keep 3", "snapshot, keep 0", "snapshot keep 3", "run x"})
    EXPECT_FALSE(parse_alert_action(bad).ok()) << bad;
}

ServedThings things_with(const std::string& token) {
  ServedThings things;
  things.token = token;
  things.targets = [] { return targets_json("127.0.0.1:1", true); };
  things.metrics = [](const std::string&, Format) {
    return std::make_shared<const std::string>("m 1\n");
  };
  return things;
}

TEST(ServeRequests, WhoMayAsk) {
  const std::string token = "0123456789abcdef";
  const struct {
    const char *method, *path, *host, *authorization;
    bool has_token;
    unsigned status;
  } cases[] = {
      {"GET", "/metrics", "127.0.0.1:1", nullptr, false, 200},
      {"GET", "/metrics", "localhost:1", nullptr, false, 200},
      {"GET", "/metrics", "[::1]:1", nullptr, false, 200},
      {"GET", "/metrics", "evil.example:1", nullptr, false, 403},
      {"GET", "/metrics", nullptr, nullptr, false, 403},
      {"GET", "/sd", "127.0.0.1:1", nullptr, false, 200},
      {"GET", "/nothing", "127.0.0.1:1", nullptr, false, 404},
      {"DELETE", "/metrics", "127.0.0.1:1", nullptr, false, 405},
      {"POST", "/alert", "127.0.0.1:1", nullptr, false, 401},
      {"POST", "/alert", "127.0.0.1:1", "Bearer ", false, 401},
      {"GET", "/metrics", "any", nullptr, true, 401},
      {"GET", "/metrics", "any", "Bearer 0123456789abcdef", true, 200},
      {"GET", "/metrics", "any", "Bearer 0123456789abcdeF", true, 401},
      {"GET", "/metrics", "any", "Bearer 0123456789abcde", true, 401},
      {"GET", "/metrics", "any", "Basic 0123456789abcdef", true, 401},
      {"GET", "/-/healthy", "any", nullptr, true, 200},
      {"POST", "/alert", "any", "Bearer 0123456789abcdef", true, 404},
  };
  for (const auto& one : cases) {
    HttpRequest request;
    request.method = one.method;
    request.path = one.path;
    request.host = one.host;
    request.authorization = one.authorization;
    EXPECT_EQ(answer_request(request, things_with(one.has_token ? token : "")).status, one.status)
        << one.path << " " << (one.authorization ? one.authorization : "");
  }
}

std::string rules_of(std::string_view text) {
  Result<DaemonConf> conf = parse_daemon_conf("f", text);
  if (!conf.ok()) return conf.error().message();
  Result<std::vector<AttachRule>> rules = attach_rules(*conf);
  if (!rules.ok()) return rules.error().message();
  std::string all;
  for (const AttachRule& rule : *rules)
    all += rule.place + " " + std::to_string(rule.exes.size() + rule.services.size()) + " " +
           std::to_string(rule.request.instances().front().events.size()) + " " +
           std::to_string(rule.histograms.size()) + "\n";
  return all;
}

TEST(ServeRequests, Rules) {
  EXPECT_EQ(rules_of("[serve]\nlisten = 1\n[attach]\nexe = /bin/x*\nservice = y\nevent = f(int a)\n"
                     "filter = a > 1\nhistogram = f(int a) keys=a\n"),
            "f:3 2 1 1\n");
  EXPECT_EQ(rules_of("[attach]\nexe = x\n"),
            "f:2: exe takes the path of a program, which may be a glob: /usr/sbin/nginx.\n"
            "  exe = x\n        ^");
  EXPECT_EQ(rules_of("[attach]\nevent = x\n"), "f:1: The rule names no service, cgroup or exe.");
  EXPECT_EQ(rules_of("[attach]\nexe = /x\n"), "f:1: The rule names no event and no histogram.");
  EXPECT_EQ(rules_of("[attach]\nexe = /x\nhistogram = f(int a)\n"),
            "f:3: An event and what to count by are needed: malloc(u64 size) keys=size.log2.\n"
            "  histogram = f(int a)\n              ^");
}

}  // namespace
}  // namespace patchbay::cmd
