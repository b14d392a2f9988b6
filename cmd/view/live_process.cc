// SPDX-License-Identifier: MIT
#include "cmd/view/live_process.h"

#include <cerrno>
#include <charconv>

#include "base/monotonic_clock.h"
#include "base/text.h"
#include "cmd/common/commands.h"
#include "cmd/measure/hist_json.h"
#include "cmd/measure/hist_session.h"
#include "cmd/target/event_definition.h"

namespace patchbay::cmd {
namespace {

constexpr int64_t kLookMs = 200;      // two browsers cost the process what one does
constexpr int64_t kSearchMs = 10000;  // between searches for histograms
constexpr size_t kMostEvents = 2000;  // whose triggers are searched
constexpr size_t kTopRows = 500;      // that are shown
constexpr size_t kMostShown = 100;    // histograms

// "SYSTEM:EVENT" -> "events/SYSTEM/EVENT/".
std::string directory_of(const std::string& event) {
  std::string path = "events/" + event + "/";
  path[path.find(':')] = '/';
  return path;
}

// "instances/NAME/" -> "NAME".
std::string name_of(const std::string& instance) {
  if (instance.empty()) return "";
  const size_t start = instance.find('/') + 1;
  return instance.substr(start, instance.size() - start - 1);
}

// "", "instances/NAME/" …; a directory is listed with its slash.
std::vector<std::string> places_of(serve::Client& client) {
  std::vector<std::string> places = {""};
  if (auto names = client.list("instances"); names.ok())
    for (const std::string& name : *names)
      places.push_back("instances/" + name + (name.ends_with('/') ? "" : "/"));
  return places;
}

// The figure of a line of per_cpu/cpuN/stats.
uint64_t figure(std::string_view stats, std::string_view name) {
  const size_t at = stats.find(name);
  if (at == stats.npos) return 0;
  stats.remove_prefix(at + name.size());
  stats.remove_prefix(std::min(stats.find_first_not_of(' '), stats.size()));
  uint64_t value = 0;
  (void)std::from_chars(stats.data(), stats.data() + stats.size(), value);
  return value;
}

}  // namespace

LiveProcess::LiveProcess(LiveChoice choice, WatchedProgram& target)
    : choice_(std::move(choice)), target_(target), request_(choice_.request) {}

LiveProcess::~LiveProcess() {
  profile_.reset();
  if (!uses_) return;
  stop_request(applied_, *target_.client);
  uses_->release();
  say_what_stays(*target_.client);
}

std::string LiveProcess::name() const {
  const std::string& exe = target_.client->exe();
  return "process " + std::to_string(target_.client->pid()) + " (" +
         printable(exe.substr(exe.rfind('/') + 1)) + ")";
}

Status LiveProcess::start() {
  const bool has_request = choice_.request.has_events() || !choice_.histograms.empty();
  if (has_request) PB_TRY(set_up());
  if (!has_request || !choice_.functions.empty()) PB_TRY(start_profile());
  started_ns_ = monotonic_ns();
  return {};
}

// While the process is ours alone (tool_uses.h).
Status LiveProcess::set_up() {
  PB_ASSIGN(uses_, ToolUses::begin(*target_.client, target_.directory));
  applied_.uses = uses_.get();
  PB_TRY(make_stand_in(*target_.client, &request_, 0, uses_.get()));
  instance_ = request_.instances().front().directory();
  PB_TRY(apply_request(request_, *target_.client, &applied_));
  for (const std::string& text : choice_.histograms) PB_TRY(add_histogram(text));
  uses_->ready();
  return {};
}

Status LiveProcess::add_histogram(const std::string& text) {
  const size_t at = text.find(" keys=");
  if (at == text.npos || at == 0)
    return user_error(EINVAL, "--hist '" + text +
                                  "': an event and what to count by are needed, as in "
                                  "'malloc(u64 size) keys=size.log2'.");
  const std::string event = text.substr(0, at);
  PB_ASSIGN(std::vector<std::string> names, define_event(*target_.client, {event, ""}, &applied_));
  if (names.size() != 1)
    return user_error(EINVAL, "--hist: '" + event + "' means " + std::to_string(names.size()) +
                                  " events: choose one.");
  const std::string path = instance_ + directory_of(names.front()) + "trigger";
  const std::string definition = "hist:" + text.substr(at + 1);
  const Status done = target_.client->write_all(path, definition + "\n", false);
  if (!done.ok())
    return user_error(done.error().errno_value,
                      path + ": " + definition + "\n" + done.error().message());
  uses_->add(ToolUse::Kind::kTrigger, path, definition);
  return {};
}

Status LiveProcess::start_profile() {
  profile_ = std::make_unique<TopProfile>(*target_.client, target_.directory);
  profile_->choose(choice_.functions, {});
  PB_TRY(profile_->start());
  PB_ASSIGN(std::string base, profile_->look());
  table_.reset(monotonic_ns(), base);
  return {};
}

// What somebody has made meanwhile is found at the next search.
void LiveProcess::find_histograms() {
  serve::Client& client = *target_.client;
  Result<std::string> names = client.read_all("available_events");
  if (!names.ok()) return;
  std::vector<std::string> events = split_lines(*names);
  if (events.size() > kMostEvents) events.resize(kMostEvents);
  histograms_.clear();
  for (const std::string& place : places_of(client))
    for (const std::string& event : events) {
      if (event.find(':') == event.npos) continue;
      Result<std::string> triggers = client.read_all(place + directory_of(event) + "trigger");
      for (const std::string& line : split_lines(triggers.ok() ? *triggers : ""))
        if (line.starts_with("hist:") && histograms_.size() < kMostShown)
          histograms_.push_back({place, event, line.substr(0, line.rfind(" ["))});
    }
}

std::string LiveProcess::top_json() const {
  if (!profile_) return "null";
  const TopCounts all = table_.all(), recent = table_.recent();
  return "{\"recent_seconds\": " + std::to_string(table_.recent_seconds()) +
         ", \"calls\": " + std::to_string(all.calls) +
         ", \"recent_calls\": " + std::to_string(recent.calls) +
         ", \"nr_functions\": " + std::to_string(table_.rows({}).size()) +
         ", \"functions\": " + top_rows_json(table_, {}, kTopRows) + "}";
}

std::string LiveProcess::histograms_json() {
  std::string json = "[";
  for (const Histogram& histogram : histograms_) {
    Result<std::string> bytes = target_.client->read_all(
        histogram.instance + directory_of(histogram.event) + "hist_image", kMostImage);
    const HistImagePtr own = bytes.ok() ? HistFile(*bytes).of(histogram.listing) : nullptr;
    if (!own) continue;
    std::string table = hist_json(*own);
    table.pop_back();
    json +=
        std::string(json.size() > 1 ? ", " : "") + "{\"event\": " + json_quote(histogram.event) +
        ", \"instance\": " + json_quote(name_of(histogram.instance)) + ", \"hist\": " + table + "}";
  }
  return json + "]";
}

// Of our own instance, or of all.
std::string LiveProcess::buffers_json() {
  serve::Client& client = *target_.client;
  const std::vector<std::string> places =
      instance_.empty() ? places_of(client) : std::vector<std::string>{instance_};
  std::string json = "[";
  for (const std::string& place : places) {
    uint64_t entries = 0, overwritten = 0, dropped = 0;
    Result<std::vector<std::string>> cpus = client.list(place + "per_cpu");
    if (!cpus.ok()) continue;
    for (const std::string& cpu : *cpus) {
      Result<std::string> stats = client.read_all(place + "per_cpu/" + cpu + "/stats");
      if (!stats.ok()) continue;
      entries += figure(*stats, "entries:");
      overwritten += figure(*stats, "\noverrun:");
      dropped += figure(*stats, "dropped events:");
    }
    json += std::string(json.size() > 1 ? ", " : "") +
            "{\"instance\": " + json_quote(name_of(place)) +
            ", \"entries\": " + std::to_string(entries) +
            ", \"overwritten\": " + std::to_string(overwritten) +
            ", \"dropped\": " + std::to_string(dropped) + "}";
  }
  return json + "]";
}

const std::string& LiveProcess::state() {
  if (!state_.empty() && (has_ended_ || monotonic_ms() < looked_ms_ + kLookMs)) return state_;
  has_ended_ = target_.ended();
  if (has_ended_ && !state_.empty()) {  // the figures are those of the last look
    constexpr std::string_view kGoesOn = "\"ended\": false";
    state_.replace(state_.find(kGoesOn), kGoesOn.size(), "\"ended\": true");
    return state_;
  }
  if (histograms_.empty() || monotonic_ms() >= searched_ms_ + kSearchMs) {
    find_histograms();
    searched_ms_ = monotonic_ms();
  }
  if (profile_)
    if (auto text = profile_->look(); text.ok()) {
      table_.begin_recent();
      table_.look(monotonic_ns(), *text);
    }
  state_ = "{\"pid\": " + std::to_string(target_.client->pid()) +
           ", \"exe\": " + json_quote(target_.client->exe()) +
           ", \"ended\": " + (has_ended_ ? "true" : "false") + ", \"answers\": ";
  const std::string figures =
      ", \"seconds\": " + std::to_string(double(monotonic_ns() - started_ns_) / 1e9) +
      ", \"top\": " + top_json() + ", \"histograms\": " + histograms_json() +
      ", \"buffers\": " + buffers_json() + "}\n";
  state_ += (target_.client->answers() ? "true" : "false") + figures;
  looked_ms_ = monotonic_ms();
  return state_;
}

Result<RecordingPage> LiveProcess::page() {
  PageChoice choice;
  choice.input = target_.directory;
  if (!instance_.empty()) choice.input += "/" + instance_ + "buffer";
  choice.title = name() + ", live";
  choice.rows = choice_.rows;
  Result<RecordingPage> page = page_of(choice);
  if (page.ok()) last_page_ = *page;
  if (!page.ok() && !last_page_.payload.empty() && target_.ended()) return last_page_;
  return page;
}

}  // namespace patchbay::cmd
