// SPDX-License-Identifier: MIT
//
// What Prometheus' alertmanager posts to a webhook, taken apart:
//
//   {"version": "4", "status": "firing",
//    "alerts": [{"status": "firing", "labels": {"alertname": "Slow", "pid": "12"}, …}]}
//
// and what `--on-alert` says is done then: "snapshot, keep 10".
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace patchbay::cmd {

struct Alert {
  bool is_firing = false;
  std::map<std::string, std::string> labels;
};
// EINVAL: it is no JSON, or nothing like the above. At most 1000 alerts, and objects within objects
// to a depth of 32.
Result<std::vector<Alert>> parse_alerts(std::string_view untrusted_json);

struct AlertAction {
  bool snapshot = false;
  unsigned keep = 10;  // files
};
// EINVAL with a sentence.
Result<AlertAction> parse_alert_action(std::string_view text);

}  // namespace patchbay::cmd
