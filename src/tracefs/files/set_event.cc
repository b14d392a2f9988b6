// SPDX-License-Identifier: MIT
// set_event: the enabled events; a word enables (with `!` disables) the events that it names
// (spec: ftrace.md 2.2). One word per write(), as in the kernel's ftrace_event_write().
#include <fcntl.h>

#include <cerrno>

#include "tracefs/files/files.h"
#include "tracefs/set_event_spec.h"
#include "tracefs/write_style.h"

namespace patchbay::tracefs {
namespace {

class SetEventFile : public File {
 public:
  explicit SetEventFile(FunctionEvents& events) : events_(events) {}
  uint32_t mode() const override { return kWritable; }

  Status open(uint32_t flags) override {
    bool for_write = (flags & O_ACCMODE) != O_RDONLY;
    if (!for_write || !(flags & O_TRUNC) || events_.event_names().empty()) return {};
    return events_.set_all_enabled(false);
  }

  Result<std::string> read() override {
    std::string text;
    for (const std::string& name : events_.event_names()) {
      if (events_.is_enabled(name)) text += "functions:" + name + "\n";
    }
    return text;
  }

  Result<size_t> write(std::string_view bytes) override {
    Result<Token> token = take_token(bytes);
    if (!token.ok()) return token.error();
    if (!token->word.empty()) PB_TRY(apply(token->word));
    return token->consumed;
  }

 private:
  // Goes on behind a failure; the first one is reported.
  Status apply(std::string_view word) {
    EventSpec spec = parse_event_spec(word);
    Status first;
    bool matched = false;
    for (const std::string& name : events_.event_names()) {
      if (!spec.matches("functions", name)) continue;
      matched = true;
      Status status = events_.set_enabled(name, spec.on);
      if (!status.ok() && first.ok()) first = status;
    }
    if (!matched) return user_error(EINVAL, "No event matches '" + std::string(word) + "'.");
    return first;
  }

  FunctionEvents& events_;
};

}  // namespace

FilePtr make_set_event(const TreeContext& context) {
  return std::make_unique<SetEventFile>(context.events);
}

}  // namespace patchbay::tracefs
