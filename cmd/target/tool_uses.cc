// SPDX-License-Identifier: MIT
#include "cmd/target/tool_uses.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "base/monotonic_clock.h"
#include "cmd/common/print_file.h"
#include "cmd/target/attachment.h"
#include "cmd/target/trace_request.h"

namespace patchbay::cmd {
namespace {

constexpr int kLockUs = 10'000;
constexpr size_t kMostBytes = 1 << 20;  // of a file of uses
constexpr const char* kKinds[] = {"instance", "function", "event", "trigger", "file"};
constexpr char kLockName[] = "/uses.lock", kPrefix[] = "uses.";

std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '\\') out += "\\\\";
    if (c == '\n') out += "\\n";
    if (c == '\t') out += "\\t";
    if (c != '\\' && c != '\n' && c != '\t') out += c;
  }
  return out;
}

std::string unescaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); i++) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    const char c = text[++i];
    out += c == 'n' ? '\n' : c == 't' ? '\t' : c;
  }
  return out;
}

std::vector<ToolUse> read_uses(int fd) {
  std::string text(kMostBytes, '\0');
  const ssize_t size = ::pread(fd, text.data(), text.size(), 0);
  text.resize(size > 0 ? size_t(size) : 0);
  text.resize(text.rfind('\n') + 1);  // a line of a full disk has no end
  std::vector<ToolUse> uses;
  ToolUse use;
  for (const std::string& line : split_lines(text))
    if (ToolUse::parse(line, &use)) uses.push_back(use);
  return uses;
}

bool is_locked(int fd) { return ::flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK; }

}  // namespace

std::string ToolUse::line() const {
  return std::string(kKinds[size_t(kind)]) + "\t" + escaped(name) + "\t" + escaped(text);
}

bool ToolUse::parse(std::string_view untrusted_line, ToolUse* use) {
  const size_t first = untrusted_line.find('\t');
  const size_t second = first == untrusted_line.npos ? first : untrusted_line.find('\t', first + 1);
  if (second == untrusted_line.npos) return false;
  const auto* kind =
      std::find(std::begin(kKinds), std::end(kKinds), untrusted_line.substr(0, first));
  if (kind == std::end(kKinds)) return false;
  use->kind = Kind(kind - kKinds);
  use->name = unescaped(untrusted_line.substr(first + 1, second - first - 1));
  use->text = unescaped(untrusted_line.substr(second + 1));
  return !use->name.empty();
}

Result<std::unique_ptr<ToolUses>> ToolUses::begin(serve::Client& client,
                                                  const std::string& process_directory,
                                                  int wait_ms) {
  std::unique_ptr<ToolUses> uses(new ToolUses(client, process_directory));
  Status locked = uses->lock(wait_ms, Wait::kUntilInterrupted);
  uses->has_ended_ = !locked.ok();  // nothing to take back
  if (!locked.ok()) return locked.error();
  uses->open_own();
  uses->read_others();
  return uses;
}

// We make nothing in a directory of another user, who could have put links there.
Status ToolUses::lock(int wait_ms, Wait wait) {
  struct stat status;
  if (::lstat(directory_.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) ||
      status.st_uid != ::geteuid())
    return {};
  lock_.reset(::open((directory_ + kLockName).c_str(),
                     O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
  const int64_t end_ms = monotonic_ms() + wait_ms;
  while (lock_.valid() && ::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) break;
    if (wait == Wait::kUntilInterrupted && (interrupted() || is_told_to_end())) {
      lock_.reset();
      return user_error(EINTR, "interrupted");
    }
    if (monotonic_ms() >= end_ms) {
      lock_.reset();
      return user_error(ETIMEDOUT, "Another command of patchbay is setting up process " +
                                       std::to_string(client_.pid()) +
                                       " and does not come to its end.");
    }
    ::usleep(kLockUs);
  }
  return {};
}

// Done under the lock, so that nobody takes the file for one of a dead command.
void ToolUses::open_own() {
  for (int i = 0; lock_.valid() && !own_.valid() && i < 1000; i++) {
    own_path_ = directory_ + "/" + kPrefix + std::to_string(::getpid()) + "." + std::to_string(i);
    own_.reset(::open(own_path_.c_str(),
                      O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_APPEND | O_CLOEXEC, 0600));
    if (!own_.valid() && errno != EEXIST) return;
  }
  if (own_.valid()) (void)::flock(own_.get(), LOCK_EX | LOCK_NB);
}

// Reads the files of living commands, and takes back what dead ones have left.
void ToolUses::read_others() {
  others_.clear();
  if (!lock_.valid()) return;
  std::vector<ToolUse> left;
  std::vector<std::string> dead;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(directory_, none)) {
    const std::string path = entry.path(), name = entry.path().filename();
    if (!name.starts_with(kPrefix) || path == own_path_ || directory_ + kLockName == path) continue;
    UniqueFd fd(::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!fd.valid()) continue;
    const bool lives = is_locked(fd.get());
    if (!lives) dead.push_back(path);
    std::vector<ToolUse>& into = lives ? others_ : left;
    for (ToolUse& use : read_uses(fd.get())) into.push_back(std::move(use));
  }
  if (!left.empty()) take_back(left);
  if (client_.answers())
    for (const std::string& path : dead) ::unlink(path.c_str());
}

