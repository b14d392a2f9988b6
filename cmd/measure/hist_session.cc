// SPDX-License-Identifier: MIT
#include "cmd/measure/hist_session.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <map>

#include "base/monotonic_clock.h"
#include "cmd/common/commands.h"
#include "cmd/common/print_file.h"
#include "cmd/common/terminal.h"
#include "cmd/record/record_report.h"
#include "cmd/target/apply_request.h"
#include "cmd/target/event_definition.h"
#include "cmd/target/nothing_recorded.h"
#include "ring_buffer/buffer_file.h"
#include "serve/directory.h"
#include "trace_dat/metadata.h"

namespace patchbay::cmd {
namespace {

constexpr uint64_t kBufferKb = 64;  // of a program that only counts
constexpr int kFirstLookMs = 5, kLookMs = 250;

constexpr char kNoHits[] = "\n    Hits: 0\n";
constexpr char kHead[] = "# event histogram\n#\n# trigger info: ";

// "events/SYSTEM/EVENT/trigger" -> "events/SYSTEM/EVENT".
std::string directory_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

// What a program has left of events/SYSTEM/EVENT/hist (the agent's last_hists.cc).
std::string kept_text(const std::string& directory, const std::string& instance,
                      const std::string& event) {
  std::string name = event.substr(event.find('/') + 1);
  name[name.find('/')] = ':';
  const std::string own =
      instance.substr(instance.find('/') == instance.npos ? 0 : instance.find('/') + 1);
  std::ifstream file(directory + "/hist/" + own + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The newest histogram of a trigger file, without " [active]".
std::string last_listing(const std::string& triggers) {
  std::string listing;
  for (const std::string& line : split_lines(triggers))
    if (line.starts_with("hist:")) listing = line;
  return listing.substr(0, listing.rfind(" ["));
}

}  // namespace

std::string hist_of_file(const std::string& text, const std::string& listing) {
  const size_t start = text.find(kHead + listing + " [");
  if (start == text.npos) return "";
  const size_t next = text.find(std::string("\n\n\n") + kHead, start);
  return text.substr(start, next == text.npos ? next : next + 1 - start);
}

int HistTarget::take_words(int argc, char** argv) {
  int own = 1;
  while (own < argc && std::string_view(argv[own]) != "--") own++;
  words.assign(argv + std::min(own + 1, argc), argv + argc);
  return own;
}

const char* HistTarget::take_option(int id, const std::string& value) {
  if (id == 'p') return take_pid(value.c_str(), &pid);
  if (id == 'v') return verbose = true, nullptr;
  if (id == 'o') return output = value, value.empty() ? "-o takes a file." : nullptr;
  if (id == kHistJson) return json = true, nullptr;
  const bool right = parse_positive(value, &delay) && delay < 1e6;
  return right ? nullptr : "-d takes seconds.";
}

HistSession::~HistSession() { undo(); }

Status HistSession::connect() {
  on_screen_ = !target_.json && ::isatty(STDIN_FILENO) && ::isatty(STDOUT_FILENO);
  if (!target_.words.empty()) return program_.start(target_.words, kBufferKb, on_screen_);
  PB_TRY(program_.attach(target_.pid));
  stop_on_interrupt();  // from here on there is something to take back
  stop_on_closed_output();
  program_.attachment.deliver_signals();
  PB_ASSIGN(std::unique_ptr<ToolUses> uses, ToolUses::begin(client(), program_.directory));
  uses_ = std::move(uses);
  defined_.uses = uses_.get();
  return {};
}

Result<std::string> HistSession::define(const std::string& event) {
  PB_ASSIGN(std::vector<std::string> names, define_event(client(), {event, ""}, &defined_));
  if (names.size() == 1) {
    std::string directory = "events/" + names.front();
    directory[directory.find(':')] = '/';
    asked_.push_back({{event, ""}, directory});
    return names.front();
  }
  return user_error(EINVAL, "'" + event + "' means " + std::to_string(names.size()) +
                                " events, among them " + names.front() + " and " + names.back() +
                                ": choose one.");
}

Status HistSession::apply(const HistPlan& plan) {
  plan_ = plan;
  if (uses_) {
    PB_ASSIGN(std::string name, uses_->make_instance());
    instance_ = "instances/" + name + "/";
  }
  if (target_.verbose) std::fprintf(stderr, "%s", plan_.commands().c_str());
  std::map<std::string, std::vector<std::string>> listings;
  for (const HistPlan::Write& write : plan_.writes) {
    Status done = client().write_all(placed(write.path), write.text + "\n", false);
    if (!done.ok())
      return user_error(done.error().errno_value,
                        write.path + ": " + write.text + "\n" + done.error().message());
    if (uses_ && write.path == "dynamic_events")
      uses_->add(ToolUse::Kind::kEvent, "synthetic/" + plan_.synthetic);
    else if (uses_)
      uses_->add(ToolUse::Kind::kTrigger, placed(write.path), write.text);
    if (!write.path.ends_with("/trigger")) continue;
    PB_ASSIGN(std::string triggers, client().read_all(placed(write.path)));
    listings[directory_of(write.path)].push_back(last_listing(triggers));
  }
  for (const std::string& event : plan_.histograms) {
    std::vector<std::string>& of_event = listings[event];
    if (of_event.empty()) return user_error(ENOENT, "There is no histogram in " + event + ".");
    listings_.push_back(of_event.front());
    of_event.erase(of_event.begin());
  }
  texts_.resize(plan_.histograms.size());
  if (uses_) uses_->ready();
  return {};
}

// What fails is as it was: the process may have ended.
void HistSession::look() {
  for (size_t i = 0; i < plan_.histograms.size(); i++) {
    Result<std::string> text = client().read_all(placed(plan_.histograms[i]) + "/hist");
    if (!text.ok()) return;
    std::string own = hist_of_file(*text, listings_[i]);
    if (!own.empty()) texts_[i] = std::move(own);
  }
  looked_ms_ = monotonic_ms();
}

// A program that is killed leaves nothing, so it is looked at while it runs.
void HistSession::watch_quietly() {
  for (int wait_ms = kFirstLookMs; !interrupted(); wait_ms = std::min(2 * wait_ms, kLookMs)) {
    if (program_.child) {
      TracedChild::Event event = program_.child->wait(wait_ms);
      if (event != TracedChild::Event::kNothing) return;
      look();
    } else {
      ::usleep(useconds_t(wait_ms) * 1000);
    }
    if (program_.ended()) return;
  }
}

void HistSession::watch_on_screen(const Show& show) {
  Result<std::unique_ptr<Terminal>> terminal = Terminal::open();
  if (!terminal.ok()) return watch_quietly();
  const auto delay_ms = int64_t(target_.delay * 1000);
  for (int64_t next_ms = 0; !(*terminal)->ended() && !interrupted();) {
    if (program_.child && program_.child->wait(0) == TracedChild::Event::kStopRequested) return;
    if (program_.ended()) return;
    if (monotonic_ms() >= next_ms) {
      next_ms = monotonic_ms() + delay_ms;
      look();
    }
    (*terminal)->show("patchbay " + command_ + ": process " + std::to_string(client().pid()) +
                      ", q ends\n" + show(texts_));
    const int key = (*terminal)->key(int(std::clamp<int64_t>(next_ms - monotonic_ms(), 1, 100)));
    if (key == 'q' || key == 3) return;
    if (key == 26) (*terminal)->suspend();
  }
}

void HistSession::look_last() {
  if (!program_.ended()) return look();
  bool missing = false;
  for (size_t i = 0; i < plan_.histograms.size(); i++) {
    std::string kept = kept_text(program_.directory, instance_, plan_.histograms[i]);
    kept = hist_of_file(kept, listings_[i]);
    missing |= kept.empty();
    if (!kept.empty()) texts_[i] = std::move(kept);
  }
  if (!missing) return;
  if (looked_ms_)
    std::fprintf(stderr,
                 "patchbay %s: the program did not end by exit(); what it counted is that of "
                 "%.2f s before its end was noticed\n",
                 command_.c_str(), double(monotonic_ms() - looked_ms_) / 1e3);
  else
    std::fprintf(stderr,
                 "patchbay %s: the program was killed, called _exit() or executed another one "
                 "before its counts could be looked at; they are lost\n",
                 command_.c_str());
}

// The events that were asked for and have not been hit, each with the filter of its histogram.
std::vector<EventRequest> HistSession::not_hit() {
  std::vector<EventRequest> events;
  for (const auto& [request, directory] : asked_) {
    std::string text = kept_text(program_.directory, instance_, directory);
    Result<std::string> now = text;
    if (!program_.ended()) now = client().read_all(placed(directory) + "/hist");
    if (now.ok()) text = *now;
    if (text.find(kNoHits) == text.npos) continue;
    events.push_back(request);
    const size_t filter = std::min(text.find(" if "), text.find(" [active]"));
    if (text.compare(filter, 4, " if ") == 0)
      events.back().filter = text.substr(filter + 4, text.find(" [active]") - filter - 4);
  }
  return events;
}

// Nothing was counted in any table: says why.
void HistSession::say_why_nothing() {
  for (const std::string& text : texts_)
    if (text.find(kNoHits) == text.npos) return;
  auto buffer = BufferFile::open(program_.directory + "/" + serve::kBufferName, false);
  if (!buffer.ok()) return;
  Result<RecordedMeta> meta = read_recorded_meta(**buffer);
  if (!meta.ok()) return;
  for (const std::string& sentence : why_nothing(not_hit(), meta->modules, meta->exe))
    std::fprintf(stderr, "patchbay %s: %s\n", command_.c_str(), printable(sentence).c_str());
}

Status HistSession::write_result(const std::string& text) const {
  std::FILE* file = target_.output.empty() ? stdout : std::fopen(target_.output.c_str(), "we");
  if (!file) return sys_error("write " + target_.output, errno);
  const bool is_written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool is_whole = (file == stdout ? std::fflush(file) : std::fclose(file)) == 0;
  if (is_written && is_whole) return {};
  return sys_error("write " + (file == stdout ? "standard output" : target_.output), errno);
}

int HistSession::run(const Show& show) {
  Status ready = program_.release();
  if (!ready.ok()) return fail(command_, ready.error());
  on_screen_ ? watch_on_screen(show) : watch_quietly();
  look_last();
  if (Status written = write_result(show(texts_)); !written.ok())
    return fail(command_, written.error());
  say_why_nothing();
  const bool has_status = program_.child && program_.child->exited();
  return has_status ? program_.child->exit_status() : kOk;
}

// Of a process that goes on nothing is left behind.
void HistSession::undo() {
  if (!uses_) return;
  uses_->release();
  say_what_stays(client());
}

}  // namespace patchbay::cmd
