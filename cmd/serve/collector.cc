// SPDX-License-Identifier: MIT
#include "cmd/serve/collector.h"

#include <dirent.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <future>
#include <thread>

#include "base/monotonic_clock.h"
#include "base/text.h"
#include "cmd/common/commands.h"
#include "cmd/target/running_process.h"
#include "serve/directory.h"

namespace patchbay::cmd {
namespace {

constexpr int64_t kSharedMs = 500, kMostLookMs = 5000, kMostPauseMs = 60000;
constexpr int64_t kMostScrapeMs = 8000;  // of all looks of one scrape
constexpr int64_t kScraperMs = 300000;   // after which a scraper that is silent is forgotten
constexpr int64_t kMostGoneMs = 600000;  // that one is waited for
constexpr size_t kMostScrapers = 16, kMostMembers = 10000;

struct CloseDir {
  void operator()(DIR* stream) const { ::closedir(stream); }
};

// The directories DIR/PID.
std::vector<int> pids_in(const std::string& runtime) {
  std::vector<int> pids;
  const std::unique_ptr<DIR, CloseDir> stream(::opendir(runtime.c_str()));
  while (const dirent* entry = stream ? ::readdir(stream.get()) : nullptr) {
    int pid = 0;
    if (parse_pid(entry->d_name, &pid)) pids.push_back(pid);
  }
  std::sort(pids.begin(), pids.end());
  return pids;
}

bool may_read(const struct stat& status, int pid) {
  if (status.st_uid == ::geteuid()) return true;
  struct stat process;
  return ::geteuid() == 0 && ::stat(("/proc/" + std::to_string(pid)).c_str(), &process) == 0 &&
         process.st_uid == status.st_uid;
}

// Its inode; 0: it is not to be read.
uint64_t readable_directory(const std::string& path, int pid) {
  struct stat directory, socket;
  if (::lstat(path.c_str(), &directory) != 0 || !S_ISDIR(directory.st_mode)) return 0;
  if (::lstat((path + "/" + serve::kSocketName).c_str(), &socket) != 0) return 0;
  const bool is_right =
      S_ISSOCK(socket.st_mode) && may_read(directory, pid) && may_read(socket, pid);
  return is_right ? directory.st_ino : 0;
}

// Whoever listens there has to be that process.
bool is_its_own_socket(const std::string& path, int pid) {
  const Result<UniqueFd> fd = serve::connect_socket(path);
  ucred peer{};
  socklen_t size = sizeof peer;
  return fd.ok() && ::getsockopt(fd.value().get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         peer.pid == pid;
}

// A client waits long for an agent that has work to do, and one that only pretends it may not keep
// us: then the thread is left to itself.
Result<std::unique_ptr<serve::Client>> connect_soon(const std::string& path, int pid) {
  using Connected = Result<std::unique_ptr<serve::Client>>;
  if (!is_its_own_socket(path, pid)) return user_error(ECONNREFUSED, "It is another's socket.");
  auto task = std::make_shared<std::packaged_task<Connected()>>(
      [path] { return serve::Client::connect_directory(path); });
  std::future<Connected> connected = task->get_future();
  std::thread([task] { (*task)(); }).detach();
  if (connected.wait_for(std::chrono::milliseconds(kMostLookMs)) != std::future_status::ready)
    return user_error(ETIMEDOUT, "It does not answer.");
  return connected.get();
}

}  // namespace

// --- who is there

void Collector::sweep() {
  const std::lock_guard guard(lock_);
  sweep_locked();
}

void Collector::sweep_locked() {
  const int64_t now_ms = monotonic_ms();
  std::set<int> known, seen;
  for (const Member& member : members_)
    if (member.series->is_alive()) known.insert(member.series->pid());
  nr_refused_ = 0;
  for (const int pid : pids_in(runtime_)) {
    if (known.contains(pid)) continue;
    const std::string path = runtime_ + "/" + std::to_string(pid);
    const uint64_t inode = readable_directory(path, pid);
    if (!inode) {
      nr_refused_++;
      continue;
    }
    seen.insert(pid);
    Failed& failed = failed_[pid];
    if (failed.inode != inode) failed = {0, 1000, inode};
    if (now_ms < failed.next_try_ms || members_.size() >= kMostMembers) continue;
    meet(pid);
  }
  std::erase_if(failed_, [&](const auto& one) { return !seen.contains(one.first); });
  forget();
}

// Either joins one that has gone and is the same program, or is a new one.
void Collector::meet(int pid) {
  const std::string path = runtime_ + "/" + std::to_string(pid);
  const auto process = running_process(pid);
  Result<std::unique_ptr<serve::Client>> client = user_error(ESRCH, "It has ended.");
  if (process) client = connect_soon(path, pid);
  if (!client.ok() || (*client)->pid() != pid) {
    Failed& failed = failed_[pid];
    failed.next_try_ms = monotonic_ms() + failed.pause_ms;
    failed.pause_ms = std::min(failed.pause_ms * 2, kMostPauseMs);
    return;
  }
  failed_.erase(pid);
  const std::string exe = (*client)->exe();
  auto at = std::find_if(members_.begin(), members_.end(), [&](const Member& one) {
    return one.series->pid() == pid && one.series->start() == process->start &&
           base_name(one.series->exe()) == base_name(exe);
  });
  if (at == members_.end()) {
    members_.push_back({});
    at = members_.end() - 1;
    at->series = std::make_unique<AgentSeries>(pid, process->start, exe, path);
  }
  at->series->join(std::move(*client));
  at->gone_ms = 0;
  at->is_hidden = false;
  at->next_try_ms = 0;
  at->shown_to.clear();
}

// What all scrapers have had is not shown again; it is kept while its number cannot be another's.
void Collector::forget() {
  const int64_t now_ms = monotonic_ms();
  std::erase_if(scraper_ms_, [&](const auto& one) { return one.second < now_ms - kScraperMs; });
  std::erase_if(members_, [&](Member& member) {
    if (member.gone_ms == 0) {
      if (!member.series->client()->gone()) return false;
      member.series->leave();
      member.gone_ms = now_ms;
    }
    const bool all = !member.shown_to.empty() &&
                     std::all_of(scraper_ms_.begin(), scraper_ms_.end(), [&](const auto& one) {
                       return member.shown_to.contains(one.first);
                     });
    member.is_hidden |= all || now_ms > member.gone_ms + kMostGoneMs;
    if (!member.is_hidden) return false;
    const auto process = running_process(member.series->pid());
    return !process || process->has_ended || process->start != member.series->start();
  });
}

// --- looks

void Collector::look_at(Member* member, size_t nr_series) {
  AgentSeries& series = *member->series;
  {
    const std::lock_guard guard(busy_lock_);
    busy_fd_ = series.client()->descriptor();
    busy_since_ms_ = monotonic_ms();
  }
  const Status done = series.look(bounds_, nr_series);
  {
    const std::lock_guard guard(busy_lock_);
    busy_fd_ = -1;
  }
  if (done.ok()) {
    member->pause_ms = 1000;
    return;
  }
  nr_failed_looks_++;
  member->next_try_ms = monotonic_ms() + member->pause_ms;
  member->pause_ms = std::min(member->pause_ms * 2, kMostPauseMs);
}

void Collector::look_at_all() {
  const int64_t start_ms = monotonic_ms();
  size_t nr_series = 0;
  for (const Member& member : members_) nr_series += member.series->nr_series();
  for (Member& member : members_) {
    const bool is_due = member.gone_ms == 0 && start_ms >= member.next_try_ms;
    if (is_due && monotonic_ms() < start_ms + kMostScrapeMs) look_at(&member, nr_series);
  }
}

void Collector::watch() {
  const std::lock_guard guard(busy_lock_);
  if (busy_fd_ >= 0 && monotonic_ms() > busy_since_ms_ + kMostLookMs)
    ::shutdown(busy_fd_, SHUT_RDWR);
}

// --- a scrape

void Collector::note_shown(const std::string& scraper) {
  if (scraper_ms_.size() < kMostScrapers || scraper_ms_.contains(scraper))
    scraper_ms_[scraper] = monotonic_ms();
  for (Member& member : members_)
    if (member.gone_ms && !member.is_hidden && member.shown_to.size() < kMostScrapers)
      member.shown_to.insert(scraper);
}

void Collector::show_own(Families* families) {
  const auto gauge = [&](const char* name, const char* help, uint64_t value) {
    families->get(name, MetricType::kGauge, help).samples.push_back({&none_, value});
  };
  uint64_t alive = 0;
  for (const Member& member : members_) alive += member.gone_ms == 0;
  gauge("patchbay_serve_agents", "Processes whose agents are read.", alive);
  gauge("patchbay_serve_refused_processes",
        "Directories of the runtime directory that are not read: another user's, or damaged.",
        nr_refused_);
  gauge("patchbay_serve_most_keys", "Series that a histogram gets; the rest is in other.",
        bounds_.most_keys);
  gauge("patchbay_serve_most_series", "Series that all processes get together.",
        bounds_.most_series);
  gauge("patchbay_serve_series", "Series that there are.", nr_series_);
  const auto counter = [&](const char* name, const char* help, uint64_t value) -> Family& {
    Family& family = families->get(name, MetricType::kCounter, help);
    family.samples.push_back({&none_, value});
    return family;
  };
  counter("patchbay_serve_scrapes", "Scrapes that were answered.", nr_scrapes_);
  counter("patchbay_serve_failed_looks", "Looks at processes that did not answer.",
          nr_failed_looks_);
  counter("patchbay_serve_cpu_seconds", "Processor time of looks and their texts.", took_ns_)
      .is_seconds = true;
}

Exposition Collector::exposition() {
  Families families;
  nr_series_ = 0;
  for (const Member& member : members_)
    if (!member.is_hidden) nr_series_ += member.series->nr_series();
  show_own(&families);
  for (const Member& member : members_)
    if (!member.is_hidden) member.series->show(&families);
  return families.take();
}

namespace {

uint64_t thread_cpu_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return uint64_t(time.tv_sec) * 1000000000 + uint64_t(time.tv_nsec);
}

}  // namespace

std::shared_ptr<const std::string> Collector::scrape(const std::string& scraper, Format format) {
  const std::lock_guard guard(lock_);
  const uint64_t began_ns = thread_cpu_ns();
  nr_scrapes_++;
  if (looked_ms_ == 0 || monotonic_ms() > looked_ms_ + kSharedMs) {
    sweep_locked();
    look_at_all();
    forget();  // who has gone meanwhile, with its last counts
    written_.clear();
    looked_ms_ = monotonic_ms();
  }
  std::shared_ptr<const std::string>& text = written_[format];
  if (!text) text = std::make_shared<const std::string>(write_metrics(exposition(), format));
  note_shown(scraper);
  took_ns_ += thread_cpu_ns() - began_ns;
  return text;
}

std::vector<Collector::Agent> Collector::agents() {
  const std::lock_guard guard(lock_);
  std::vector<Agent> agents;
  for (const Member& member : members_)
    if (member.gone_ms == 0)
      agents.push_back({member.series->pid(), member.series->start(), member.series->exe(),
                        member.series->directory()});
  return agents;
}

std::string Collector::state_json() {
  const std::lock_guard guard(lock_);
  uint64_t alive = 0;
  for (const Member& member : members_) alive += member.gone_ms == 0;
  return "\"agents\": " + std::to_string(alive) + ", \"scrapes\": " + std::to_string(nr_scrapes_) +
         ", \"series\": " + std::to_string(nr_series_) +
         ", \"failed_looks\": " + std::to_string(nr_failed_looks_) +
         ", \"refused\": " + std::to_string(nr_refused_) +
         ", \"cpu_ms\": " + std::to_string(took_ns_ / 1000000);
}

}  // namespace patchbay::cmd
