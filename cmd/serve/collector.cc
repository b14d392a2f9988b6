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
#include <exception>
#include <thread>

#include "base/monotonic_clock.h"
#include "base/text.h"
#include "cmd/common/commands.h"
#include "cmd/common/print_file.h"
#include "cmd/common/side_by_side.h"
#include "cmd/target/running_process.h"
#include "cmd/target/target_program.h"
#include "serve/directory.h"

namespace patchbay::cmd {
namespace {

constexpr int64_t kSharedMs = 500, kMostConnectMs = 1000, kMostPauseMs = 60000;
constexpr int64_t kMostScrapeMs = 1000;  // that a scrape waits for all looks together
constexpr int64_t kGlanceMs = 50;
constexpr int64_t kScraperMs = 300000;   // after which a scraper that is silent is forgotten
constexpr int64_t kMostGoneMs = 600000;  // that one is waited for
constexpr size_t kMostScrapers = 16, kMostMembers = 10000, kMostTasks = 64;

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

}  // namespace

Collector::~Collector() {
  for (const Member& member : members_)
    if (member.look) ::shutdown(member.series->client()->descriptor(), SHUT_RDWR);
  // Who is connecting ends since the tool does, or after a second.
  std::unique_lock held(tasks_lock_);
  task_ends_.wait(held, [this] { return nr_running_ == 0; });
}

// --- side by side

void Collector::run(const std::shared_ptr<Task>& task, std::function<Status()> work) {
  {
    const std::lock_guard guard(tasks_lock_);
    nr_running_++;
  }
  const auto end = [this, task](Status status) {
    const std::lock_guard guard(tasks_lock_);
    task->status = std::move(status);
    task->is_done = true;
    nr_running_--;
    nr_ended_++;
    task_ends_.notify_all();
  };
  try {
    std::thread([end, work = std::move(work)] { end(guarded(work)); }).detach();
  } catch (const std::exception& exception) {  // there are no more threads
    end(user_error(EAGAIN, exception.what()));
  }
}

bool Collector::has_room() {
  const std::lock_guard guard(tasks_lock_);
  return nr_running_ < kMostTasks;
}

// Whether one that has been begun is through: nobody else has to do with it any more.
bool Collector::is_through(const std::shared_ptr<Task>& task) {
  const std::lock_guard guard(tasks_lock_);
  return task && task->is_done;
}

// --- who is there

void Collector::sweep() {
  const std::unique_lock guard(lock_, std::try_to_lock);
  if (guard.owns_lock()) sweep_locked();
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
    Newcomer& newcomer = newcomers_[pid];
    if (newcomer.task) continue;
    if (newcomer.inode != inode) newcomer = {}, newcomer.inode = inode;
    if (now_ms >= newcomer.next_try_ms && members_.size() < kMostMembers && has_room())
      begin_to_meet(pid, &newcomer);
  }
  meet_those_who_came();
  end_looks();
  std::erase_if(newcomers_,
                [&](const auto& one) { return !one.second.task && !seen.contains(one.first); });
  forget();
}

// The directory names the process by its number here, not by one of a pid namespace: the client
// looks whether it is that one who listens, and Attach has named it so.
void Collector::begin_to_meet(int pid, Newcomer* newcomer) {
  const auto process = running_process(pid);
  if (!process) return note_failure(pid, newcomer);
  newcomer->task = std::make_shared<Task>();
  newcomer->task->start = process->start;
  run(newcomer->task,
      [task = newcomer->task.get(), path = runtime_ + "/" + std::to_string(pid), pid]() -> Status {
        PB_ASSIGN(task->client,
                  serve::Client::connect_directory(path, monotonic_ms() + kMostConnectMs));
        if (task->client->peer() != pid) return user_error(EPERM, "It is another's socket.");
        return {};
      });
}

void Collector::note_failure(int pid, Newcomer* newcomer) {
  newcomer->next_try_ms = monotonic_ms() + newcomer->pause_ms;
  newcomer->pause_ms = std::min(newcomer->pause_ms * 2, kMostPauseMs);
  const auto process = running_process(pid);
  if (!process || !newcomer->labels.text.empty()) return;
  newcomer->labels.add("pid", std::to_string(pid));
  newcomer->labels.add("exe", base_name(exe_of(pid)));
  newcomer->labels.add("start", process->start);
}

void Collector::meet_those_who_came() {
  for (auto at = newcomers_.begin(); at != newcomers_.end();) {
    const auto one = at++;
    if (!is_through(one->second.task)) continue;
    const std::shared_ptr<Task> task = std::move(one->second.task);
    if (!task->status.ok()) {
      nr_failed_looks_++;
      note_failure(one->first, &one->second);
      continue;
    }
    meet(one->first, task.get());
    newcomers_.erase(one);
  }
}

