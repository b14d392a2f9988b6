// SPDX-License-Identifier: MIT
#include "cmd/serve/agent_series.h"

#include <algorithm>
#include <cerrno>

#include "base/foreign_file.h"
#include "base/monotonic_clock.h"
#include "base/text.h"
#include "cmd/measure/counted_process.h"
#include "cmd/measure/top_profile.h"
#include "ring_buffer/buffer_file.h"
#include "serve/directory.h"
#include "tracer/profile_image.h"

namespace patchbay::cmd {
namespace {

constexpr int64_t kSearchMs = 10000, kMostLookMs = 5000;
constexpr size_t kMostHistograms = 1000, kMostText = 16 << 20, kMostInstances = 256;

std::string place_of(const std::string& instance) {
  return instance.empty() ? "" : "instances/" + instance + "/";
}

}  // namespace

AgentSeries::AgentSeries(int pid, std::string start, std::string exe, std::string directory)
    : pid_(pid), start_(std::move(start)), exe_(std::move(exe)), directory_(std::move(directory)) {
  labels_.add("pid", std::to_string(pid));
  labels_.add("exe", base_name(exe_));
  labels_.add("start", start_);
}

// --- what the agent is asked for

struct AgentSeries::Unlocked {
  std::mutex& lock;
  explicit Unlocked(std::mutex& locked) : lock(locked) { lock.unlock(); }
  ~Unlocked() { lock.lock(); }
  Unlocked(const Unlocked&) = delete;
};

// What an agent answers is one thing, and may be an error: a file that is not there. That it does
// not answer, or without an end, is another: nothing more is asked in this look, which fails.
template <typename T, typename Ask>
Result<T> AgentSeries::ask(const Ask& ask) {
  if (fault_) return *fault_;
  Result<T> answer = [&] {
    const Unlocked unlocked(lock_);
    return ask();
  }();
  if (answer.ok()) return answer;
  const int error = answer.error().errno_value;
  if (error == ETIMEDOUT || error == EFBIG || error == EPROTO || error == EPERM || error == EINTR)
    fault_ = answer.error();
  return answer;
}

Result<std::string> AgentSeries::read(const std::string& path, serve::Most most) {
  return ask<std::string>([&] { return client_->read_all(path, most); });
}

Result<std::vector<std::string>> AgentSeries::list(const std::string& path) {
  return ask<std::vector<std::string>>([&] { return client_->list(path); });
}

void AgentSeries::join(std::unique_ptr<serve::Client> client) {
  const std::lock_guard guard(lock_);
  client_ = std::move(client);
  answers_ = true;
  searched_ms_ = 0;
  for (Histogram& one : histograms_)
    if (one.series) one.series->restart();
}

void AgentSeries::leave() {
  const std::lock_guard guard(lock_);
  client_.reset();
  std::string last_path;
  HistFile file;
  for (Histogram& one : histograms_) {
    const std::string own = one.place.instance.empty() ? "" : one.place.instance + "/";
    const std::string path = "/hist/" + own + one.place.system + ":" + one.place.event;
    if (path != last_path) {
      const Result<std::string> kept = read_in_root(directory_, path, kMostText);
      file = kept.ok() ? HistFile(kept.value()) : HistFile();
      last_path = path;
    }
    take(&one, file.of(one.place.definition));
  }
  for (const std::string& instance : instances_) look_at_buffer(instance);
}

// --- what there is

void AgentSeries::add_histogram(HistPlace place, size_t most_keys) {
  for (Histogram& one : histograms_)
    if (one.place.instance == place.instance && one.place.system == place.system &&
        one.place.event == place.event && one.place.definition == place.definition) {
      one.is_there = true;
      return;
    }
  if (histograms_.size() >= kMostHistograms) return;
  histograms_.push_back({std::move(place), most_keys, nullptr, true});
}

void AgentSeries::take(Histogram* one, const HistImagePtr& image) {
  if (!image) return;
  if (!one->series)
    one->series = std::make_unique<HistSeries>(one->place, labels_, one->most_keys, *image);
  one->series->look(*image);
}

// "sched:sched_waking              hist:keys=pid:vals=hitcount:… [active]".
Status AgentSeries::search_instance(const std::string& instance, const SeriesBounds& bounds,
                                    size_t* nr_series) {
  Result<std::string> text = read(place_of(instance) + "show_event_triggers");
  if (!text.ok()) return serve::is_gone(text.error()) ? text.error() : Status();
  constexpr size_t kLongLine = 4096;  // nobody has written it: a write has a page at most
  for (const std::string& line : split_lines(*text)) {
    if (line.size() > kLongLine) continue;
    const size_t at = line.find(" hist:"), colon = line.find(':');
    if (at == line.npos || colon == line.npos || colon > at) continue;
    const std::string_view name = trim(std::string_view(line).substr(0, at), " \t");
    if (name.find(' ') != name.npos) continue;
    const std::string_view listing = std::string_view(line).substr(at + 1);
    const size_t most = *nr_series >= bounds.most_series
                            ? 0
                            : std::min(bounds.most_keys, bounds.most_series - *nr_series);
    add_histogram(
        {instance, std::string(name.substr(0, colon)), std::string(name.substr(colon + 1)),
         std::string(listing.substr(0, listing.rfind(" [")))},
        most);
  }
  return {};
}

Status AgentSeries::search(const SeriesBounds& bounds, size_t nr_series) {
  instances_ = {""};
  if (auto names = list("instances"); names.ok())
    for (std::string name : *names) {
      if (name.ends_with('/')) name.pop_back();
      if (instances_.size() < kMostInstances && name.find('/') == name.npos)
        instances_.push_back(std::move(name));
    }
  for (Histogram& one : histograms_) one.is_there = false;
  for (const std::string& instance : instances_)
    PB_TRY(search_instance(instance, bounds, &nr_series));
  const Result<std::string> on = read("function_profile_enabled");
  has_profile_ = on.ok() && trim(on.value()) != "0";
  const Result<std::string> probes = read("dynamic_events");
  has_probes_ = probes.ok() && !probes.value().empty();
  if (fault_) return *fault_;
  searched_ms_ = monotonic_ms();
  return {};
}

// --- a look

Status AgentSeries::look_at_histograms() {
  std::string last_path;
  HistFile file;  // one is read once for all its tables, so that they are of a time
  for (Histogram& one : histograms_) {
    if (!one.is_there) continue;
    const std::string path = place_of(one.place.instance) + "events/" + one.place.system + "/" +
                             one.place.event + "/hist_image";
    if (path != last_path) {
      Result<std::string> bytes = read(path, {kMostText, SIZE_MAX});
      if (!bytes.ok() && bytes.error().errno_value != ENOENT) return bytes.error();
      file = bytes.ok() ? HistFile(*bytes) : HistFile();
      last_path = path;
    }
    const HistImagePtr own = file.of(one.place.definition);
    one.is_there = own != nullptr;
    take(&one, own);
  }
  return {};
}

AgentSeries::Named& AgentSeries::named(std::map<std::string, Named>* all, const char* label,
                                       const std::string& name, size_t most) {
  if (const auto at = all->find(name); at != all->end()) return at->second;
  constexpr size_t kLongName = 1024;  // else the names alone fill the memory
  const bool has_room = all->size() < most && name.size() <= kLongName;
  Named& one = (*all)[has_room ? name : ""];
  if (one.labels.text.empty()) {
    one.labels = labels_;
    one.labels.add(label, has_room ? name : "other");
    if (!has_room) one.labels.add("other", "true");
  }
  return one;
}

// Several names may be in `other`.
void AgentSeries::look_at_named(const NamedCounts& counts, std::map<std::string, Named>* all,
                                const char* label, size_t most) {
  std::map<Named*, std::pair<uint64_t, uint64_t>> by_series;
  for (const auto& [name, count] : counts) {
    auto& sum = by_series[&named(all, label, name, most)];
    sum.first += count.first;
    sum.second += count.second;
  }
  for (const auto& [one, sum] : by_series) {
    one->hits.look(sum.first);
    one->other.look(sum.second);
  }
}

// kprobe_profile: event, hits, misses. uprobe_profile: file, event, hits.
Status AgentSeries::look_at_profiles(const SeriesBounds& bounds) {
  if (!has_probes_) return {};
  NamedCounts sums;
  for (const char* file : {"kprobe_profile", "uprobe_profile"}) {
    PB_ASSIGN(const std::string text, read(file));
    const bool is_user = file[0] == 'u';
    for (const std::string& line : split_lines(text)) {
      const std::vector<std::string_view> words = split_words(line);
      uint64_t hits = 0, misses = 0;
      if (words.size() != 3 || !to_number(words[is_user ? 2 : 1], &hits)) continue;
      if (!is_user && !to_number(words[2], &misses)) continue;
      auto& sum = sums[std::string(words[is_user ? 1 : 0])];
      sum.first += hits;
      sum.second += misses;
    }
  }
  look_at_named(sums, &probes_, "event", bounds.most_keys);
  return {};
}

Status AgentSeries::look_at_functions(const SeriesBounds& bounds) {
  if (!has_profile_) return {};
  PB_ASSIGN(const std::string bytes, read("debug/profile_image", kMostProfile));
  PB_ASSIGN(const std::vector<ProfiledFunction> counted, parse_profile(bytes));
  NamedCounts sums;
  for (const ProfiledFunction& one : counted) {
    auto& sum = sums[one.name];
    sum.first += one.calls;
    sum.second += one.time_ns;
  }
  look_at_named(sums, &functions_, "function", bounds.most_keys);
  return {};
}

void AgentSeries::look_at_buffer(const std::string& instance) {
  Result<UniqueFd> fd =
      open_in_root(directory_, "/" + place_of(instance) + serve::kBufferName, INT64_MAX);
  if (!fd.ok()) return;
  auto file = BufferFile::from_fd(std::move(*fd), false);
  if (!file.ok()) return;
  Buffer& buffer = buffers_[instance];
  if (buffer.labels.text.empty()) {
    buffer.labels = labels_;
    if (!instance.empty()) buffer.labels.add("instance", instance);
  }
  uint64_t recorded = 0, dropped = 0, overwritten = 0;
  for (uint32_t ring = 0; ring < (*file)->nr_rings(); ring++) {
    const RingStats stats = (*file)->stats(ring);
    recorded += stats.entries;
    dropped += stats.dropped_ever;
    if (stats.entries == 0 || !client_ || ring >= (*file)->header().nr_cpus) continue;
    const Result<std::string> text =
        read(place_of(instance) + "per_cpu/cpu" + std::to_string(ring) + "/stats");
    for (const std::string& line : split_lines(text.ok() ? text.value() : "")) {
      uint64_t figure = 0;
      if (line.starts_with("overrun: ") && to_number(line.substr(9), &figure))
        overwritten += figure;
    }
  }
  buffer.recorded.look(recorded);
  buffer.dropped.look(dropped);
  if (client_) buffer.overwritten.look(overwritten);
  buffer.missed.look((*file)->missed());
  buffer.recursion.look((*file)->recursion());
  buffer.unhooked.look((*file)->unhooked());
}

Status AgentSeries::look(const SeriesBounds& bounds, size_t nr_series) {
  const std::lock_guard guard(lock_);
  client_->until_ms(monotonic_ms() + kMostLookMs);
  fault_.reset();
  Status done;
  try {
    done = look_locked(bounds, nr_series);
  } catch (const std::exception& exception) {
    done = user_error(ENOMEM, "process " + std::to_string(pid_) + ": " + exception.what());
  }
  answers_ = done.ok();
  return done;
}

Status AgentSeries::look_locked(const SeriesBounds& bounds, size_t nr_series) {
  if (searched_ms_ == 0 || monotonic_ms() >= searched_ms_ + kSearchMs)
    PB_TRY(search(bounds, nr_series));
  PB_TRY(look_at_histograms());
  PB_TRY(look_at_profiles(bounds));
  PB_TRY(look_at_functions(bounds));
  for (const std::string& instance : instances_) look_at_buffer(instance);
  return fault_ ? Status(*fault_) : Status();
}

// --- what is shown

size_t AgentSeries::nr_series() const {
  const std::lock_guard guard(lock_);
  size_t sum = functions_.size() + probes_.size() + 6 * buffers_.size();
  for (const Histogram& one : histograms_)
    if (one.series) sum += one.series->nr_series();
  return sum;
}

void show_up(const Labels& labels, bool is_up, Families* families) {
  families
      ->get("patchbay_agent_up", MetricType::kGauge,
            "1 while the agent of a process answers. 0 when it has ended, or does not answer; its "
            "last "
            "counts are shown then.")
      .samples.push_back({&labels, is_up});
}

void AgentSeries::show(Families* families) const {
  const std::lock_guard guard(lock_);
  show_up(labels_, is_alive() && answers_, families);
  for (const Histogram& one : histograms_)
    if (one.series && (one.is_there || !is_alive())) one.series->show(families);
  const auto counter = [&](const char* name, const char* help) -> Family& {
    return families->get(name, MetricType::kCounter, help);
  };
  for (const auto& [name, one] : functions_) {
    counter("patchbay_function_calls", "Calls of a function, by the function profiler.")
        .samples.push_back({&one.labels, one.hits.value()});
    Family& time =
        counter("patchbay_function_time_seconds", "Time in a function, by the function profiler.");
    time.is_seconds = true;
    time.samples.push_back({&one.labels, one.other.value()});
  }
  for (const auto& [name, one] : probes_) {
    counter("patchbay_probe_hits", "Hits of a probe.")
        .samples.push_back({&one.labels, one.hits.value()});
    counter("patchbay_probe_misses", "Hits of a probe that were not taken.")
        .samples.push_back({&one.labels, one.other.value()});
  }
  const struct {
    const char *name, *help;
    Steady Buffer::*counted;
  } kOfBuffers[] = {
      {"patchbay_events_recorded", "Events written to a buffer.", &Buffer::recorded},
      {"patchbay_events_dropped", "Events that a full buffer did not take.", &Buffer::dropped},
      {"patchbay_events_overwritten", "Events overwritten before they were read.",
       &Buffer::overwritten},
      {"patchbay_hits_missed", "Hits that no buffer could take.", &Buffer::missed},
      {"patchbay_hits_in_agent", "Hits inside the agent, which are not followed.",
       &Buffer::recursion},
      {"patchbay_returns_unhooked", "Calls whose return was left alone.", &Buffer::unhooked},
  };
  for (const auto& one : kOfBuffers)
    for (const auto& [instance, buffer] : buffers_)
      counter(one.name, one.help)
          .samples.push_back({&buffer.labels, (buffer.*one.counted).value()});
}

}  // namespace patchbay::cmd