const ToolUse* ToolUses::find_other(ToolUse::Kind kind, const std::string& name) const {
  const auto found = std::find_if(others_.begin(), others_.end(), [&](const ToolUse& use) {
    return use.kind == kind && use.name == name;
  });
  return found == others_.end() ? nullptr : &*found;
}

bool ToolUses::is_others(ToolUse::Kind kind, const std::string& name) const {
  return find_other(kind, name) != nullptr;
}

void ToolUses::add(ToolUse::Kind kind, const std::string& name, const std::string& text) {
  uses_.push_back({kind, name, text});
  if (text.empty() && uses_.back().is_event()) uses_.back().text = id_of(uses_.back());
  const std::string line = uses_.back().line() + "\n";
  if (!own_.valid()) return;
  const off_t before = ::lseek(own_.get(), 0, SEEK_END);
  const ssize_t wrote = ::write(own_.get(), line.data(), line.size());
  // The disk may be full in the middle of a line. The next line must not stand behind it.
  if (wrote > 0 && size_t(wrote) < line.size()) (void)!::ftruncate(own_.get(), before);
}

bool ToolUses::share(ToolUse::Kind kind, const std::string& name) {
  const bool is_ours = std::any_of(uses_.begin(), uses_.end(), [&](const ToolUse& use) {
    return use.kind == kind && use.name == name;
  });
  if (is_ours) return true;
  const ToolUse* other = find_other(kind, name);
  if (other) add(kind, name, other->text);
  return other != nullptr;
}

bool ToolUses::is_in_own_instance(std::string_view path) const {
  return std::any_of(uses_.begin(), uses_.end(), [&](const ToolUse& use) {
    return use.kind == ToolUse::Kind::kInstance && path.starts_with("instances/" + use.name + "/");
  });
}

void ToolUses::keep_file(const std::string& path, const std::string& text) {
  if (is_in_own_instance(path)) return;
  if (!share(ToolUse::Kind::kFile, path)) add(ToolUse::Kind::kFile, path, text);
}

// Its name is no other command's: in another pid namespace there may be one with our number.
Result<std::string> ToolUses::make_instance() {
  for (int i = 1;; i++) {
    const std::string name = "patchbay-" + std::to_string(::getpid()) + "-" + std::to_string(i);
    Status made = client_.make_directory("instances/" + name);
    if (made.ok()) {
      add(ToolUse::Kind::kInstance, name);
      return name;
    }
    if (made.error().errno_value != EEXIST || i == 1000) return made.error();
  }
}

std::string ToolUses::id_of(const ToolUse& event) {
  const std::string system = event.kind == ToolUse::Kind::kFunction ? "functions/" : "";
  Result<std::string> id = client_.read_all("events/" + system + event.name + "/id");
  return id.ok() ? *id : "";
}

void ToolUses::take_back(const ToolUse& use) {
  if (use.is_event() && !use.text.empty() && id_of(use) != use.text) return;
  switch (use.kind) {
    case ToolUse::Kind::kInstance:
      return (void)client_.remove_directory("instances/" + use.name);
    case ToolUse::Kind::kFunction:
      return (void)client_.write_all("function_events", "-:functions/" + use.name + "\n", false);
    case ToolUse::Kind::kEvent:
      return (void)client_.write_all("dynamic_events", "-:" + use.name + "\n", false);
    case ToolUse::Kind::kTrigger:
      return (void)client_.write_all(use.name, "!" + use.text + "\n", false);
    case ToolUse::Kind::kFile:
      return (void)client_.write_all(use.name, use.text, true);
  }
}

// What was set last goes first. Triggers go before all else, as variables of histograms hold on to
// their instance; then instances, as their events hold on to definitions.
void ToolUses::take_back(const std::vector<ToolUse>& uses) {
  const auto turn_of = [](ToolUse::Kind kind) {
    return kind == ToolUse::Kind::kTrigger ? 0 : kind == ToolUse::Kind::kInstance ? 1 : 2;
  };
  for (int turn = 0; turn < 3; turn++) {
    for (auto use = uses.rbegin(); use != uses.rend() && client_.answers(); ++use)
      if (turn_of(use->kind) == turn && !is_others(use->kind, use->name)) take_back(*use);
  }
}

Status ToolUses::look_again() {
  constexpr int kAtTheEndMs = 1000;  // others are stopped behind this one
  PB_TRY(lock(kAtTheEndMs));
  read_others();
  return {};
}

void ToolUses::release() {
  if (std::exchange(has_ended_, true)) return;
  if (!client_.gone()) {
    // Without the lock nothing is taken back. Our file stays, and the next command does it.
    if (!lock_.valid() && !lock().ok()) return own_.reset();
    read_others();
    take_back(uses_);
  }
  if (own_.valid() && (client_.gone() || client_.answers())) ::unlink(own_path_.c_str());
  own_.reset();
  lock_.reset();
}

void ToolUses::stay() {
  has_ended_ = true;
  if (own_.valid()) ::unlink(own_path_.c_str());
  own_.reset();
  lock_.reset();
}

}  // namespace patchbay::cmd
