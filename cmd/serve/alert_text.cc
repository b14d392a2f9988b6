// SPDX-License-Identifier: MIT
#include "cmd/serve/alert_text.h"

#include <cerrno>
#include <functional>

#include "base/text.h"

namespace patchbay::cmd {
namespace {

constexpr int kMostDepth = 32;
constexpr size_t kMostAlerts = 1000, kMostLabels = 100;

void put_utf8(std::string* out, uint32_t code) {
  if (code < 0x80) {
    *out += char(code);
  } else if (code < 0x800) {
    *out += char(0xc0 | code >> 6);
    *out += char(0x80 | (code & 0x3f));
  } else {
    *out += char(0xe0 | code >> 12);
    *out += char(0x80 | (code >> 6 & 0x3f));
    *out += char(0x80 | (code & 0x3f));
  }
}

// A reader that takes values off the front. After a mistake is_wrong() stays true, and nothing more
// is taken.
class Json {
 public:
  explicit Json(std::string_view text) : rest_(text) {}
  bool is_wrong() const { return is_wrong_; }
  bool is_done() { return trim_front(rest_).empty(); }

  // Calls `field` for each member of an object; it takes the value.
  void object(const std::function<void(const std::string& name)>& field) {
    list('{', '}', [&] {
      const std::string name = string();
      expect(':');
      if (!is_wrong_) field(name);
    });
  }
  void array(const std::function<void()>& element) { list('[', ']', element); }
  bool is_next(char c) {
    rest_ = trim_front(rest_);
    return rest_.starts_with(c);
  }
  std::string string() {
    std::string text;
    expect('"');
    while (!is_wrong_) {
      if (rest_.empty() || static_cast<unsigned char>(rest_[0]) < ' ') break;
      const char c = take();
      if (c == '"') return text;
      if (c == '\\')
        escape(&text);
      else
        text += c;
    }
    is_wrong_ = true;
    return "";
  }
  // Any value, which is passed over.
  void skip() {
    if (is_next('{')) return object([this](const std::string&) { skip(); });
    if (is_next('[')) return array([this] { skip(); });
    if (is_next('"')) return void(string());
    size_t size = 0;
    while (size < rest_.size() && (is_name_char(rest_[size]) || rest_[size] == '-' ||
                                   rest_[size] == '+' || rest_[size] == '.'))
      size++;
    is_wrong_ |= size == 0;
    rest_.remove_prefix(size);
  }

 private:
  char take() {
    const char c = rest_[0];
    rest_.remove_prefix(1);
    return c;
  }
  void expect(char c) {
    if (is_wrong_ || !is_next(c))
      is_wrong_ = true;
    else
      (void)take();
  }
  void list(char open, char close, const std::function<void()>& element) {
    expect(open);
    is_wrong_ |= ++depth_ > kMostDepth;
    if (!is_wrong_ && is_next(close)) {
      (void)take();
      depth_--;
      return;
    }
    while (!is_wrong_) {
      element();
      if (!is_wrong_ && is_next(close)) break;
      expect(',');
    }
    expect(close);
    depth_--;
  }
  void escape(std::string* text) {
    constexpr std::string_view kFrom = "\"\\/bfnrt", kTo = "\"\\/\b\f\n\r\t";
    if (rest_.empty()) return void(is_wrong_ = true);
    const char c = take();
    if (const size_t at = kFrom.find(c); at != kFrom.npos) return void(*text += kTo[at]);
    uint32_t code = 0;
    if (c != 'u' || rest_.size() < 4 || !to_number(rest_.substr(0, 4), &code, 16))
      return void(is_wrong_ = true);
    rest_.remove_prefix(4);
    put_utf8(text, code);
  }

  std::string_view rest_;
  int depth_ = 0;
  bool is_wrong_ = false;
};

Alert take_alert(Json* json) {
  Alert alert;
  json->object([&](const std::string& name) {
    if (name == "status" && json->is_next('"')) {
      alert.is_firing = json->string() == "firing";
    } else if (name == "labels" && json->is_next('{')) {
      json->object([&](const std::string& label) {
        if (!json->is_next('"')) return json->skip();
        std::string value = json->string();
        if (alert.labels.size() < kMostLabels) alert.labels[label] = std::move(value);
      });
    } else {
      json->skip();
    }
  });
  return alert;
}

}  // namespace

Result<std::vector<Alert>> parse_alerts(std::string_view text) {
  std::vector<Alert> alerts;
  bool has_alerts = false;
  Json json(text);
  json.object([&](const std::string& name) {
    if (name != "alerts" || !json.is_next('[')) return json.skip();
    has_alerts = true;
    json.array([&] {
      Alert alert = take_alert(&json);
      if (alerts.size() < kMostAlerts) alerts.push_back(std::move(alert));
    });
  });
  if (json.is_wrong() || !json.is_done() || !has_alerts)
    return user_error(EINVAL, "This is not what alertmanager posts to a webhook.");
  return alerts;
}

Result<AlertAction> parse_alert_action(std::string_view text) {
  AlertAction action;
  for (std::string_view rest = text; !rest.empty();) {
    const std::vector<std::string_view> words = split_words(cut_at(&rest, ','));
    if (words.size() == 1 && words[0] == "snapshot") {
      action.snapshot = true;
    } else if (words.size() == 2 && words[0] == "keep" && to_number(words[1], &action.keep) &&
               action.keep > 0 && action.keep <= 10000) {
    } else {
      return user_error(EINVAL, "--on-alert takes 'snapshot' and 'keep N': 'snapshot, keep 10'.");
    }
  }
  if (!action.snapshot)
    return user_error(EINVAL, "--on-alert says nothing to do: 'snapshot, keep 10'.");
  return action;
}

}  // namespace patchbay::cmd