// Either joins one that has gone and is the same program, or is a new one.
void Collector::meet(int pid, Task* task) {
  const std::string exe = task->client->exe();
  auto at = std::find_if(members_.begin(), members_.end(), [&](const Member& one) {
    return one.series->pid() == pid && one.series->start() == task->start &&
           base_name(one.series->exe()) == base_name(exe);
  });
  if (at == members_.end()) {
    members_.push_back({});
    at = members_.end() - 1;
    at->series =
        std::make_unique<AgentSeries>(pid, task->start, exe, runtime_ + "/" + std::to_string(pid));
  }
  at->series->join(std::move(task->client));
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
    if (member.look) return false;
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

// Of those who are due, and were not looked at since `since_ms`.
void Collector::begin_looks(int64_t since_ms) {
  size_t nr_series = 0;
  for (const Member& member : members_) nr_series += member.series->nr_series();
  const int64_t now_ms = monotonic_ms();
  // Who has waited for longest comes first: some that are slow do not keep the others away.
  std::vector<Member*> due;
  for (Member& member : members_)
    if (!member.look && !member.gone_ms && member.began_ms < since_ms &&
        now_ms >= member.next_try_ms)
      due.push_back(&member);
  std::stable_sort(due.begin(), due.end(), [](const Member* one, const Member* other) {
    return one->began_ms < other->began_ms;
  });
  for (Member* const next : due) {
    if (!has_room()) break;
    Member& member = *next;
    member.began_ms = now_ms;
    member.look = std::make_shared<Task>();
    run(member.look, [series = member.series.get(), bounds = bounds_, nr_series] {
      return series->look(bounds, nr_series);
    });
  }
}

void Collector::end_looks() {
  for (Member& member : members_) {
    if (!is_through(member.look)) continue;
    const std::shared_ptr<Task> look = std::move(member.look);
    if (look->status.ok()) {
      member.pause_ms = 1000;
      continue;
    }
    nr_failed_looks_++;
    member.next_try_ms = monotonic_ms() + member.pause_ms;
    member.pause_ms = std::min(member.pause_ms * 2, kMostPauseMs);
  }
}

size_t Collector::nr_ended() {
  const std::lock_guard guard(tasks_lock_);
  return nr_ended_;
}

// Who comes meanwhile is looked at, too.
void Collector::look_at_all(int64_t until_ms) {
  for (const int64_t since_ms = monotonic_ms();;) {
    const size_t taken = nr_ended();
    meet_those_who_came();
    end_looks();
    begin_looks(since_ms);
    std::unique_lock held(tasks_lock_);
    const int64_t left_ms = until_ms - monotonic_ms();
    const bool are_all = nr_running_ == 0 && nr_ended_ == taken;
    if (are_all || left_ms <= 0 || interrupted()) return;
    task_ends_.wait_for(held, std::chrono::milliseconds(std::min<int64_t>(left_ms, kGlanceMs)),
                        [&] { return nr_ended_ != taken; });
  }
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
  for (const auto& [pid, newcomer] : newcomers_)
    if (!newcomer.labels.text.empty()) show_up(newcomer.labels, false, &families);
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
    look_at_all(monotonic_ms() + kMostScrapeMs);
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
  const std::unique_lock guard(lock_, std::try_to_lock);
  if (!guard.owns_lock()) {
    const std::lock_guard held(tasks_lock_);
    return state_;
  }
  uint64_t alive = 0;
  std::string silent;
  const auto add_silent = [&](int pid) {
    silent += (silent.empty() ? "" : ", ") + std::to_string(pid);
  };
  for (const Member& member : members_) {
    alive += member.gone_ms == 0;
    if (member.gone_ms == 0 && !member.series->answers()) add_silent(member.series->pid());
  }
  for (const auto& [pid, newcomer] : newcomers_)
    if (!newcomer.labels.text.empty()) add_silent(pid);
  const std::lock_guard held(tasks_lock_);
  return state_ = "\"agents\": " + std::to_string(alive) +
                  ", \"scrapes\": " + std::to_string(nr_scrapes_) +
                  ", \"series\": " + std::to_string(nr_series_) +
                  ", \"failed_looks\": " + std::to_string(nr_failed_looks_) + ", \"silent\": [" +
                  silent + "], \"refused\": " + std::to_string(nr_refused_) +
                  ", \"cpu_ms\": " + std::to_string(took_ns_ / 1000000);
}

}  // namespace patchbay::cmd
